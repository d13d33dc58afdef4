"""Read the calls in LangChain's messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from corepath.errors import RecordError
from corepath.importers.content import objects

_CALLS_IN_CONTENT: Final = ("tool_use", "tool_call", "invalid_tool_call", "function_call")

_Call = tuple[Any, Any, Any, dict[str, Any]]
"""A call's tool, arguments, id and other fields."""


def read_calls(data: Mapping[str, Any]) -> list[_Call]:
    """Return a message's calls in the model's order, including calls that LangChain could not parse."""
    valid: list[_Call] = [
        (call.get("name"), call.get("args"), call.get("id"), {}) for call in objects(data.get("tool_calls"), "calls")
    ]
    invalid = [_invalid_call(call) for call in objects(data.get("invalid_tool_calls"), "invalid calls")]
    if not valid and not invalid:
        return list(_provider_calls(data))
    order = {str(id_): place for place, id_ in reversed(list(enumerate(_ordered_ids(data))))}
    return sorted([*valid, *invalid], key=lambda call: order.get(str(call[2]), len(order)))


def _invalid_call(call: Mapping[str, Any]) -> _Call:
    return call.get("name"), call.get("args"), call.get("id"), {"invalid": call.get("error") or True}


def _provider_calls(data: Mapping[str, Any]) -> Iterator[_Call]:
    """Yield the calls in an older message without `tool_calls`, as the provider sent them."""
    given = data.get("additional_kwargs")
    kept: Mapping[str, Any] = given if isinstance(given, dict) else {}
    for call in objects(kept.get("tool_calls"), "calls"):
        function = call.get("function")
        if not isinstance(function, dict):
            raise RecordError("the 'function' of a tool call must be an object with 'name' and 'arguments'")
        yield function.get("name"), function.get("arguments"), call.get("id"), {}
    if isinstance(kept.get("function_call"), dict):
        yield kept["function_call"].get("name"), kept["function_call"].get("arguments"), None, {}


def _ordered_ids(data: Mapping[str, Any]) -> Iterator[Any]:
    """Yield call ids in the model's order, first from the provider's fields and then from the content."""
    given, content = data.get("additional_kwargs"), data.get("content")
    raw = given.get("tool_calls") if isinstance(given, dict) else None
    for call in raw if isinstance(raw, list) else ():
        if isinstance(call, dict):
            yield call.get("id")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") in _CALLS_IN_CONTENT:
            yield block.get("call_id", block.get("id"))
