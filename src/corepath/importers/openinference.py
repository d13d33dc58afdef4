"""OpenInference spans as OTLP JSON: `openinference.span.kind`, `llm.*` and `tool.*` attributes.

An error is a TOOL span whose status is ERROR, or whose output is a tool's message with the status "error". A message to
the model has no sign for errors, so a result that only stands in the input of a later LLM span is none.

What was hidden ("__REDACTED__") was not recorded: a result stays away, and a call without its arguments is an error of
the trace.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import Problem, RecordError
from corepath.importers.flat_attributes import tree
from corepath.importers.messages import result_value
from corepath.importers.otlp import Span
from corepath.importers.span_files import read_spans
from corepath.importers.span_messages import Answered, Asked, Chat, Message, Ran
from corepath.importers.spans import Convention, episodes_of, found_in, stream_of, why_not
from corepath.notation.call import UNANSWERED

_KINDS: Final = {"LLM": "chat", "TOOL": "tool", "AGENT": "agent"}
_HIDDEN: Final = "__REDACTED__"
_MODELS: Final = ("llm.request.model_name", "llm.model_name", "llm.response.model_name")


def fits(value: Any) -> str | None:
    """Why a record is not of this format; None where it is."""
    try:
        return why_not(found_in(value), CONVENTION)
    except RecordError as error:
        return str(error)


def episodes(value: Any) -> Iterator[Episode]:
    """The episodes of a record, one a trace."""
    return episodes_of(value, CONVENTION)


def fits_file(file: Path) -> str | None:
    """Why a file is not of this format; None where it is."""
    return why_not(read_spans(file), CONVENTION)


def stream(file: Path) -> Iterator[Episode | Problem]:
    """The episodes of a file, which may be larger than memory."""
    return stream_of(file, CONVENTION)


def _kind(span: Span) -> str | None:
    kind = span.attributes.get("openinference.span.kind")
    return _KINDS.get(kind.upper()) if isinstance(kind, str) else None


def _chat(span: Span) -> Chat:
    attributes = span.attributes
    said = _messages(attributes, "llm.output_messages.")
    if not said and attributes.get("output.mime_type") != "application/json":
        output = _recorded(attributes.get("output.value"))
        said = [Message("assistant", output)] if output else []
    model = next((attributes[name] for name in _MODELS if attributes.get(name)), None)
    return Chat(tuple(_messages(attributes, "llm.input_messages.")), tuple(said), model)


def _messages(attributes: Mapping[str, Any], prefix: str) -> list[Message]:
    found = (one.get("message") for one in tree(attributes, prefix).values() if isinstance(one, dict))
    return [_message(one) for one in found if isinstance(one, dict)]


def _message(raw: Mapping[str, Any]) -> Message:
    role = str(raw.get("role") or "")
    text = _recorded(raw.get("content"))
    if text is None:
        text = "\n".join(_texts(raw.get("contents"))) or None
    calls = [_asked(one) for one in _values(raw.get("tool_calls"))]
    if raw.get("function_call_name") is not None:
        calls.append(Asked(raw["function_call_name"], raw.get("function_call_arguments_json")))
    if role in ("tool", "function"):
        value = UNANSWERED if text is None else text
        return Message(role, text, answers=(Answered(raw.get("tool_call_id"), value),))
    return Message(role, text, tuple(calls))


def _asked(raw: Mapping[str, Any]) -> Asked:
    call = raw.get("tool_call")
    if not isinstance(call, dict) or not isinstance(call.get("function", {}), dict):
        raise RecordError("a tool call has 'tool_call.function.name' and 'tool_call.function.arguments'")
    function = call.get("function", {})
    return Asked(function.get("name"), function.get("arguments"), call.get("id"))


def _texts(contents: Any) -> Iterator[str]:
    for one in _values(contents):
        content = one.get("message_content")
        text = _recorded(content.get("text")) if isinstance(content, dict) else None
        if isinstance(text, str) and one["message_content"].get("type", "text") == "text":
            yield text


def _ran(span: Span) -> Ran:
    attributes = span.attributes
    call = tree(attributes, "tool_call.")
    function = call.get("function")
    told = function if isinstance(function, dict) else {}
    arguments = told.get("arguments", _recorded(attributes.get("input.value")))
    output = _recorded(attributes.get("output.value"))
    result = UNANSWERED if output is None else result_value(output)
    id_, error = call.get("id", attributes.get("tool.id")), span.error
    if isinstance(result, dict) and "tool_call_id" in result and "content" in result:  # a tool's message, whole
        id_ = id_ or result["tool_call_id"]
        error = error or (str(result["content"]) or "error" if result.get("status") == "error" else None)
        result = result_value(result["content"])
    name = attributes.get("tool.name") or told.get("name") or span.name
    return Ran(str(name), UNANSWERED if arguments is None else arguments, id_ or None, result, error)


def _recorded(value: Any) -> Any:
    """A value, or None where it was hidden."""
    return None if value == _HIDDEN else value


def _values(given: Any) -> list[Mapping[str, Any]]:
    """What stands under the numbers of a list."""
    if given is None:
        return []
    if not isinstance(given, dict) or not all(isinstance(one, dict) for one in given.values()):
        raise RecordError("the parts of a message stand under numbers, as in 'message.tool_calls.0.tool_call.id'")
    return list(given.values())


CONVENTION: Final = Convention(
    "openinference.span.kind", _kind, _chat, _ran,
    ("llm.input_messages", "llm.output_messages", "llm.prompts", "llm.tools", "llm.token_count", "llm.cost", "input.",
     "output.", "tool.", "tool_call.", "llm.finish_reason", "llm.invocation_parameters", "openinference."),
    "turn off what hides content (OPENINFERENCE_HIDE_INPUTS, OPENINFERENCE_HIDE_OUTPUTS), so that spans have "
    "llm.output_messages or input.value",
)  # fmt: skip
