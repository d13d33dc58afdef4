"""Read AgentDojo results: one JSON file for each user task, with or without an injection task.

The benchmark's `utility` is the reward. A task is named by suite and user task, e.g. `agentdojo/banking/user_task_0`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from corepath.episode import FAILED_OUTSIDE, Episode
from corepath.errors import RecordError
from corepath.importers.content import message_text, metadata_of, objects, parse_result
from corepath.importers.format import record_format
from corepath.importers.transcript import Transcript

_NAMES: Final = ("suite_name", "pipeline_name", "user_task_id")


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    if not isinstance(value, dict) or not all(isinstance(value.get(name), str) for name in _NAMES):
        return f"no object with {', '.join(_NAMES)} and messages"
    return None if isinstance(value.get("messages"), list) else "'messages' must be a list"


def read_record(value: Any) -> Iterator[Episode]:
    """Yield the episode in a record. Raises `RecordError` if the record is malformed."""
    if (why := mismatch(value)) is not None:
        raise RecordError(why)
    transcript = Transcript()
    for message in objects(value["messages"], "messages"):
        if message.get("role") == "assistant":
            transcript.start_turn()
            transcript.add_text(_text(message.get("content")))
            for call in objects(message.get("tool_calls"), "tool calls"):
                transcript.add_call(call.get("function"), call.get("args"), call.get("id"))
        elif message.get("role") == "tool":
            _read_answer(transcript, message)
        else:
            transcript.add_message(str(message.get("role")), message_text(_typed_parts(message.get("content"))))
    error, utility = value.get("error"), value.get("utility")
    episode = transcript.to_episode(
        value["pipeline_name"],
        benchmark="agentdojo",
        reward=float(utility) if isinstance(utility, bool) else None,
        metadata=metadata_of(value, "messages", "pipeline_name"),
        ended=FAILED_OUTSIDE if error else None,
        failure={"kind": "error", "message": str(error)} if error else None,
    )
    yield replace(episode, task=f"agentdojo/{value['suite_name']}/{value['user_task_id']}")


def _read_answer(transcript: Transcript, message: Mapping[str, Any]) -> None:
    call, error = message.get("tool_call"), message.get("error")
    tool = call.get("function") if isinstance(call, dict) else None
    value = error or parse_result(_text(message.get("content")))
    transcript.add_result(message.get("tool_call_id"), value, error=bool(error), tool=tool)


def _text(content: Any) -> Any:
    """Return the text in a message's content, which is a string or a list of blocks, without the model's thoughts."""
    if not isinstance(content, list):
        return content
    blocks = [one for one in objects(content, "content blocks") if one.get("type", "text") == "text"]
    return "\n".join(str(one["content"]) for one in blocks if one.get("content")) or None


def _typed_parts(content: Any) -> Any:
    """Return a message's content with the text of each block under `text`, as other formats have it."""
    if not isinstance(content, list):
        return content
    blocks = [(one.get("type", "text"), one.get("content")) for one in objects(content, "content blocks")]
    return [{"type": kind, "text": text if kind == "text" else None} for kind, text in blocks]


FORMAT: Final = record_format("agentdojo", "a tool message with an `error`", mismatch, read_record)
