"""Events: the steps of each run as numbers, each occurrence of a step with a number of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corepath.authoring.learning.log import Run
from corepath.authoring.learning.required_reads import FEWEST_RUNS, list_choices, settle
from corepath.authoring.learning.steps import Place, SeenStep


@dataclass(frozen=True)
class Events:
    """The runs as events. `steps` says which step each event is an occurrence of.

    `places` says for each run where the calls of its events stand in it.
    """

    runs: tuple[Run, ...]
    steps: tuple[int, ...]
    places: tuple[tuple[int, ...], ...]


def find_events(
    steps: Sequence[SeenStep], number: int, needed: frozenset[int] = frozenset(), *, required: bool = True
) -> Events:
    """Turn runs into events: all writes, and the reads that are required. `number` is the number of runs.

    Without `required`, no read is a step unless another step refers to its result.

    `needed` holds the numbers of reads that are required for another reason.
    """
    writes = {one: step.places for one, step in enumerate(steps) if not step.reads}
    reads = {}
    for one, step in enumerate(steps):
        if step.reads and ((required and (step.decides or number >= FEWEST_RUNS)) or one in needed):
            choices = list_choices(step.places, len(step.runs) if step.decides else number)
            if choices is not None:
                reads[one] = choices
    return _atevents(writes | settle(writes, reads), number)


def _atevents(kept: Mapping[int, Sequence[Place]], number: int) -> Events:
    by_run: list[list[tuple[int, int]]] = [[] for _ in range(number)]
    for one, places in kept.items():
        for at, place in places:
            by_run[at].append((place, one))
    numbers: dict[tuple[int, int], int] = {}
    runs: list[Run] = []
    for found in by_run:
        times: Counter[int] = Counter()
        run: list[int] = []
        for _, one in sorted(found):
            run.append(numbers.setdefault((one, times[one]), len(numbers)))
            times[one] += 1
        runs.append(tuple(run))
    standing = tuple(tuple([place for place, _ in sorted(found)]) for found in by_run)
    return Events(tuple(runs), tuple(one for one, _ in numbers), standing)
