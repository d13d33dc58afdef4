"""Join the pieces of streamed responses.

The pieces of one response may be a list, the response in an exchange, or records of a file among other records. Streams
that are logged at the same time are told apart by their ids. A stream that was cut keeps what arrived, and is marked
with `cut_off`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from corepath.errors import RecordError
from corepath.importers.content import parse_result
from corepath.importers.event_text import is_event_text, read_events
from corepath.importers.reading import Place

CUT_OFF: Final = "cut_off"
"""The field that marks a response whose stream was cut."""


@dataclass(frozen=True)
class Joined:
    """A joined response, and where its first piece was. `error` says why the pieces could not be joined, if so."""

    response: dict[str, Any]
    place: Any = None
    error: str | None = None


class Streams(Protocol):
    """The streams of one API. Pieces are added in the order in which they arrived."""

    def add(self, piece: Mapping[str, Any], place: Any = None) -> bool:
        """Add a piece, which was at `place`. Returns False if it is not a piece of a stream of this API."""
        ...

    def joined(self) -> Iterator[Joined]:
        """Yield the response of each stream, in the order of the first pieces."""
        ...


NewStreams = Callable[[], Streams]
"""A function that makes an empty `Streams`."""


def is_stream(value: Any, new: NewStreams) -> bool:
    """Return True if `value` is a piece of a stream, or a list with such a piece."""
    streams = new()
    return any(isinstance(one, dict) and streams.add(one) for one in map(_unwrap, _as_list(value)))


def explain_unless_stream(value: Any, new: NewStreams, explain: Callable[[Any], str | None]) -> str | None:
    """Explain why a record is not in a format, or return None if it is, as every stream of the format is.

    `explain` judges records that are no streams. It may raise `RecordError`.
    """
    if is_stream(value, new):
        return None
    try:
        return explain(value)
    except RecordError as error:
        return str(error)


def split_streams(value: Any, new: NewStreams) -> list[Any]:
    """Return the response of each stream in a list of pieces, or a list of only `value` if it is something else.

    A single piece is something else. Raises `RecordError` if pieces of several streams cannot be told apart.
    """
    if not isinstance(value, list) or not is_stream(value, new):
        return [value]
    found = _join(value, new)
    _require_joined(found)
    return [one.response for one in found]


def join_response(record: Any, new: NewStreams) -> Any:
    """Return an exchange with the streamed response in it joined. Other records are returned unchanged.

    Raises `RecordError` if the response holds several streams.
    """
    response = record.get("response") if isinstance(record, dict) else None
    pieces = response_pieces(response)
    if pieces is None or not is_stream(pieces, new):
        return record
    found = _join(pieces, new)
    if len(found) > 1:  # some providers give each chunk an id of its own
        found = _join([{**one, "id": ""} if isinstance(one, dict) else one for one in pieces], new)
    _require_joined(found)
    if len(found) > 1:
        raise RecordError(f"the response holds {len(found)} streams, but a request has one")
    return {**record, "response": found[0].response}


def join_records(records: Iterable[tuple[Place, Any]], new: NewStreams) -> Iterator[tuple[Place, Any]]:
    """Yield a file's records. The pieces of streams are replaced by their responses, which come last."""
    streams = new()
    for place, value in records:
        piece = _unwrap(value)
        if not (isinstance(piece, dict) and streams.add(piece, place)):
            yield place, value
    for one in streams.joined():
        place = one.place._replace(start=None)  # the response is not the line in which its first piece was
        yield place, one.response if one.error is None else place.problem(one.error)


def response_pieces(response: Any) -> list[Any] | None:
    """Return the pieces in a streamed response, which is a list or a text of events, or None if it is neither."""
    if isinstance(response, list) and response and all(isinstance(one, str) for one in response):
        response = "\n".join(response)
    if isinstance(response, str):
        lines = response.splitlines()
        return [parse_result(data) for _, data in read_events(lines)] if is_event_text(lines) else None
    return response if isinstance(response, list) else None


def _join(value: Any, new: NewStreams) -> list[Joined]:
    streams = new()
    for piece in map(_unwrap, _as_list(value)):
        if isinstance(piece, dict):
            streams.add(piece)
    return list(streams.joined())


def _require_joined(found: list[Joined]) -> None:
    for one in found:
        if one.error is not None:
            raise RecordError(one.error)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _unwrap(value: Any) -> Any:
    """Return the piece inside an object that was logged with it: the event's name, or what arrived so far."""
    if not isinstance(value, dict):
        return value
    if value.get("type") == "chunk" and isinstance(value.get("chunk"), dict):
        return value["chunk"]
    if "data" in value and value.keys() <= {"event", "data", "id", "retry"}:
        return parse_result(value["data"])
    return value
