"""Read pydantic-ai messages as `ModelMessagesTypeAdapter` writes them: a list, alone or under `messages`.

An interrupted call has no result. A call to an output tool is the agent's answer and not a call. A tool is an output
tool if its result was "Final result processed." A tool that never returned a result is an output tool if its name is
`final_result` or begins with `final_result_`. Instructions are a system message, which is given again only where they
change. A request to try again that belongs to no tool is a message by the user. Thinking and settings are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import RecordError
from corepath.importers.content import message_text, metadata_of, objects, parse_result
from corepath.importers.format import record_format
from corepath.importers.transcript import Transcript
from corepath.notation.call import UNANSWERED
from corepath.values import arguments_of, canonical

CALL: Final = "tool-call"
RETURN: Final = "tool-return"
RETRY: Final = "retry-prompt"
ERRORS: Final = ("failed", "retried", "denied")
NOT_EXECUTED: Final = "Tool not executed"
OUTPUT_TOOL: Final = "final_result"
OUTPUT_DONE: Final = "Final result processed."
OUTPUT_NOT_USED: Final = ("Output tool not used", "Result tool not used")

_IDENTIFY: Final = ("run_id", "conversation_id", "provider_name")


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    messages = _messages(value)
    if not messages:
        return "no list of messages, nor an object that has one under 'messages'"
    if not any(_is_message(one) for one in messages):
        return "no message has the 'kind' request or response, and 'parts' with a 'part_kind'"
    return None


def read_record(value: Any) -> Iterator[Episode]:
    """Yield the episode in a record. Raises `RecordError` if the record is malformed."""
    messages = _messages(value)
    if not messages:
        raise RecordError(str(mismatch(value)))
    read = [(message, list(objects(message.get("parts"), "parts"))) for message in objects(messages, "messages")]
    outputs = _Outputs([part for _, parts in read for part in parts])
    transcript = Transcript()
    told: Any = None
    for message, parts in read:
        if message.get("kind") == "response":
            transcript.start_turn()
            _read_response(transcript, parts, outputs, message.get("timestamp"))
            transcript.add_usage(message.get("usage"), model=message.get("model_name"))
        elif message.get("kind") == "request":
            instructions = message.get("instructions")
            if instructions not in (None, told):
                transcript.add_message("system", instructions, time=message.get("timestamp"))
                told = instructions
            for part in parts:
                _read_request_part(transcript, part, outputs)
        else:
            raise RecordError(
                f"the 'kind' of a message must be request or response, not {str(message.get('kind'))[:60]!r}"
            )
    yield transcript.to_episode(agent=_first(messages, "model_name"), metadata=_metadata(value, messages))


class _Outputs:
    """The output tools in a record. The agent submits its answer by calling one of them."""

    def __init__(self, parts: list[Mapping[str, Any]]) -> None:
        returns = [part for part in parts if _kind(part) == RETURN and isinstance(part.get("content"), str)]
        self._tools = {str(part.get("tool_name")) for part in returns if _starts(part, OUTPUT_DONE, *OUTPUT_NOT_USED)}
        self._returned = {str(part.get("tool_name")) for part in parts if _kind(part) == RETURN}
        self._unused = {str(part.get("tool_call_id")) for part in returns if _starts(part, *OUTPUT_NOT_USED)}

    def is_output(self, part: Mapping[str, Any]) -> bool:
        """Return True if a part is a call to an output tool or an output tool's result."""
        tool = str(part.get("tool_name"))
        named = tool == OUTPUT_TOOL or tool.startswith(f"{OUTPUT_TOOL}_")
        return tool in self._tools or (named and tool not in self._returned)

    def is_used(self, part: Mapping[str, Any]) -> bool:
        """Return True if a call to an output tool was accepted as the agent's answer."""
        return str(part.get("tool_call_id")) not in self._unused


def _read_request_part(transcript: Transcript, part: Mapping[str, Any], outputs: _Outputs) -> None:
    """Add a prompt or a call's result."""
    kind, content, time = _kind(part), part.get("content"), part.get("timestamp")
    if kind in ("system-prompt", "instruction-delta"):
        transcript.add_message("system", content, time=time)
    elif kind in ("user-prompt", "speech"):
        transcript.add_message("user", _prompt_text(part.get("transcript") or content or f"[{kind}]"), time=time)
    elif kind == "retry-feedback" or (kind == RETRY and part.get("tool_name") is None):
        transcript.add_message("user", content if isinstance(content, str) else canonical(content), time=time)
    else:
        _read_answer(transcript, part, outputs)


def _prompt_text(content: Any) -> Any:
    """Return the text of a prompt. A part that is not text is shown by its kind, e.g. `[image-url]`."""
    parts = content if isinstance(content, list) else [content]
    typed = [{"type": one.get("kind"), "text": _content(one)} if isinstance(one, dict) else str(one) for one in parts]
    return message_text([one for one in typed if isinstance(one, str) or one.get("type") != "cache-point"])


def _content(part: Mapping[str, Any]) -> Any:
    return part.get("content") if str(part.get("kind")).startswith("text") else None


def _read_response(transcript: Transcript, parts: list[Mapping[str, Any]], outputs: _Outputs, time: Any) -> None:
    """Add a response's text and calls in order, and then the agent's answer."""
    answers: list[Any] = []
    for is_text, group in groupby(parts, key=lambda part: _kind(part) in ("text", "speech")):
        if is_text:
            text = "".join(str(part.get("content") or part.get("transcript") or "") for part in group)
            transcript.add_text(text, time=time)
            continue
        for part in group:
            if not _kind(part).endswith(CALL):
                _read_answer(transcript, part, outputs)
            elif not outputs.is_output(part):
                native = {} if _kind(part) == CALL else {"type": _kind(part)}
                id_ = part.get("tool_call_id")
                transcript.add_call(part.get("tool_name"), part.get("args"), id_, time=time, **native)
            elif outputs.is_used(part):
                answers.append(arguments_of(part.get("args")))
    for answer in answers:
        transcript.add_text(answer, time=time)


def _read_answer(transcript: Transcript, part: Mapping[str, Any], outputs: _Outputs) -> None:
    """Add a call's result. Parts that are not results are ignored."""
    kind, content = _kind(part), part.get("content")
    retry = kind == RETRY and part.get("tool_name") is not None
    if not (retry or kind.endswith(RETURN)) or outputs.is_output(part):
        return
    if not part.get("tool_call_id"):
        raise RecordError(f"a part of the kind {kind[:60]!r} needs the 'tool_call_id' of the call that it answers")
    outcome = part.get("outcome")
    extra = {} if outcome in (None, "success") else {"outcome": outcome}
    time = part.get("timestamp")
    if outcome == "interrupted":
        transcript.add_result(part["tool_call_id"], UNANSWERED, **extra)
    elif retry or outcome in ERRORS or _starts(part, NOT_EXECUTED):
        transcript.add_result(part["tool_call_id"], content, error=True, time=time, **extra)
    else:
        transcript.add_result(part["tool_call_id"], parse_result(content), time=time, **extra)


def _kind(part: Mapping[str, Any]) -> str:
    return str(part.get("part_kind"))


def _starts(part: Mapping[str, Any], *texts: str) -> bool:
    content = part.get("content")
    return isinstance(content, str) and content.startswith(texts)


def _messages(value: Any) -> list[Any] | None:
    if isinstance(value, dict):
        value = value.get("messages")
    return value if isinstance(value, list) else None


def _is_message(message: Any) -> bool:
    if not isinstance(message, dict) or message.get("kind") not in ("request", "response"):
        return False
    parts = message.get("parts")
    return isinstance(parts, list) and any(isinstance(part, dict) and "part_kind" in part for part in parts)


def _first(messages: list[Any], name: str) -> Any:
    return next((one[name] for one in messages if one.get(name) is not None), None)


def _metadata(value: Any, messages: list[Any]) -> dict[str, Any] | None:
    """Return the ids and metadata in `messages`, merged with the record's other fields, or None if there are none."""
    found = {name: _first(messages, name) for name in _IDENTIFY}
    kept = {name: value for name, value in found.items() if value is not None}
    for message in messages:
        if isinstance(message.get("metadata"), dict):
            kept |= message["metadata"]
    return {**kept, **(metadata_of(value, "messages") or {})} or None


FORMAT: Final = record_format(
    "pydantic-ai",
    "a `retry-prompt` for a tool; a `tool-return` that failed, was retried or denied, or was not executed",
    mismatch,
    read_record,
)
