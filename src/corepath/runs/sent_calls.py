"""Reads the calls that a model sent from the raw response of its service.

Client libraries repair or drop malformed calls. In the response, arguments that are not JSON, values of a wrong type
and calls to unknown tools are still what the model sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from inspect_ai.model import ChatMessageAssistant


@dataclass(frozen=True)
class SentCall:
    """A call as it is in the response; its arguments are a text or an object, depending on the service."""

    id: str
    name: str
    arguments: Any


def sent_calls(message: ChatMessageAssistant, response: Any) -> list[SentCall]:
    """The calls of a turn as the model sent them; from Inspect's message if the response does not show them."""
    raw = list(calls_in_response(response))
    parsed = message.tool_calls or []
    if raw and len(parsed) in (0, len(raw)):
        ids = [call.id for call in parsed or raw]
        return [
            SentCall(id_ or f"call_{place}", one.name, one.arguments)
            for place, (id_, one) in enumerate(zip(ids, raw, strict=True))
        ]
    return [
        SentCall(call.id, call.function, call.arguments if call.parse_error is None else call.parse_error)
        for call in parsed
    ]


_WHERE: Final = ("choices", "message", "tool_calls", "output", "content", "candidates", "parts")
"""The keys of a response that lead to its calls. Others may hold look-alikes, such as the tools themselves."""


def calls_in_response(value: Any, within: str = "") -> Iterator[SentCall]:
    """The calls in a response, in order."""
    if isinstance(value, list):
        for item in value:
            yield from calls_in_response(item, within)
    if not isinstance(value, Mapping):
        return
    call = _call_in(value, within)
    if call is not None:
        name, arguments = call
        id_ = value.get("call_id") or value.get("id") or ""
        yield SentCall(str(id_), str(name or ""), arguments)
        return
    for key in _WHERE:
        yield from calls_in_response(value.get(key), key)


def _call_in(value: Mapping[str, Any], within: str) -> tuple[Any, Any] | None:
    """The name and arguments of a call, if an object of a response is one."""
    kind = value.get("type")
    if within == "output" and kind == "function_call":
        return value.get("name"), value.get("arguments")
    if within == "content" and kind == "tool_use":
        return value.get("name"), value.get("input")
    keys = {"tool_calls": ("function",), "message": ("function_call",), "content": ("toolUse",),
            "parts": ("functionCall", "function_call")}  # fmt: skip
    for key in keys.get(within, ()):
        inner = value.get(key)
        if isinstance(inner, Mapping) and "name" in inner:
            return inner["name"], next((inner[one] for one in ("arguments", "args", "input") if one in inner), None)
    return None


def unparsed_call(error: BaseException) -> SentCall | None:
    """The call whose arguments made Inspect's parser fail: invalid JSON is the agent's own mistake."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_name == "parse_tool_call":
            local = trace.tb_frame.f_locals
            return SentCall(str(local.get("id") or "call_0"), str(local.get("function") or ""), local.get("arguments"))
        trace = trace.tb_next
    return None
