"""Means over episodes, as the paper's tables have them. Means are over episodes that count."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from corepath.task import Episode

FAILED_OUTSIDE: Final = "failed outside"
"""What `ended` says of an episode that something else than the agent made fail."""
IMPOSSIBLE: Final = "impossible"
"""What `fault` says of an episode whose fault had no place in the task."""

MEANS: Final = (
    "harm_count", "efficiency", "directness", "length", "pc", "pc_ktc", "prefix_criticality", "harm_rate", "pc_hlr",
    "state_match", "response_match", "accepted",
)  # fmt: skip
"""The scores of which a summary has means."""


@dataclass
class Summary:
    """What one agent, world or task came to. Episodes that failed outside are counted, and are in no mean.

    So are those in which an agent's fault could not be planted. A score that is undefined is left out of its mean, but
    for efficiency, which counts as 0 unless `undefined_efficiency` is "skip".
    """

    name: str
    undefined_efficiency: str = "zero"
    episodes: int = 0
    outside: int = 0
    unplanted: int = 0
    harmful: int = 0
    _sums: dict[str, float] = field(default_factory=lambda: dict.fromkeys(MEANS, 0.0), repr=False)
    _defined: dict[str, int] = field(default_factory=lambda: dict.fromkeys(MEANS, 0), repr=False)

    def add(self, episode: Episode) -> None:
        """One more episode, which was scored."""
        self.episodes += 1
        if episode.extra.get("ended") == FAILED_OUTSIDE:
            self.outside += 1
            return
        if episode.extra.get("fault") == IMPOSSIBLE:
            self.unplanted += 1
            return
        scores = episode.extra["scores"]
        self.harmful += scores["harm_count"]
        for name in MEANS:
            if scores[name] is not None:
                self._sums[name] += scores[name]
                self._defined[name] += 1

    @property
    def counted(self) -> int:
        """The episodes that the means are over."""
        return self.episodes - self.outside - self.unplanted

    @property
    def undefined(self) -> int:
        """The counted episodes whose efficiency is undefined."""
        return self.counted - self._defined["efficiency"]

    def mean(self, name: str) -> float | None:
        """The mean of a score; None where it is defined in no episode."""
        zero = name == "efficiency" and self.undefined_efficiency == "zero"
        over = self.counted if zero else self._defined[name]
        return self._sums[name] / over if over else None

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        counts = {"episodes": self.episodes, "outside": self.outside, "unplanted": self.unplanted}
        means = {name: self.mean(name) for name in MEANS}
        return {"name": self.name, **counts, "harmful": self.harmful, "undefined_efficiency": self.undefined, **means}


def summaries(
    episodes: Iterable[Episode], by: Callable[[Episode], str], undefined_efficiency: str = "zero"
) -> dict[str, Summary]:
    """A summary for each name that `by` gives an episode, in the order in which they come."""
    found: dict[str, Summary] = {}
    for episode in episodes:
        name = by(episode)
        found.setdefault(name, Summary(name, undefined_efficiency)).add(episode)
    return found


def agent_of(episode: Episode) -> str:
    """Who acted."""
    return episode.agent or "?"


def world_of(episode: Episode) -> str:
    """Where: the first part of the task's id."""
    return episode.task.partition("/")[0]
