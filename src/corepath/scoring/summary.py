"""Many episodes in a few numbers: means, how sure they are, pass^k, harms by kind, and who is beaten by nobody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import comb, floor, sqrt
from random import Random
from statistics import NormalDist, fmean
from typing import Any, Final, TypeVar

from corepath.episode import Episode, Variant, exclusion, variant_name, variant_of
from corepath.errors import TaskError, nearest

MEANS: Final = (
    "harm_count", "efficiency", "directness", "length", "pc", "pc_ktc", "prefix_criticality", "harm_rate", "harm_free",
    "pc_hlr", "state_match", "response_match", "accepted", "solved",
)  # fmt: skip
"""The scores of which a summary has means. `solved`: accepted, and without harm."""
VECTOR: Final = ("pc", "pc_ktc", "prefix_criticality", "harm_free", "efficiency", "pc_hlr", "accepted")
"""What an agent is judged by: in each of them more is better. Who does nothing harms nothing, but is not accepted."""

LEVEL: Final = 0.95
"""How sure an interval is."""
POWER: Final = 0.8
"""How often a difference of the smallest detectable size would be detected."""
RESAMPLES: Final = 1000
QUARTILES: Final = (0.0, 0.25, 0.5, 0.75, 1.0)

K = TypeVar("K", bound=Hashable)
Interval = tuple[float, float]


@dataclass
class Summary:
    """What one agent, world or task came to. Episodes that failed outside are counted, and are in no mean.

    So are those in which an agent's fault could not be planted, or nothing was asked of the agent. A score that is
    undefined is left out of its mean, but for efficiency, which counts as 0 unless `undefined_efficiency` is "skip".
    Episodes of one task are alike, so errors and intervals take each task as one draw.
    """

    name: str
    undefined_efficiency: str = "zero"
    episodes: int = 0
    outside: int = 0
    unplanted: int = 0
    unasked: int = 0
    harmful: int = 0
    undefined: int = 0
    harms: Counter[tuple[str, bool]] = field(default_factory=Counter)
    """How many harmful calls there were of each kind, and whether they took effect."""
    _by_task: dict[Variant, dict[str, list[float]]] = field(default_factory=dict, repr=False)

    def add(self, episode: Episode) -> None:
        """One more episode, which was scored."""
        self.episodes += 1
        why = exclusion(episode)
        if why is not None:
            setattr(self, why, getattr(self, why) + 1)
            return
        scores = episode.scores
        self.harmful += scores["harm_count"]
        self.harms.update((harm["kind"], harm["effected"]) for harm in scores["harms"])
        self.undefined += scores["efficiency"] is None
        own = self._by_task.setdefault(variant_of(episode), {name: [] for name in MEANS})
        for name in MEANS:
            value = _value(scores, name)
            if value is None and name == "efficiency" and self.undefined_efficiency == "zero":
                value = 0.0
            if value is not None:
                own[name].append(value)

    @property
    def counted(self) -> int:
        """The episodes that the means are over."""
        return self.episodes - self.outside - self.unplanted - self.unasked

    def values(self, name: str) -> list[float]:
        """The score in every counted episode in which it is defined."""
        return [value for own in self._by_task.values() for value in own[name]]

    def mean(self, name: str) -> float | None:
        """The mean of a score over episodes; None where it is defined in no episode."""
        found = self.values(name)
        return fmean(found) if found else None

    def task_means(self, name: str) -> dict[str, float]:
        """The mean of a score in each task in which it is defined, sorted by name; variants of a task are apart."""
        return {variant_name(*task): fmean(own[name]) for task, own in sorted(self._by_task.items()) if own[name]}

    def _groups(self, name: str) -> list[list[float]]:
        """The values of a score in each task, sorted by name; variants of a task are alike too, and stand together."""
        groups: dict[str, list[float]] = {}
        for (task, _), own in sorted(self._by_task.items()):
            groups.setdefault(task, []).extend(own[name])
        return [group for group in groups.values() if group]

    def error(self, name: str) -> float | None:
        """The standard error of the mean, clustered by task; None with fewer than two tasks."""
        groups, mean = self._groups(name), self.mean(name)
        if mean is None or len(groups) < 2:
            return None
        off = sum((sum(group) - mean * len(group)) ** 2 for group in groups)
        return sqrt(len(groups) / (len(groups) - 1) * off) / sum(map(len, groups))

    def interval(self, name: str, level: float = LEVEL) -> Interval | None:
        """A bootstrap interval of the mean: tasks are drawn anew, always from the same seed."""
        groups = self._groups(name)
        return resampled([(sum(group), len(group)) for group in groups], level) if len(groups) > 1 else None

    def quantiles(self, name: str, points: Sequence[float] = QUARTILES) -> list[float] | None:
        """The values below which these parts of the episodes lie; for the summary of a task, over its repeats."""
        found = sorted(self.values(name))
        return [_quantile(found, point) for point in points] if found else None

    def pass_hat(self, k: int) -> float | None:
        """pass^k: how likely k rollouts of a task are all solved, C(c, k)/C(n, k) averaged over tasks.

        Tasks with fewer than k rollouts have no say; None where all have fewer.
        """
        rollouts = [own["solved"] for own in self._by_task.values() if len(own["solved"]) >= k]
        return fmean(comb(int(sum(own)), k) / comb(len(own), k) for own in rollouts) if rollouts else None

    @property
    def most_repeats(self) -> int:
        """The rollouts of the task that has the most."""
        return max((len(own["solved"]) for own in self._by_task.values()), default=0)

    def weighted(self, weights: Mapping[str, float]) -> float | None:
        """One number, with weights that the task's owner gives; None where a score of them is undefined."""
        means = {name: self.mean(name) for name in weights}
        if any(mean is None for mean in means.values()):
            return None
        return sum(weight * (means[name] or 0.0) for name, weight in weights.items()) / sum(weights.values())

    def to_dict(self) -> dict[str, Any]:
        """As JSON: counts, means, their errors and intervals, quartiles over episodes, pass^k, and harms by kind."""
        return {
            "name": self.name,
            "episodes": self.episodes,
            "outside": self.outside,
            "unplanted": self.unplanted,
            "unasked": self.unasked,
            "tasks": len(self._by_task),
            "harmful": self.harmful,
            "undefined_efficiency": self.undefined,
            **{name: self.mean(name) for name in MEANS},
            "errors": {name: self.error(name) for name in MEANS},
            "intervals": {name: self.interval(name) for name in MEANS},
            "quartiles": {name: self.quantiles(name) for name in MEANS},
            "pass_hat": {str(k): self.pass_hat(k) for k in range(1, self.most_repeats + 1)},
            "harms": [
                {"kind": kind, "effected": effected, "count": count}
                for (kind, effected), count in sorted(self.harms.items())
            ],
        }


def summaries(
    episodes: Iterable[Episode], by: Callable[[Episode], K], undefined_efficiency: str = "zero"
) -> dict[K, Summary]:
    """A summary for each name that `by` gives an episode, in the order in which they come."""
    found: dict[K, Summary] = {}
    for episode in episodes:
        name = by(episode)
        if name not in found:
            found[name] = Summary(" in ".join(name) if isinstance(name, tuple) else str(name), undefined_efficiency)
        found[name].add(episode)
    return found


def pareto(rows: Iterable[Summary], names: Sequence[str] = VECTOR) -> list[str]:
    """The names of those that no other beats: none is as good in every score and better in one.

    Who has no counted episode is not among them; an undefined score is worse than any other.
    """
    means = {one.name: [_or_lowest(one.mean(name)) for name in names] for one in rows if one.counted}
    return [name for name, own in means.items() if not any(_beats(other, own) for other in means.values())]


def detectable(error: float | None) -> float | None:
    """The smallest difference that would be detected, four times in five, by a two-sided test at 5 %.

    None where there is no error, or none was seen: that all tasks are alike so far does not say that others will be.
    """
    if not error:
        return None
    normal = NormalDist()
    return (normal.inv_cdf(1 - (1 - LEVEL) / 2) + normal.inv_cdf(POWER)) * error


def resampled(groups: Sequence[tuple[float, int]], level: float = LEVEL) -> Interval:
    """The bootstrap interval of a mean over groups, each given by its sum and its number of values."""
    sums, counts = [one for one, _ in groups], [count for _, count in groups]
    alike = len(set(counts)) == 1
    means = sorted(
        sum(map(sums.__getitem__, drawn)) / (counts[0] * len(drawn) if alike else sum(map(counts.__getitem__, drawn)))
        for drawn in _draws(len(groups))
    )
    return _quantile(means, (1 - level) / 2), _quantile(means, (1 + level) / 2)


def checked_weights(weights: Mapping[str, float]) -> dict[str, float]:
    """Weights of scores of which more is better. Raises `TaskError` where there is no such score."""
    for name, weight in weights.items():
        if name not in VECTOR:
            raise TaskError.of(f"no score '{name}' to weigh{nearest(name, VECTOR)}")
        if not 0 <= weight < float("inf"):
            raise TaskError.of(f"the weight of {name} must be a number of 0 or more, not {weight}")
    if not sum(weights.values()) > 0:
        raise TaskError.of("weights must not all be 0")
    return dict(weights)


@lru_cache(maxsize=64)
def _draws(groups: int) -> list[list[int]]:
    chance = Random(0)  # noqa: S311  # the same draws each time, so that results reproduce
    return [chance.choices(range(groups), k=groups) for _ in range(RESAMPLES)]


def _quantile(values: Sequence[float], point: float) -> float:
    """Of sorted values, between neighbours in proportion."""
    place = point * (len(values) - 1)
    low = floor(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (place - low) * (values[high] - values[low])


def _value(scores: Mapping[str, Any], name: str) -> float | None:
    if name == "harm_free":
        return 1.0 - float(scores["harm_rate"])
    if name == "solved":
        return float(scores["accepted"] and not scores["harm_count"])
    value = scores.get(name)
    return None if value is None else float(value)


def _or_lowest(value: float | None) -> float:
    return float("-inf") if value is None else value


def _beats(one: Sequence[float], other: Sequence[float]) -> bool:
    return one != other and all(mine >= theirs for mine, theirs in zip(one, other, strict=True))
