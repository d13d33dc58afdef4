"""LangChain and LangGraph messages: a list of them, alone, under `messages` (a state), or there under `values`.

Three forms of a message are read: its `model_dump()`, `{"type", "data"}` as `messages_to_dict` writes it, and `lc`
objects as `dumpd` writes them.

An error is a tool message with the status "error", and the same of a result of a tool that the provider runs.

Calls that LangChain could not parse (`invalid_tool_calls`) keep their arguments as the text that was sent. They stand
where the model put them, as far as the message still says so (`additional_kwargs`, or its content), else after the
others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import RecordError
from corepath.importers.anthropic_messages import read_blocks
from corepath.importers.messages import Conversation, metadata_of, objects, result_value
from corepath.importers.openai_responses import ANSWERED_WITHIN, read_item

KINDS: Final = ("ai", "human", "tool", "system", "function", "chat", "remove")

_CALLS_IN_CONTENT: Final = ("tool_use", "tool_call", "invalid_tool_call", "function_call")


def fits(value: Any) -> str | None:
    """Why a record is not of this format; None where it is."""
    messages = _messages(value)
    if not messages:
        return "no list of messages, nor a state that has one under 'messages'"
    if not any(_is_ours(one) for one in messages):
        return f"no message of it has a 'type' among {', '.join(KINDS)}, nor 'lc'"
    return None


def episodes(value: Any) -> Iterator[Episode]:
    """The episode of a record."""
    messages = _messages(value)
    if not messages:
        raise RecordError(str(fits(value)))
    made = Conversation()
    models: list[Any] = []
    for message in objects(messages, "messages"):
        kind, data = _form(message)
        if kind not in KINDS:
            raise RecordError(f"the 'type' of a message is one of {', '.join(KINDS)}, not {kind[:60]!r}")
        if kind == "ai" or (kind == "chat" and data.get("role") == "assistant"):
            made.next_turn()
            _read_content(made, data.get("content"))
            for name, arguments, id_, extra in _calls(data):
                made.call(name, arguments, id_, **extra)
            models.append(_model(data))
        elif kind == "tool":
            _answer(made, data)
        elif kind == "function":
            made.result(None, result_value(_text(data.get("content"))), tool=data.get("name"))
    agent = next((model for model in models if model is not None), None)
    yield made.episode(agent=agent, metadata=_metadata(value))


def _messages(value: Any) -> list[Any] | None:
    if isinstance(value, Mapping) and isinstance(value.get("values"), Mapping):
        value = value["values"]
    if isinstance(value, Mapping):
        value = value.get("messages")
    return value if isinstance(value, list) else None


def _metadata(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, Mapping):
        return None
    inner = value.get("values") if isinstance(value.get("values"), Mapping) else None
    return {**(metadata_of(inner, "messages") or {}), **(metadata_of(value, "messages", "values") or {})} or None


# Messages


def _form(message: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The kind of a message, and its fields, whichever form it has."""
    kind, data = message.get("type"), message.get("data")
    if "lc" in message:
        data, path = message.get("kwargs"), message.get("id")
        kind = str(path[-1]) if isinstance(path, list) and path else kind
    elif "content" in message or "data" not in message:
        data = message
    if not isinstance(data, Mapping):
        raise RecordError("a message has its fields in itself, in 'data', or in 'kwargs' beside 'lc'")
    return str(kind).removesuffix("Chunk").removesuffix("Message").lower(), data


def _is_ours(message: Any) -> bool:
    try:
        kind, data = _form(message) if isinstance(message, Mapping) else ("", {})
    except RecordError:
        return False
    return kind in KINDS and "content" in data


def _read_content(made: Conversation, content: Any) -> None:
    """The words of a message, and the calls in it that the provider ran."""
    if not isinstance(content, list):
        made.said(content)
        return
    made.said(_text([part for part in content if isinstance(part, str) or _is_text(part)]))
    for block in objects([part for part in content if not isinstance(part, str)], "blocks of content"):
        kind = str(block.get("type"))
        if kind == "server_tool_call":
            made.call(block.get("name"), block.get("args"), block.get("id"), type=kind)
        elif kind == "server_tool_result":
            failed = block.get("status") == "error"
            made.result(block.get("tool_call_id"), result_value(block.get("output")), error=failed)
        elif kind in ANSWERED_WITHIN:
            read_item(made, block)
        elif kind != "tool_use":
            read_blocks(made, [block], speaks=False)


def _answer(made: Conversation, data: Mapping[str, Any]) -> None:
    if not data.get("tool_call_id"):
        raise RecordError("a tool message needs the 'tool_call_id' of the call that it answers")
    error = data.get("status") == "error"
    content = _text(data.get("content"))
    extra = {} if data.get("artifact") is None else {"artifact": data["artifact"]}
    made.result(data["tool_call_id"], content if error else result_value(content), error=error, **extra)


def _text(content: Any) -> Any:
    """The text of a content that is only text; else the content as it is."""
    if isinstance(content, list) and all(isinstance(part, str) or _is_text(part) for part in content):
        return "".join(part if isinstance(part, str) else part["text"] for part in content)
    return content


def _is_text(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str)


def _model(data: Mapping[str, Any]) -> Any:
    about = data.get("response_metadata")
    if not isinstance(about, Mapping):
        return None
    return about.get("model_name") or about.get("model") or about.get("model_id")


# Calls

_Made = tuple[Any, Any, Any, dict[str, Any]]
"""A call's tool, arguments and id, and what else is kept of it."""


def _calls(data: Mapping[str, Any]) -> list[_Made]:
    valid: list[_Made] = [
        (call.get("name"), call.get("args"), call.get("id"), {}) for call in objects(data.get("tool_calls"), "calls")
    ]
    invalid = [_invalid(call) for call in objects(data.get("invalid_tool_calls"), "invalid calls")]
    if not valid and not invalid:
        return list(_raw(data))
    order = {str(id_): place for place, id_ in reversed(list(enumerate(_ids(data))))}
    return sorted([*valid, *invalid], key=lambda call: order.get(str(call[2]), len(order)))


def _invalid(call: Mapping[str, Any]) -> _Made:
    return call.get("name"), call.get("args"), call.get("id"), {"invalid": call.get("error") or True}


def _raw(data: Mapping[str, Any]) -> Iterator[_Made]:
    """Calls of messages that are older than `tool_calls`: as the provider sent them."""
    given = data.get("additional_kwargs")
    kept: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    for call in objects(kept.get("tool_calls"), "calls"):
        function = call.get("function")
        if not isinstance(function, Mapping):
            raise RecordError("the 'function' of a tool call is an object with 'name' and 'arguments'")
        yield function.get("name"), function.get("arguments"), call.get("id"), {}
    if isinstance(kept.get("function_call"), Mapping):
        yield kept["function_call"].get("name"), kept["function_call"].get("arguments"), None, {}


def _ids(data: Mapping[str, Any]) -> Iterator[Any]:
    """The ids of the calls in the order of the model: as the provider sent them, and as they stand in the content."""
    given, content = data.get("additional_kwargs"), data.get("content")
    raw = given.get("tool_calls") if isinstance(given, Mapping) else None
    for call in raw if isinstance(raw, list) else ():
        if isinstance(call, Mapping):
            yield call.get("id")
    for block in content if isinstance(content, list) else ():
        if isinstance(block, Mapping) and block.get("type") in _CALLS_IN_CONTENT:
            yield block.get("call_id", block.get("id"))
