"""Logs of single requests and responses, in which each request repeats the conversation before it, or says its id.

An exchange that a later one of the same file begins with is not read: the later one stands for both. One that another
goes on from by its id is read before that one. What is kept of each while the file is read is one digest, so the file
may be larger than memory; records that others go on from by an id wait on disk.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final

from corepath.episode import Episode
from corepath.errors import Problem, RecordError
from corepath.importers.messages import metadata_of
from corepath.importers.reading import Place, records
from corepath.values import canonical

Fits = Callable[[Any], str | None]
"""Why a record is not of a format; None where it is."""
History = Callable[[Any], list[tuple[bool, Any]] | None]
"""The messages of a record, alike for equal ones, each with whether the agent speaks; None where they do not read."""
Link = Callable[[Any], tuple[str | None, str | None]]
"""The id of a record, and of the one that it goes on from."""

MOST_LOOKED_AT = 20
"""Records at the start of a file by which it is recognised."""
_OF_EXCHANGES: Final = {"request", "response", "choices", "candidates", "output"}
_GIVEN: Final = ("messages", "contents", "input")
_OF_BATCHES: Final = {"body": "request", "params": "request", "result": "response"}
_WHOLE: Final = ("response.completed", "response.incomplete", "response.failed")


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
    file: Path, fits: Fits, episodes: Callable[[Any], Iterator[Episode]], history: History, link: Link | None = None
) -> Iterator[Episode | Problem]:
    """The episodes of a file without the exchanges that others go on from, and a problem for each bad record."""

    def read() -> Iterator[tuple[int, tuple[Place, Any]]]:
        return enumerate(records(file, lambda one: fits(one) is None))

    repeated = _repeated(read(), history)
    before = {} if link is None else _linked(read(), link)
    passed = _passed(before)
    found = False
    with TemporaryFile() as kept:
        where = _keep(kept, read(), set(before.values())) if before else {}
        for number, (place, value) in read():
            found = True
            if isinstance(value, Problem):
                yield value
            elif number not in repeated and number not in passed:
                earlier = [_kept(kept, where[one]) for one in _leading_to(number, before)]
                yield from _made(place, [*earlier, value] if earlier else value, episodes)
    if not found:
        yield Problem(str(file), 1, 1, "no records in this file")


# Records


def as_exchange(record: Any) -> Any:
    """A line of a batch, or of a log of HTTP, with what was sent under `request`, what came back under `response`."""
    if not isinstance(record, Mapping):
        return record
    bodies = [("request", "body"), ("response", "body")]
    if "custom_id" in record and not record.keys() & set(_GIVEN):
        names = {name: side for name, side in _OF_BATCHES.items() if side not in record}
        record = {names.get(name, name): one for name, one in record.items()}
        bodies.append(("response", "message"))
    for side, inner in bodies:
        whole = record.get(side)
        if isinstance(whole, Mapping) and isinstance(whole.get(inner), Mapping):
            rest = {name: one for name, one in whole.items() if name != inner}
            record = {**record, side: {**rest, **whole[inner]}}
    return record


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


def in_pieces(record: Any) -> bool:
    """Whether it is a piece of a stream, a list of them, or has one for a response."""
    response = record.get("response") if isinstance(record, Mapping) else record
    return any(_is_piece(one) for one in (record, *(response if isinstance(response, list) else ())))


def why_nothing(record: Any, expected: str) -> str:
    """Why a record has no conversation: what it is instead, or else what was expected."""
    if in_pieces(record):
        return "a piece of a stream; streams are not read: log the whole response that they come to"
    if error := said_of(record, "error"):
        return f"no conversation: the API answered with an error: {canonical(error)[:200]}"
    return expected


def _is_piece(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    kind = str(value.get("type"))
    return str(value.get("object")).endswith(".chunk") or (
        kind.startswith(("response.", "message_", "content_block_")) and kind not in _WHOLE
    )


def _made(place: Place, value: Any, episodes: Callable[[Any], Iterator[Episode]]) -> Iterator[Episode | Problem]:
    try:
        yield from episodes(value)
    except RecordError as error:
        yield place.problem(str(error))


# Records that begin with others


def _repeated(read: Iterator[tuple[int, tuple[Place, Any]]], history: History) -> set[int]:
    """The numbers of the records that a later one begins with."""
    waiting: dict[bytes, list[int]] = {}
    repeated: set[int] = set()
    for number, (_, value) in read:
        messages = None if isinstance(value, Problem) else _compared(value, history)
        if not messages:
            continue
        digest = blake2b(digest_size=16)
        for last, message in enumerate(messages, start=1 - len(messages)):
            digest.update(canonical(message).encode())
            if last and (earlier := waiting.get(digest.digest())):
                repeated.add(earlier.pop())
        waiting.setdefault(digest.digest(), []).append(number)
    return repeated


def _compared(record: Any, history: History) -> list[Any] | None:
    """What a later record may begin with: the messages of an exchange, or of a request that waits for its response.

    A request that stands for itself is told from a conversation that came to nothing by what stands around it, which
    is the same in the requests of one run.
    """
    if not isinstance(record, Mapping) or not (messages := history(record)):
        return None
    said = [one for _, one in messages]
    if record.keys() & _OF_EXCHANGES:
        return said
    return None if messages[-1][0] else [{name: record[name] for name in record if name not in _GIVEN}, *said]


# Records that say which one they go on from


def _linked(read: Iterator[tuple[int, tuple[Place, Any]]], link: Link) -> dict[int, int]:
    """The numbers of the records that go on from another one, and of that one; of several with its id, the nearest."""
    owners: dict[bytes, list[int]] = {}
    wanted: dict[int, bytes] = {}
    for number, (_, value) in read:
        own, before = (None, None) if isinstance(value, Problem) else link(value)
        if own is not None:
            owners.setdefault(_digest(own), []).append(number)
        if before is not None:
            wanted[number] = _digest(before)
    found = ((number, owners[before]) for number, before in wanted.items() if before in owners)
    return {number: owned[bisect_left(owned, number) - 1] for number, owned in found}


def _digest(id_: str) -> bytes:
    return blake2b(id_.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _passed(before: Mapping[int, int]) -> set[int]:
    """The records that lead to a last one; those of a circle lead to none, and are read, which says so."""
    passed: set[int] = set()
    for last in before.keys() - set(before.values()):
        number = before.get(last)
        while number is not None and number not in passed:
            passed.add(number)
            number = before.get(number)
    return passed


def _leading_to(number: int, before: Mapping[int, int]) -> list[int]:
    """The records that a record goes on from, the first of them first."""
    found = {number: None}
    while (earlier := before.get(number)) is not None and earlier not in found:
        found[earlier] = None
        number = earlier
    return list(found)[:0:-1]


def _keep(file: IO[bytes], read: Iterator[tuple[int, tuple[Place, Any]]], wanted: set[int]) -> dict[int, int]:
    """Write these records into a file; where each of them begins there."""
    where: dict[int, int] = {}
    for number, (_, value) in read:
        if number in wanted:
            where[number] = file.tell()
            file.write(json.dumps(value).encode() + b"\n")
    return where


def _kept(file: IO[bytes], where: int) -> Any:
    file.seek(where)
    return json.loads(file.readline())
