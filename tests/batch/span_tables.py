"""Tables of spans as four families of tools export them, made from the same random agents."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import zstandard
from pyarrow import parquet

Row = dict[str, Any]
BEGIN = 1_785_578_400_000_000
"""The first start, in microseconds since 1970."""


@dataclass(frozen=True)
class Made:
    """A span of no family in particular. Times are in microseconds."""

    trace: str
    id: str
    parent: str | None
    start: int
    end: int
    sent: tuple[Row, ...] = ()
    said: Row | None = None
    tool: str = ""
    call: str = ""
    arguments: Row | None = None
    result: Row | None = None


def make_trace(number: int, turns: int, chance: random.Random, words: int = 3) -> Iterator[Made]:
    """The spans of an agent that calls a tool in each turn except the last. No two spans start together."""
    trace = f"{number + 1:032x}"
    ids = (f"{number + 1:08x}{place:08x}" for place in range(1, 4 * turns + 9))
    clock = BEGIN + number * 10**6
    root = next(ids)
    yield Made(trace, root, None, clock, clock + 10**6)
    history: list[Row] = [{"role": "user", "content": f"Task {number}. " + "Please. " * words}]
    for turn in range(turns):
        call, given = f"c{number}-{turn}", {"plant": chance.choice("ABC"), "n": turn}
        last = turn == turns - 1
        function = {"name": "scan", "arguments": json.dumps(given)}
        calls = [{"id": call, "type": "function", "function": function}]
        said: Row = {"role": "assistant", "content": "Done." if last else f"Turn {turn}."}
        said |= {} if last else {"tool_calls": calls}
        clock += chance.randrange(10, 1000)
        yield Made(trace, next(ids), root, clock, clock + 5, tuple(history), said)
        if last:
            return
        clock += chance.randrange(10, 1000)
        result = {"dry": chance.random() < 0.5, "turn": turn}
        yield Made(trace, next(ids), root, clock, clock + 3, tool="scan", call=call, arguments=given, result=result)
        history += [said, {"role": "tool", "tool_call_id": call, "content": json.dumps(result)}]


def make_table(traces: int, chance: random.Random, words: int = 3) -> list[Made]:
    """The spans of several agents, in order of their starts."""
    made = [one for number in range(traces) for one in make_trace(number, chance.randrange(1, 5), chance, words)]
    return sorted(made, key=lambda one: (one.start, one.id))


def _otel_attributes(one: Made) -> Row:
    if one.said is not None:
        return {
            "gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
            "gen_ai.input.messages": json.dumps(one.sent), "gen_ai.output.messages": json.dumps([one.said]),
        }  # fmt: skip
    if one.tool:
        return {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": one.tool, "gen_ai.tool.call.id": one.call,
            "gen_ai.tool.call.arguments": json.dumps(one.arguments), "gen_ai.tool.call.result": json.dumps(one.result),
        }  # fmt: skip
    return {"gen_ai.operation.name": "invoke_agent", "flow": "water"}


def otel(one: Made) -> Row:
    """A span as an SDK prints it."""
    return {
        "trace_id": one.trace, "span_id": one.id, "parent_span_id": one.parent, "name": one.tool or "chat",
        "start_time_unix_nano": one.start * 1000, "end_time_unix_nano": one.end * 1000,
        "attributes": _otel_attributes(one), "resource": {"attributes": {"service.name": "garden"}},
    }  # fmt: skip


def clickhouse(one: Made) -> Row:
    """A row of the table that the OpenTelemetry collector writes into ClickHouse."""
    return {
        "Timestamp": one.start * 1000, "TraceId": one.trace, "SpanId": one.id, "ParentSpanId": one.parent or "",
        "SpanName": one.tool or "chat", "ServiceName": "garden", "ResourceAttributes": {"service.name": "garden"},
        "SpanAttributes": _otel_attributes(one), "Duration": (one.end - one.start) * 1000, "StatusCode": "Unset",
        "StatusMessage": "", "Events.Name": [], "Events.Attributes": [],
    }  # fmt: skip


def logfire(one: Made) -> Row:
    """A row of Logfire, whose attributes are text."""
    return {
        "trace_id": one.trace, "span_id": one.id, "parent_span_id": one.parent, "span_name": one.tool or "chat",
        "start_timestamp": _iso(one.start), "end_timestamp": _iso(one.end), "otel_status_code": None,
        "attributes": json.dumps(_otel_attributes(one)), "otel_resource_attributes": '{"service.name": "garden"}',
        "otel_events": "[]", "service_name": "garden",
    }  # fmt: skip


def phoenix(one: Made) -> Row:
    """A row of a data frame of Phoenix."""
    row: Row = {
        "name": one.tool or "chat", "span_kind": "LLM" if one.said else "TOOL" if one.tool else "AGENT",
        "parent_id": one.parent, "start_time": _iso(one.start), "end_time": _iso(one.end), "status_code": "OK",
        "status_message": "", "events": [], "context.span_id": one.id, "context.trace_id": one.trace,
        "attributes.llm.input_messages": None, "attributes.llm.output_messages": None, "attributes.tool.name": None,
        "attributes.tool_call.id": None, "attributes.input.value": None, "attributes.output.value": None,
        "attributes.llm.model_name": None,
    }  # fmt: skip
    if one.said is not None:
        row["attributes.llm.input_messages"] = [_phoenix_message(message) for message in one.sent]
        row["attributes.llm.output_messages"] = [_phoenix_message(one.said)]
        row["attributes.llm.model_name"] = "m"
    elif one.tool:
        row |= {"attributes.tool.name": one.tool, "attributes.tool_call.id": one.call}
        row |= {"attributes.input.value": json.dumps(one.arguments)}
        row |= {"attributes.output.value": json.dumps(one.result)}
    return row


def _phoenix_message(message: Row) -> Row:
    calls = [
        {"tool_call.id": call["id"], "tool_call.function.name": call["function"]["name"],
         "tool_call.function.arguments": call["function"]["arguments"]}
        for call in message.get("tool_calls", [])
    ]  # fmt: skip
    return {
        "message.role": message["role"], "message.content": message["content"],
        "message.tool_call_id": message.get("tool_call_id"), "message.tool_calls": calls or None,
    }  # fmt: skip


def langfuse(one: Made) -> Row:
    """An observation as Langfuse exports it."""
    given = list(one.sent) if one.said else one.arguments
    return {
        "id": one.id, "trace_id": one.trace, "parent_observation_id": one.parent or "", "level": "DEFAULT",
        "type": "GENERATION" if one.said else "TOOL" if one.tool else "SPAN", "name": one.tool or "chat",
        "provided_model_name": "m" if one.said else "", "metadata": {"tool_call_id": one.call} if one.tool else {},
        "input": json.dumps(given) if given else "", "output": json.dumps(one.said or one.result or ""),
        "start_time": _iso(one.start), "end_time": _iso(one.end), "updated_at": _iso(one.end), "session_id": "",
    }  # fmt: skip


def langsmith(one: Made) -> Row:
    """A run of LangSmith."""
    given = {"messages": list(one.sent)} if one.said else one.arguments
    output = {"output": one.result} if one.tool else one.said
    return {
        "id": one.id, "trace_id": one.trace, "parent_run_id": one.parent, "name": one.tool or "chat",
        "run_type": "llm" if one.said else "tool" if one.tool else "chain", "inputs": json.dumps(given or {}),
        "outputs": json.dumps(output or {}), "start_time": _iso(one.start), "end_time": _iso(one.end), "error": None,
        "extra": json.dumps({"metadata": {"ls_model_name": "m"}, "tool_call_id": one.call}),
    }  # fmt: skip


FAMILIES: dict[str, Callable[[Made], Row]] = {
    "otel": otel, "clickhouse": clickhouse, "logfire": logfire, "phoenix": phoenix, "langfuse": langfuse,
    "langsmith": langsmith,
}  # fmt: skip
TRACE_FIELD = {"clickhouse": "TraceId", "phoenix": "context.trace_id"}


def _iso(time: int) -> str:
    return datetime.fromtimestamp(time / 10**6, UTC).isoformat(timespec="microseconds")


def write_rows(file: Path, rows: list[Row], group: int = 7) -> Path:
    """Write rows as the name of the file says. In Parquet, `group` rows stand together."""
    if file.suffix == ".parquet":
        return write_parquet(file, rows, group)
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    pack = {".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}.get(file.suffix, bytes)
    file.write_bytes(pack(text))
    return file


_TIMES = ("start_time", "end_time", "updated_at", "start_timestamp", "end_timestamp")
_MAPS = ("attributes", "SpanAttributes", "ResourceAttributes", "metadata")


def write_parquet(file: Path, rows: list[Row], group: int) -> Path:
    """Write rows with the types that databases have: times, and maps of text."""
    columns: dict[str, Any] = {}
    for name in rows[0] if rows else ():
        values = [row.get(name) for row in rows]
        if name in _TIMES:
            moments = [None if value is None else datetime.fromisoformat(value) for value in values]
            columns[name] = pa.array(moments, pa.timestamp("us", "UTC"))
        elif name in _MAPS and isinstance(values[0], dict):
            pairs = [list((value or {}).items()) for value in values]
            columns[name] = pa.array(pairs, pa.map_(pa.string(), pa.string()))
        else:
            columns[name] = pa.array(values)
    parquet.write_table(pa.table(columns), file, row_group_size=group)
    return file
