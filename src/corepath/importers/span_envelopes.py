"""Find the spans in JSON values of OTLP, Tempo, Jaeger, Phoenix and Zipkin.

| source | form |
| --- | --- |
| OTLP, collectors | `resourceSpans`, with `scopeSpans`, with `spans` |
| Tempo | the same in `batches`, or in `trace` |
| Jaeger | `data`, a list of traces with `spans` and `processes`; its newer API has OTLP in `result` |
| Phoenix | `data`, a list of spans; lines; or a data frame, by rows or by columns |
| SDKs, Zipkin | single spans, or a list of them |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from corepath.errors import RecordError
from corepath.importers.content import describe_type, first_of, objects
from corepath.importers.otlp import Resource, attributes_of
from corepath.importers.span_rows import is_row, row_span

GROUPS: Final = ("resourceSpans", "resource_spans", "batches")
SCOPES: Final = ("scopeSpans", "scope_spans", "instrumentationLibrarySpans")
WRAPPERS: Final = ("data", "trace", "result")
"""Fields around the spans in the answers of tracing backends."""
_HOLDERS: Final = (*GROUPS, *WRAPPERS, "spans", "name")
"""Fields that are lists or objects in values that are not a single span."""
_OTHER_SIGNALS: Final = ("resourceLogs", "resourceMetrics", "resourceProfiles")
TRACE_IDS: Final = ("traceId", "trace_id", "traceID", "TraceId", "context.trace_id")


def find_spans(value: Any, group: str = "1") -> Iterator[tuple[str, Mapping[str, Any]] | Resource]:
    """Yield the raw spans in `value`, each as a pair of group id and span, and the resource that sent each group.

    Group ids begin with `group`, and `group_of` completes the id of a span. Raises `RecordError` if `value` is
    malformed or contains no spans.
    """
    if isinstance(value, list):
        for number, one in enumerate(value):
            yield from find_spans(one, f"{group}.{number}")
        return
    if not isinstance(value, dict):
        raise RecordError(f"expected a span or an object with 'resourceSpans', not {describe_type(value)}")
    if is_table(value):
        for number, row in enumerate(_rows(value)):
            yield f"{group}.{number}", row
        return
    if (groups := first_of(value, *GROUPS)) is not None:
        yield from _find_in_groups(groups, group)
    elif "spans" in value:
        yield from resources_in(value, group)
        for span in objects(value["spans"], "'spans'"):
            yield group, span
    elif first_of(value, *TRACE_IDS, "context") is not None:
        span = row_span(value) if is_row(value) else value
        yield from resources_in(span, group)
        yield group, span
    elif isinstance(inner := first_of(value, *WRAPPERS), (dict, list)):
        yield from find_spans(inner, group)
    else:
        raise RecordError(_explain_no_spans(value))


def _find_in_groups(groups: Any, group: str) -> Iterator[tuple[str, Mapping[str, Any]] | Resource]:
    for number, one in enumerate(objects(groups, "'resourceSpans'")):
        own = f"{group}.{number}"
        yield from resources_in(one, own)
        for scope in objects(first_of(one, *SCOPES), "'scopeSpans'"):
            for span in objects(scope.get("spans"), "'spans'"):
                yield own, span


def resources_in(holder: Mapping[str, Any], group: str) -> Iterator[Resource]:
    """Yield the resources in an object around spans: OTLP's `resource`, Jaeger's `processes`, Zipkin's endpoint."""
    if isinstance(resource := holder.get("resource"), dict):
        yield Resource(group, attributes_of(resource.get("attributes")))
    if isinstance(endpoint := holder.get("localEndpoint"), dict):
        yield Resource(group, {"service.name": endpoint.get("serviceName")})
    processes = holder.get("processes")
    for name, one in processes.items() if isinstance(processes, dict) else ():
        if isinstance(one, dict):
            tags = attributes_of(one.get("tags"))
            yield Resource(f"{group}/{name}", {"service.name": one.get("serviceName"), **tags})


def group_of(span: Mapping[str, Any], group: str) -> str:
    """Return the id of a span's group. Jaeger has a group for each process in a trace."""
    return f"{group}/{span['processID']}" if "processID" in span else group


def is_table(value: Mapping[str, Any]) -> bool:
    """Return True if `value` is a data frame with an object for each column, whose keys name the rows."""
    return isinstance(value.get("name"), dict) and any(name.startswith("context.") for name in value)


def table_span(row: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the span in a row of a data frame. Its index, which `key` is from, is the span's id."""
    return row if row.get("context.span_id") else {**row, "context.span_id": key}


def _rows(columns: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for key in columns["name"]:
        row = {name: column.get(key) for name, column in columns.items() if isinstance(column, dict)}
        yield table_span(row, key)


def trace_of(value: Any) -> str | None:
    """Return the trace id in a single span, or None if there are several or none, or if `value` holds other spans."""
    if not isinstance(value, dict) or any(isinstance(value.get(name), (dict, list)) for name in _HOLDERS):
        return None
    context = value.get("context")
    names = {**context, **value} if isinstance(context, dict) else value
    given = [names[name] for name in TRACE_IDS if names.get(name) is not None]
    return given[0] or None if len(given) == 1 and isinstance(given[0], str) else None


def _explain_no_spans(value: Mapping[str, Any]) -> str:
    others = [name for name in _OTHER_SIGNALS if name in value]
    if others:
        return f"'{others[0]}' has no spans and is not read"
    return "neither 'resourceSpans' nor the 'traceId' of a single span"
