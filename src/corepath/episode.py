"""Episodes: what one agent did in one task, and what was said meanwhile."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Final

from corepath.notation.call import Call
from corepath.notation.message import Message

NO_AGENT_ACTIONS: Final = "no_agent_actions"
"""Tag for a task that needs actions only from a simulated user and none from the agent.

Records of the task's episodes have a key with the same name.
"""
ANSWERED: Final = "answered"
"""Outcome: the agent finished."""
STEP_LIMIT: Final = "step limit"
"""Outcome: the agent reached the task's step limit."""
TURN_LIMIT: Final = "turn limit"
"""Outcome: the model reached its maximum number of turns."""
CONTEXT_LIMIT: Final = "context limit"
"""Outcome: the conversation no longer fitted into the model's context."""
FAILED_OUTSIDE: Final = "failed outside"
"""Outcome: something other than the agent failed. The episode is left out of all means."""
IMPOSSIBLE: Final = "impossible"
"""Value of `Episode.mistake` if the mistake could not be planted. The episode is left out of all means."""


_BFCL: Final = re.compile(r"(bfcl/.+)_\d+", re.DOTALL)

Variant = tuple[str, int]
"""A task id and the seed of the task's variant."""


@dataclass(frozen=True)
class Episode:
    """One run of an agent on a task.

    `seed` selects the task's variant, and `fingerprint` identifies the exact task. `scoring` is the name of the scoring
    profile, or a mapping with all scoring options. `outcome` says how the episode ended. If something outside the agent
    failed, `failure` says why. `reward` is the score in the imported data. `mistake` says whether a built-in agent's
    mistake was planted. `unasked` is True if the task needs no action from the agent. `extra` holds everything else in
    the record. Fields that were not recorded are None or empty.
    """

    task: str
    calls: tuple[Call, ...]
    agent: str | None = None
    epoch: int = 0
    params: Mapping[str, Any] = field(default_factory=dict)
    answer: Any = None
    other_calls: tuple[Call, ...] = ()
    messages: tuple[Message, ...] = ()
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

    def __init__(
        self,
        task: str,
        calls: tuple[Call, ...],
        agent: str | None = None,
        epoch: int = 0,
        params: Mapping[str, Any] | None = None,
        answer: Any = None,
        other_calls: tuple[Call, ...] = (),
        messages: tuple[Message, ...] = (),
        seed: int | None = None,
        fingerprint: str | None = None,
        scoring: str | Mapping[str, Any] | None = None,
        outcome: str | None = None,
        failure: Mapping[str, Any] | None = None,
        reward: Any = None,
        mistake: str | None = None,
        unasked: bool = False,  # noqa: FBT001
        scores: Mapping[str, Any] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        own = self.__dict__  # several times as fast as the method that a frozen dataclass gets
        own["task"] = task
        own["calls"] = calls
        own["agent"] = agent
        own["epoch"] = epoch
        own["params"] = {} if params is None else params
        own["answer"] = answer
        own["other_calls"] = other_calls
        own["messages"] = messages
        own["seed"] = seed
        own["fingerprint"] = fingerprint
        own["scoring"] = scoring
        own["outcome"] = outcome
        own["failure"] = {} if failure is None else failure
        own["reward"] = reward
        own["mistake"] = mistake
        own["unasked"] = unasked
        own["scores"] = {} if scores is None else scores
        own["extra"] = {} if extra is None else extra


def change_fields(episode: Episode, **fields: Any) -> Episode:
    """Return a copy of an episode with some fields changed, as `dataclasses.replace` does, but much faster."""
    changed = object.__new__(Episode)
    changed.__dict__.update(episode.__dict__, **fields)
    return changed


_RECORDED: Final[Mapping[str, tuple[str, type | tuple[type, ...]]]] = {
    "ended": ("outcome", str),
    "failure": ("failure", dict),
    "reward": ("reward", (bool, int, float, str)),
    "fault": ("mistake", str),
    NO_AGENT_ACTIONS: ("unasked", bool),
    "scores": ("scores", dict),
}
"""Maps keys in a record to fields of `Episode`. Each value is the field's name and the expected type in the record."""


_TYPED: Final = tuple((key, name) for key, (name, _) in _RECORDED.items() if name != "scores")


def typed_fields(record: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the keys in a record that the episode schema does not define to keyword arguments for `Episode`.

    Keys for which `Episode` has no field and values of an unexpected type go into `extra`.
    """
    fields: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for key, value in record.items():
        known = _RECORDED.get(key)
        if known is not None and isinstance(value, known[1]) and value is not False and value != {}:
            fields[known[0]] = value
        else:
            extra[key] = value
    fields["extra"] = extra
    return fields


def free_record(episode: Episode) -> dict[str, Any]:
    """Return the keys in an episode's record that the episode schema does not define, e.g. `ended` and `scores`.

    This is the inverse of `typed_fields`.
    """
    record: dict[str, Any] = {}
    own = episode.__dict__
    for key, name in _TYPED:
        value = own[name]
        if value is not None and value is not False and value != {}:
            record[key] = value
    record |= episode.extra
    if episode.scores:
        record["scores"] = episode.scores
    return record


def events(episode: Episode) -> Iterator[Call | Message]:
    """Yield an episode's calls and messages in the order in which they happened.

    A message with an unknown place comes at the end.
    """
    last = len(episode.calls)
    waiting = sorted(episode.messages, key=lambda one: last if one.before_call is None else one.before_call)
    said = iter(waiting)
    message = next(said, None)
    for place, call in enumerate(episode.calls):
        while message is not None and message.before_call is not None and message.before_call <= place:
            yield message
            message = next(said, None)
        yield call
    while message is not None:
        yield message
        message = next(said, None)


EXCLUSIONS: Final = {
    "outside": "failed outside the agent",
    "unplanted": "the fault could not be planted",
    "unasked": "nothing was asked of the agent",
}
"""Reasons for leaving an episode out of the means, each with its description."""


def exclusion(episode: Episode) -> str | None:
    """Return the reason for leaving an episode out of the means, or None if the episode counts.

    The reason is a key in `EXCLUSIONS`.
    """
    if episode.outcome == FAILED_OUTSIDE:
        return "outside"
    if episode.mistake == IMPOSSIBLE:
        return "unplanted"
    return "unasked" if episode.unasked else None


UNNAMED: Final = "?"
"""The name of an agent that is unknown."""


def agent_of(episode: Episode) -> str:
    """Return the agent's name, or `?` if it is unknown."""
    return episode.agent or UNNAMED


def reward_of(episode: Episode) -> float | None:
    """Return the reward that the source of an episode gave it, or None if it gave none or one that is not a number."""
    if not isinstance(episode.reward, (bool, int, float)):
        return None
    try:
        reward = float(episode.reward)
    except OverflowError:
        return None
    return reward if isfinite(reward) else None


def trace_of(episode: Episode) -> str | None:
    """Return the id of an episode's trace at its source, or None if it is unknown.

    It is the record's `trace`, or the `trace_id` that an importer kept in its `metadata`.
    """
    found = episode.extra.get("trace")
    if found is None:
        metadata = episode.extra.get("metadata")
        found = metadata.get("trace_id") if isinstance(metadata, Mapping) else None
    return found if isinstance(found, str) else None


def usage_of(episode: Episode, name: str) -> float | None:
    """Return the `cost`, `tokens` or `seconds` that the source of an episode recorded, or None if it recorded none.

    Without a total, tokens are those of input and output. The seconds are those of the episode, or else the time that
    its requests to a model took.
    """
    usage = episode.extra.get("usage")
    used = usage if isinstance(usage, Mapping) else {}
    match name:
        case "cost":
            return _amount(used.get("total_cost"))
        case "seconds":
            whole = _amount(episode.extra.get("seconds"))
            return whole or _amount(used.get("seconds"))
    total = _amount(used.get("total_tokens"))
    if total is not None:
        return total
    parts = [one for one in map(_amount, (used.get("input_tokens"), used.get("output_tokens"))) if one is not None]
    return sum(parts) if parts else None


def _amount(value: Any) -> float | None:
    """Return a recorded amount as a number, or None if it is not a number from 0 to 1e15."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and 0 <= value < 1e15 else None


def variant_of(episode: Episode) -> Variant:
    """Return the episode's task id and seed. The seed is 0 if none was recorded."""
    return episode.task, episode.seed or 0


def variant_name(task: str, seed: int) -> str:
    """Return a variant's name for messages, e.g. `farm/water_plant (seed 3)`. Seed 0 is not shown; no task is `?`."""
    return f"{task or '?'} (seed {seed})" if seed else task or "?"


def world_of(episode: Episode) -> str:
    """Return the name of the episode's world, or `?` if the episode has no task."""
    return world_name(episode.task) or "?"


def world_name(task: str) -> str:
    """Return the world in a task id, which is all parts but the last: `farm` in `farm/water_plant`.

    The domains of a benchmark are worlds of their own, e.g. `tau2/airline` in `tau2/airline/12`. In BFCL the last part
    has both the category and the number, so that `bfcl/multi_turn_base` is the world of `bfcl/multi_turn_base_3`. An id
    with only one part is its own world.
    """
    if found := _BFCL.fullmatch(task):
        return found[1]
    return task.rpartition("/")[0] or task
