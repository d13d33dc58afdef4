"""Spans in OTLP JSON files: one object, a list, or JSON lines as the collector's file exporter writes them.

A line, or a file that is one value, may be larger than memory. Spans may stand outside `resourceSpans` too, as the
OpenTelemetry SDKs print them. Ids are hexadecimal or base64, enumerations numbers or names.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from corepath.errors import Problem
from corepath.importers.conversation import RecordError
from corepath.importers.json_parts import PartError, Text, parts
from corepath.importers.json_parts import Path as PartPath
from corepath.json_values import parse_json
from corepath.located import why_unread

LONGEST_LINE: Final = 8 * 2**20
"""Bytes of a line that is read at once; a longer one is read part by part."""

_HEX: Final = re.compile(r"(?:0x)?([0-9a-fA-F]{32}|[0-9a-fA-F]{16})")
_LARGEST: Final = 2**63 - 1
_GROUPS: Final = ("resourceSpans", "resource_spans")
_SCOPES: Final = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
_OTHERS: Final = ("resourceLogs", "resourceMetrics", "resourceProfiles")
_INTO: Final = ((), *((group,) for group in _GROUPS), *((group, scope) for group in _GROUPS for scope in _SCOPES))


@dataclass(frozen=True)
class Span:
    """One span: what it is of, when it began, and what it says."""

    trace: str
    name: str = ""
    id: str | None = None
    parent: str | None = None
    start: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    failed: bool = False
    status: str = ""

    @property
    def error(self) -> str | None:
        """What the span says of its failure: its exception, its status, or the type of the error; None where none."""
        kind = self.attributes.get("error.type")
        if not self.failed and not kind:
            return None
        told = [attributes.get("exception.message") for name, attributes in self.events if name == "exception"]
        return str(next((one for one in (*reversed(told), self.status, kind) if one), "error"))


@dataclass(frozen=True)
class Resource:
    """The attributes of what sent the spans of one group."""

    group: str
    attributes: Mapping[str, Any]


@dataclass(frozen=True)
class Found:
    """A span and its place: its line, and the group that it stands in."""

    span: Span
    line: int
    group: str


def read_spans(file: Path) -> Iterator[Found | Resource | Problem]:
    """What a file holds, in its order; a Problem for what cannot be read."""
    name = str(file)
    try:
        with file.open("rb") as read:
            yield from _lines(name, read)
    except OSError as error:
        yield Problem(name, 1, 1, f"cannot be read: {error.strerror}")


def spans_of(value: Any, group: str = "1") -> Iterator[tuple[str, Mapping[str, Any]] | Resource]:
    """The spans of a value as they stand there, each with its group."""
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield from spans_of(one, f"{group}.{number}")
        return
    if not isinstance(value, dict):
        raise RecordError(f"an object with 'resourceSpans', or a span, is an object, not {_kind(value)}")
    groups = _first(value, *_GROUPS)
    if groups is None:
        if _first(value, "traceId", "trace_id", "context") is None:
            raise RecordError(_no_span(value))
        resource = value.get("resource")
        if isinstance(resource, dict):
            yield Resource(group, attributes_of(resource.get("attributes")))
        yield group, value
        return
    for number, one in enumerate(_objects(groups, "resourceSpans")):
        own = f"{group}.{number}"
        resource = one.get("resource")
        if isinstance(resource, dict):
            yield Resource(own, attributes_of(resource.get("attributes")))
        for scope in _objects(_first(one, *_SCOPES) or [], "scopeSpans"):
            for span in _objects(scope.get("spans") or [], "spans"):
                yield own, span


def span_of(raw: Mapping[str, Any]) -> Span:
    """A span; raises `RecordError` where it has no trace or a part of it is no part of a span."""
    context = raw.get("context")
    given = {**context, **raw} if isinstance(context, dict) else raw
    trace = _id(_first(given, "traceId", "trace_id"))
    if trace is None:
        raise RecordError("a span has no 'traceId'; it is a text of 32 hexadecimal digits, or base64")
    status = given.get("status") or {}
    if not isinstance(status, dict):
        raise RecordError(f"the 'status' of a span is an object with 'code', not {_kind(status)}")
    code = _first(status, "code", "status_code", "statusCode")
    return Span(
        trace,
        _text(given.get("name")),
        _id(_first(given, "spanId", "span_id")),
        _id(_first(given, "parentSpanId", "parent_span_id", "parentId", "parent_id")),
        _time(_first(given, "startTimeUnixNano", "start_time_unix_nano", "startTime", "start_time")),
        attributes_of(given.get("attributes")),
        tuple(
            (_text(event.get("name")), attributes_of(event.get("attributes")))
            for event in _objects(given.get("events") or [], "events")
        ),
        code == 2 or (isinstance(code, str) and code.upper() in ("2", "ERROR", "STATUS_CODE_ERROR")),
        _text(_first(status, "message", "description")),
    )


def attributes_of(given: Any) -> dict[str, Any]:
    """Attributes as plain values: a list of keys and values of OTLP, or an object."""
    if given is None:
        return {}
    if isinstance(given, dict):
        return dict(given)
    made: dict[str, Any] = {}
    for one in _objects(given, "attributes"):
        if not isinstance(one.get("key"), str):
            raise RecordError("an attribute is an object with 'key', a text, and 'value'")
        made[one["key"]] = _plain(one.get("value"))
    return made


def _lines(name: str, read: io.BufferedReader) -> Iterator[Found | Resource | Problem]:
    """Line by line, a very long line part by part; where the first is no value of its own, the whole file so."""
    number, begun = 0, False
    while line := read.readline(LONGEST_LINE):
        number += 1
        whole = line.endswith(b"\n") or len(line) < LONGEST_LINE
        value = _parsed(line) if whole and line.strip() else None
        if not whole:
            rest = _Line(read, line)
            yield from _part_by_part(name, _Decoded(rest.read), number)
            rest.pass_over()
        elif isinstance(value, ValueError) and not begun and read.peek(1):
            read.seek(-len(line), io.SEEK_CUR)
            yield from _part_by_part(name, _Decoded(read.read), number)
            return
        elif isinstance(value, ValueError):
            yield Problem(name, number, 1, f"not JSON: {why_unread(value)}")
        elif line.strip():
            yield from _all(name, number, value)
        begun = begun or bool(line.strip())


class _Line:
    """What is left of a line whose beginning was read."""

    def __init__(self, read: io.BufferedReader, begin: bytes) -> None:
        self._read, self._begin, self._ended = read, begin, False

    def read(self, size: int, /) -> bytes:
        raw, self._begin = self._begin, b""
        if not raw and not self._ended:
            raw = self._read.readline(size)
            self._ended = raw.endswith(b"\n") or len(raw) < size
        return raw

    def pass_over(self) -> None:
        """Go to its end."""
        while not self._ended:
            self.read(LONGEST_LINE)


class _Decoded:
    """Bytes as text."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()

    def read(self, size: int, /) -> str:
        while raw := self._read(size):
            if text := self._decoder.decode(raw):
                return text
        return self._decoder.decode(b"", final=True)


def _parsed(line: bytes) -> Any:
    try:
        return parse_json(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return ValueError(f"not UTF-8: the byte 0x{line[error.start]:02x}")
    except ValueError as error:
        return error


def _all(name: str, line: int, value: Any) -> Iterator[Found | Resource | Problem]:
    try:
        for one in spans_of(value, str(line)):
            yield one if isinstance(one, Resource) else _found(name, line, *one)
    except RecordError as error:
        yield Problem(name, line, 1, str(error))


def _found(name: str, line: int, group: str, raw: Mapping[str, Any]) -> Found | Problem:
    try:
        return Found(span_of(raw), line, group)
    except RecordError as error:
        which = raw.get("spanId") or raw.get("name")
        return Problem(name, line, 1, f"span {which!s:.60}: {error}" if which else str(error))


def _part_by_part(name: str, read: Text, first: int) -> Iterator[Found | Resource | Problem]:
    """Spans, resources, and objects that stand outside both, of what is too large or too spread to be a line."""
    loose: dict[str, Any] = {}
    at: PartPath = ()
    holds_groups: PartPath = ()
    line = first
    try:
        for path, place, value in parts(read, _goes_on):
            line = first + place - 1
            names = [one for one in path if isinstance(one, str)]
            if names[:1] and names[0] not in _GROUPS:
                if loose and path[:-1] != at and at != holds_groups:
                    yield from _all(name, line, loose)
                loose = {} if path[:-1] != at else loose
                at, loose[names[0]] = path[:-1], value
                continue
            holds_groups = path[: path.index(names[0])] if names else holds_groups
            if names[1:] == ["resource"] and isinstance(value, dict):
                yield from _resource(name, line, _group(path), value)
            elif names[-1:] == ["spans"] and isinstance(value, dict):
                yield _found(name, line, _group(path), value)
            elif not names or names[-1] in (*_GROUPS, *_SCOPES, "spans"):
                yield Problem(name, line, 1, f"not OTLP: {_kind(value)} where an object or a list of spans is due")
    except PartError as error:
        yield Problem(name, first + error.line - 1, 1, str(error))
    if loose and at != holds_groups:
        yield from _all(name, line, loose)


def _resource(name: str, line: int, group: str, value: Mapping[str, Any]) -> Iterator[Resource | Problem]:
    try:
        yield Resource(group, attributes_of(value.get("attributes")))
    except RecordError as error:
        yield Problem(name, line, 1, str(error))


def _goes_on(path: PartPath) -> bool:
    names = tuple(one for one in path if isinstance(one, str))
    return names in _INTO or (names[:-1] in _INTO and len(names) == 3 and path[-1] == "spans")


def _group(path: PartPath) -> str:
    """The numbers on the way to the object that holds a resource and its spans."""
    numbers: list[str] = []
    for one in path:
        if isinstance(one, int):
            numbers.append(str(one))
        elif one not in _GROUPS:
            break
    return ".".join(numbers)


def _no_span(value: Mapping[str, Any]) -> str:
    others = [name for name in _OTHERS if name in value]
    if others:
        return f"'{others[0]}' holds no spans; nothing of it is read"
    return "neither 'resourceSpans' nor, in a span of its own, 'traceId'"


def _objects(given: Any, what: str) -> Iterator[Mapping[str, Any]]:
    if not isinstance(given, list):
        raise RecordError(f"'{what}' is a list, not {_kind(given)}")
    for one in given:
        if not isinstance(one, dict):
            raise RecordError(f"'{what}' is a list of objects, and has {_kind(one)} in it")
        yield one


def _plain(value: Any) -> Any:
    """The value of an attribute of OTLP: an object with one of `stringValue`, `intValue`, … ; empty, it is null."""
    if not isinstance(value, dict):
        return value
    for name, one in value.items():
        if name in ("intValue", "int_value") and isinstance(one, str):
            return int(one) if re.fullmatch(r"-?\d{1,20}", one) else one
        if name in ("arrayValue", "array_value"):
            return [_plain(item) for item in _values(one)]
        if name in ("kvlistValue", "kvlist_value"):
            return attributes_of(_values(one))
        if name.lower().replace("_", "") in ("stringvalue", "boolvalue", "doublevalue", "intvalue", "bytesvalue"):
            return one
    return dict(value) or None


def _values(given: Any) -> list[Any]:
    values = given.get("values") if isinstance(given, dict) else given
    if values is None:
        return []
    if not isinstance(values, list):
        raise RecordError(f"the 'values' of an attribute are a list, not {_kind(values)}")
    return values


def _id(given: Any) -> str | None:
    """An id in hexadecimal digits, where it is one of OpenTelemetry."""
    if given is None or given == "":
        return None
    text = given if isinstance(given, str) else str(given)
    if found := _HEX.fullmatch(text):
        return found[1].lower()
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return text
    return raw.hex() if len(raw) in (8, 16) else text


def _time(given: Any) -> int:
    """Nanoseconds; 0 where there is no time that can be read."""
    if isinstance(given, str) and not given.isdecimal():
        try:
            given = int(datetime.fromisoformat(given).timestamp() * 10**6) * 1000
        except (ValueError, OverflowError):
            return 0
    try:
        number = int(given)
    except (TypeError, ValueError, OverflowError):
        return 0
    return max(-_LARGEST, min(_LARGEST, number))


def _first(given: Mapping[str, Any], *names: str) -> Any:
    return next((given[name] for name in names if given.get(name) is not None), None)


def _text(given: Any) -> str:
    return given if isinstance(given, str) else "" if given is None else str(given)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
