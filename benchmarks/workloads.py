"""Workloads: tasks and episodes of many kinds, the same for the same seed, as calls, JSON lines and Parquet."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from benchmarks.large import Case, any_order_case, edit_run, grid_case, harms_case, long_case
from corepath import ANY, Call, Episode, Procedure, Task, any_order, choice, optional, play, seq, tool
from corepath.batch import EPISODES
from corepath.files.episodes import episode_json
from corepath.files.lookup import all_sources
from corepath.files.task_writer import as_json
from corepath.play.built_in import BUILT_IN, built_in

SMALL_TASKS = 40
UNIQUE = (0.0, 0.1, 0.3, 1.0)
"""The shares of calls with a free text that no other call has."""
ROW_GROUP = 50_000
_NOTES = ("as agreed", "see the ticket", "asked for by the customer", "")
_VERBS = ("open", "update", "assign", "approve", "notify", "close")


@dataclass(frozen=True)
class Workload:
    """Tasks, and a function that yields as many episodes as are asked for."""

    name: str
    tasks: Mapping[str, Task]
    make: Callable[[int], Iterator[Episode]]
    usual: int = 1_000
    """How many episodes a check of all values looks at."""
    targets: Sequence[str] = field(default_factory=tuple)
    """How the tasks are named, if they are not written to a file."""

    def write_tasks(self, folder: Path) -> tuple[str, ...]:
        """Write the tasks to a file, and return what `--tasks` would name."""
        if self.targets:
            return tuple(self.targets)
        file = folder / f"{self.name.replace(' ', '_')}.json"
        file.write_text(as_json(*self.tasks.values()), encoding="utf-8")
        return (str(file),)

    def lines(self, count: int) -> Iterator[bytes]:
        """Yield episodes as JSON lines."""
        for episode in self.make(count):
            yield (episode_json(episode) + "\n").encode()


def small_tasks(unique: float = 0.0) -> Workload:
    """Tasks of four to six steps with one to 24 golden paths, and reads. Half of the runs have mistakes."""
    tasks = {task.id: task for task in map(_small_task, range(SMALL_TASKS))}
    return Workload(f"small tasks, {unique:.0%} unique", tasks, lambda count: _small_episodes(tasks, count, unique))


def world_tasks() -> Workload:
    """The tasks of all worlds, played by the built-in agents."""
    sources = all_sources([])
    tasks = {source.id: source.make() for source in sources}

    def make(count: int) -> Iterator[Episode]:
        played = (
            play(built_in(name), task, name=name, epoch=epoch)
            for epoch in range(1_000) for task in tasks.values() for name in BUILT_IN
        )  # fmt: skip
        return islice(played, count)

    return Workload("world tasks", tasks, make, usual=len(tasks) * len(BUILT_IN), targets=sorted(
        {source.where for source in sources}
    ))  # fmt: skip


def large_workloads() -> list[Workload]:
    """Steps in any order, a grid, long runs, and runs with many harms."""
    orders = [any_order_case(size) for size in (8, 9, 10, 11)]
    return [
        _of_cases("any order", orders, usual=44),
        _of_cases("grid", [grid_case()], usual=7),
        _of_cases("long traces", [long_case(1_000), long_case(3_000)], usual=6),
        _of_cases("harm-heavy", [harms_case()], usual=100),
    ]


def all_workloads() -> list[Workload]:
    return [*map(small_tasks, UNIQUE), world_tasks(), *large_workloads()]


def write_lines(file: Path, lines: Iterator[bytes]) -> int:
    """Write JSON lines, and return their number."""
    with file.open("wb") as to:
        return sum(bool(to.write(line)) for line in lines)


def write_parquet(file: Path, episodes: Iterator[Episode]) -> int:
    """Write episodes as Parquet in the schema `EPISODES`, and return their number."""
    rows = 0
    with parquet.ParquetWriter(file, EPISODES, compression="zstd") as to:
        while group := list(islice(episodes, ROW_GROUP)):
            to.write_table(pa.Table.from_pylist([_row(episode) for episode in group], schema=EPISODES))
            rows += len(group)
    return rows


def _row(episode: Episode) -> dict[str, Any]:
    """Return an episode as a row. What has no column of its own goes into `record`."""
    record = json.loads(episode_json(episode))
    del record["version"]
    calls = [
        {"tool": call["tool"], "arguments": json.dumps(call["arguments"])}
        | {name: json.dumps(call[name]) for name in ("result", "error") if name in call}
        for call in record.pop("calls")
    ]
    known = {name: record.pop(name) for name in ("task", "agent", "epoch", "seed", "fingerprint") if name in record}
    texts = {
        name: json.dumps(record.pop(name)) for name in ("scoring", "params", "answer", "messages") if name in record
    }
    return {**known, **texts, "calls": calls, "record": json.dumps(record) if record else None}


# Small tasks


_SHAPES: tuple[Callable[..., Procedure], ...] = (
    lambda a, b, c, d, *_: seq(a, b, c, d),
    lambda a, b, c, d, e, _: seq(a, any_order(b, c, d), e),
    lambda a, b, c, d, *_: any_order(seq(a, b), seq(c, d)),
    lambda a, b, c, d, e, _: seq(a, choice(b, c), any_order(d, e)),
    lambda a, b, c, d, e, f: seq(a, optional(b), any_order(c, seq(d, e)), f),
    lambda a, b, c, d, *_: any_order(a, b, c, d),
)


def _small_task(number: int) -> Task:
    steps = [tool(f"{verb}_ticket")(ticket=f"T{number}", note=ANY) for verb in _VERBS]
    reads = [tool("get_ticket").any(), tool("search").any()]
    return Task(f"small/{number:02}", procedure=_SHAPES[number % len(_SHAPES)](*steps), reads=reads)


def _small_episodes(tasks: Mapping[str, Task], count: int, unique: float) -> Iterator[Episode]:
    rng = random.Random(19)
    known = [(task.id, _golden_runs(task), f"T{number}") for number, task in enumerate(tasks.values())]
    for place in range(count):
        id_, golden, ticket = known[rng.randrange(len(known))]
        run = rng.choice(golden)
        if rng.random() < 0.5:
            run = edit_run(rng, run, [f"{verb}_ticket" for verb in _VERBS], rng.randint(1, 3))
        calls = []
        for name in run:
            if rng.random() < 0.25:
                calls.append(Call("get_ticket", {"ticket": ticket}, result="open"))
            calls.append(_small_call(rng, name, ticket, unique))
        yield Episode(id_, tuple(calls), agent=f"agent {place % 4}", epoch=place % 10)


def _small_call(rng: random.Random, name: str, ticket: str, unique: float) -> Call:
    note = f"{rng.getrandbits(64):016x} {rng.getrandbits(64):016x}" if rng.random() < unique else rng.choice(_NOTES)
    given = ticket if rng.random() < 0.98 else "T99"
    return Call(name, {"ticket": given, "note": note}, result="ok")


def _golden_runs(task: Task) -> list[list[str]]:
    automaton = task.automaton
    tools = [one.tool for one in automaton.alphabet.actions]
    return [[tools[symbol] for symbol in path] for path in automaton.golden.paths()]


# Large tasks


def _of_cases(name: str, cases: Sequence[Case], usual: int) -> Workload:
    tasks = {case.task.id: case.task for case in cases}
    runs = [(case.task.id, run) for case in cases for run in case.runs]

    def make(count: int) -> Iterator[Episode]:
        for place in range(count):
            id_, run = runs[place % len(runs)]
            yield Episode(id_, tuple(Call(tool_name, {}, result="ok") for tool_name in run), epoch=place)

    return Workload(name, tasks, make, usual)
