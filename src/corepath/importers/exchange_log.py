"""Read files of API exchanges that repeat or continue each other.

An exchange is a request, its response, or both. Each request repeats the conversation so far, or names the response
that it continues. An exchange that a later exchange repeats is skipped, since the later exchange contains all of it but
the time and the tokens of the earlier response, which are added to the later exchange's episode.
Exchanges linked by ids are joined into one conversation. Only digests are kept in memory, and the lines of the file are
read a second time, so a file may be larger than memory.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from itertools import chain, dropwhile, islice
from pathlib import Path
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import Problem, RecordError
from corepath.importers.exchanges import INPUT_FIELDS
from corepath.importers.format import Format, Mismatch, ReadRecord, recognise_records
from corepath.importers.kept_records import KeptRecords
from corepath.importers.reading import Place, read_records, try_record
from corepath.importers.repeated_exchanges import complete
from corepath.importers.streams import NewStreams, is_stream, join_records
from corepath.values import canonical_json

History = Callable[[Any], Iterable[tuple[bool, Callable[[], Any]]]]
"""A function that returns a record's messages for comparison, or none if no other record can continue the record.

Each message is a pair: whether the agent wrote it, and a function that returns its content in a form that can be
compared. Most records share their first messages with no other record, so that few messages and contents are needed. If
the record is malformed, the function or the iteration over the messages raises `RecordError`.
"""
ToCompare = Callable[[Any], Iterator[Callable[[], Any]]]
"""A function that yields the contents to compare with later records, or nothing if no later record can repeat them."""
Link = Callable[[Any], tuple[str | None, str | None]]
"""A function that returns a record's id and the id of the record that it continues. Either id may be None."""

_Records = Iterator[tuple[Place, Any]]
_FIRST: Final = 6
"""How many messages of a record are compared roughly at most, until one tells it from all others."""
_ENDS: Final = 50
"""How many characters at both ends of a text are compared roughly."""
_EXCHANGE_FIELDS: Final = frozenset({
    "request", "response", "choices", "candidates", "output", "schemaType", "message", "@message",
})  # fmt: skip
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
    has_ended: Callable[[Any], bool | None] = lambda _: None,
) -> Format:
    """Define a format whose records may be exchanges that repeat or continue each other, or pieces of streams.

    `errors` says when a call counts as failed. `history` returns the messages by which repeated records are found, and
    `link` returns the ids by which records continue each other. `streams` joins the pieces of streams, if a record may
    be a piece. `has_ended` says whether the agent wrote the last message of a bare request, so that no other record
    repeats it, or returns None if only its history tells.
    """

    def is_record(value: Any) -> bool:
        return mismatch(value) is None and (streams is None or not is_stream(value, streams))

    def to_compare(value: Any) -> Iterator[Callable[[], Any]]:
        ended = has_ended(value)
        return iter(()) if ended else _messages_to_compare(value, history, ended)

    def read(file: Path) -> Iterator[Episode | Problem]:
        records = read_records(file, is_record)
        joined = records if streams is None else join_records(records, streams)
        return _read(file, joined, read_record, to_compare, link)

    return Format(name, errors, lambda sample: recognise_records(sample, mismatch), read)


def ends_with_agent(record: Any) -> bool | None:
    """Return whether the agent wrote the last of the messages under `messages`, or there are none.

    Returns None if a record is not a bare list of such messages.
    """
    messages = record.get("messages") if isinstance(record, dict) else None
    if not isinstance(messages, list) or not _EXCHANGE_FIELDS.isdisjoint(record):
        return None
    if not messages:
        return True
    last = messages[-1]
    return last.get("role") == "assistant" if isinstance(last, dict) else None


def _read(
    file: Path, records: _Records, read_record: ReadRecord, to_compare: ToCompare, link: Link | None
) -> Iterator[Episode | Problem]:
    """Yield a file's episodes. From the first record that another may repeat or continue, records are kept first."""
    empty = True
    for place, value in records:
        empty = False
        if not isinstance(value, Problem) and (_contents(to_compare(value), 1) or (link and any(link(value)))):
            yield from _read_related(file, chain([(place, value)], records), read_record, to_compare, link)
            return
        yield from try_record(place, value, read_record)
    if empty:
        yield Problem(str(file), 1, 1, "no records in this file")


def _read_related(
    file: Path, records: _Records, read_record: ReadRecord, to_compare: ToCompare, link: Link | None
) -> Iterator[Episode | Problem]:
    told: dict[int, list[Episode]] = {}
    """The episodes of the skipped exchanges that each later exchange repeats."""
    with KeptRecords(file) as kept:
        repeats, links = _Repeats(kept, to_compare), _Links()
        for place, value in records:
            number = kept.add(place, value)
            if not isinstance(value, Problem):
                repeats.add(number, value)
                if link is not None:
                    links.add(number, *link(value))
        repeated, previous = repeats.found, links.find_previous()
        continued = _find_continued(previous)
        for number, (place, value) in enumerate(kept):
            if number in repeated:
                told.setdefault(repeated[number], []).extend(_read_skipped(value, read_record, told.pop(number, [])))
            elif number not in continued:
                earlier = [kept.load(one)[1] for one in _chain_before(number, previous)] if previous else []
                for found in try_record(place, [*earlier, value] if earlier else value, read_record):
                    yield found if isinstance(found, Problem) else complete(found, told.pop(number, []))


# Records that repeat earlier ones


def _read_skipped(value: Any, read_record: ReadRecord, told: list[Episode]) -> list[Episode]:
    """Return the episode of a skipped exchange, with what the exchanges before it told, or `told` if it has none."""
    try:
        found = next(iter(read_record(value)), None)
    except RecordError:
        found = None
    return told if found is None else [complete(found, told)]


class _Repeats:
    """Finds the records whose messages are all repeated at the start of a later record.

    `found` maps the number of such a record to that of the later one. Records are compared by digests of all their
    messages, but only if the outlines of their first messages are the same, which cost much less. Each start of a
    record, up to one of these messages, is known by the hash of its outlines.
    """

    def __init__(self, kept: KeptRecords, to_compare: ToCompare) -> None:
        self.found: dict[int, int] = {}
        self._kept, self._to_compare = kept, to_compare
        self._alone: dict[int, int | None] = {}
        """By start, the one record that begins like this and was not compared so far, or None if several do."""
        self._ended: set[int] = set()
        """The starts that are all that is looked at of some record."""
        self._waiting: dict[bytes, list[int]] = {}
        """By digest, the records that no later record repeats so far."""

    def add(self, number: int, value: Any) -> None:
        """Add a record. Records are added in order."""
        may_repeat, start = False, None
        for start in self._starts(value):
            if start not in self._alone and not may_repeat:
                self._alone[start] = number
                return
            other = self._alone.get(start)
            self._alone[start] = None
            if other is not None:
                self._move(other, start)
            may_repeat = may_repeat or start in self._ended
        if start is not None:
            self._ended.add(start)
            self._compare(number, value)

    def _compare(self, number: int, value: Any) -> None:
        digests = self._digests(value)
        for digest in digests[:-1]:
            if waiting := self._waiting.get(digest):
                self.found[waiting.pop()] = number
        for whole in digests[-1:]:
            self._waiting.setdefault(whole, []).append(number)

    def _move(self, number: int, start: int) -> None:
        """Know a record by one more message than those in `start`. If it has no more, let it wait for later ones."""
        value = self._kept.load(number)[1]
        longer = dropwhile(lambda one: one != start, self._starts(value))
        next(longer)
        if (following := next(longer, None)) is not None:
            self._alone[following] = number
            return
        self._ended.add(start)
        for whole in self._digests(value)[-1:]:
            self._waiting.setdefault(whole, []).append(number)

    def _starts(self, value: Any) -> Iterator[int]:
        """Yield a hash for the first message, one for the first two, and so on, up to the first few messages."""
        start = 0
        try:
            for content in islice(self._to_compare(value), _FIRST):
                start = hash((start, _outline(content())))
                yield start
        except RecordError:
            return

    def _digests(self, value: Any) -> list[bytes]:
        """Return a digest of the messages up to each one."""
        digest, found = blake2b(digest_size=16), []
        for content in _contents(self._to_compare(value)):
            digest.update(canonical_json(content).encode())
            found.append(digest.digest())
        return found


def _contents(messages: Iterator[Callable[[], Any]], most: int | None = None) -> list[Any]:
    """Return the contents of a record's messages, or of the first ones. There are none if the record is malformed."""
    try:
        return [content() for content in islice(messages, most)]
    except RecordError:
        return []


def _outline(value: Any) -> Any:
    """Return something that is equal for equal values, and in which only the ends of long texts count."""
    kind = type(value)
    if kind is str:
        return value if len(value) <= 2 * _ENDS else (len(value), value[:_ENDS], value[-_ENDS:])
    if kind is list:
        return tuple([one if one is None else _outline(one) for one in value])
    return frozenset([(name, _outline(one)) for name, one in value.items()]) if kind is dict else value


def _messages_to_compare(record: Any, history: History, ended: bool | None) -> Iterator[Callable[[], Any]]:  # noqa: FBT001
    """Yield the messages to compare with later records, or nothing if no later record can continue `record`.

    `ended` says whether the agent wrote the last message of a bare request, or is None if only the history tells. If
    `record` is a bare request, an object with its other fields comes first. These fields are the same in all requests
    from one run. They distinguish a bare request from a conversation in which the agent did nothing.
    """
    if not isinstance(record, dict):
        return
    if not _EXCHANGE_FIELDS.isdisjoint(record):
        yield from (content for _, content in history(record))
        return
    messages = history(record)
    if ended is None:
        messages = list(messages)
        ended = not messages or messages[-1][0]
    if ended:
        return
    for number, (_, content) in enumerate(messages):
        if number == 0:
            yield lambda: {name: record[name] for name in record if name not in INPUT_FIELDS}
        yield content


# Records that name the record they continue


class _Links:
    """Finds the record that each linked record continues, by their ids."""

    def __init__(self) -> None:
        self._owners: dict[bytes, list[int]] = {}
        self._wanted: dict[int, bytes] = {}

    def add(self, number: int, own: str | None, previous: str | None) -> None:
        """Add a record with its id and the id of the record that it continues."""
        if own is not None:
            self._owners.setdefault(_digest(own), []).append(number)
        if previous is not None:
            self._wanted[number] = _digest(previous)

    def find_previous(self) -> dict[int, int]:
        """Map each linked record's number to the number of the record that it continues.

        If several records have the id that a link names, the nearest earlier record is used.
        """
        owners = self._owners
        found = ((number, owners[digest]) for number, digest in self._wanted.items() if digest in owners)
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
