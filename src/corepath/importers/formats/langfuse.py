"""Read observations of Langfuse: from its API, its downloads and its exports to blob storage (JSON, Parquet).

Each trace is an episode, so the calls of sub-agents in the same trace belong to it. A generation is a model call. A
tool is an observation of the type TOOL, or one of the type SPAN or EVENT that says so: by the id of the call that it
ran, by the attributes of its OpenTelemetry span, or by a tool message as its output. In a trace without generations,
the messages of the observation at its root count. Rows of traces and scores are joined with the observations if their
files are read together.

If an observation was exported more than once, the version with an end counts, and among these the one that was
updated last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from corepath.importers.content import first_of
from corepath.importers.otlp import Span
from corepath.importers.platforms import nanoseconds, object_in, platform_format, without_empty
from corepath.importers.row_files import Row, RowFormat
from corepath.importers.span_content import ToolRun
from corepath.importers.stored_messages import is_conversation, read_arguments, unwrap_tool_message
from corepath.notation.call import UNANSWERED

_TYPES: Final = (
    "SPAN", "GENERATION", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL",
)  # fmt: skip
_UNTYPED: Final = ("SPAN", "EVENT")
_TRACE_FIELDS: Final = ("html_path", "user_id", "session_id", "release", "observations", "bookmarked", "public", "tags")
_ABOUT: Final = (
    "session_id", "user_id", "trace_name", "tags", "release", "version", "environment", "project_id", "prompt_name",
    "prompt_version", "model_parameters",
)  # fmt: skip
_TOOL_NAMES: Final = ("gen_ai.tool.name", "ai.toolCall.name", "tool.name", "tool_name", "toolName")
_CALL_IDS: Final = ("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call_id", "toolCallId", "tool_call.id")
_PREFIXES: Final = ("execute_tool ", "running tool: ")
_CAPITAL: Final = re.compile(r"(?<!^)([A-Z])")


def read_row(row: Row, above: Row) -> Span | None:
    """Return an observation, a trace or a score as a span, or None if the row is none of these."""
    row, above = _snake_case(row), _snake_case(above)
    if not isinstance(row.get("id"), str):
        return None
    trace = row.get("trace_id") or above.get("id")
    if "start_time" in row and str(row.get("type")).upper() in _TYPES:
        return _observation(row, str(trace or row["id"]))
    if "value" in row and "name" in row and (trace or "data_type" in row):
        return _score(row, str(trace or f"session {row.get('session_id')}"))
    return _trace(row) if _is_trace(row) else None


def _is_trace(row: Row) -> bool:
    return "timestamp" in row and "trace_id" not in row and any(name in row for name in _TRACE_FIELDS)


def _snake_case(row: Row) -> dict[str, Any]:
    """Return a row with the field names of the exports. The API has the same names in camel case."""
    return {_snake_name(name): value for name, value in row.items()}


@lru_cache(maxsize=1024)
def _snake_name(name: str) -> str:
    return _CAPITAL.sub(r"_\1", name).lower()


def _observation(row: Mapping[str, Any], trace: str) -> Span:
    metadata = _metadata(row)
    attributes = {**object_in(object_in(row.get("metadata")).get("attributes")), **metadata}
    kind = str(row["type"]).upper()
    if kind in _UNTYPED and isinstance(metadata.get("color"), str):
        kind = "TOOL"  # version 2 of the SDK stores a tool of LangChain as a span, with what LangChain says of tools
    content = {
        ".type": kind,
        ".root": not row.get("parent_observation_id") or row.get("is_root_observation") is True,
        ".input": row.get("input"),
        ".output": row.get("output"),
        ".model": first_of(row, "provided_model_name", "model", "internal_model"),
        ".usage": _usage(row),
        ".tool": first_of(attributes, *_TOOL_NAMES) if kind in ("TOOL", *_UNTYPED) else None,
        ".call": first_of(attributes, *_CALL_IDS) if kind in ("TOOL", *_UNTYPED) else None,
        ".updated": nanoseconds(row.get("updated_at")),
    }
    return Span(
        trace,
        str(row.get("name") or ""),
        row["id"],
        str(row.get("parent_observation_id") or "") or None,
        nanoseconds(row.get("start_time")),
        {**metadata, **_about(row), **without_empty(content)},
        failed=row.get("level") == "ERROR",
        status=str(row.get("status_message") or ""),
        end=nanoseconds(row.get("end_time")),
    )


def _metadata(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row's metadata without the attributes of its OpenTelemetry span, which repeat the rest of the row."""
    return {name: one for name, one in object_in(row.get("metadata")).items() if name not in ("attributes", "scope")}


def _about(row: Mapping[str, Any]) -> dict[str, Any]:
    return without_empty({name: row.get(name) for name in _ABOUT})


def _trace(row: Mapping[str, Any]) -> Span:
    """Return a trace as a span that starts just before its first observation, so that its name comes first.

    Its input and output count only if there is no generation.
    """
    content = {
        ".root": True,
        ".input": row.get("input"),
        ".output": row.get("output"),
        ".updated": nanoseconds(row.get("updated_at")),
    }
    attributes = {**_metadata(row), **_about(row), **without_empty(content)}
    name, start = str(row.get("name") or ""), nanoseconds(row["timestamp"])
    return Span(row["id"], name, f"trace {row['id']}", None, max(start - 1, 0), attributes)


def _score(row: Mapping[str, Any], trace: str) -> Span:
    """Return a score as a span that tells nothing else."""
    of_text = row.get("data_type") in ("CATEGORICAL", "TEXT", "CORRECTION")
    value = first_of(row, "string_value", "value") if of_text else row.get("value")
    names = ("name", "comment", "source", "data_type", "observation_id")
    score = without_empty({name: row.get(name) for name in names})
    attributes = {".scores": [{**score, "value": value}], ".updated": nanoseconds(row.get("updated_at"))}
    return Span(trace, "", f"score {row['id']}", f"trace {trace}", nanoseconds(row.get("timestamp")), attributes)


def _usage(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tokens and the cost of a generation. Langfuse writes zeros if it does not know them."""
    old = {"input": row.get("prompt_tokens"), "output": row.get("completion_tokens"), "total": row.get("total_tokens")}
    counted = object_in(row.get("usage_details")) or object_in(row.get("usage")) or without_empty(old)
    if not any(counted.get(name) for name in counted if name != "unit"):
        counted = {}
    cached = first_of(counted, "input_cached_tokens", "input_cache_read", "cache_read_input_tokens")
    reasoning = first_of(counted, "output_reasoning_tokens", "output_reasoning", "reasoning_tokens")
    cost = object_in(row.get("cost_details")).get("total")
    cost = first_of({"cost": cost, **row}, "cost", "total_cost", "calculated_total_cost") or None
    return without_empty({**counted, "cached": cached, "reasoning_tokens": reasoning, "cost": cost})


def _kind(span: Span) -> str | None:
    attributes = span.attributes
    kind = attributes.get(".type")
    if kind == "GENERATION":
        return "chat"
    if kind == "TOOL":
        return "tool"
    if kind in _UNTYPED and (".tool" in attributes or ".call" in attributes or _ran_tool(span)):
        return "tool"
    if attributes.get(".root") and any(is_conversation(attributes.get(name)) for name in (".input", ".output")):
        return "agent"
    return None


def _ran_tool(span: Span) -> bool:
    """Return True if a span's name or output is that of a tool."""
    return span.name.startswith(_PREFIXES) or unwrap_tool_message(span.attributes.get(".output"))[1] is not None


def _tool_run(span: Span) -> ToolRun:
    attributes = span.attributes
    name = str(attributes.get(".tool") or "") or span.name
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    result, id_, error = unwrap_tool_message(attributes.get(".output", UNANSWERED))
    if span.failed:
        error = span.status or (result if isinstance(result, str) else None) or "error"
    arguments = read_arguments(attributes[".input"]) if ".input" in attributes else UNANSWERED
    return ToolRun(name, _named_arguments(arguments), attributes.get(".call") or id_, result, error)


def _named_arguments(arguments: Any) -> Any:
    """Return the arguments of a Python function that Langfuse observed, which are stored as `args` and `kwargs`."""
    if not isinstance(arguments, dict) or set(arguments) != {"args", "kwargs"}:
        return arguments
    given, named = arguments["args"], arguments["kwargs"]
    if not given:
        return named
    return given[0] if not named and isinstance(given, list) and len(given) == 1 else arguments


_ROWS: Final = RowFormat(
    "observations of Langfuse",
    ("data", "observations", "traces", "trace", "scores"),
    ("traceId", "trace_id", "htmlPath", "bookmarked"),
    read_row,
    lambda name: _snake_name(name) == "trace_id",
)

FORMAT: Final = platform_format(
    "langfuse",
    "an observation of a tool with the level ERROR, or whose output is a message with the status `error`",
    _ROWS,
    _kind,
    _tool_run,
)
