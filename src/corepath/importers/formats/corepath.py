"""Read episodes that corepath itself wrote, without changing them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import RecordError
from corepath.files.episodes import read_episodes
from corepath.importers.format import record_format


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    if not isinstance(value, dict):
        return "no object with 'task' and 'calls'"
    if not isinstance(value.get("task"), str) or not isinstance(value.get("calls"), list):
        return "an episode has a 'task' and a list of 'calls'"
    if not all(isinstance(call, dict) and {"tool", "arguments"} <= call.keys() for call in value["calls"]):
        return "the calls of an episode have 'tool' and 'arguments'"
    return None


def read_record(value: Any) -> Iterator[Episode]:
    """Yield the episode in a record. Raises `RecordError` if the record is malformed."""
    for line in read_episodes("episode", BytesIO(json.dumps(value).encode())):
        if line.episode is None:
            raise RecordError(line.problem.message if line.problem else "no episode")
        yield line.episode


FORMAT: Final = record_format(
    "corepath",
    "what the episode records",
    mismatch,
    read_record,
)
