"""Events: the steps of each run as numbers, each occurrence of a step with a number of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from corepath.authoring.learning.log import Run
from corepath.authoring.learning.occurrences import find_numbering
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
    paths = [[one for _, one in sorted(found)] for found in by_run]
    numbering = find_numbering(paths)
    runs = tuple(map(numbering.number, paths))
    standing = tuple(tuple([place for place, _ in sorted(found)]) for found in by_run)
    return Events(runs, tuple(numbering.steps), standing)
