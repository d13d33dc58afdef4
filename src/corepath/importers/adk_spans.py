"""Read spans of Google's ADK, with `gcp.vertex.agent.*` attributes that hold requests and responses of Gemini."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from corepath.importers.content import first_of, message_text, objects
from corepath.importers.otlp import Span
from corepath.importers.span_content import ChatAnswer, ChatCall, ChatMessage, read_json
from corepath.notation.call import UNANSWERED

_REQUEST: Final = "gcp.vertex.agent.llm_request"
_RESPONSE: Final = "gcp.vertex.agent.llm_response"
_ARGUMENTS: Final = "gcp.vertex.agent.tool_call_args"
_RESULT: Final = "gcp.vertex.agent.tool_response"
_NOT_RECORDED: Final = ("N/A", "<not serializable>", "<not specified>")
CONTENT: Final = (_REQUEST, _RESPONSE, _ARGUMENTS, _RESULT, "gcp.vertex.agent.data", "gcp.vertex.agent.event_id")
"""Attributes that hold messages and values."""


def kind(span: Span) -> str | None:
    """Return the kind of a span that has no attributes to tell it, or None for all other spans.

    Older versions name agents only in the span's name, and record nothing about a tool that raised an exception.
    """
    if span.name.startswith("agent_run ["):
        return "agent"
    is_bare = not any(name.startswith("gen_ai.") for name in span.attributes)
    return "tool" if is_bare and span.failed and span.name.startswith("execute_tool ") else None


def sent(span: Span) -> list[ChatMessage]:
    """Return the messages in a request to the model."""
    request = read_json(span.attributes.get(_REQUEST), _REQUEST)
    if not isinstance(request, dict):
        return []
    config = request["config"] if isinstance(request.get("config"), dict) else {}
    instruction = _system_text(config.get("system_instruction"))
    system = [ChatMessage("system", instruction)] if instruction else []
    return [*system, *(_message(one) for one in objects(request.get("contents"), "'contents'"))]


def said(span: Span) -> list[ChatMessage]:
    """Return the messages in the model's response."""
    response = read_json(span.attributes.get(_RESPONSE), _RESPONSE) if _is_recorded(span, _RESPONSE) else None
    content = response.get("content") if isinstance(response, dict) else None
    return [_message(content)] if isinstance(content, dict) else []


def arguments_and_result(span: Span) -> tuple[Any, Any]:
    """Return the arguments and the result in a tool span.

    If both are empty objects, they were not recorded.
    """
    values = [span.attributes[name] if _is_recorded(span, name) else UNANSWERED for name in (_ARGUMENTS, _RESULT)]
    if values == ["{}", "{}"]:
        return UNANSWERED, UNANSWERED
    return values[0], values[1]


def mark_quotes(span: Span, messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Give the messages in which ADK quotes other agents to the system, though they have the user's role."""
    if not any(name.startswith("gcp.vertex.agent.") for name in span.attributes):
        return list(messages)
    return [replace(one, role="system") if _is_quote(one) else one for one in messages]


def _is_quote(message: ChatMessage) -> bool:
    return message.is_by_user and isinstance(message.text, str) and message.text.startswith("For context:")


def _is_recorded(span: Span, name: str) -> bool:
    return span.attributes.get(name) is not None and span.attributes[name] not in _NOT_RECORDED


def _system_text(instruction: Any) -> Any:
    if isinstance(instruction, dict):
        return message_text(instruction.get("parts"))
    return message_text(instruction)


def _message(raw: Mapping[str, Any]) -> ChatMessage:
    """Read a content of Gemini. Thoughts are left out."""
    parts = [one for one in objects(raw.get("parts"), "'parts'") if one.get("thought") is not True]
    calls, answers = [], []
    for part in parts:
        call, answer = (first_of(part, *names) for names in _PARTS)
        if isinstance(call, dict):
            calls.append(ChatCall(call.get("name"), call.get("args"), call.get("id")))
        if isinstance(answer, dict):
            answers.append(ChatAnswer(answer.get("id"), answer.get("response")))
    role = "assistant" if raw.get("role") == "model" else str(raw.get("role") or "")
    return ChatMessage(role, message_text([one for one in parts if "text" in one]), tuple(calls), tuple(answers))


_PARTS: Final = (("function_call", "functionCall"), ("function_response", "functionResponse"))
