"""Read spans of the Vercel AI SDK, with `ai.*` attributes.

A span `ai.generateText` or `ai.streamText` is around all requests of an agent, so it counts as an agent's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from corepath.importers.content import first_of, objects, parse_result, text_of
from corepath.importers.flat_attributes import nest
from corepath.importers.otlp import Span
from corepath.importers.span_content import Chat, ChatAnswer, ChatCall, ChatMessage, ToolRun, read_json
from corepath.notation.call import UNANSWERED

_AGENTS: Final = ("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject")
CONTENT: Final = ("ai.prompt", "ai.response.", "ai.result.", "ai.toolCall.", "ai.usage.", "ai.request.headers")
"""Prefixes of attributes that hold messages and values."""


def operation(span: Span) -> str | None:
    """Return the name of an operation of the Vercel AI SDK, e.g. `ai.toolCall`, or None for all other spans."""
    name = first_of(span.attributes, "ai.operationId", "operation.name")
    return name.partition(" ")[0] if isinstance(name, str) and name.startswith("ai.") else None


def kind(span: Span) -> str | None:
    """Return a span's kind, or None if the span has no message of the agent."""
    name = operation(span) or ""
    if name.removesuffix(".doGenerate").removesuffix(".doStream") in _AGENTS:
        return "agent" if name in _AGENTS else "chat"
    return "tool" if name == "ai.toolCall" else None


def chat(span: Span) -> Chat:
    """Read a request to a model, or what an agent was asked and answered."""
    given, unread = span.attributes, ()
    texts = first_of(given, "ai.response.text", "ai.response.object", "ai.result.text", "ai.result.object")
    asked = read_json(first_of(given, "ai.response.toolCalls", "ai.result.toolCalls"), "ai.response.toolCalls")
    calls = [] if kind(span) == "agent" else [_call(one) for one in objects(asked, "'ai.response.toolCalls'")]
    said = [ChatMessage("assistant", texts, tuple(calls))] if texts or calls else []
    usage = {**nest(given, "gen_ai.usage."), **nest(given, "ai.usage.")}
    model = first_of(given, "gen_ai.request.model", "ai.model.id", "ai.response.model")
    return Chat(tuple(_sent(given)), tuple(said), model, unread, usage)


def _sent(given: Mapping[str, Any]) -> list[ChatMessage]:
    messages = read_json(given.get("ai.prompt.messages"), "ai.prompt.messages")
    if messages is not None:
        return [_message(one) for one in objects(messages, "'ai.prompt.messages'")]
    prompt = parse_result(given.get("ai.prompt"))
    if not isinstance(prompt, dict):
        return []
    system = [ChatMessage("system", prompt["system"])] if prompt.get("system") else []
    asked = [ChatMessage("user", prompt["prompt"])] if isinstance(prompt.get("prompt"), str) else []
    return [*system, *asked, *(_message(one) for one in objects(prompt.get("messages"), "'messages'"))]


def _message(raw: Mapping[str, Any]) -> ChatMessage:
    content = raw.get("content")
    parts = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    calls = [_call(one) for one in parts if one.get("type") == "tool-call"]
    answers = [_answer(one) for one in parts if one.get("type") == "tool-result"]
    texts = [one for one in parts if one.get("type") in ("text", None)]
    text = text_of(texts) if isinstance(content, list) else content
    return ChatMessage(str(raw.get("role") or ""), text, tuple(calls), tuple(answers))


def _call(raw: Mapping[str, Any]) -> ChatCall:
    return ChatCall(raw.get("toolName"), first_of(raw, "input", "args"), raw.get("toolCallId"))


def _answer(raw: Mapping[str, Any]) -> ChatAnswer:
    """Read a result. Newer versions put it into an object whose type says whether it is an error."""
    output = raw.get("output")
    if not isinstance(output, dict) or "type" not in output:
        return ChatAnswer(raw.get("toolCallId"), raw.get("result", output), error=raw.get("isError") is True)
    failed = str(output["type"]).startswith(("error", "execution-denied"))
    return ChatAnswer(raw.get("toolCallId"), first_of(output, "value", "reason"), error=failed)


def tool_run(span: Span) -> ToolRun:
    """Read a span `ai.toolCall`."""
    given = nest(span.attributes, "ai.toolCall.")
    result = given.get("result", given.get("output"))
    return ToolRun(
        str(given.get("name") or ""),
        given.get("args", given.get("input", UNANSWERED)),
        given.get("id"),
        UNANSWERED if result is None else parse_result(result),
        span.error,
    )
