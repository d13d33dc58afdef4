"""Compare two agents on the same tasks: the difference in each score, and how certain the difference is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from math import sqrt
from random import Random
from statistics import fmean, stdev
from typing import Any, Final

from corepath.scoring.summary import BROKEN, LEVEL, VECTOR, Interval, Summary, bootstrap_interval, smallest_detectable

LESS_IS_BETTER: Final = ("harm_count", "harm_rate", "harm_effected", BROKEN)
NEITHER: Final = ("length",)
"""Scores for which neither more nor less is better."""
FLIPS: Final = 12
"""The sign-flip test checks all flips for up to this many tasks, and 2**FLIPS random flips for more tasks."""


@dataclass(frozen=True)
class Difference:
    """The difference in a score between agents a and b, over the tasks that both played.

    `a` and `b` are the agents' means, and `difference` is the mean of b − a. `error` is the standard error, and
    `interval` is a bootstrap interval. `detectable` is the smallest difference that could have been detected. The last
    three are None if there is only one task.
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
        """The p-value for "b is worse than a" in a sign-flip test.

        This is the probability of a result at least this bad for b if a and b are equally good.
        """
        return 1.0 if self.score in NEITHER else _chance([self._sign * one for one in self.by_task.values()])

    @property
    def is_better(self) -> bool:
        """Whether b is at least as good as a in the mean, so that there is nothing to test."""
        return self._sign * self.difference >= 0

    @property
    def _sign(self) -> int:
        return -1 if self.score in LESS_IS_BETTER else 1

    @property
    def changed_most(self) -> list[tuple[str, float]]:
        """The (task, difference) pairs for all tasks on which the agents differ, with the largest difference first."""
        changed = [(task, one) for task, one in self.by_task.items() if one]
        return sorted(changed, key=lambda pair: (-abs(pair[1]), pair[0]))

    @property
    def reversed(self) -> Difference:
        """The same difference with a and b exchanged."""
        turned = None if self.interval is None else (-self.interval[1], -self.interval[0])
        by_task = {task: -one for task, one in self.by_task.items()}
        return replace(self, a=self.b, b=self.a, difference=-self.difference, interval=turned, by_task=by_task)

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval is on one side of 0."""
        return self.interval is not None and (self.interval[0] > 0 or self.interval[1] < 0)

    def to_dict(self) -> dict[str, Any]:
        """Return the difference as JSON."""
        return dict(vars(self))


def difference(a: Summary, b: Summary, score: str) -> Difference | None:
    """Return the difference in a score over the tasks that both agents played.

    Returns None if there is no task on which both agents have that score.
    """
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


def compare(a: Summary, b: Summary, scores: tuple[str, ...] = VECTOR) -> list[Difference]:
    """Return the differences in several scores. Scores that cannot be compared are left out."""
    return [one for score in scores if (one := difference(a, b, score)) is not None]


def regressions(differences: Sequence[Difference]) -> list[Difference]:
    """Return the differences that show b to be significantly worse than a.

    Holm's method corrects for the number of scores. If both agents are equally good, the chance of reporting any
    regression is at most 5 %.
    """
    chances = [1.0 if one.is_better else one.chance for one in differences]
    significant: set[int] = set()
    for place, which in enumerate(sorted(range(len(differences)), key=chances.__getitem__)):
        if chances[which] > (1 - LEVEL) / (len(differences) - place):
            break
        significant.add(which)
    return [one for which, one in enumerate(differences) if which in significant]


def sure(differences: Sequence[Difference]) -> list[Difference]:
    """Return the differences that are more than chance: b is significantly worse than a, or a than b.

    The test is that of `regressions`, in both directions. The interval must exclude 0 as well, so that what is called
    sure is never beside an interval that says otherwise.
    """
    worse = {one.score for one in regressions(differences)}
    better = {one.score for one in regressions([one.reversed for one in differences])}
    return [one for one in differences if one.score in worse | better and one.excludes_zero]


def fewest_tasks(scores: int) -> int:
    """Return the minimum number of tasks for a difference to be significant when `scores` scores are compared."""
    tasks = 1
    while 0.5**tasks > (1 - LEVEL) / max(1, scores):
        tasks += 1
    return tasks


def _chance(gaps: Sequence[float]) -> float:
    """Return the p-value in a sign-flip test on `gaps`, the differences by task.

    This is the share of sign flips for which the mean is at most the observed mean. If there are many tasks, random
    flips are drawn with a fixed seed.
    """
    observed = sum(gaps) + 1e-12
    if len(gaps) <= FLIPS:
        sums = [sum(map(float.__mul__, gaps, signs)) for signs in product((1.0, -1.0), repeat=len(gaps))]
        return sum(one <= observed for one in sums) / len(sums)
    tables = [_signed_sums(gaps[start : start + 8]) for start in range(0, len(gaps), 8)]
    low = 1  # counts the observed signs
    for flips in _random_flips(len(gaps)):
        low += sum(map(list.__getitem__, tables, flips)) <= observed
    return low / 2**FLIPS


def _signed_sums(gaps: Sequence[float]) -> list[float]:
    """Return the sum of up to eight gaps for each choice of signs. Bit n of the index tells whether gap n is kept."""
    sums = [0.0]
    for gap in gaps:
        sums = [*(one - gap for one in sums), *(one + gap for one in sums)]
    return sums


@lru_cache(maxsize=8)
def _random_flips(tasks: int) -> list[bytes]:
    """Draw random signs for each task, one bit each. The seed is fixed, so results are reproducible."""
    random = Random(0)  # noqa: S311
    size = -(-tasks // 8)
    return [random.getrandbits(tasks).to_bytes(size, "little") for _ in range(2**FLIPS - 1)]
