"""An episode: what one agent did on one task, once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from corepath.notation.call import Call

NO_AGENT_ACTIONS: Final = "no_agent_actions"
"""Marks a task that asks nothing of the agent, only of a simulated user, and its episodes."""
ANSWERED: Final = "answered"
STEP_LIMIT: Final = "step limit"
TURN_LIMIT: Final = "turn limit"
CONTEXT_LIMIT: Final = "context limit"
"""How an episode ends: the agent was finished, or had no calls, turns or room for words left; all of these count."""
FAILED_OUTSIDE: Final = "failed outside"
"""What `ended` says of an episode that something else than the agent made fail."""
IMPOSSIBLE: Final = "impossible"
"""What `fault` says of an episode whose fault had no place in the task."""


Variant = tuple[str, int]
"""A task and the seed of its variant."""


@dataclass(frozen=True)
class Episode:
    """One agent on one task, once.

    `seed` is the variant of the task that was played, `fingerprint` says which task that was to the letter, and
    `scoring` how it was scored: a profile's name, or every option. They are None where nobody recorded them.
    """

    task: str
    calls: tuple[Call, ...]
    agent: str | None = None
    epoch: int = 0
    params: Mapping[str, Any] = field(default_factory=dict)
    answer: Any = None
    other_calls: tuple[Call, ...] = ()
    messages: tuple[Any, ...] = ()
    seed: int | None = None
    fingerprint: str | None = None
    scoring: str | Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


EXCLUSIONS: Final = {
    "outside": "failed outside the agent",
    "unplanted": "have no place for the agent's fault",
    "unasked": "ask nothing of the agent",
}
"""Why episodes count in no mean, in words."""


def exclusion(episode: Episode) -> str | None:
    """Which of these reasons an episode has."""
    if episode.extra.get("ended") == FAILED_OUTSIDE:
        return "outside"
    if episode.extra.get("fault") == IMPOSSIBLE:
        return "unplanted"
    return "unasked" if episode.extra.get(NO_AGENT_ACTIONS) else None


def agent_of(episode: Episode) -> str:
    """Who acted."""
    return episode.agent or "?"


def variant_of(episode: Episode) -> Variant:
    """Which task, and which variant of it."""
    return episode.task, episode.seed or 0


def variant_name(task: str, seed: int) -> str:
    """The task's id, and the seed of its variant where that is not 0."""
    return f"{task} (seed {seed})" if seed else task


def world_of(episode: Episode) -> str:
    """Where: the first part of the task's id."""
    return episode.task.partition("/")[0]
