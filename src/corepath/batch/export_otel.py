"""Scores as OpenTelemetry's events `gen_ai.evaluation.result`, which are log records in OTLP/JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote

from corepath import __version__
from corepath.batch.export_rows import ScoreRow, digest
from corepath.batch.export_target import (
    Item,
    Refusal,
    Target,
    check_headers,
    join_json,
    label_of,
    list_texts,
    span_in_hex,
    trace_in_hex,
    without_nulls,
)
from corepath.errors import OptionError

EVENT: Final = "gen_ai.evaluation.result"
"""The name of the event."""
_INFO: Final = 9
"""The severity of the event, as a number."""
_RESOURCE: Final = json.dumps({"attributes": [{"key": "service.name", "value": {"stringValue": "corepath"}}]})
_SCOPE: Final = json.dumps({"name": "corepath", "version": __version__})
_HEADERS: Final = ("OTEL_EXPORTER_OTLP_LOGS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
"""The variables of the environment that hold headers, the first of which wins."""


def _make_items(row: ScoreRow) -> Iterator[Item]:
    trace, time = trace_in_hex(row), str(row.time)
    record = {"timeUnixNano": time, "observedTimeUnixNano": time, "severityNumber": _INFO, "eventName": EVENT}
    record |= without_nulls({"traceId": trace, "spanId": span_in_hex(row) if trace else None})
    shared, about = json.dumps(record), _attributes(_describe_episode(row, trace))
    for name, value in row.scores.items():
        own: dict[str, str | float | None] = {
            "gen_ai.evaluation.name": name,
            "gen_ai.evaluation.score.value": float(value),
            "gen_ai.evaluation.score.label": label_of(name, value),
            "gen_ai.evaluation.explanation": row.reasons.get(name),
            "log.record.uid": digest(row.score_id(name), repr(value), time),
        }
        attributes = join_json(_attributes(own), about)
        yield Item(join_json(shared, f'{{"attributes": {attributes}}}'), row.time, "/v1/logs")


def _describe_episode(row: ScoreRow, trace: str | None) -> dict[str, str | int | None]:
    """Return the attributes that all scores of a row share."""
    return {
        **{f"corepath.{name}": value for name, value in row.episode.items() if name != "agent"},
        "gen_ai.agent.name": row.episode.get("agent"),
        "gen_ai.response.id": row.response,
        "gen_ai.conversation.id": row.session,
        "corepath.trace": None if trace else row.trace,
    }


def _attributes(values: Mapping[str, str | float | None]) -> str:
    """Write attributes as JSON, without those that are None."""
    return json.dumps([{"key": key, "value": _any_value(one)} for key, one in values.items() if one is not None])


def _any_value(value: str | float) -> dict[str, str | float]:
    if isinstance(value, str):
        return {"stringValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"doubleValue": value}


def _make_body(items: Sequence[Item]) -> str:
    records = f'{{"scope": {_SCOPE}, "logRecords": [{", ".join(list_texts(items))}]}}'
    return f'{{"resourceLogs": [{{"resource": {_RESOURCE}, "scopeLogs": [{records}]}}]}}'


def _make_lines(items: Sequence[Item]) -> Iterator[str]:
    yield _make_body(items)


def _make_headers(env: Mapping[str, str]) -> dict[str, str]:
    """Read the headers that OpenTelemetry's own exporters send too, as in `api-key=abc,x-team=a%20b`."""
    variable = next((one for one in _HEADERS if env.get(one)), None)
    if variable is None:
        return {}
    pairs = [pair.partition("=") for pair in env[variable].split(",") if pair.strip()]
    if not all(name.strip() and sign for name, sign, _ in pairs):
        raise OptionError(f"{variable} must be NAME=VALUE, with commas between several")
    return check_headers({name.strip(): unquote(value.strip()) for name, _, value in pairs})


def _is_retried(status: int) -> bool:
    return status in (429, 502, 503, 504)  # OTLP forbids repeating a request after any other status


def _read_refusal(answer: Mapping[str, Any]) -> Refusal:
    partial = answer.get("partialSuccess")
    if not isinstance(partial, Mapping):
        return Refusal(0)
    rejected, why = str(partial.get("rejectedLogRecords") or 0), str(partial.get("errorMessage") or "")
    return Refusal(int(rejected) if rejected.isdecimal() and len(rejected) < 19 else 0, (why,) if why else ())


TARGET: Final = Target(
    name="OpenTelemetry",
    is_linked=lambda row: bool(trace_in_hex(row) or row.session),
    make_items=_make_items,
    make_body=_make_body,
    make_lines=_make_lines,
    make_headers=_make_headers,
    is_retried=_is_retried,
    read_refusal=_read_refusal,
    needs_link=False,
)
"""Any server that takes logs by OTLP/HTTP, e.g. a collector."""
