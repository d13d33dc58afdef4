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

    `seed` is the variant of the task that was played, `fingerprint` identifies the exact task, and `scoring` is how it
    was scored: a profile's name, or every option. `outcome` says how the episode ended, `failure` why it failed outside
    the agent, `reward` what its source gave it, and `mistake` whether a built-in agent's planted mistake is in it. A
    field is None or empty if nobody recorded it. `unasked` marks an episode that asks nothing of the agent. `extra`
    keeps everything else in the record.
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
    outcome: str | None = None
    failure: Mapping[str, Any] = field(default_factory=dict)
    reward: Any = None
    mistake: str | None = None
    unasked: bool = False
    scores: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


_RECORDED: Final[Mapping[str, tuple[str, type | tuple[type, ...]]]] = {
    "ended": ("outcome", str),
    "failure": ("failure", dict),
    "reward": ("reward", (bool, int, float, str)),
    "fault": ("mistake", str),
    NO_AGENT_ACTIONS: ("unasked", bool),
    "scores": ("scores", dict),
}
"""The keys of a record that are fields of an episode under another name, or of a type that must be checked."""


def typed_fields(record: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments of `Episode` from the free part of a record: typed fields, and the rest as `extra`.

    A value of an unexpected type is not understood, so it stays in `extra`.
    """
    fields: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for key, value in record.items():
        name, kind = _RECORDED.get(key, (key, ()))
        if isinstance(value, kind) and value is not False and value != {}:
            fields[name] = value
        else:
            extra[key] = value
    return {**fields, "extra": extra}


def free_record(episode: Episode) -> dict[str, Any]:
    """The inverse of `typed_fields`: what a record of the episode holds beside the fields that the format defines."""
    typed = {key: getattr(episode, name) for key, (name, _) in _RECORDED.items()}
    record = {key: value for key, value in typed.items() if value is not None and value is not False and value != {}}
    scores = {"scores": record.pop("scores")} if "scores" in record else {}
    return {**record, **episode.extra, **scores}


EXCLUSIONS: Final = {
    "outside": "failed outside the agent",
    "unplanted": "the fault could not be planted",
    "unasked": "nothing was asked of the agent",
}
"""Why the means leave an episode out."""


def exclusion(episode: Episode) -> str | None:
    """Which of these reasons an episode has."""
    if episode.outcome == FAILED_OUTSIDE:
        return "outside"
    if episode.mistake == IMPOSSIBLE:
        return "unplanted"
    return "unasked" if episode.unasked else None


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
