"""Required reads: reads that every run makes, so that they seem to be steps.

A run may make the same read more often than needed. Which of its calls count is decided by the runs that make it as few
times as possible: there, all of them count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, islice
from typing import Final

Place = tuple[int, int]
"""Where a call stands: the number of its run, and its place in the run."""
Occurrence = tuple[int, int]
"""A step, and how many times it came before in the run."""
Choices = dict[int, list[tuple[int, ...]]]
"""For each run, the ways to choose the places of a read."""

FEWEST_RUNS: Final = 7
"""If a read was made in half of all right runs, it would be made in all of so many with a probability under 1 %."""
_MOST_CHOICES: Final = 100
_ROUNDS: Final = 3


def list_choices(places: Sequence[Place], runs: int) -> Choices | None:
    """Return the ways to choose the places of a required read, or None if some run does not have it.

    It is required as often as it comes in the run that has it least often.
    """
    by_run: dict[int, list[int]] = {}
    for run, place in places:
        by_run.setdefault(run, []).append(place)
    if len(by_run) < runs:
        return None
    times = min(map(len, by_run.values()))
    return {run: [*islice(combinations(found, times), _MOST_CHOICES)] for run, found in by_run.items()}


def settle(writes: Mapping[int, Sequence[Place]], reads: Mapping[int, Choices]) -> dict[int, list[Place]]:
    """Choose the places of all required reads, so that steps come in as few orders as possible.

    Both arguments are keyed by step. An order is expected if some run has it whichever places are chosen there. If
    several places are equally good, the first counts, since an automaton takes a step as soon as it is due.
    """
    chosen = {step: {run: options[0] for run, options in choices.items()} for step, choices in reads.items()}
    fixed: dict[int, dict[int, tuple[int, ...]]] = {
        step: _by_run(places) for step, places in writes.items()
    }  # fmt: skip
    sure = _sure_orders(fixed, reads)
    for _ in range(_ROUNDS):
        before = {step: dict(places) for step, places in chosen.items()}
        for step, choices in reads.items():
            others = {one: places for one, places in (fixed | chosen).items() if one != step}
            for run, options in choices.items():
                if len(options) > 1:
                    here = {one: places[run] for one, places in others.items() if run in places}
                    chosen[step][run] = min(options, key=lambda places: (_surprise(step, places, here, sure), places))
        if chosen == before:
            break
    return {step: [(run, place) for run, places in found.items() for place in places] for step, found in chosen.items()}


def _by_run(places: Sequence[Place]) -> dict[int, tuple[int, ...]]:
    found: dict[int, tuple[int, ...]] = {}
    for run, place in sorted(places):
        found[run] = (*found.get(run, ()), place)
    return found


def _sure_orders(
    fixed: Mapping[int, Mapping[int, tuple[int, ...]]], reads: Mapping[int, Choices]
) -> set[tuple[Occurrence, Occurrence]]:
    """Return the orders of a read and another step that hold in some run, whichever places of the read are chosen.

    The first choice has the earliest places, and the last one the latest.
    """
    certain = {
        step: {run: options[0] for run, options in choices.items() if len(options) == 1}
        for step, choices in reads.items()
    }
    everything = {**fixed, **certain}
    found: set[tuple[Occurrence, Occurrence]] = set()
    for step, choices in reads.items():
        for run, options in choices.items():
            here = {one: places[run] for one, places in everything.items() if one != step and run in places}
            found |= {*_orders(step, options[0], here)} & {*_orders(step, options[-1], here)}
    return found


def _orders(
    step: int, places: Sequence[int], others: Mapping[int, Sequence[int]]
) -> Iterator[tuple[Occurrence, Occurrence]]:
    """Yield the orders of a step's occurrences and all others, the earlier one first."""
    for time, place in enumerate(places):
        for other, found in others.items():
            for again, at in enumerate(found):
                pair = (step, time), (other, again)
                yield pair if place < at else (pair[1], pair[0])


def _surprise(
    step: int, places: Sequence[int], others: Mapping[int, Sequence[int]], sure: set[tuple[Occurrence, Occurrence]]
) -> int:
    """Count the orders that are known only the other way round."""
    return sum((two, one) in sure and (one, two) not in sure for one, two in _orders(step, places, others))
