"""Two agents on the same tasks: how far they are apart, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import sqrt
from random import Random
from statistics import fmean, stdev
from typing import Any, Final

from corepath.scoring.summary import LEVEL, VECTOR, Interval, Summary, bootstrap_interval, smallest_detectable

LESS_IS_BETTER: Final = ("harm_count", "harm_rate")
NEITHER: Final = ("length",)
"""Of these, neither more nor less is better."""
FLIPS: Final = 12
"""With so many tasks, all ways to flip the signs of their differences are tried; with more, as many at random."""


@dataclass(frozen=True)
class Difference:
    """How much more of a score the second has, paired by task: the mean over tasks of b − a.

    With one task there is no error, no interval and no smallest difference that could have been detected.
    """

    score: str
    a: float
    b: float
    difference: float
    error: float | None
    interval: Interval | None
    detectable: float | None
    by_task: dict[str, float]

    @property
    def chance(self) -> float:
        """How likely b would look so bad, or worse, if the two were alike: by flipping the signs of the differences."""
        if self.score in NEITHER:
            return 1.0
        sign = -1 if self.score in LESS_IS_BETTER else 1
        return _chance([sign * one for one in self.by_task.values()])

    @property
    def changed_most(self) -> list[tuple[str, float]]:
        """The tasks with a difference, the largest first."""
        moved = [(task, one) for task, one in self.by_task.items() if one]
        return sorted(moved, key=lambda pair: (-abs(pair[1]), pair[0]))

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return dict(vars(self))


def difference(a: Summary, b: Summary, score: str) -> Difference | None:
    """The difference in a score over the tasks that both played; None where there is none."""
    mine, theirs = a.task_means(score), b.task_means(score)
    tasks = [task for task in mine if task in theirs]
    if not tasks:
        return None
    by_task = {task: theirs[task] - mine[task] for task in tasks}
    error = stdev(by_task.values()) / sqrt(len(tasks)) if len(tasks) > 1 else None
    interval = bootstrap_interval([(one, 1) for one in by_task.values()]) if len(tasks) > 1 else None
    return Difference(
        score, fmean(mine[task] for task in tasks), fmean(theirs[task] for task in tasks), fmean(by_task.values()),
        error, interval, smallest_detectable(error), by_task,
    )  # fmt: skip


def compared(a: Summary, b: Summary, scores: tuple[str, ...] = VECTOR) -> list[Difference]:
    """The differences in all these scores, where there are any."""
    return [found for score in scores if (found := difference(a, b, score)) is not None]


def worse(differences: Sequence[Difference]) -> list[Difference]:
    """Those in which b is worse, sure enough that of pairs of equal agents one in twenty fails at most.

    The more scores are looked at, the surer each must be (Holm's rule).
    """
    found: list[Difference] = []
    for place, one in enumerate(sorted(differences, key=lambda each: each.chance)):
        if one.chance > (1 - LEVEL) / (len(differences) - place):
            break
        found.append(one)
    return [one for one in differences if one in found]


def fewest_tasks(scores: int) -> int:
    """The fewest tasks with which a difference can be told from chance, where so many scores are looked at."""
    tasks = 1
    while 0.5**tasks > (1 - LEVEL) / max(1, scores):
        tasks += 1
    return tasks


def _chance(gaps: Sequence[float]) -> float:
    """The share of ways to flip signs that give a mean as low; those drawn at random are the same each time."""
    seen = sum(gaps) + 1e-12
    if len(gaps) <= FLIPS:
        sums = [sum(map(float.__mul__, gaps, signs)) for signs in product((1.0, -1.0), repeat=len(gaps))]
        return sum(one <= seen for one in sums) / len(sums)
    chance = Random(0)  # noqa: S311  # the same draws each time, so that results reproduce
    low = 1  # the way it was
    for _ in range(2**FLIPS - 1):
        bits = chance.getrandbits(len(gaps))
        low += sum(gap if bits >> place & 1 else -gap for place, gap in enumerate(gaps)) <= seen
    return low / 2**FLIPS
