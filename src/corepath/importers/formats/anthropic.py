"""Read Anthropic messages: a list of messages, a response, or a request with its response.

The list may be the whole record or be under `messages`. Lines in batch files are read too, both from input and output
files. Calls are blocks of the type `tool_use`, `server_tool_use` or `mcp_tool_use`, and all calls in one message share
a turn. A call to a tool that the API runs failed if the result is an object whose type ends in `_error`. A command that
exits with a code other than 0 did not fail. Thinking is left out. The events of a stream are joined. If exchanges in
one file repeat each other, only the last one is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import groupby
from typing import Any, Final, TypeGuard

from corepath.episode import Episode
from corepath.errors import RecordError
from corepath.importers.content import message_text, objects, parse_result
from corepath.importers.exchange_log import ends_with_agent, exchange_format
from corepath.importers.exchanges import (
    as_exchange,
    exchange_field,
    exchange_metadata,
    exchange_time,
    explain_no_conversation,
    message_time,
    normalise,
)
from corepath.importers.message_streams import MessageStreams
from corepath.importers.streams import explain_unless_stream, join_response, split_streams
from corepath.importers.transcript import Transcript

CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use")
RESULT: Final = "tool_result"
THOUGHTS: Final = ("thinking", "redacted_thinking")
ROLES: Final = ("user", "assistant", "system")

_CALL_DETAILS: Final = ("server_name", "toolset_name", "caller")
_CONVERSATION: Final = ("messages", "system", "content", "role", "type")


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    return explain_unless_stream(value, MessageStreams, lambda one: _explain_mismatch(_normalise_record(one)))


def _explain_mismatch(value: Any) -> str | None:
    messages = _messages(value)
    if not messages:
        return explain_no_conversation(
            value, "no list of messages, nor an object with 'messages', a 'request' and its 'response', or a response"
        )
    if any(isinstance(one, dict) and (one.get("tool_calls") or one.get("role") == "tool") for one in messages):
        return "its calls are in 'tool_calls', not in the blocks of a message's content"
    if _is_response(value) or (isinstance(value, dict) and _is_response(value.get("response"))):
        return None
    if any(_is_typical(block) for message in messages for block in _blocks_or_none(message)):
        return None
    return f"no message has a block of the type {', '.join(CALLS)}, {RESULT} or {THOUGHTS[0]}"


def read_record(value: Any) -> Iterator[Episode]:
    """Yield the episode in a record, or one for each stream in it. Raises `RecordError` if the record is malformed."""
    for one in split_streams(value, MessageStreams):
        yield _read_conversation(_normalise_record(one))


def _read_conversation(value: Any) -> Episode:
    messages = _messages(value)
    if not messages:
        raise RecordError(str(mismatch(value)))
    transcript = Transcript()
    transcript.add_message("system", message_text(exchange_field(value, "system")))
    for place, message in enumerate(objects(messages, "messages"), start=1):
        role = message.get("role")
        if role not in ROLES:
            raise RecordError(
                f"the role of a message must be {', '.join(ROLES[:-1])} or {ROLES[-1]}, not {str(role)[:60]!r}"
            )
        if role == "assistant":
            transcript.start_turn()
        if message.get("tool_calls"):
            raise RecordError("a message has 'tool_calls': these are OpenAI messages; use --from openai")
        is_response = place == len(messages) and _has_response(value)
        time = exchange_time(value) if is_response else message_time(message)
        read_blocks(transcript, _blocks(message), role, time)
    transcript.add_usage(exchange_field(value, "usage"), model=exchange_field(value, "model"))
    metadata = exchange_metadata(value, *_CONVERSATION)
    return transcript.to_episode(agent=exchange_field(value, "model"), metadata=metadata)


def read_blocks(
    transcript: Transcript, blocks: list[Mapping[str, Any]], role: str | None = None, time: Any = None
) -> None:
    """Add the blocks of a message by `role` to `transcript`. If `role` is None, only calls and results are added."""
    for kind, group in groupby(blocks, key=lambda block: _kind(block, role)):
        if kind == "call":
            for block in group:
                _read_call(transcript, block, time)
        elif kind == "result":
            for block in group:
                _read_result(transcript, block, time)
        elif role == "assistant" and kind == "text":
            transcript.add_text("".join(str(block.get("text") or "") for block in group), time=time)
        elif role is not None and role != "assistant":
            transcript.add_message(role, message_text(list(group)), time=time)


def _kind(block: Mapping[str, Any], role: str | None) -> str:
    """Return what a block is. Only blocks by the agent may be something else than a call, a result or a text."""
    kind = str(block.get("type"))
    known = "call" if kind in CALLS else "result" if kind.endswith(RESULT) else "text"
    return kind if known == "text" and role == "assistant" else known


def _read_call(transcript: Transcript, block: Mapping[str, Any], time: Any) -> None:
    extra = {name: block[name] for name in _CALL_DETAILS if block.get(name) is not None}
    if block.get("type") != CALLS[0]:
        extra["type"] = block["type"]
    transcript.add_call(block.get("name"), block.get("input"), block.get("id"), time=time, **extra)


def _read_result(transcript: Transcript, block: Mapping[str, Any], time: Any) -> None:
    content = block.get("content")
    if isinstance(content, list) and all(isinstance(one, dict) and one.get("type") == "text" for one in content):
        content = "".join(str(one.get("text") or "") for one in content)
    error = block.get("is_error") is True or _is_error(content)
    if not block.get("tool_use_id"):
        raise RecordError(f"a block of the type {str(block.get('type'))[:60]!r} needs 'tool_use_id'")
    transcript.add_result(block["tool_use_id"], content if error else parse_result(content), error=error, time=time)


def _is_error(content: Any) -> bool:
    return isinstance(content, dict) and str(content.get("type")).endswith("_error")


def _normalise_record(value: Any) -> Any:
    """Return a record with its bodies under `request` and `response`, and a streamed response joined."""
    return join_response(as_exchange(value), MessageStreams)


def _messages(value: Any) -> list[Any] | None:
    """Return a record's messages, with the response last, or None if there are none."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return None
    if _is_response(value):
        return [value]
    request, response = value.get("request"), value.get("response")
    holder = value if request is None else request
    sent = holder.get("messages") if isinstance(holder, dict) else None
    if sent is None and _is_response(response):
        sent = []
    return [*sent, *_response_messages(response)] if isinstance(sent, list) else None


def _response_messages(response: Any) -> list[Any]:
    """Return a response as a list of one message, or an empty list if there is no response or an API error."""
    if response is None:
        return []
    if not isinstance(response, dict):
        return [{"role": "assistant", "content": response}]
    return [{"role": "assistant", **response}] if "content" in response else []


def _has_response(value: Any) -> bool:
    """Return True if the last of a record's messages is a response."""
    return _is_response(value) or (isinstance(value, dict) and bool(_response_messages(value.get("response"))))


def _is_response(value: Any) -> TypeGuard[Mapping[str, Any]]:
    if not isinstance(value, dict):
        return False
    return value.get("type") == "message" and value.get("role") == "assistant" and "stop_reason" in value


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a message's blocks. If the content is a string, it becomes one text block."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(objects(content, "blocks of content"))


def _blocks_or_none(message: Any) -> list[Mapping[str, Any]]:
    """Return the blocks in a message that may be malformed, or an empty list if there are none."""
    content = message.get("content") if isinstance(message, dict) and message.get("role") in ROLES else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _is_typical(block: Mapping[str, Any]) -> bool:
    """Return True if a block is a call, a result or a thought in the form that only Anthropic uses."""
    kind = block.get("type")
    if kind in CALLS:
        return "name" in block and "input" in block
    return kind in THOUGHTS or (isinstance(kind, str) and kind.endswith(RESULT) and "tool_use_id" in block)


def _history(value: Any) -> list[tuple[bool, Callable[[], Any]]]:
    """Return a record's messages in a form that can be compared.

    Each message is a pair: whether the agent wrote it, and a function that returns its content without thoughts.
    """
    found = objects(_messages(_normalise_record(value)), "messages")
    messages = [(message.get("role"), _blocks(message)) for message in found]
    return [(role == "assistant", partial(_comparable_message, role, blocks)) for role, blocks in messages]


def _comparable_message(role: Any, blocks: list[Mapping[str, Any]]) -> Any:
    return [role, [_comparable(block) for block in blocks if block.get("type") not in THOUGHTS]]


def _comparable(block: Mapping[str, Any]) -> Any:
    """Return only what stays the same when a later request repeats a block."""
    names = {"text": ("text",), "tool_use": ("id", "name", "input")}.get(str(block.get("type")))
    return normalise(block if names is None else {name: block.get(name) for name in names})


FORMAT: Final = exchange_format(
    "anthropic",
    "a result with `is_error`; for a tool that the API runs, a content whose type ends in `_error`",
    mismatch,
    read_record,
    _history,
    streams=MessageStreams,
    has_ended=ends_with_agent,
)
