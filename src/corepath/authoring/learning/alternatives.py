"""Steps that stand in for each other: the same call with another value of one argument."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Final

from corepath.authoring.learning.steps import SeenStep
from corepath.values import canonical

_MOST_STEPS: Final = 400


def merge_alternatives(steps: Sequence[SeenStep]) -> list[SeenStep]:
    """Merge writes that differ in one argument, if they stand in for each other in runs that are otherwise the same."""
    merged = list(steps)
    if len(merged) > _MOST_STEPS:
        return merged
    while (found := next(_groups(merged), None)) is not None:
        numbers, name = found
        members = [merged[number] for number in numbers]
        places = sorted(place for step in members for place in step.places)
        first = members[0]
        fixed = {one: value for one, value in first.fixed.items() if one != name}
        joined = replace(first, fixed=fixed, varying=(*first.varying, name), places=places)
        merged = [joined if number == numbers[0] else step for number, step in enumerate(merged)
                  if number == numbers[0] or number not in numbers]  # fmt: skip
    return merged


def _groups(steps: Sequence[SeenStep]) -> Iterator[tuple[list[int], str]]:
    """Yield groups of steps that stand in for each other, and the argument in which they differ."""
    alike: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    for number, step in enumerate(steps):
        if not step.reads and not step.rules:
            for name in step.fixed:
                others = {one: value for one, value in step.fixed.items() if one != name}
                alike[step.tool, name, canonical([others, list(step.varying)])].append(number)
    for (_, name, _), numbers in alike.items():
        if len(numbers) > 1 and _stand_in(steps, numbers):
            yield numbers, name


def _stand_in(steps: Sequence[SeenStep], numbers: Sequence[int]) -> bool:
    """Whether no run has two of the steps, and runs with different ones are otherwise the same."""
    members = [steps[number] for number in numbers]
    if any(one.runs & other.runs for one, other in combinations(members, 2)):
        return False
    if any(len(step.places) != len(step.runs) for step in members):
        return False
    others = [step for number, step in enumerate(steps) if number not in numbers and (not step.reads or step.decides)]
    around = [_surroundings(step, others) for step in members]
    return all(any(mine & theirs for other, theirs in enumerate(around) if other != number)
               for number, mine in enumerate(around))  # fmt: skip


def _surroundings(step: SeenStep, others: Sequence[SeenStep]) -> set[tuple[int, ...]]:
    """Return for each run of a step the other steps in order, with a -1 where the step is."""
    runs: dict[int, list[tuple[int, int]]] = {run: [(place, -1)] for run, place in step.places}
    for number, other in enumerate(others):
        for run, place in other.places:
            if run in runs:
                runs[run].append((place, number))
    return {tuple(number for _, number in sorted(found)) for found in runs.values()}
