"""Read OpenInference spans, with `openinference.span.kind`, `llm.*` and `tool.*` attributes.

Messages to the model do not mark errors. A result that is only in a later LLM span's input is therefore never an error.
Redacted values ("__REDACTED__") count as not recorded. A call with a redacted result has no result, and a call without
recorded arguments makes the trace invalid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from corepath.errors import RecordError
from corepath.importers import vercel_spans
from corepath.importers.adk_spans import mark_quotes
from corepath.importers.content import first_of, parse_result
from corepath.importers.flat_attributes import nest
from corepath.importers.otlp import Span
from corepath.importers.span_content import Chat, ChatAnswer, ChatCall, ChatMessage, ToolRun
from corepath.importers.spans import Convention, span_format
from corepath.importers.tool_values import unwrap_run
from corepath.notation.call import UNANSWERED

_KINDS: Final = {"LLM": "chat", "TOOL": "tool", "AGENT": "agent"}
_ADK: Final = ("gcp.vertex.agent.llm_", "gcp.vertex.agent.tool_")
_REDACTED: Final = "__REDACTED__"
_ARGUMENTS: Final = ("input.value", "gen_ai.tool.call.arguments")
_RESULTS: Final = ("output.value", "gen_ai.tool.call.result")
_MODELS: Final = ("llm.request.model_name", "llm.model_name", "llm.response.model_name")


def _kind(span: Span) -> str | None:
    kind = span.attributes.get("openinference.span.kind")
    if not isinstance(kind, str) or _is_other(span):
        return None
    if span.name.startswith("handoff to ") and "tool.name" not in span.attributes:
        return None  # the span reports a hand-over, for which the model called a tool such as `transfer_to_x`
    return _KINDS.get(kind.upper())


def _is_other(span: Span) -> bool:
    """Return True if Phoenix gave a kind to a span of another convention, which still has its own content."""
    if vercel_spans.operation(span) is None and not any(name.startswith(_ADK) for name in span.attributes):
        return False
    return not any(name.startswith(("llm.input_messages", "llm.output_messages", "input.")) for name in span.attributes)


def _chat(span: Span) -> Chat:
    attributes = span.attributes
    said = _messages(attributes, "llm.output_messages.")
    if not said and attributes.get("output.mime_type") != "application/json":
        output = _unless_redacted(attributes.get("output.value"))
        said = [ChatMessage("assistant", output)] if output else []
    model = next((attributes[name] for name in _MODELS if attributes.get(name)), None)
    counted = {name: attributes.get(f"llm.token_count.{name}") for name in ("prompt", "completion", "total")}
    used = {"input": counted["prompt"], "output": counted["completion"], "total": counted["total"]}
    used["cost"] = attributes.get("llm.cost.total")
    sent = mark_quotes(span, _messages(attributes, "llm.input_messages."))
    return Chat(tuple(sent), tuple(said), model, usage=used)


def _messages(attributes: Mapping[str, Any], prefix: str) -> list[ChatMessage]:
    found = (one.get("message") for one in nest(attributes, prefix).values() if isinstance(one, dict))
    return [_message(one) for one in found if isinstance(one, dict)]


def _message(raw: Mapping[str, Any]) -> ChatMessage:
    role = str(raw.get("role") or "")
    text = _unless_redacted(raw.get("content"))
    if text is None:
        text = "\n".join(_texts(raw.get("contents"))) or None
    calls = [_call(one) for one in _values(raw.get("tool_calls"))]
    if raw.get("function_call_name") is not None:
        calls.append(ChatCall(raw["function_call_name"], raw.get("function_call_arguments_json")))
    if role in ("tool", "function"):
        value = UNANSWERED if text is None else text
        return ChatMessage(role, text, answers=(ChatAnswer(raw.get("tool_call_id"), value),))
    return ChatMessage(role, text, tuple(calls))


def _call(raw: Mapping[str, Any]) -> ChatCall:
    call = raw.get("tool_call")
    if not isinstance(call, dict) or not isinstance(call.get("function", {}), dict):
        raise RecordError("a tool call must have 'tool_call.function.name' and 'tool_call.function.arguments'")
    function = call.get("function", {})
    return ChatCall(function.get("name"), function.get("arguments"), call.get("id"))


def _texts(contents: Any) -> Iterator[str]:
    for one in _values(contents):
        content = one.get("message_content")
        text = _unless_redacted(content.get("text")) if isinstance(content, dict) else None
        if isinstance(text, str) and one["message_content"].get("type", "text") == "text":
            yield text


def _tool_run(span: Span) -> ToolRun:
    attributes = span.attributes
    call = nest(attributes, "tool_call.")
    function = call["function"] if isinstance(call.get("function"), dict) else {}
    values = {name: _unless_redacted(attributes.get(name)) for name in (*_ARGUMENTS, *_RESULTS)}
    arguments = function.get("arguments", first_of(values, *_ARGUMENTS))
    output = first_of(values, *_RESULTS)
    run = ToolRun(
        str(attributes.get("tool.name") or function.get("name") or span.name),
        UNANSWERED if arguments is None else arguments,
        call.get("id", first_of(attributes, "tool.id", "gen_ai.tool.call.id")) or None,
        UNANSWERED if output is None else parse_result(output),
        span.error,
    )
    parameters = parse_result(attributes.get("tool.parameters")) or nest(attributes, "tool.parameters.")
    return unwrap_run(run, parameters if isinstance(parameters, dict) else ())


def _unless_redacted(value: Any) -> Any:
    """Return `value`, or None if it is redacted."""
    return None if value == _REDACTED else value


def _values(given: Any) -> list[Mapping[str, Any]]:
    """Return the objects in a list that is stored as a dict with indexes as keys, or an empty list for None.

    Raises `RecordError` if `given` is not such a dict.
    """
    if given is None:
        return []
    if not isinstance(given, dict) or not all(isinstance(one, dict) for one in given.values()):
        raise RecordError("the parts of a message must be under numbers, as in 'message.tool_calls.0.tool_call.id'")
    return list(given.values())


_CONVENTION: Final = Convention(
    "openinference.span.kind", _kind, _chat, _tool_run,
    ("llm.input_messages", "llm.output_messages", "llm.prompts", "llm.tools", "llm.token_count", "llm.cost", "input.",
     "output.", "tool.", "tool_call.", "llm.finish_reason", "llm.invocation_parameters", "openinference.",
     "gen_ai.tool.call.", "gen_ai.input.", "gen_ai.output.", "gen_ai.usage."),
    "turn off what hides content (OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS), so that spans have "
    "llm.output_messages or input.value",
)  # fmt: skip


FORMAT: Final = span_format(
    "openinference",
    "a TOOL span with the status ERROR, or whose output is a message with the status `error`",
    _CONVENTION,
)
