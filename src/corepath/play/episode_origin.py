"""Store corepath's own data about an episode in files of other formats, so that importing restores the episode.

This data is called the episode's origin. All of it is stored under a single key, because a file from another tool may
have its own `task` or `seed`.
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
"""The key for corepath's data in a file of another format."""
EPISODE: Final = "episode"
"""The key under `KEY` that holds the whole episode in an Inspect log.

The episode is stored as a string, because Inspect drops null values.
"""


def origin(episode: Episode) -> dict[str, Any]:
    """Return an episode's origin: everything recorded about the episode except its calls and messages.

    Other formats have their own fields for calls and messages.
    """
    record: dict[str, Any] = json.loads(episode_json(episode))
    return {name: value for name, value in record.items() if name not in ("calls", "messages")}


def identity(task: Task, seed: int, scoring: Scoring) -> dict[str, Any]:
    """Return what is known about an episode before it is played: task, seed, fingerprint and scoring options."""
    return {"task": task.id, "seed": seed, "fingerprint": fingerprint(task), "scoring": scoring.recorded}


def origin_in(value: Any) -> Mapping[str, Any] | None:
    """Return the data about an episode that corepath stored in `value`, or None if there is none."""
    recorded = value.get(KEY) if isinstance(value, dict) else None
    return recorded if _is_origin(recorded) else None


def restore(episode: Episode, recorded: Mapping[str, Any] | None) -> Episode:
    """Complete an imported episode with the data that corepath stored about it.

    `recorded` holds this data. If `recorded` is None, the episode is returned unchanged. Raises `RecordError` if the
    data is malformed.
    """
    if recorded is None:
        return episode
    line = next(read_episodes(KEY, BytesIO(json.dumps({"calls": [], **recorded}).encode())))
    if line.episode is None:
        raise RecordError(f"the value under '{KEY}' cannot be read: {line.problem.message if line.problem else ''}")
    known = line.episode
    return replace(
        known,
        calls=known.calls if "calls" in recorded else episode.calls,
        messages=known.messages if "messages" in recorded else episode.messages,
        agent=episode.agent if known.agent is None else known.agent,
        epoch=known.epoch if "epoch" in recorded else episode.epoch,
        answer=episode.answer if known.answer is None else known.answer,
        **typed_fields({**free_record(episode), **free_record(known)}),
    )


def _is_origin(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, dict) and "task" in value
