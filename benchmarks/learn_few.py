"""Tasks of the worlds, learned from one to four runs: which other right runs they accept, and which wrong ones.

`python -m benchmarks.learn_few [SEED]` prints a table of docs/learn-figures.md. Wrong runs are right ones with two
steps that follow each other, both of them writes, swapped, and executed again; those that are right as well are left
out.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from itertools import chain, pairwise

from benchmarks.learn_truth import Truth, find_truths
from benchmarks.tau import markdown_table
from corepath import Episode
from corepath.authoring.learning.learn import accepts, learn
from corepath.automaton.condensation import trace_calls
from corepath.automaton.step import Kind
from corepath.world.exploring import replay, simulator_of

SIZES = (1, 2, 3, 4)
FRESH = 5


def swapped_runs(truth: Truth, run: Episode) -> Iterator[Episode]:
    """Yield wrong runs with two writes swapped that follow each other."""
    writes = {name for name, one in simulator_of(truth.task).tools.items() if one.writes}
    taken = [one for one in trace_calls(truth.task.automaton, run.calls).steps if one.kind is Kind.PROGRESS]
    for one, other in pairwise(taken):
        if {one.call.tool, other.call.tool} <= writes:
            calls = list(run.calls)
            calls[one.index], calls[other.index] = calls[other.index], calls[one.index]
            made = Episode(truth.task.id, replay(truth.task, calls).calls)
            if not accepts(truth.task, made):
                yield made


def rows(seed: int) -> Iterator[str]:
    """Yield a row for each number of runs."""
    right: dict[int, Counter[bool]] = {size: Counter() for size in SIZES}
    wrong: dict[int, Counter[bool]] = {size: Counter() for size in SIZES}
    for truth in find_truths(max(SIZES) + FRESH, seed):
        fresh = truth.runs[max(SIZES) :]
        swapped = [one for run in fresh for one in swapped_runs(truth, run)]
        for size in SIZES:
            task = learn(truth.runs[:size], truth.tools).task
            right[size].update(accepts(task, run) for run in fresh)
            wrong[size].update(accepts(task, run) for run in swapped)
    for size in SIZES:
        good, bad = right[size], wrong[size]
        yield " | ".join((
            str(size), f"{100 * good[True] / good.total():.1f} % of {good.total():,}",
            f"{100 * bad[True] / bad.total():.1f} % of {bad.total():,}",
        ))  # fmt: skip


if __name__ == "__main__":
    head = "runs | other right runs accepted | wrong orders accepted"
    print(markdown_table(chain([head], rows(int(sys.argv[1]) if len(sys.argv) > 1 else 0))))
