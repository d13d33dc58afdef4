"""Read OpenTelemetry GenAI spans, with `gen_ai.*` attributes or the events of older conventions.

Spans of OpenLLMetry (`traceloop.*`), Google's ADK (`gcp.vertex.agent.*`) and the Vercel AI SDK (`ai.*`) are read too.

Only a response's first choice is read. If an attribute with the model's output messages is truncated, the trace is
invalid. If an attribute with input messages is truncated, the attribute is skipped and the episode's `unread` field
says so.

A trace is also invalid if neither a chat span nor a tool span recorded a call's arguments, because instrumentations
omit arguments unless they capture content. If a chat span has other content, a call without arguments in this span
really had none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from corepath.errors import RecordError
from corepath.importers import adk_spans, vercel_spans
from corepath.importers.content import first_of, parse_result, text_of
from corepath.importers.flat_attributes import nest
from corepath.importers.otlp import Span
from corepath.importers.span_content import Chat, ChatAnswer, ChatCall, ChatMessage, ToolRun, read_json
from corepath.importers.spans import Convention, span_format
from corepath.importers.tool_values import unwrap_run
from corepath.notation.call import UNANSWERED

_KINDS: Final = {
    "chat": "chat", "generate_content": "chat", "text_completion": "chat", "execute_tool": "tool",
    "invoke_agent": "agent", "invoke_workflow": "agent",
}  # fmt: skip
_TRACELOOP_KINDS: Final = {"tool": "tool", "agent": "agent", "workflow": "agent"}
_DETAILS: Final = "gen_ai.client.inference.operation.details"
_ROLES: Final = {f"gen_ai.{role}.message": role for role in ("system", "user", "assistant", "tool")}
_CALLS: Final = ("tool_call", "tool_use", "function_call", "server_tool_call", "server_tool_use")
_ANSWERS: Final = ("tool_call_response", "tool_result", "server_tool_call_response", "function_call_output")


def _kind(span: Span) -> str | None:
    attributes = span.attributes
    if vercel_spans.operation(span) is not None:
        return vercel_spans.kind(span)
    if attributes.get("logfire.span_type") == "pending_span":
        return None  # a pending span is sent again when it ends
    if attributes.get("gen_ai.tool.name") == "(merged tools)":
        return None  # Google's ADK summarises parallel calls, which also have their own spans
    operation = attributes.get("gen_ai.operation.name")
    if isinstance(operation, str):
        return _KINDS.get(operation)
    if attributes.get("traceloop.span.kind") in _TRACELOOP_KINDS:
        return _TRACELOOP_KINDS[attributes["traceloop.span.kind"]]
    if "gen_ai.tool.name" in attributes or "gen_ai.tool.call.id" in attributes:
        return "tool"
    if attributes.get("llm.request.type") in ("embedding", "rerank"):
        return None
    return "chat" if _is_chat(span) else adk_spans.kind(span)


def _is_chat(span: Span) -> bool:
    names = ("gen_ai.request.", "gen_ai.output.", "gen_ai.completion")
    return any(name.startswith(names) for name in span.attributes) or any(
        name == "gen_ai.choice" for name, _ in span.events
    )


def _chat(span: Span) -> Chat:
    if vercel_spans.operation(span) is not None:
        return vercel_spans.chat(span)
    attributes = span.attributes
    sent, unread = _sent(span)
    said = _messages(span, "gen_ai.output.messages") or _old_messages(span, choices=True) or adk_spans.said(span)
    if not said and _kind(span) == "agent":
        sent, said = _agent_messages(span)
    if (attributes.get("gen_ai.request.choice.count") or 1) != 1:
        said = said[:1]
    model = attributes.get("gen_ai.request.model") or attributes.get("gen_ai.response.model")
    if any(map(_has_content, (*sent, *said))):
        sent, said = [_fill_missing(one) for one in sent], [_fill_missing(one) for one in said]
    return Chat(tuple(sent), tuple(said), model, unread, nest(attributes, "gen_ai.usage."))


def _sent(span: Span) -> tuple[list[ChatMessage], tuple[str, ...]]:
    """Return the messages to the model, and error messages about those that could not be read."""
    instructions = _instructions(span)
    try:
        sent = _messages(span, "gen_ai.input.messages") or _old_messages(span, choices=False)
        return adk_spans.mark_quotes(span, [*instructions, *sent] or adk_spans.sent(span)), ()
    except RecordError as error:
        return instructions, (str(error),)


def _instructions(span: Span) -> list[ChatMessage]:
    """Return the system's instructions in a span, which are recorded apart from the other messages."""
    text = _text(_parse_parts(span.attributes.get("gen_ai.system_instructions")))
    return [ChatMessage("system", text)] if isinstance(text, str) and text else []


def _has_content(message: ChatMessage) -> bool:
    values = [*(call.arguments for call in message.calls), *(answer.value for answer in message.answers)]
    return bool(message.text) or any(value is not UNANSWERED for value in values)


def _fill_missing(message: ChatMessage) -> ChatMessage:
    """Replace arguments and results that were not recorded with None.

    The message comes from a span that records content, so these values were really empty.
    """
    calls = [replace(one, arguments=None) if one.arguments is UNANSWERED else one for one in message.calls]
    answers = [replace(one, value=None) if one.value is UNANSWERED else one for one in message.answers]
    return replace(message, calls=tuple(calls), answers=tuple(answers))


def _messages(span: Span, name: str) -> list[ChatMessage]:
    """Return the messages in a span's attribute `name`.

    The attribute may also be in the event that holds the operation's details.
    """
    given = span.attributes.get(name)
    for event, attributes in span.events:
        if given is None and event == _DETAILS:
            given = attributes.get(name)
    given = read_json(given, name)
    return [] if given is None else [_message(one) for one in _list(given, name)]


def _agent_messages(span: Span) -> tuple[list[ChatMessage], list[ChatMessage]]:
    """Return an agent span's messages as two lists: up to the user's last message, and after that message."""
    name = "pydantic_ai.all_messages"
    all_ = _messages(span, name) or _messages(span, "gen_ai.input.messages")
    last = max((n for n, message in enumerate(all_) if message.is_by_user), default=-1)
    return all_[: last + 1], all_[last + 1 :]


def _old_messages(span: Span, *, choices: bool) -> list[ChatMessage]:
    """Return a span's output messages if `choices` is true, or else its input messages.

    Older conventions record messages in events, or in attributes with indexes in their names.
    """
    events = list(_events(span))
    if choices:
        found = [_choice(body) for name, body in events if name == "gen_ai.choice"]
    else:
        found = [_message(body, _ROLES[name]) for name, body in events if name in _ROLES]
    role = "assistant" if choices else "user"
    numbered = nest(span.attributes, "gen_ai.completion." if choices else "gen_ai.prompt.")
    return found or [_message(one, role) for one in numbered.values() if isinstance(one, dict)]


def _events(span: Span) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name and content of each event, including events in the attribute `events`."""
    for name, attributes in span.events:
        yield name, _body(attributes)
    if isinstance(span.attributes.get("events"), (str, list)):
        for one in _list(read_json(span.attributes["events"], "events"), "events"):
            yield str(one.get("event.name")), one


def _choice(body: Mapping[str, Any]) -> ChatMessage:
    message = body.get("message")
    if _looks_json(message):
        message = parse_result(message)
    return _message(message if isinstance(message, dict) else {**body, "content": message}, "assistant")


def _body(attributes: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an event's content: the JSON in `gen_ai.event.content`, or else all of the event's attributes."""
    content = attributes.get("gen_ai.event.content")
    if content is None:
        return attributes
    body = read_json(content, "gen_ai.event.content")
    return body if isinstance(body, dict) else {"content": body}


def _message(raw: Mapping[str, Any], role: str = "") -> ChatMessage:
    """Read a message. `role` is used if the message does not name its own role."""
    given_role = raw.get("role")
    role = given_role if isinstance(given_role, str) else role
    content = _parse_parts(raw.get("parts", raw.get("content")))
    parts = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    calls = [_call_part(one) for one in _select(parts, _CALLS, "toolUse")]
    calls += _tool_calls(raw.get("tool_calls"))
    answers = [_answer_part(one) for one in _select(parts, _ANSWERS, "toolResult")]
    text = _text(content)
    if role == "tool" and not answers:
        value = UNANSWERED if text is None else text
        answers.append(ChatAnswer(raw.get("tool_call_id", raw.get("id")), value, _is_error(raw)))
    return ChatMessage(role, text, tuple(calls), tuple(answers))


def _select(parts: list[dict[str, Any]], types: tuple[str, ...], field: str) -> list[dict[str, Any]]:
    """Return the parts whose type is in `types`, and the parts that contain `field`."""
    return [one for one in parts if one.get("type") in types or field in one]


def _parse_parts(content: Any) -> Any:
    """Parse content that is a JSON string with a list of parts. Other content is returned unchanged."""
    parsed = parse_result(content) if _looks_json(content) else None
    return parsed if _has_objects(parsed) else content


def _tool_calls(given: Any) -> list[ChatCall]:
    """Return the calls in the field `tool_calls`, which is a list or an object with indexes as keys."""
    given = read_json(given, "tool_calls")
    if isinstance(given, dict):
        given = list(given.values())
    calls = []
    for one in [] if given is None else _list(given, "tool_calls"):
        function = one["function"] if isinstance(one.get("function"), dict) else one
        calls.append(ChatCall(function.get("name"), function.get("arguments", UNANSWERED), one.get("id")))
    return calls


def _call_part(part: Mapping[str, Any]) -> ChatCall:
    inner = part.get("toolUse", part)
    if not isinstance(inner, dict):
        raise RecordError("a 'toolUse' is an object with 'name' and 'input'")
    given = [inner[name] for name in ("arguments", "input", "server_tool_call") if name in inner]
    arguments = next((one for one in given if one is not None), None if given else UNANSWERED)
    return ChatCall(inner.get("name"), arguments, inner.get("id", inner.get("toolUseId")))


def _answer_part(part: Mapping[str, Any]) -> ChatAnswer:
    inner = part.get("toolResult", part)
    if not isinstance(inner, dict):
        raise RecordError("a 'toolResult' is an object with 'toolUseId' and 'content'")
    names = ("response", "result", "content", "output", "server_tool_call_response")
    value = next((inner[name] for name in names if name in inner), UNANSWERED)
    id_ = next((inner[name] for name in ("id", "toolUseId", "tool_use_id", "call_id") if name in inner), None)
    return ChatAnswer(id_, _text(value) if _has_objects(value) and _text(value) else value, _is_error(inner))


def _tool_run(span: Span) -> ToolRun:
    if vercel_spans.operation(span) is not None:
        return vercel_spans.tool_run(span)
    attributes = span.attributes
    events = {name: _body(one) for name, one in span.events}
    asked, answered = events.get("gen_ai.tool.message", {}), events.get("gen_ai.choice", {})
    by_adk = adk_spans.arguments_and_result(span)
    given = (
        first_of(attributes, "gen_ai.tool.call.arguments", "tool_arguments", "traceloop.entity.input"),
        asked.get("content"),
    )
    told = (
        first_of(attributes, "gen_ai.tool.call.result", "tool_response", "traceloop.entity.output"),
        answered.get("message"),
    )
    name = first_of(attributes, "gen_ai.tool.name", "traceloop.entity.name") or span.name.removeprefix("execute_tool ")
    id_ = attributes.get("gen_ai.tool.call.id", asked.get("id"))
    run = ToolRun(
        str(name),
        next((one for one in given if one is not None), by_adk[0]),
        None if id_ == "<not specified>" else id_,
        parse_result(next((one for one in told if one is not None), by_adk[1])),
        span.error,
    )
    return unwrap_run(run)


def _text(content: Any) -> Any:
    """Return the text in `content`.

    If `content` is a list, its text parts are joined by newlines, or None is returned if there are none.
    """
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


_CONVENTION: Final = Convention(
    "gen_ai attributes", _kind, _chat, _tool_run,
    ("gen_ai.input.", "gen_ai.output.", "gen_ai.prompt", "gen_ai.completion", "gen_ai.tool.", "gen_ai.system_",
     "gen_ai.usage.", "gen_ai.response.", "pydantic_ai.all_messages", "all_messages_events", "events", "tool_",
     "final_result", "model_request_parameters", "logfire.", "traceloop.entity.input", "traceloop.entity.output",
     "llm.request.functions", *vercel_spans.CONTENT, *adk_spans.CONTENT),
    "turn on content capture (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT, or the setting of the "
    "instrumentation), so that spans have gen_ai.output.messages or gen_ai.tool.call.arguments",
)  # fmt: skip


FORMAT: Final = span_format(
    "otel",
    "a tool span with the status ERROR or an `error.type`; without a tool span, a message marked as an error",
    _CONVENTION,
)
