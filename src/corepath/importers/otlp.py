"""Parse single spans in OTLP JSON, or as OpenTelemetry SDKs print them.

Ids may be hexadecimal or base64. Enum values may be numbers or names.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from corepath.errors import RecordError
from corepath.importers.content import describe_type, first_of, objects

_HEX: Final = re.compile(r"(?:0x)?([0-9a-fA-F]{32}|[0-9a-fA-F]{16})")
_MAX_TIME: Final = 2**63 - 1


@dataclass(frozen=True)
class Span:
    """A span with its trace id, name, own id, parent id, times in nanoseconds, attributes, events and status.

    Times that are not known are 0.
    """

    trace: str
    name: str = ""
    id: str | None = None
    parent: str | None = None
    start: int = 0
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    failed: bool = False
    status: str = ""
    end: int = 0

    @property
    def begun(self) -> float | None:
        """The start in seconds since 1970, or None if it is not known."""
        return self.start / 10**9 if self.start > 0 else None

    @property
    def ended(self) -> float | None:
        """The end in seconds since 1970, or the start if the end is not known."""
        return self.end / 10**9 if self.end > 0 else self.begun

    @property
    def error(self) -> str | None:
        """The span's error message, or None if the span did not fail.

        The message comes from the last exception, or else from the status or the error type.
        """
        kind = self.attributes.get("error.type")
        if not self.failed and not kind:
            return None
        exceptions = [attributes.get("exception.message") for name, attributes in self.events if name == "exception"]
        return str(next((one for one in (*reversed(exceptions), self.status, kind) if one), "error"))


@dataclass(frozen=True)
class Resource:
    """The attributes of the resource (e.g. a service) that sent a group of spans."""

    group: str
    attributes: Mapping[str, Any]


def parse_span(raw: Mapping[str, Any]) -> Span:
    """Parse a raw span. Raises `RecordError` if the span is malformed or has no trace id."""
    context = raw.get("context")
    given = {**context, **raw} if isinstance(context, dict) else raw
    trace = normalize_id(first_of(given, "traceId", "trace_id"))
    if trace is None:
        raise RecordError("a span has no 'traceId', which is 32 hexadecimal digits or base64")
    status = given.get("status") or {}
    if not isinstance(status, dict):
        raise RecordError(f"the 'status' of a span must be an object with 'code', not {describe_type(status)}")
    code = first_of(status, "code", "status_code", "statusCode")
    return Span(
        trace,
        _text(given.get("name")),
        normalize_id(first_of(given, "spanId", "span_id")),
        normalize_id(first_of(given, "parentSpanId", "parent_span_id", "parentId", "parent_id")),
        _time(first_of(given, "startTimeUnixNano", "start_time_unix_nano", "startTime", "start_time")),
        attributes_of(given.get("attributes")),
        tuple(
            (_text(event.get("name")), attributes_of(event.get("attributes")))
            for event in objects(given.get("events") or [], "'events'")
        ),
        code == 2 or (isinstance(code, str) and code.upper() in ("2", "ERROR", "STATUS_CODE_ERROR")),
        _text(first_of(status, "message", "description")),
        _time(first_of(given, "endTimeUnixNano", "end_time_unix_nano", "endTime", "end_time")),
    )


def attributes_of(given: Any) -> dict[str, Any]:
    """Convert attributes to a dict of plain values.

    `given` is a list of OTLP key-value pairs, a dict, or None.
    """
    if given is None:
        return {}
    if isinstance(given, dict):
        return dict(given)
    attributes: dict[str, Any] = {}
    for one in objects(given, "'attributes'"):
        if not isinstance(one.get("key"), str):
            raise RecordError("an attribute must be an object with a string 'key' and a 'value'")
        attributes[one["key"]] = _plain_value(one.get("value"))
    return attributes


def _plain_value(value: Any) -> Any:
    """Return the plain value in an OTLP object such as `{"stringValue": …}`, or None if the object is empty.

    Phoenix writes all types of values into the object, with null for those that the value does not have.
    """
    if not isinstance(value, dict):
        return value
    value = {name: one for name, one in value.items() if one is not None}
    for name, one in value.items():
        kind = name.lower().replace("_", "")
        if kind == "intvalue" and isinstance(one, str):
            return int(one) if re.fullmatch(r"-?\d{1,20}", one) else one
        if kind == "arrayvalue":
            return [_plain_value(item) for item in _values(one)]
        if kind == "kvlistvalue":
            return attributes_of(_values(one))
        if kind in ("stringvalue", "boolvalue", "doublevalue", "intvalue", "bytesvalue"):
            return one
    return dict(value) or None


def _values(given: Any) -> list[Any]:
    values = given.get("values") if isinstance(given, dict) else given
    if values is None:
        return []
    if not isinstance(values, list):
        raise RecordError(f"the 'values' of an attribute must be a list, not {describe_type(values)}")
    return values


def normalize_id(given: Any) -> str | None:
    """Convert a hexadecimal or base64 id to lower-case hexadecimal, or return None if the id is missing.

    Ids in other forms are returned as strings.
    """
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
    """Convert a time to nanoseconds, or return 0 if the time is missing or malformed."""
    if isinstance(given, str) and not given.isdecimal():
        try:
            given = int(datetime.fromisoformat(given).timestamp() * 10**6) * 1000
        except (ValueError, OverflowError):
            return 0
    try:
        number = int(given)
    except (TypeError, ValueError, OverflowError):
        return 0
    return max(-_MAX_TIME, min(_MAX_TIME, number))


def _text(given: Any) -> str:
    return given if isinstance(given, str) else "" if given is None else str(given)
