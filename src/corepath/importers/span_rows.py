"""Turn rows of tables of spans into the form of OTLP JSON.

| source | columns |
| --- | --- |
| ClickHouse, as the collector writes it | `TraceId`, `SpanName`, `Timestamp`, `SpanAttributes`, `Events.Name` |
| Logfire | `trace_id`, `span_name`, `start_timestamp`, `otel_events` |
| others | `trace_id`, `name`, `start_time`, and `attributes` as a map, as JSON text or as a column for each attribute |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from corepath.importers.content import first_of, parse_result, time_of
from corepath.importers.otlp import attributes_of

_MARKS: Final = (
    "TraceId", "SpanAttributes", "span_attributes", "span_name", "start_timestamp", "resource_attributes",
    "otel_resource_attributes",
)  # fmt: skip
_PREFIX: Final = "attributes."
_COLUMNS: Final = (_PREFIX, "gen_ai.", "openinference.", "llm.", "input.", "output.", "tool.", "tool_call.", "session.")
"""How the names of columns begin that hold one attribute each."""
_NANOSECONDS: Final = 10**17
"""Whole numbers from this size on are times in nanoseconds."""


def is_row(raw: Mapping[str, Any]) -> bool:
    """Return True if a span is a row of a table, and not one of Phoenix."""
    if "context.trace_id" in raw or "span_kind" in raw or "traceID" in raw:
        return False
    texts = any(isinstance(raw.get(name), str) for name in ("attributes", "events"))
    return texts or any(name in raw for name in _MARKS) or any(name.startswith(_COLUMNS) for name in raw)


def row_span(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the span in a row, in the form of OTLP JSON. Raises `RecordError` if it is malformed."""
    start = _time(
        first_of(row, "Timestamp", "start_timestamp", "start_time_unix_nano", "startTimeUnixNano", "start_time",
                 "startTime", "timestamp")
    )  # fmt: skip
    end = _time(first_of(row, "end_timestamp", "end_time_unix_nano", "endTimeUnixNano", "end_time", "endTime"))
    lasted = first_of(row, "Duration", "duration_nano", "duration_ns")
    if end is None and start is not None and isinstance(lasted, (int, float)) and abs(lasted) < 2**62:
        end = start + int(lasted)
    status = _object(row.get("status"))
    code = first_of(row, "StatusCode", "status_code", "otel_status_code") or first_of(status, "code", "status_code")
    message = first_of(row, "StatusMessage", "status_message", "otel_status_message")
    resource = first_of(row, "ResourceAttributes", "resource_attributes", "otel_resource_attributes")
    resource = _object(_object(row.get("resource")).get("attributes") if resource is None else resource)
    if isinstance(service := first_of(row, "ServiceName", "service_name"), str):
        resource = {"service.name": service, **resource}
    return {
        "traceId": first_of(row, "TraceId", "traceId", "trace_id"),
        "spanId": first_of(row, "SpanId", "spanId", "span_id"),
        "parentSpanId": first_of(row, "ParentSpanId", "parentSpanId", "parent_span_id", "parentId", "parent_id"),
        "name": first_of(row, "SpanName", "span_name", "name"),
        "startTimeUnixNano": start,
        "endTimeUnixNano": end,
        "attributes": _attributes(row),
        "events": list(_events(row)),
        "status": {"code": code, "message": message or first_of(status, "message", "description")},
        **({"resource": {"attributes": resource}} if resource else {}),
    }


def _time(given: Any) -> int | None:
    """Convert a time to nanoseconds. Whole numbers may already be nanoseconds, and keep all of their digits."""
    if isinstance(given, str) and given.isdecimal() and len(given) < 20:
        given = int(given)
    if isinstance(given, int) and abs(given) >= _NANOSECONDS:
        return given
    time = time_of(given)
    return None if time is None else round(time * 10**6) * 1000


def _attributes(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a row. Numbers of tokens may be text, since some tables hold nothing else."""
    found = _object(first_of(row, "SpanAttributes", "span_attributes", "attributes"))
    for name, value in row.items():
        if name.startswith(_COLUMNS) and value is not None:
            found.setdefault(name.removeprefix(_PREFIX), value)
    return {name: _count(name, value) for name, value in found.items()}


def _count(name: str, value: Any) -> Any:
    is_count = "token" in name and isinstance(value, str) and value.isdecimal() and len(value) < 16
    return int(value) if is_count else value


def _events(row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the events of a row: a list of objects, the same as text, or a column for each of their fields."""
    names, told = row.get("Events.Name"), row.get("Events.Attributes")
    if isinstance(names, list) and isinstance(told, list):
        for name, attributes in zip(names, told, strict=False):
            yield {"name": name, "attributes": _object(attributes)}
        return
    given = parse_result(first_of(row, "events", "otel_events", "Events"))
    for one in given if isinstance(given, list) else ():
        if isinstance(one, Mapping):
            name = first_of(one, "name", "event_name", "Name")
            yield {"name": name, "attributes": _object(first_of(one, "attributes", "Attributes"))}


def _object(given: Any) -> dict[str, Any]:
    """Return an object that is stored as JSON text, as a map or as a list of pairs. Null values are left out."""
    given = parse_result(given)
    if isinstance(given, list) and all(isinstance(one, list) and len(one) == 2 for one in given):
        given = {str(name): value for name, value in given}
    if not isinstance(given, (Mapping, list)):
        return {}
    return {name: value for name, value in attributes_of(given).items() if value is not None}
