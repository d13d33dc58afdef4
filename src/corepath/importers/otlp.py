"""Spans in OTLP JSON: in `resourceSpans`, or by themselves as the OpenTelemetry SDKs print them.

Ids are hexadecimal or base64, enumerations numbers or names.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from corepath.errors import RecordError

_HEX: Final = re.compile(r"(?:0x)?([0-9a-fA-F]{32}|[0-9a-fA-F]{16})")
_LARGEST: Final = 2**63 - 1
GROUPS: Final = ("resourceSpans", "resource_spans")
SCOPES: Final = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
_OTHERS: Final = ("resourceLogs", "resourceMetrics", "resourceProfiles")


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


def spans_of(value: Any, group: str = "1") -> Iterator[tuple[str, Mapping[str, Any]] | Resource]:
    """The spans of a value as they stand there, each with its group."""
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield from spans_of(one, f"{group}.{number}")
        return
    if not isinstance(value, dict):
        raise RecordError(f"an object with 'resourceSpans', or a span, is an object, not {kind_of(value)}")
    groups = _first(value, *GROUPS)
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
        for scope in _objects(_first(one, *SCOPES) or [], "scopeSpans"):
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
        raise RecordError(f"the 'status' of a span is an object with 'code', not {kind_of(status)}")
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


def _no_span(value: Mapping[str, Any]) -> str:
    others = [name for name in _OTHERS if name in value]
    if others:
        return f"'{others[0]}' holds no spans; nothing of it is read"
    return "neither 'resourceSpans' nor, in a span of its own, 'traceId'"


def _objects(given: Any, what: str) -> Iterator[Mapping[str, Any]]:
    if not isinstance(given, list):
        raise RecordError(f"'{what}' is a list, not {kind_of(given)}")
    for one in given:
        if not isinstance(one, dict):
            raise RecordError(f"'{what}' is a list of objects, and has {kind_of(one)} in it")
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
        raise RecordError(f"the 'values' of an attribute are a list, not {kind_of(values)}")
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


def kind_of(value: Any) -> str:
    """What a value of JSON is, in words."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")
