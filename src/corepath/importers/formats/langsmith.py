"""Read runs of LangSmith: from its API and SDK (JSON) and its bulk exports (Parquet).

Each trace is an episode, so the calls of sub-agents in the same trace belong to it. Runs of the type `llm` are model
calls and runs of the type `tool` are tools. In a trace without model calls, e.g. if only root runs were exported, the
messages of the root run count. Runs may be nested in each other (`child_runs`).

If a run was exported more than once, the version with an end counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from corepath.importers.content import first_of
from corepath.importers.otlp import Span
from corepath.importers.platforms import nanoseconds, object_in, platform_format, without_empty
from corepath.importers.row_files import Row, RowFormat
from corepath.importers.span_content import ToolRun
from corepath.importers.stored_messages import is_conversation, read_arguments, unwrap_tool_message
from corepath.notation.call import UNANSWERED
from corepath.values import is_number

_CHATS: Final = ("llm", "chat_model")
_LOOPS: Final = ("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject")
"""Runs of the Vercel AI SDK that are called `llm`, but hold a whole loop of model calls and tools."""
_PAUSES: Final = ("GraphInterrupt(", "NodeInterrupt(", "ParentCommand(")
"""How LangGraph leaves a tool in order to wait for somebody or to hand over. The tool did not fail."""
_ABOUT: Final = ("tags", "reference_example_id", "app_path", "status")
_MODELS: Final = ("ls_model_name", "model", "model_name", "model_id")


def read_row(row: Row, above: Row) -> Span | None:
    """Return a run as a span, or None if the row is no run."""
    kind, id_ = row.get("run_type"), first_of(row, "id", "run_id")
    if not isinstance(kind, str) or not isinstance(id_, str):
        return None
    parent, error = row.get("parent_run_id") or first_of(above, "id", "run_id"), row.get("error")
    return Span(
        _trace_id(row, above, id_),
        str(row.get("name") or ""),
        id_,
        parent if isinstance(parent, str) else None,
        nanoseconds(row.get("start_time")),
        _attributes(row, kind.lower()),
        failed=bool(error) or row.get("status") == "error",
        status=error if isinstance(error, str) else "",
        end=nanoseconds(row.get("end_time")),
    )


def _attributes(row: Row, kind: str) -> dict[str, Any]:
    extra = object_in(row.get("extra"))
    metadata = {**object_in(row.get("metadata")), **object_in(extra.get("metadata"))}
    content = {
        ".type": kind,
        ".input": row.get("inputs"),
        ".output": row.get("outputs"),
        ".call": first_of({**metadata, **extra}, "tool_call_id"),
        ".scores": [_score(name, stats) for name, stats in object_in(row.get("feedback_stats")).items()],
        ".updated": nanoseconds(first_of(row, "last_updated_at", "modified_at", "end_time")),
    }
    if kind in _CHATS:
        content |= {".model": _model(row, extra, metadata), ".usage": _usage(row, metadata)}
    metadata.pop("usage_metadata", None)
    about = {"project_id": row.get("session_id"), "project": row.get("session_name")}
    about |= {name: row.get(name) for name in _ABOUT}
    return {**metadata, **without_empty({**about, **content})}


def _trace_id(row: Row, above: Row, id_: str) -> str:
    """Return a run's trace id. Older runs do not have it, but their dotted order begins with it."""
    order = row.get("dotted_order")
    first = order.partition(".")[0].rpartition("Z")[2] if isinstance(order, str) else ""
    given = (row.get("trace_id"), first, above.get("trace_id"), first_of(above, "id", "run_id"))
    return next((one for one in given if isinstance(one, str) and one), id_)


def _score(name: str, stats: Any) -> dict[str, Any]:
    """Return the statistics of one kind of feedback. If it was given once, its average is its value."""
    stats = stats if isinstance(stats, dict) else {"avg": stats}
    average = stats.get("avg")
    value = {"value": average} if is_number(average) and stats.get("n", 1) == 1 else {}
    return {"name": name, **without_empty(stats), **value}


def _model(row: Row, extra: Mapping[str, Any], metadata: Mapping[str, Any]) -> Any:
    for holder in (metadata, object_in(extra.get("invocation_params")), object_in(row.get("inputs")),
                   object_in(row.get("outputs"))):  # fmt: skip
        if isinstance(found := first_of(holder, *_MODELS), str):
            return found
    return None


def _usage(row: Row, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tokens and the cost of a model call, which LangSmith counts or else the SDK recorded."""
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    counted = {name: row[name] for name in names if row.get(name)}
    recorded = _recorded_usage(object_in(row.get("outputs")), metadata)
    details = object_in(first_of({**row, **recorded}, "prompt_token_details", "input_token_details"))
    output = object_in(first_of({**row, **recorded}, "completion_token_details", "output_token_details"))
    cached = {"cached": details.get("cache_read"), "cache_creation_input_tokens": details.get("cache_creation")}
    return without_empty(
        {**(counted or recorded), **cached, "reasoning_tokens": output.get("reasoning"), "cost": _cost(row)}
    )


def _recorded_usage(outputs: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    held = first_of(outputs, "usage_metadata", "usage") or metadata.get("usage_metadata")
    made = object_in(outputs.get("llm_output"))
    message = outputs.get("generations")
    while isinstance(message, list) and message:
        message = message[0]
    fields = object_in(object_in(message).get("message"))
    fields = object_in(fields.get("kwargs")) or object_in(fields.get("data")) or fields
    return object_in(held or fields.get("usage_metadata") or first_of(made, "token_usage", "usage"))


def _cost(row: Row) -> float | None:
    """Return the cost of a run, which LangSmith writes as text."""
    try:
        return float(row["total_cost"]) or None
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _kind(span: Span) -> str | None:
    attributes = span.attributes
    kind = attributes.get(".type")
    if kind in _CHATS and span.name not in _LOOPS:
        return "chat"
    if kind == "tool":
        return None if _is_guardrail(attributes) else "tool"
    if span.parent is None and any(is_conversation(attributes.get(name)) for name in (".input", ".output")):
        return "agent"
    return None


def _is_guardrail(attributes: Mapping[str, Any]) -> bool:
    """Return True for a check of the OpenAI Agents SDK, which is recorded as a tool without input and output."""
    return "triggered" in attributes and ".input" not in attributes and ".output" not in attributes


def _tool_run(span: Span) -> ToolRun:
    attributes = span.attributes
    result, id_, error = unwrap_tool_message(_only(object_in(attributes.get(".output")), "output", UNANSWERED))
    if span.failed and span.status.startswith(_PAUSES):
        result = UNANSWERED
    elif span.failed:
        error = error or span.status or "error"
    given = attributes.get(".input", UNANSWERED)
    arguments = given if given is UNANSWERED else read_arguments(given)
    if isinstance(arguments, dict) and set(arguments) == {"input"}:
        inner = read_arguments(arguments["input"])
        arguments = inner if isinstance(inner, dict) else arguments
    return ToolRun(span.name, arguments, attributes.get(".call") or id_, result, error)


def _only(holder: Mapping[str, Any], name: str, default: Any) -> Any:
    """Return the field `name` if the object has no other field, or else the object, or `default` if it is empty."""
    return holder[name] if set(holder) == {name} else holder or default


_ROWS: Final = RowFormat(
    "runs of LangSmith", ("runs", "child_runs", "data"), ("run_type",), read_row, lambda name: name == "trace_id"
)

FORMAT: Final = platform_format(
    "langsmith",
    "a run of a tool with an `error`, or whose output is a message with the status `error`",
    _ROWS,
    _kind,
    _tool_run,
)
