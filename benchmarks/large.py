"""Large tasks and long runs, scored by whatever corepath is on the path: this version, or an earlier one.

`python benchmarks/large.py` prints the CPU seconds of each case as JSON. Only names of the package itself are used, so
that an earlier version can run it too.
"""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from corepath import Call, Task, any_order, repeat, score, seq, tool

SIZES = range(8, 15)
LENGTHS = (100, 1_000, 10_000)


@dataclass(frozen=True)
class Case:
    """A task and some runs, each a list of tools. `first` is a run that is scored before, and not measured."""

    name: str
    task: Task
    runs: Sequence[Sequence[str]]
    first: Sequence[str] = ("unknown",)


def kinds_of_runs(names: Sequence[str]) -> list[list[str]]:
    """Good and bad ways to do some steps."""
    middle = len(names) // 2
    return [
        [*names[::-1]], [*names[1:]], [*names[:middle], names[0], *names[middle:]], [*names[:-1], names[0]],
        [*names[:2], "unknown", *names[2:]], [*names[::2]],
        ["unknown" if place % 3 == 0 else name for place, name in enumerate(names)],
        [name for name in names for _ in range(2)], [*names, *names[::-1]], ["unknown"] * len(names), [],
    ]  # fmt: skip


def any_order_case(size: int) -> Case:
    names = [f"s{number}" for number in range(size)]
    task = Task(f"large/any_order_{size}", procedure=any_order(*(tool(name)() for name in names)))
    return Case(f"any order of {size}", task, kinds_of_runs(names), names)


def grid_case() -> Case:
    rng = random.Random(1)
    procedure = any_order(repeat(tool("right")(), times=19), repeat(tool("up")(), times=19))
    moves = ["right"] * 19 + ["up"] * 19
    runs = [edit_run(rng, rng.sample(moves, 38), ["right", "up"], edits) for edits in (0, 1, 2, 5, 5, 10, 20)]
    return Case("grid of 20 by 20", Task("large/grid", procedure=procedure), runs, moves)


def harms_case() -> Case:
    """40 harmful calls, each of which could have been one of 4 reads."""
    steps = [f"s{number}" for number in range(8)]
    reads = [tool(f"r{number}").any() for number in range(4)]
    task = Task("large/harms", procedure=seq(*(tool(name)() for name in steps)), reads=reads)
    runs = [
        [name for place in range(8) for name in (*(f"bad{turn}{number}" for number in range(5)), steps[place])]
        for turn in range(5)
    ]
    return Case("40 harms with 4 reads", task, [run[turn:] for turn, run in enumerate(runs)], steps)


def long_case(length: int = 10_000) -> Case:
    """Long runs on a task of ten steps: reads, steps done again, and calls that fit nothing."""
    names = [f"s{number}" for number in range(10)]
    task = Task(f"large/long_{length}", procedure=any_order(*(tool(name)() for name in names[:5])) >> seq(
        *(tool(name)() for name in names[5:])
    ), reads=[tool("read").any()])  # fmt: skip
    rng = random.Random(3)
    runs = [rng.choices([*names, "read", "unknown"], weights=weights, k=length) for weights in (
        [1] * 10 + [990, 0], [1] * 10 + [900, 5],
    )]  # fmt: skip
    return Case(f"{length:,} calls", task, [*runs, ["unknown"] * length], names)


def golden_case(length: int) -> Case:
    """The one golden path of a task with many steps."""
    names = [f"s{number}" for number in range(length)]
    task = Task(f"large/golden_{length}", procedure=seq(*(tool(name)() for name in names)))
    return Case(f"golden path of {length:,}", task, [names], names)


def edit_run(rng: random.Random, run: Sequence[str], names: Sequence[str], edits: int) -> list[str]:
    """Return a run with some random edits: omissions, insertions and swaps."""
    calls = list(run)
    for _ in range(edits):
        kind = rng.random()
        if kind < 0.3 and calls:
            del calls[rng.randrange(len(calls))]
        elif kind < 0.7:
            calls.insert(rng.randint(0, len(calls)), rng.choice([*names, "unknown"]))
        elif len(calls) > 1:
            i, j = rng.sample(range(len(calls)), 2)
            calls[i], calls[j] = calls[j], calls[i]
    return calls


def large_cases() -> Iterator[Case]:
    yield from map(any_order_case, SIZES)
    yield grid_case()
    yield harms_case()
    yield long_case()


def time_case(case: Case) -> float:
    """CPU seconds to score each run once. A result that is remembered for later runs does not help."""
    score(case.task, [Call(name) for name in case.first])
    runs = [[Call(name) for name in run] for run in case.runs]
    begin = time.process_time()
    for run in runs:
        score(case.task, run)
    return time.process_time() - begin


def exponent(times: Sequence[float]) -> float:
    """How time grows with the golden length, over `LENGTHS`."""
    return math.log(times[-1] / times[0]) / math.log(LENGTHS[-1] / LENGTHS[0])


def main() -> None:
    found = {case.name: time_case(case) for case in large_cases()}
    golden = [golden_case(length) for length in LENGTHS]
    found |= {case.name: min(time_case(case) for _ in range(5)) for case in golden}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
