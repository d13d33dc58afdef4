"""Short builders for spans, for tests."""

from __future__ import annotations

import json
from typing import Any

TRACE = "0af7651916cd43dd8448eb211c80319c"


def span(
    number: int,
    attributes: dict[str, Any],
    *,
    trace: str = TRACE,
    parent: int | None = None,
    name: str = "",
    start: int | None = None,
    **more: Any,
) -> dict[str, Any]:
    """An OTLP span; its id and start default to its number."""
    made = {
        "traceId": trace,
        "spanId": f"{number:016x}",
        "name": name,
        "startTimeUnixNano": str(number if start is None else start),
        "attributes": [{"key": key, "value": _value(one)} for key, one in attributes.items()],
    }
    return made | ({} if parent is None else {"parentSpanId": f"{parent:016x}"}) | more


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(one) for one in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": _value(one)} for key, one in value.items()]}}
    return {"stringValue": value}


def sent(*spans: dict[str, Any], service: str = "garden") -> dict[str, Any]:
    """Wrap spans in `resourceSpans`, as a collector does."""
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "t"}, "spans": list(spans)}]}]}


def chat(
    number: int, said: list[dict[str, Any]], history: list[dict[str, Any]] | None = None, **more: Any
) -> dict[str, Any]:
    """A GenAI chat span."""
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-x",
        "gen_ai.output.messages": json.dumps(said),
    }
    if history is not None:
        attributes["gen_ai.input.messages"] = json.dumps(history)
    return span(number, attributes, **more)


def ran(
    number: int, tool: str, id_: str | None = None, *, told: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """A GenAI tool span."""
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
    attributes |= {} if id_ is None else {"gen_ai.tool.call.id": id_}
    return span(number, attributes | {f"gen_ai.tool.call.{name}": one for name, one in (told or {}).items()}, **more)


def asks(*calls: tuple[str | None, str, Any], text: str | None = None) -> dict[str, Any]:
    """A message of the agent with calls, each an id, a tool and arguments."""
    words = [] if text is None else [{"type": "text", "content": text}]
    parts = [{"type": "tool_call", "id": id_, "name": tool, "arguments": given} for id_, tool, given in calls]
    return {"role": "assistant", "parts": [*words, *parts]}


def says(text: str, role: str = "assistant") -> dict[str, Any]:
    """A message of text."""
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def answers(id_: str | None, value: Any) -> dict[str, Any]:
    """A tool message."""
    return {"role": "tool", "parts": [{"type": "tool_call_response", "id": id_, "response": value}]}
