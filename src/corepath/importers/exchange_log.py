"""Read files of API exchanges that repeat or continue each other.

An exchange is a request, its response, or both. Each request repeats the conversation so far, or names the response
that it continues. An exchange that a later exchange repeats is skipped, since the later exchange contains all of it but
the time and the tokens of the earlier response, which are added to the later exchange's episode.
Exchanges linked by ids are joined into one conversation. Only a digest of each record is kept in memory, and linked
records are kept on disk, so a file may be larger than memory.
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
from corepath.importers.exchanges import INPUT_FIELDS
from corepath.importers.format import Format, Mismatch, ReadRecord, recognise_records
from corepath.importers.reading import Place, read_records, try_record
from corepath.importers.repeated_exchanges import complete
from corepath.importers.streams import NewStreams, is_stream, join_records
from corepath.values import canonical

History = Callable[[Any], list[tuple[bool, Any]] | None]
"""A function that returns a record's messages for comparison, or None if the record is malformed.

Each message is a pair: whether the agent wrote it, and its content in a form that can be compared.
"""
Link = Callable[[Any], tuple[str | None, str | None]]
"""A function that returns a record's id and the id of the record that it continues. Either id may be None."""

_Numbered = Iterator[tuple[int, tuple[Place, Any]]]
_EXCHANGE_FIELDS: Final = {
    "request", "response", "choices", "candidates", "output", "schemaType", "message", "@message",
}  # fmt: skip
"""The fields by which an exchange is told from a bare request. The last three are in logs of Bedrock."""


def exchange_format(
    name: str,
    errors: str,
    mismatch: Mismatch,
    read_record: ReadRecord,
    history: History,
    link: Link | None = None,
    *,
    streams: NewStreams | None = None,
) -> Format:
    """Define a format whose records may be exchanges that repeat or continue each other, or pieces of streams.

    `errors` says when a call counts as failed. `history` returns the messages by which repeated records are found, and
    `link` returns the ids by which records continue each other. `streams` joins the pieces of streams, if a record may
    be a piece.
    """

    def is_record(value: Any) -> bool:
        return mismatch(value) is None and (streams is None or not is_stream(value, streams))

    def read(file: Path) -> Iterator[Episode | Problem]:
        def numbered() -> _Numbered:
            records = read_records(file, is_record)
            return enumerate(records if streams is None else join_records(records, streams))

        return _read(file, numbered, read_record, history, link)

    return Format(name, errors, lambda sample: recognise_records(sample, mismatch), read)


def _read(
    file: Path, numbered: Callable[[], _Numbered], read_record: ReadRecord, history: History, link: Link | None
) -> Iterator[Episode | Problem]:
    previous = {} if link is None else _find_previous(numbered(), link)
    repeated = _find_repeated(numbered(), history)
    continued = _find_continued(previous)
    told: dict[int, list[Episode]] = {}
    """The episodes of the skipped exchanges that each later exchange repeats."""
    empty = True
    with TemporaryFile() as kept:
        offsets = _keep(kept, numbered(), set(previous.values())) if previous else {}
        for number, (place, value) in numbered():
            empty = False
            if number in repeated:
                told.setdefault(repeated[number], []).extend(_read_skipped(value, read_record, told.pop(number, [])))
            elif number not in continued:
                earlier = [_load(kept, offsets[one]) for one in _chain_before(number, previous)]
                for found in try_record(place, [*earlier, value] if earlier else value, read_record):
                    yield found if isinstance(found, Problem) else complete(found, told.pop(number, []))
    if empty:
        yield Problem(str(file), 1, 1, "no records in this file")


# Records that repeat earlier ones


def _read_skipped(value: Any, read_record: ReadRecord, told: list[Episode]) -> list[Episode]:
    """Return the episode of a skipped exchange, with what the exchanges before it told, or `told` if it has none."""
    try:
        found = next(iter(read_record(value)), None)
    except RecordError:
        found = None
    return told if found is None else [complete(found, told)]


def _find_repeated(records: _Numbered, history: History) -> dict[int, int]:
    """Map the number of each record whose messages are all repeated at the start of a later record to that record's."""
    waiting: dict[bytes, list[int]] = {}
    repeated: dict[int, int] = {}
    for number, (_, value) in records:
        messages = None if isinstance(value, Problem) else _messages_to_compare(value, history)
        if not messages:
            continue
        digest = blake2b(digest_size=16)
        for last, message in enumerate(messages, start=1 - len(messages)):
            digest.update(canonical(message).encode())
            if last and (earlier := waiting.get(digest.digest())):
                repeated[earlier.pop()] = number
        waiting.setdefault(digest.digest(), []).append(number)
    return repeated


def _messages_to_compare(record: Any, history: History) -> list[Any] | None:
    """Return the messages to compare with later records, or None if no later record can continue `record`.

    If `record` is a bare request, an object with its other fields comes first. These fields are the same in all
    requests from one run. They distinguish a bare request from a conversation in which the agent did nothing.
    """
    if not isinstance(record, Mapping) or not (messages := history(record)):
        return None
    contents = [one for _, one in messages]
    if record.keys() & _EXCHANGE_FIELDS:
        return contents
    agent_spoke_last = messages[-1][0]
    if agent_spoke_last:
        return None
    return [{name: record[name] for name in record if name not in INPUT_FIELDS}, *contents]


# Records that name the record they continue


def _find_previous(records: _Numbered, link: Link) -> dict[int, int]:
    """Map each linked record's number to the number of the record that it continues.

    If several records have the id that a link names, the nearest earlier record is used.
    """
    owners: dict[bytes, list[int]] = {}
    wanted: dict[int, bytes] = {}
    for number, (_, value) in records:
        own, previous = (None, None) if isinstance(value, Problem) else link(value)
        if own is not None:
            owners.setdefault(_digest(own), []).append(number)
        if previous is not None:
            wanted[number] = _digest(previous)
    found = ((number, owners[digest]) for number, digest in wanted.items() if digest in owners)
    return {number: owned[bisect_left(owned, number) - 1] for number, owned in found}


def _digest(id_: str) -> bytes:
    return blake2b(id_.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _find_continued(previous: Mapping[int, int]) -> set[int]:
    """Return the numbers of the records that another record continues.

    Records in a cycle are not included, so they are read later and the cycle is reported.
    """
    continued: set[int] = set()
    for last in previous.keys() - set(previous.values()):
        number = previous.get(last)
        while number is not None and number not in continued:
            continued.add(number)
            number = previous.get(number)
    return continued


def _chain_before(number: int, previous: Mapping[int, int]) -> list[int]:
    """Return the numbers of the records that record `number` continues, oldest first."""
    found = {number: None}
    while (earlier := previous.get(number)) is not None and earlier not in found:
        found[earlier] = None
        number = earlier
    return list(found)[:0:-1]


def _keep(file: IO[bytes], records: _Numbered, wanted: set[int]) -> dict[int, int]:
    """Write the `wanted` records to `file`, and return a map from record number to file offset."""
    offsets: dict[int, int] = {}
    for number, (_, value) in records:
        if number in wanted:
            offsets[number] = file.tell()
            file.write(json.dumps(value).encode() + b"\n")
    return offsets


def _load(file: IO[bytes], offset: int) -> Any:
    file.seek(offset)
    return json.loads(file.readline())
