"""OpenTelemetry GenAI spans as OTLP JSON: `gen_ai.*` attributes, and the events of the older conventions.

An error is a tool span (`execute_tool`) whose status is ERROR or that has an `error.type`; where there is no tool span,
a tool's message that is marked with `is_error`, or whose status is "error". Of a request for several choices, the first
counts. Message attributes that were cut and can no longer be read are errors where they hold what the model said, and
are listed under `unread` where they hold what it was sent.

A call of which neither a chat span nor a tool span recorded the arguments is an error of the trace; an instrumentation
leaves them out unless it is told to capture content. Where a chat span has other content, a call in it that has no
arguments was made without any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import Problem, RecordError
from corepath.importers.flat_attributes import tree
from corepath.importers.messages import result_value, text_of
from corepath.importers.otlp import Span
from corepath.importers.span_files import read_spans
from corepath.importers.span_messages import Answered, Asked, Chat, Message, Ran, read_json
from corepath.importers.spans import Convention, episodes_of, found_in, stream_of, why_not
from corepath.notation.call import UNANSWERED

_KINDS: Final = {
    "chat": "chat", "generate_content": "chat", "text_completion": "chat", "execute_tool": "tool",
    "invoke_agent": "agent", "invoke_workflow": "agent",
}  # fmt: skip
_DETAILS: Final = "gen_ai.client.inference.operation.details"
_ROLES: Final = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
_CALLS: Final = ("tool_call", "tool_use", "function_call", "server_tool_call", "server_tool_use")
_ANSWERS: Final = ("tool_call_response", "tool_result", "server_tool_call_response", "function_call_output")


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
    attributes = span.attributes
    if attributes.get("logfire.span_type") == "pending_span":
        return None  # it announces a span that comes whole later
    if attributes.get("gen_ai.tool.name") == "(merged tools)":
        return None  # so Google's ADK sums up calls made together, each of which has its own span
    operation = attributes.get("gen_ai.operation.name")
    if isinstance(operation, str):
        return _KINDS.get(operation)
    if "gen_ai.tool.name" in attributes or "gen_ai.tool.call.id" in attributes:
        return "tool"
    if any(name.startswith(("gen_ai.request.", "gen_ai.output.", "gen_ai.completion")) for name in attributes):
        return "chat"
    return "chat" if any(name == "gen_ai.choice" for name, _ in span.events) else None


def _chat(span: Span) -> Chat:
    attributes = span.attributes
    unread: tuple[str, ...] = ()
    try:
        sent = _messages(span, "gen_ai.input.messages") or _old_messages(span, choices=False)
    except RecordError as error:
        sent, unread = [], (str(error),)
    said = _messages(span, "gen_ai.output.messages") or _old_messages(span, choices=True)
    if not said and _kind(span) == "agent":
        sent, said = _of_agent(span)
    if (attributes.get("gen_ai.request.choice.count") or 1) != 1:
        said = said[:1]
    model = attributes.get("gen_ai.request.model") or attributes.get("gen_ai.response.model")
    if any(map(_has_content, (*sent, *said))):
        sent, said = [_completed(one) for one in sent], [_completed(one) for one in said]
    return Chat(tuple(sent), tuple(said), model, unread)


def _has_content(message: Message) -> bool:
    values = [*(call.arguments for call in message.calls), *(answer.value for answer in message.answers)]
    return bool(message.text) or any(value is not UNANSWERED for value in values)


def _completed(message: Message) -> Message:
    """A message of a span that captures content: what it leaves out is not there."""
    calls = [replace(one, arguments=None) if one.arguments is UNANSWERED else one for one in message.calls]
    answers = [replace(one, value=None) if one.value is UNANSWERED else one for one in message.answers]
    return replace(message, calls=tuple(calls), answers=tuple(answers))


def _messages(span: Span, name: str) -> list[Message]:
    """The messages of an attribute of the span, or of an event with all its details."""
    given = span.attributes.get(name)
    for event, attributes in span.events:
        if given is None and event == _DETAILS:
            given = attributes.get(name)
    given = read_json(given, name)
    return [] if given is None else [_message(one) for one in _list(given, name)]


def _of_agent(span: Span) -> tuple[list[Message], list[Message]]:
    """The messages of an agent's span: what stands up to the last words of the user, and what the agent did then."""
    name = "pydantic_ai.all_messages"
    all_ = _messages(span, name) or _messages(span, "gen_ai.input.messages")
    last = max((n for n, message in enumerate(all_) if message.of_user), default=-1)
    return all_[: last + 1], all_[last + 1 :]


def _old_messages(span: Span, *, choices: bool) -> list[Message]:
    """The messages of events, which may stand in an attribute too, or of attributes with numbers in their names."""
    told = [(name, _body(attributes)) for name, attributes in span.events]
    if isinstance(span.attributes.get("events"), (str, list)):
        kept = _list(read_json(span.attributes["events"], "events"), "events")
        told += [(str(one.get("event.name")), one) for one in kept]
    made = []
    for name, body in told:
        if choices and name == "gen_ai.choice":
            inner = result_value(body.get("message")) if _looks_json(body.get("message")) else body.get("message")
            made.append(_message(inner if isinstance(inner, dict) else {**body, "content": inner}, "assistant"))
        elif not choices and name in _ROLES:
            made.append(_message(body, _ROLES[name]))
    role = "assistant" if choices else "user"
    numbered = tree(span.attributes, "gen_ai.completion." if choices else "gen_ai.prompt.")
    return made or [_message(one, role) for one in numbered.values() if isinstance(one, dict)]


def _body(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """What an event says: in one text, or in attributes of its own."""
    content = attributes.get("gen_ai.event.content")
    if content is None:
        return attributes
    body = read_json(content, "gen_ai.event.content")
    return body if isinstance(body, dict) else {"content": body}


def _message(raw: Mapping[str, Any], role: str = "") -> Message:
    role = raw.get("role") if isinstance(raw.get("role"), str) else role  # type: ignore[assignment]
    content = raw.get("parts", raw.get("content"))
    if _looks_json(content) and isinstance(read := result_value(content), list) and _has_objects(read):
        content = read
    parts = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    calls = [_asked(one) for one in parts if one.get("type") in _CALLS or "toolUse" in one]
    answers = [_answered(one) for one in parts if one.get("type") in _ANSWERS or "toolResult" in one]
    for one in _tool_calls(raw.get("tool_calls")):
        function = one.get("function")
        told = function if isinstance(function, dict) else one
        calls.append(Asked(told.get("name"), told.get("arguments", UNANSWERED), one.get("id")))
    text = _text(content)
    if role == "tool" and not answers:
        value = UNANSWERED if text is None else text
        answers.append(Answered(raw.get("tool_call_id", raw.get("id")), value, _is_error(raw)))
    return Message(role, text, tuple(calls), tuple(answers))


def _tool_calls(given: Any) -> list[Mapping[str, Any]]:
    given = read_json(given, "tool_calls")
    if isinstance(given, dict):  # by number, as attributes with numbers in their names give it
        given = list(given.values())
    return [] if given is None else _list(given, "tool_calls")


def _asked(part: Mapping[str, Any]) -> Asked:
    inner = part.get("toolUse", part)
    if not isinstance(inner, dict):
        raise RecordError("a 'toolUse' is an object with 'name' and 'input'")
    given = [inner[name] for name in ("arguments", "input", "server_tool_call") if name in inner]
    arguments = next((one for one in given if one is not None), None if given else UNANSWERED)
    return Asked(inner.get("name"), arguments, inner.get("id", inner.get("toolUseId")))


def _answered(part: Mapping[str, Any]) -> Answered:
    inner = part.get("toolResult", part)
    if not isinstance(inner, dict):
        raise RecordError("a 'toolResult' is an object with 'toolUseId' and 'content'")
    names = ("response", "result", "content", "output", "server_tool_call_response")
    value = next((inner[name] for name in names if name in inner), UNANSWERED)
    id_ = next((inner[name] for name in ("id", "toolUseId", "tool_use_id", "call_id") if name in inner), None)
    return Answered(id_, _text(value) if _has_objects(value) and _text(value) else value, _is_error(inner))


def _ran(span: Span) -> Ran:
    attributes = span.attributes
    told = {name: _body(one) for name, one in span.events}
    asked, answered = told.get("gen_ai.tool.message", {}), told.get("gen_ai.choice", {})
    arguments = _given(attributes, "gen_ai.tool.call.arguments", "tool_arguments", default=asked.get("content"))
    result = _given(attributes, "gen_ai.tool.call.result", "tool_response", default=answered.get("message"))
    name = attributes.get("gen_ai.tool.name") or span.name.removeprefix("execute_tool ")
    return Ran(
        str(name),
        UNANSWERED if arguments is None else arguments,
        attributes.get("gen_ai.tool.call.id", asked.get("id")),
        UNANSWERED if result is None else result_value(result),
        span.error,
    )


def _given(attributes: Mapping[str, Any], *names: str, default: Any) -> Any:
    return next((attributes[name] for name in names if attributes.get(name) is not None), default)


def _text(content: Any) -> Any:
    """The words of a message: those of its parts of text, one under the other."""
    if not isinstance(content, list):
        return content
    texts = [one.get("content", one.get("text")) for one in content if isinstance(one, dict) and _is_text(one)]
    return text_of([one for one in (*texts, *(one for one in content if isinstance(one, str))) if isinstance(one, str)])


def _is_text(part: Mapping[str, Any]) -> bool:
    return part.get("type") in ("text", None)


def _is_error(raw: Mapping[str, Any]) -> bool:
    return raw.get("is_error") is True or raw.get("isError") is True or raw.get("status") == "error"


def _looks_json(text: Any) -> bool:
    return isinstance(text, str) and text.lstrip()[:1] in ("[", "{")


def _has_objects(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(one, dict) for one in value)


def _list(given: Any, what: str) -> list[Mapping[str, Any]]:
    if not isinstance(given, list) or not all(isinstance(one, dict) for one in given):
        raise RecordError(f"'{what}' is a list of objects")
    return given


CONVENTION: Final = Convention(
    "gen_ai attributes", _kind, _chat, _ran,
    ("gen_ai.input.", "gen_ai.output.", "gen_ai.prompt", "gen_ai.completion", "gen_ai.tool.", "gen_ai.system_",
     "gen_ai.usage.", "gen_ai.response.", "pydantic_ai.all_messages", "all_messages_events", "events", "tool_",
     "final_result", "model_request_parameters", "logfire."),
    "turn on content capture (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT, or the setting of the "
    "instrumentation), so that spans have gen_ai.output.messages or gen_ai.tool.call.arguments",
)  # fmt: skip
