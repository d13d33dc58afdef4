"""Export episodes to other tools' formats."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from corepath.episode import Episode, events
from corepath.files.episodes import episode_json
from corepath.importers.content import parse_result
from corepath.importers.formats import openai
from corepath.notation.call import UNANSWERED, Call
from corepath.notation.message import Message
from corepath.play.episode_origin import KEY, origin


def openai_record(episode: Episode) -> dict[str, Any]:
    """Convert an episode to a record with OpenAI chat messages.

    Everything else that corepath records goes under the key `corepath`. Calls and messages are repeated under this key
    if OpenAI messages cannot represent them exactly, e.g. if a call has both an error and a result.
    """
    about: dict[str, Any] = {"task": episode.task, "epoch": episode.epoch}
    if episode.outcome is not None:
        about["ended"] = episode.outcome
    record = {"messages": openai_messages(episode), "model": episode.agent, "metadata": about}
    (imported,) = openai.read_record(record)
    whole = json.loads(episode_json(episode))
    kept = {} if _calls(imported) == _calls(episode) else {"calls": whole["calls"]}
    if imported.messages != episode.messages:
        kept["messages"] = whole.get("messages", [])
    return {**record, KEY: {**origin(episode), **kept}}


def openai_messages(episode: Episode, prompt: str | None = None) -> list[dict[str, Any]]:
    """Convert an episode to OpenAI chat messages: one message for each turn's calls, one for each result, and the rest.

    `prompt` becomes a user message at the start. A call without a result gets no result message. Errors are marked with
    `is_error`, which OpenAI ignores and corepath reads.
    """
    written: list[dict[str, Any]] = [{"role": "user", "content": prompt}] if prompt is not None else []
    said = deque(one for one in events(episode) if isinstance(one, Message) and one.role in openai.ROLES)
    waiting: set[str] = set()
    for turn in _turns(episode):
        written += map(_message, _take_until(said, turn[-1][0]))
        written += _turn_messages(turn, written.pop() if written and _is_text(written[-1]) else {}, waiting)
    written += map(_message, said)
    if episode.answer is not None and not (said and said[-1].content == episode.answer):
        written.append({"role": "assistant", "content": _text(episode.answer)})
    return written


def _take_until(said: deque[Message], last: int) -> Iterator[Message]:
    """Remove and yield the messages before the call at index `last`."""
    while said and said[0].before_call is not None and said[0].before_call <= last:
        yield said.popleft()


def _turn_messages(
    turn: list[tuple[int, Call]], text: Mapping[str, Any], waiting: set[str]
) -> Iterator[dict[str, Any]]:
    """Yield the message with a turn's calls, and one message for each result.

    `text` is the message just before the calls. `waiting` holds the ids of calls without a result so far.
    """
    calls = [(_unused_id(call, number, waiting), call) for number, call in turn]
    tool_calls = [_call(id_, call) for id_, call in calls]
    yield {"role": "assistant", "content": text.get("content"), "tool_calls": tool_calls}
    for id_, call in calls:
        if call.failed or call.result is not UNANSWERED:
            waiting.remove(id_)
            yield _answer(id_, call)


def _is_text(written: Mapping[str, Any]) -> bool:
    """Return True if a message is text by the agent, to which the calls after it belong."""
    return written["role"] == "assistant" and "tool_calls" not in written


def _message(message: Message) -> dict[str, Any]:
    return {"role": message.role, "content": _text(message.content)}


def _turns(episode: Episode) -> Iterator[list[tuple[int, Call]]]:
    """Yield each turn as a list of `(call index, call)` pairs. A call without a turn number is a turn of its own."""
    numbered = enumerate(episode.calls)
    for _, turn in groupby(numbered, key=lambda pair: pair[0] if pair[1].turn is None else (pair[1].turn,)):
        yield list(turn)


def _calls(episode: Episode) -> list[tuple[Any, ...]]:
    """Return each call's tool, arguments, result and error, which are the fields that messages can represent."""
    return [(call.tool, call.arguments, call.result, call.error) for call in episode.calls]


def _unused_id(call: Call, number: int, waiting: set[str]) -> str:
    """Return an id for a call that is not in `waiting`, and add the id to `waiting`.

    The call's own id is kept if possible. Otherwise the id is made with `number`, the call's index.
    """
    id_ = call.id or f"call_{number}"
    while id_ in waiting:
        id_ = f"{id_}_{number}"
    waiting.add(id_)
    return id_


def _call(id_: str, call: Call) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": call.tool, "arguments": _text(call.arguments)}}


def _answer(id_: str, call: Call) -> dict[str, Any]:
    message = {"role": "tool", "tool_call_id": id_}
    if call.failed:
        return {**message, "content": _text(call.error), "is_error": True}
    looks_like_json = isinstance(call.result, str) and parse_result(call.result) != call.result
    return {**message, "content": json.dumps(call.result) if looks_like_json else _text(call.result)}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
