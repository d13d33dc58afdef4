"""Anthropic messages: a list of them, alone or under `messages`, a response, or a `request` and its `response`.

The lines of a batch are read too, both sent and answered.

An error is a result whose `is_error` is true, or, of a tool that the API runs itself, one whose content is an object
with a type that ends in `_error`. A command that ends with another code than 0 is a result.

Calls are the blocks `tool_use`, `server_tool_use` and `mcp_tool_use`; several in one message are of one turn. Thinking
is left out. Of requests and responses in one file, each of which repeats those before it, the last is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, Final, TypeGuard

from corepath.episode import Episode
from corepath.errors import Problem, RecordError
from corepath.importers.exchanges import (
    around,
    as_exchange,
    in_pieces,
    plain,
    said_of,
    streamed,
    why_no_record_fits,
    why_nothing,
)
from corepath.importers.messages import Conversation, objects, result_value

CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use")
RESULT: Final = "tool_result"
THOUGHTS: Final = ("thinking", "redacted_thinking")
ROLES: Final = ("user", "assistant", "system")

_ABOUT_A_CALL: Final = ("server_name", "toolset_name", "caller")
_CONVERSATION: Final = ("messages", "system", "content", "role", "type")


def fits(value: Any) -> str | None:
    """Why a record is not of this format; None where it is."""
    value = as_exchange(value)
    messages = _messages(value)
    if not messages:
        return why_nothing(
            value, "no list of messages, nor an object with 'messages', a 'request' and its 'response', or a response"
        )
    if any(isinstance(one, Mapping) and (one.get("tool_calls") or one.get("role") == "tool") for one in messages):
        return "its calls stand in 'tool_calls', not among the blocks of a message's content"
    if _is_response(value) or (isinstance(value, Mapping) and _is_response(value.get("response"))):
        return None
    if not any(_is_ours(block) for message in messages for block in _blocks_if_any(message)):
        return f"no block of its messages is of the type {', '.join(CALLS)}, {RESULT} or {THOUGHTS[0]}"
    return None


def episodes(value: Any) -> Iterator[Episode]:
    """The episode of a record."""
    value = as_exchange(value)
    messages = _messages(value)
    if not messages:
        raise RecordError(str(fits(value)))
    made = Conversation()
    for message in objects(messages, "messages"):
        role = message.get("role")
        if role not in ROLES:
            raise RecordError(
                f"the role of a message is {', '.join(ROLES[:-1])} or {ROLES[-1]}, not {str(role)[:60]!r}"
            )
        if role == "assistant":
            made.next_turn()
        if message.get("tool_calls"):
            raise RecordError("a message has 'tool_calls': these are messages of OpenAI's form, for --from openai")
        read_blocks(made, _blocks(message), speaks=role == "assistant")
    yield made.episode(agent=said_of(value, "model"), metadata=around(value, *_CONVERSATION))


def read_blocks(made: Conversation, blocks: list[Mapping[str, Any]], *, speaks: bool) -> None:
    """The blocks of one message, in their order: calls, results, and words where the agent speaks."""
    for kind, group in groupby(blocks, key=lambda block: str(block.get("type"))):
        if kind == "text" and speaks:
            made.said("".join(str(block.get("text") or "") for block in group))
        elif kind in CALLS:
            for block in group:
                _call(made, block)
        elif kind.endswith(RESULT):
            for block in group:
                _result(made, block)


def fits_file(path: Path) -> str | None:
    """Why a file is not of this format; None where it is."""
    return why_no_record_fits(path, fits)


def stream(path: Path) -> Iterator[Episode | Problem]:
    """The episodes of a file, and a problem for each bad record."""
    return streamed(path, fits, episodes, _history)


def _call(made: Conversation, block: Mapping[str, Any]) -> None:
    extra = {name: block[name] for name in _ABOUT_A_CALL if block.get(name) is not None}
    if block.get("type") != CALLS[0]:
        extra["type"] = block["type"]
    made.call(block.get("name"), block.get("input"), block.get("id"), **extra)


def _result(made: Conversation, block: Mapping[str, Any]) -> None:
    content = block.get("content")
    if isinstance(content, list) and all(isinstance(one, Mapping) and one.get("type") == "text" for one in content):
        content = "".join(str(one.get("text") or "") for one in content)
    error = block.get("is_error") is True or _is_error(content)
    made.result(_needed(block, "tool_use_id"), content if error else result_value(content), error=error)


def _needed(block: Mapping[str, Any], name: str) -> Any:
    if not block.get(name):
        raise RecordError(f"a block of the type {str(block.get('type'))[:60]!r} needs '{name}'")
    return block[name]


def _is_error(content: Any) -> bool:
    return isinstance(content, Mapping) and str(content.get("type")).endswith("_error")


def _messages(value: Any) -> list[Any] | None:
    """The messages of a record, its response the last of them."""
    if in_pieces(value):
        return None
    if isinstance(value, list):
        return value
    if not isinstance(value, Mapping):
        return None
    if _is_response(value):
        return [value]
    request, response = value.get("request"), value.get("response")
    said = value.get("messages") if request is None else request.get("messages") if _is(request) else None
    if said is None and _is_response(response):
        said = []
    return [*said, *_response(response)] if isinstance(said, list) else None


def _response(response: Any) -> list[Any]:
    """A response as a message; there is none where the API answered with an error."""
    if response is None or (_is(response) and "content" not in response):
        return []
    return [{"role": "assistant", **(response if _is(response) else {"content": response})}]


def _is_response(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return _is(value) and value.get("type") == "message" and value.get("role") == "assistant" and "stop_reason" in value


def _is(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(objects(content, "blocks of content"))


def _blocks_if_any(message: Any) -> list[Mapping[str, Any]]:
    content = message.get("content") if isinstance(message, Mapping) and message.get("role") in ROLES else None
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def _is_ours(block: Mapping[str, Any]) -> bool:
    kind = block.get("type")
    if kind in CALLS:
        return "name" in block and "input" in block
    return kind in THOUGHTS or (isinstance(kind, str) and kind.endswith(RESULT) and "tool_use_id" in block)


def _history(value: Any) -> list[tuple[bool, Any]] | None:
    """The messages of a record: what was said, called and answered, without thoughts."""
    try:
        found = objects(_messages(as_exchange(value)), "messages")
        messages = [(message.get("role"), _blocks(message)) for message in found]
    except RecordError:
        return None
    return [
        (role == "assistant", [role, [_said(block) for block in blocks if block.get("type") not in THOUGHTS]])
        for role, blocks in messages
    ]


def _said(block: Mapping[str, Any]) -> Any:
    names = {"text": ("text",), "tool_use": ("id", "name", "input")}.get(str(block.get("type")))
    return plain(block if names is None else {name: block.get(name) for name in names})
