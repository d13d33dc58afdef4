"""Read server-sent events, the text in which APIs stream their responses: lines such as `data: {...}`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

_FIELD: Final = re.compile(r"\ufeff?(?:(?:data|event|id|retry):|:)")
_JSON: Final = re.compile(r"data:\s*[\[{]")
_DATA: Final = "data:"
_END: Final = "[DONE]"
_SAMPLE: Final = 20
"""How many lines at the start of a text are checked."""


def is_event_text(lines: Iterable[str]) -> bool:
    """Return True if `lines` are server-sent events, judging by the first lines."""
    first = list(islice((line for line in lines if line.strip()), _SAMPLE))
    if not first or _FIELD.match(first[0]) is None:
        return False
    return any(map(_JSON.match, first)) or all(line.startswith(":") for line in first)


def read_events(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the data of each event, with the number of the line on which it begins.

    An empty line ends an event. Logs often lack these lines, so data that is complete JSON ends an event too. Names and
    ids of events, comments and the mark `[DONE]` are skipped.
    """
    start, data = 0, ""
    for number, raw in enumerate(lines, start=1):
        line = raw.removeprefix("\ufeff").rstrip("\r\n")
        if data and (not line.strip() or (line.startswith(_DATA) and _is_json(data))):
            yield start, data
            data = ""
        if line.startswith(_DATA):
            given = line.removeprefix(_DATA).strip()
            start, data = (start, f"{data}\n{given}") if data else (number, given)
            data = "" if data == _END else data
    if data:
        yield start, data


def _is_json(text: str) -> bool:
    try:
        json.loads(text, parse_int=str)
    except (ValueError, RecursionError):
        return False
    return True
