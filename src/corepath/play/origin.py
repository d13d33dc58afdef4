"""What corepath says of an episode in the formats of others, under a key of its own, and reads back from there.

Somebody else's trace may have a `task` or a `seed` too; only what stands under this key is ours.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from io import BytesIO
from typing import Any, Final, TypeGuard

from corepath.episode import Episode, free_record, typed_fields
from corepath.errors import RecordError
from corepath.files.episodes import episode_json, read_episodes
from corepath.files.fingerprint import fingerprint
from corepath.scoring.options import Scoring
from corepath.task import Task

KEY: Final = "corepath"
EPISODE: Final = "episode"
"""Where under it a log of Inspect has the whole episode, as text: of other values Inspect leaves out what is null."""


def origin(episode: Episode) -> dict[str, Any]:
    """All that is recorded of an episode but its calls and messages, which stand where the format has them."""
    record: dict[str, Any] = json.loads(episode_json(episode))
    return {name: value for name, value in record.items() if name not in ("calls", "messages")}


def identity(task: Task, seed: int, scoring: Scoring) -> dict[str, Any]:
    """What is said of every episode of a task, before one is played."""
    return {"task": task.id, "seed": seed, "fingerprint": fingerprint(task), "scoring": scoring.recorded}


def origin_in(value: Any) -> Mapping[str, Any] | None:
    """What corepath said of an episode in an object; None where it said nothing."""
    said = value.get(KEY) if isinstance(value, Mapping) else None
    return said if _is_ours(said) else None


def restore(episode: Episode, said: Mapping[str, Any] | None) -> Episode:
    """The imported episode with all that corepath said of it. Raises `RecordError` where that cannot be read."""
    if said is None:
        return episode
    line = next(read_episodes(KEY, BytesIO(json.dumps({"calls": [], **said}).encode())))
    if line.episode is None:
        raise RecordError(f"what stands under '{KEY}' cannot be read: {line.problem.message if line.problem else ''}")
    known = line.episode
    return replace(
        known,
        calls=known.calls if "calls" in said else episode.calls,
        messages=known.messages if "messages" in said else episode.messages,
        agent=episode.agent if known.agent is None else known.agent,
        epoch=known.epoch if "epoch" in said else episode.epoch,
        answer=episode.answer if known.answer is None else known.answer,
        **typed_fields({**free_record(episode), **free_record(known)}),
    )


def _is_ours(said: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(said, Mapping) and "task" in said
