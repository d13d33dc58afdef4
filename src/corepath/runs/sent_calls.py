"""Read a model's calls from its service's raw response.

Client libraries repair or drop malformed calls. The raw response still has what the model sent: arguments that are not
JSON, values of the wrong type, and calls to unknown tools.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from inspect_ai.model import ChatMessageAssistant


@dataclass(frozen=True)
class SentCall:
    """A call as it appears in the response. `arguments` is a string or an object, depending on the service."""

    id: str
    name: str
    arguments: Any


def sent_calls(message: ChatMessageAssistant, response: Any) -> list[SentCall]:
    """Return the calls in a turn as the model sent them.

    If the raw response does not have the calls, they are taken from Inspect's message.
    """
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
"""The keys in a response that lead to calls. Other keys may hold look-alikes, e.g. tool definitions."""


def calls_in_response(value: Any, within: str = "") -> Iterator[SentCall]:
    """Yield the calls in a response in order. `within` is the key under which `value` was found."""
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
    """Return a call's name and arguments, or None if `value` is not a call.

    `within` is the key under which `value` was found in the response.
    """
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
    """Return the call whose arguments made Inspect's parser fail, or None if the error has another cause.

    Such a call is kept because invalid JSON is the agent's own mistake.
    """
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_name == "parse_tool_call":
            local = trace.tb_frame.f_locals
            return SentCall(str(local.get("id") or "call_0"), str(local.get("function") or ""), local.get("arguments"))
        trace = trace.tb_next
    return None
