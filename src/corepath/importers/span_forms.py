"""Turn single spans of Jaeger, Phoenix and Zipkin into the form of OTLP JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from corepath.importers.content import first_of, objects, time_of
from corepath.importers.otlp import attributes_of


def to_otlp(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a span in the form of OTLP JSON. Spans that already have this form are returned unchanged.

    Raises `RecordError` if a span is malformed.
    """
    if "traceID" in raw:
        return _from_jaeger(raw)
    if is_phoenix(raw):
        return _from_phoenix(raw)
    if "traceId" in raw and "spanId" not in raw and isinstance(raw.get("tags", {}), dict) and "id" in raw:
        return _from_zipkin(raw)
    return raw


def is_phoenix(raw: Mapping[str, Any]) -> bool:
    """Return True if a span is one of Phoenix, as its client returns spans or as a row of its data frame."""
    return "context.trace_id" in raw or ("span_kind" in raw and ("context" in raw or "trace_id" in raw))


def _from_jaeger(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a span of Jaeger. Its times are in microseconds, and its status is in its tags."""
    tags = attributes_of(raw.get("tags"))
    status = str(tags.pop("otel.status_code", "")).upper()
    failed = status == "ERROR" or (status != "OK" and tags.get("error") in (True, "true"))
    return {
        "traceId": raw["traceID"],
        "spanId": raw.get("spanID"),
        "parentSpanId": _parent(raw),
        "name": raw.get("operationName"),
        **_times(raw.get("startTime"), raw.get("duration")),
        "attributes": tags,
        "events": [_event(attributes_of(one.get("fields"))) for one in objects(raw.get("logs"), "'logs'")],
        "status": {"code": 2 if failed else 0, "message": tags.pop("otel.status_description", None)},
    }


def _parent(raw: Mapping[str, Any]) -> Any:
    """Return the id of the span that encloses a span of Jaeger."""
    for one in objects(raw.get("references"), "'references'"):
        if one.get("refType") == "CHILD_OF" and one.get("traceID", raw["traceID"]) == raw["traceID"]:
            return one.get("spanID")
    return raw.get("parentSpanID")


def _event(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": fields.get("event"), "attributes": {name: one for name, one in fields.items() if name != "event"}}


def _times(start: Any, duration: Any) -> dict[str, int]:
    """Convert a start and a duration in microseconds to times in nanoseconds."""
    if not all(isinstance(one, (int, float)) and abs(one) < 2**62 for one in (start, duration)):
        duration = 0
    if not isinstance(start, (int, float)) or not abs(start) < 2**62:
        return {}
    return {"startTimeUnixNano": int(start) * 1000, "endTimeUnixNano": int(start + duration) * 1000}


def _from_zipkin(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a span of Zipkin, whose tags are a plain object of strings."""
    tags = {name: _count(name, value) for name, value in (raw.get("tags") or {}).items()}
    code = str(tags.pop("otel.status_code", "")).upper()
    failed = code == "ERROR" or "error" in tags
    return {
        "traceId": raw["traceId"],
        "spanId": raw["id"],
        "parentSpanId": raw.get("parentId"),
        "name": raw.get("name"),
        **_times(raw.get("timestamp"), raw.get("duration")),
        "attributes": tags,
        "status": {"code": 2 if failed else 0, "message": tags.get("error")},
    }


def _count(name: str, value: Any) -> Any:
    is_count = "token" in name and isinstance(value, str) and value.isdecimal() and len(value) < 16
    return int(value) if is_count else value


def _from_phoenix(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a span of Phoenix.

    Its attributes are flat, nested, or columns whose names begin with `attributes.`. Values that are null are left out,
    since a data frame has them in each row.
    """
    given = raw.get("attributes")
    flat = dict(_flatten("", given)) if isinstance(given, dict) else attributes_of(given)
    for name, value in raw.items():
        if name.startswith("attributes.") and value is not None:
            flat |= dict(_flatten(name.removeprefix("attributes."), value))
    kind = raw.get("span_kind")
    if isinstance(kind, str) and kind not in ("", "UNKNOWN"):
        flat.setdefault("openinference.span.kind", kind)
    context = raw["context"] if isinstance(raw.get("context"), dict) else {}
    return {
        "traceId": first_of({**context, **raw}, "context.trace_id", "trace_id"),
        "spanId": first_of({**context, **raw}, "context.span_id", "span_id"),
        "parentSpanId": raw.get("parent_id"),
        "name": raw.get("name"),
        "startTimeUnixNano": _nanoseconds(raw.get("start_time")),
        "endTimeUnixNano": _nanoseconds(raw.get("end_time")),
        "attributes": flat,
        "events": [
            {"name": one.get("name"), "attributes": dict(_flatten("", one.get("attributes") or {}))}
            for one in objects(raw.get("events"), "'events'")
        ],
        "status": {"code": raw.get("status_code"), "message": raw.get("status_message")},
    }


def _nanoseconds(given: Any) -> int | None:
    time = time_of(given)
    return None if time is None else round(time * 10**6) * 1000


def _flatten(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield nested attributes under names such as `llm.input_messages.0.message.role`.

    Lists that contain no objects stay lists.
    """
    if isinstance(value, dict):
        inner = [(str(key), one) for key, one in value.items()]
    elif isinstance(value, list) and any(isinstance(one, dict) for one in value):
        inner = [(str(number), one) for number, one in enumerate(value)]
    else:
        if value is not None:
            yield name, value
        return
    for key, one in inner:
        yield from _flatten(f"{name}.{key}" if name else key, one)
