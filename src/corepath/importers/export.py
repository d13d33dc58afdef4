"""Episodes in formats of others."""

from __future__ import annotations

import json
from itertools import groupby
from typing import Any

from corepath.episode import Episode
from corepath.files.episodes import episode_json
from corepath.importers import openai_chat
from corepath.importers.messages import result_value
from corepath.notation.call import UNANSWERED, Call
from corepath.play.origin import KEY, origin


def openai_record(episode: Episode) -> dict[str, Any]:
    """The episode as one line of a file: its messages, and under `corepath` whatever else is recorded of it.

    The calls stand there too where messages cannot hold them as they were: an error with a result, say.
    """
    about: dict[str, Any] = {"task": episode.task, "epoch": episode.epoch}
    if episode.outcome is not None:
        about["ended"] = episode.outcome
    record = {"messages": openai_messages(episode), "model": episode.agent, "metadata": about}
    (again,) = openai_chat.episodes(record)
    kept = {} if _sent(again) == _sent(episode) else {"calls": json.loads(episode_json(episode))["calls"]}
    return {**record, KEY: {**origin(episode), **kept}}


def openai_messages(episode: Episode, prompt: str | None = None) -> list[dict[str, Any]]:
    """The episode as OpenAI chat messages: calls of one turn stand in one message, each answer in its own.

    An unanswered call has no answer. What failed is marked with `is_error`, which OpenAI ignores and corepath reads.
    """
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}] if prompt is not None else []
    said = {one["before_call"]: one["content"] for one in episode.messages if _said(one)}
    numbered = list(enumerate(episode.calls))
    waiting: set[str] = set()
    for _, group in groupby(numbered, key=lambda pair: pair[0] if pair[1].turn is None else (pair[1].turn,)):
        calls = list(group)
        ids = {number: _new_id(call, number, waiting) for number, call in calls}
        messages.append({
            "role": "assistant", "content": said.get(calls[0][0]),
            "tool_calls": [_call(ids[number], call) for number, call in calls],
        })  # fmt: skip
        answered = [(ids[number], call) for number, call in calls if call.failed or _answered(call)]
        messages += [_answer(id_, call) for id_, call in answered]
        waiting -= {id_ for id_, _ in answered}
    if episode.answer is not None:
        messages.append({"role": "assistant", "content": _text(episode.answer)})
    return messages


def _sent(episode: Episode) -> list[tuple[Any, ...]]:
    return [(call.tool, call.arguments, call.result, call.error) for call in episode.calls]


def _new_id(call: Call, number: int, waiting: set[str]) -> str:
    """The id of a call; where another call waits under it, one of its own, so that its answer finds it."""
    id_ = call.id or f"call_{number}"
    while id_ in waiting:
        id_ = f"{id_}_{number}"
    waiting.add(id_)
    return id_


def _said(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") == "assistant" and "before_call" in message


def _answered(call: Call) -> bool:
    return call.result is not UNANSWERED


def _call(id_: str, call: Call) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": call.tool, "arguments": _text(call.arguments)}}


def _answer(id_: str, call: Call) -> dict[str, Any]:
    made = {"role": "tool", "tool_call_id": id_}
    if call.failed:
        return {**made, "content": _text(call.error), "is_error": True}
    looks_like_json = isinstance(call.result, str) and result_value(call.result) != call.result
    return {**made, "content": json.dumps(call.result) if looks_like_json else _text(call.result)}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
