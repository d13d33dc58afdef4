"""Two agents on the same tasks: how far they are apart, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev
from typing import Any

from corepath.aggregate import LEVEL, VECTOR, Interval, Summary, detectable, resampled


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

    def worse(self, level: float = LEVEL) -> bool:
        """Whether b has less of it, and that is more than chance: the whole interval is below 0."""
        wide = _interval(self.by_task, level)
        return wide is not None and wide[1] < 0

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
    return Difference(
        score, fmean(mine[task] for task in tasks), fmean(theirs[task] for task in tasks), fmean(by_task.values()),
        error, _interval(by_task), detectable(error), by_task,
    )  # fmt: skip


def compared(a: Summary, b: Summary, scores: tuple[str, ...] = VECTOR) -> list[Difference]:
    """The differences in all these scores, where there are any."""
    return [found for score in scores if (found := difference(a, b, score)) is not None]


def worse(differences: list[Difference]) -> list[Difference]:
    """Those in which b is worse, sure enough that of equal agents one pair in twenty fails at most.

    The more scores are looked at, the wider is the interval of each.
    """
    level = 1 - (1 - LEVEL) / max(1, len(differences))
    return [one for one in differences if one.worse(level)]


def _interval(by_task: dict[str, float], level: float = LEVEL) -> Interval | None:
    if len(by_task) < 2:
        return None
    return resampled([(one, 1) for one in by_task.values()], level)
