"""OpenAI chat completions: a list of messages, alone or under `messages`, with the response to them or without.

A response alone is read too, and the lines of a batch, both sent and answered.

An error is a tool message whose `is_error` is true or whose `status` is "error"; the API itself has no sign for it.
Calls to functions of the old form (`function_call`, role `function`) are read too, and answers without an id, which
belong to the first call of their name that waits. The input of a custom tool, which is a text, is its argument `input`.
Of several choices the first is read. Of requests and responses in one file, each of which repeats those before it, the
last is read. What `corepath export` wrote is the episode that it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

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
from corepath.importers.messages import Conversation, objects, result_value, text_of
from corepath.play.origin import KEY, origin_in, restore
from corepath.values import arguments_of

ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def fits(value: Any) -> str | None:
    """Why a record is not of this format; None where it is."""
    value = as_exchange(value)
    messages = _messages(value)
    if messages is None:
        return why_nothing(
            value, "no list of messages, nor an object with 'messages', 'choices', or a 'request' that has them"
        )
    if not all(isinstance(one, Mapping) and one.get("role") in ROLES for one in messages):
        return f"its messages do not all have a 'role' among {', '.join(ROLES)}"
    if any(_has_blocks(one.get("content")) or _has_blocks(one.get("parts")) for one in messages):
        return "tool calls stand among the parts of a message's content"
    return None


def episodes(value: Any) -> Iterator[Episode]:
    """The episode of a record."""
    if (why := fits(value)) is not None:
        raise RecordError(why)
    value = as_exchange(value)
    made = Conversation()
    for message in objects(_messages(value), "messages"):
        if message.get("role") == "assistant":
            made.next_turn()
            made.said(text_of(message.get("content")) or message.get("refusal"))
            for id_, function in _calls(message):
                made.call(function.get("name"), function.get("arguments"), id_)
        elif message.get("role") in ("tool", "function"):
            error = message.get("is_error") is True or message.get("status") == "error"
            content = message.get("content")
            value_ = text_of(content) if isinstance(content, list) else content
            tool = message.get("name") or message.get("tool_name")
            made.result(message.get("tool_call_id"), value_ if error else result_value(value_), error=error, tool=tool)
    ours = origin_in(value)
    metadata = around(value, "messages", "choices", *(() if ours is None else (KEY,)))
    yield restore(made.episode(agent=said_of(value, "model"), metadata=metadata), ours)


def fits_file(path: Path) -> str | None:
    """Why a file is not of this format; None where it is."""
    return why_no_record_fits(path, fits)


def stream(path: Path) -> Iterator[Episode | Problem]:
    """The episodes of a file, and a problem for each bad record."""
    return streamed(path, fits, episodes, _history)


def _messages(value: Any) -> list[Any] | None:
    """The messages of a record, that of its response the last of them."""
    if in_pieces(value):
        return None
    if isinstance(value, Mapping):
        request = value["request"] if isinstance(value.get("request"), Mapping) else value
        given, answer = request.get("messages"), _answer(value)
        if answer is None:
            return given if isinstance(given, list) and (given or _did_nothing(value)) else None
        value = [*given, answer] if isinstance(given, list) else [answer] if given is None else None
    return value if isinstance(value, list) and value else None


def _did_nothing(value: Mapping[str, Any]) -> bool:
    """Whether the messages are none, and no other list of the record could be the conversation."""
    return value.get("messages") == [] and sum(isinstance(one, list) for one in value.values()) == 1


def _answer(value: Mapping[str, Any]) -> Any:
    """The message of a response."""
    choices = said_of({name: value[name] for name in value if name != "request"}, "choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, Mapping) else None
    return {"role": "assistant", **message} if isinstance(message, Mapping) else message


def _history(value: Any) -> list[tuple[bool, Any]] | None:
    """The messages of a record: what was said, called and answered. An exported one is no part of another."""
    if fits(value) is not None or origin_in(value) is not None:
        return None
    try:
        messages = objects(_messages(as_exchange(value)), "messages")
        return [(message.get("role") == "assistant", _said(message)) for message in messages]
    except RecordError:
        return None


def _said(message: Mapping[str, Any]) -> Any:
    calls = [[id_, made.get("name"), arguments_of(made.get("arguments"))] for id_, made in _calls(message)]
    said = plain({name: message.get(name) or None for name in ("role", "content", "tool_call_id")})
    return [said, calls]


def _calls(message: Mapping[str, Any]) -> Iterator[tuple[Any, Mapping[str, Any]]]:
    for call in objects(message.get("tool_calls"), "tool calls"):
        function = call.get("function", call.get("custom"))
        if not isinstance(function, Mapping):
            raise RecordError("the 'function' of a tool call is an object with 'name' and 'arguments'")
        custom = "function" not in call
        yield call.get("id"), {**function, "arguments": {"input": function.get("input")}} if custom else function
    if isinstance(message.get("function_call"), Mapping):
        yield None, message["function_call"]


def _has_blocks(content: Any) -> bool:
    """Whether calls or answers stand in a content, as other formats have them."""
    parts = [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
    kinds = [f"{part.get('type')} {' '.join(part)}".lower() for part in parts]
    return any("tool" in kind or "function" in kind for kind in kinds)
