"""Logs of single requests and responses, in which each request repeats the conversation before it.

An exchange that a later one of the same file begins with is not read: the later one stands for both. What is kept of
each while the file is read is one digest, so the file may be larger than memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from corepath.errors import Problem
from corepath.importers.conversation import RecordError, metadata_of
from corepath.importers.reading import Place, records
from corepath.json_values import canonical
from corepath.task import Episode

Fits = Callable[[Any], str | None]
"""Why a record is not of a format; None where it is."""
History = Callable[[Any], list[Any] | None]
"""The messages of an exchange and its response, alike for equal ones; None where a record is no exchange."""

MOST_LOOKED_AT = 20
"""Records at the start of a file by which it is recognised."""


def why_no_record_fits(file: Path, fits: Fits) -> str | None:
    """Why none of the first records is of a format; None where one is."""
    why: str | None = None
    read = 0
    for _, value in records(file, lambda one: fits(one) is None):
        if isinstance(value, Problem):
            why = why or value.message
            continue
        why = fits(value)
        read += 1
        if why is None or read == MOST_LOOKED_AT:
            return why
    return why or "no records in it"


def streamed(
    file: Path, fits: Fits, episodes: Callable[[Any], Iterator[Episode]], history: History
) -> Iterator[Episode | Problem]:
    """The episodes of a file without the exchanges that others go on from, and a problem for each bad record."""
    repeated = _repeated(file, fits, history)
    found = False
    for number, (place, value) in enumerate(records(file, lambda one: fits(one) is None)):
        found = True
        if isinstance(value, Problem):
            yield value
        elif number not in repeated:
            yield from _made(place, value, episodes)
    if not found:
        yield Problem(str(file), 1, 1, "no records in this file")


def said_of(record: Any, *names: str) -> Any:
    """The first of these fields that a record's response has, else the record itself, else its request."""
    if not isinstance(record, Mapping):
        return None
    parts = [part for part in (record.get("response"), record, record.get("request")) if isinstance(part, Mapping)]
    return next((part[name] for part in parts for name in names if part.get(name) is not None), None)


def around(record: Any, *conversation: str) -> dict[str, Any] | None:
    """What stands around a conversation: in the record, in its response, and in its request."""
    if not isinstance(record, Mapping):
        return None
    without = (*conversation, "request", "response", "model", "tools")
    found = [metadata_of(part, *without) or {} for part in (record.get("request"), record.get("response"), record)]
    return {**found[0], **found[1], **found[2]} or None


def plain(value: Any) -> Any:
    """A message without what may differ between its copies: fields that are null, and marks of caching."""
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items() if one is not None and name != "cache_control"}
    return [plain(one) for one in value] if isinstance(value, list) else value


def _made(place: Place, value: Any, episodes: Callable[[Any], Iterator[Episode]]) -> Iterator[Episode | Problem]:
    try:
        yield from episodes(value)
    except RecordError as error:
        yield place.problem(str(error))


def _repeated(file: Path, fits: Fits, history: History) -> set[int]:
    """The numbers of the records that a later one begins with."""
    waiting: dict[bytes, int] = {}
    repeated: set[int] = set()
    for number, (_, value) in enumerate(records(file, lambda one: fits(one) is None)):
        messages = None if isinstance(value, Problem) else history(value)
        if not messages:
            continue
        digest = blake2b(digest_size=16)
        for last, message in enumerate(messages, start=1 - len(messages)):
            digest.update(canonical(message).encode())
            if last and (earlier := waiting.pop(digest.digest(), None)) is not None:
                repeated.add(earlier)
        waiting[digest.digest()] = number
    return repeated
