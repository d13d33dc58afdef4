"""Episodes: the recorded calls of one agent on one task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from corepath.notation.call import Call

NO_AGENT_ACTIONS: Final = "no_agent_actions"
"""Tag of a task that needs no action of the agent, only of a simulated user; also a key in its episodes."""
ANSWERED: Final = "answered"
"""Outcome: the agent finished."""
STEP_LIMIT: Final = "step limit"
"""Outcome: the agent reached the task's limit of calls."""
TURN_LIMIT: Final = "turn limit"
"""Outcome: the model reached the limit of turns."""
CONTEXT_LIMIT: Final = "context limit"
"""Outcome: the conversation no longer fitted into the model's context."""
FAILED_OUTSIDE: Final = "failed outside"
"""Outcome: something other than the agent failed. The episode is left out of all means."""
IMPOSSIBLE: Final = "impossible"
"""`mistake` of an episode whose mistake could not be planted. The episode is left out of all means."""


Variant = tuple[str, int]
"""A task id and the seed of its variant."""


@dataclass(frozen=True)
class Episode:
    """One run of an agent on a task.

    `seed` is the seed of the task's variant and `fingerprint` identifies the exact task. `scoring` is the name of the
    scoring profile, or all its options. `outcome` says how the episode ended and `failure` why it failed outside the
    agent. `reward` is the score that its source gave it. `mistake` says whether a built-in agent's mistake was planted.
    `unasked` marks an episode whose task needs no action of the agent. `extra` holds everything else in the record. A
    field that was not recorded is None or empty.
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
"""Keys of a record that are fields of `Episode`, each with the field's name and its type in the record."""


def typed_fields(record: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments for `Episode` from the free part of a record: typed fields, and the rest as `extra`.

    A value of an unexpected type stays in `extra`.
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
    """The inverse of `typed_fields`: the free part of an episode's record."""
    typed = {key: getattr(episode, name) for key, (name, _) in _RECORDED.items()}
    record = {key: value for key, value in typed.items() if value is not None and value is not False and value != {}}
    scores = {"scores": record.pop("scores")} if "scores" in record else {}
    return {**record, **episode.extra, **scores}


EXCLUSIONS: Final = {
    "outside": "failed outside the agent",
    "unplanted": "the fault could not be planted",
    "unasked": "nothing was asked of the agent",
}
"""Reasons to leave episodes out of the means, in words."""


def exclusion(episode: Episode) -> str | None:
    """The reason to leave an episode out of the means, as a key of `EXCLUSIONS`; None if it counts."""
    if episode.outcome == FAILED_OUTSIDE:
        return "outside"
    if episode.mistake == IMPOSSIBLE:
        return "unplanted"
    return "unasked" if episode.unasked else None


def agent_of(episode: Episode) -> str:
    """The agent's name, or `?` if unknown."""
    return episode.agent or "?"


def variant_of(episode: Episode) -> Variant:
    """The task id and seed of an episode."""
    return episode.task, episode.seed or 0


def variant_name(task: str, seed: int) -> str:
    """The name of a variant in messages: the task id, and the seed unless it is 0."""
    return f"{task} (seed {seed})" if seed else task


def world_of(episode: Episode) -> str:
    """The name of the world: the first part of the task id."""
    return episode.task.partition("/")[0]
