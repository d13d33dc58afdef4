"""Read sessions of Gemini CLI: its session files, and the output of `gemini --output-format stream-json`.

A session file is one JSON object with `messages`, or, in newer versions, JSON lines: a line about the session, then its
messages. A message that is written again under the same id replaces the one before. A checkpoint (`$set`) adds only
messages that are new, since it may shorten the others. What the user rewound did happen, so it is kept.

Each message of the type `gemini` is one turn. Thoughts are left out. A sub-agent has a file of its own, which is an
episode of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from corepath.episode import FAILED_OUTSIDE, Episode
from corepath.errors import RecordError
from corepath.importers.content import describe_type, first_of, metadata_of, objects, parse_result
from corepath.importers.sessions import session_format
from corepath.importers.transcript import Transcript

_NOTES: Final = ("info", "warning", "error")
"""Types of messages by the program."""
_FAILED: Final = ("error", "cancelled")


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    return None if _key(value) is not None else "no object with 'sessionId' and 'projectHash', nor an event 'init'"


def _key(value: Any) -> str | None:
    """Return the id of the session that a record starts, or None if the record belongs to the session before it."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("sessionId"), str) and isinstance(value.get("projectHash"), str):
        return str(value["sessionId"])
    is_init = value.get("type") == "init" and isinstance(value.get("model"), str) and "timestamp" in value
    return value["session_id"] if is_init and isinstance(value.get("session_id"), str) else None


def read_session(records: list[Any]) -> Iterator[Episode]:
    """Yield the episode in a session's records. Raises `RecordError` if the session is malformed."""
    if not any(_key(one) is not None for one in records):
        raise RecordError(str(mismatch(None)))
    lines = list(objects(records, "records"))
    yield _read_stream(lines) if any(one.get("type") == "init" for one in lines) else _read_messages(lines)


# Session files


def _read_messages(lines: list[Mapping[str, Any]]) -> Episode:
    about, messages = _collect(lines)
    transcript, failure = Transcript(), None
    for message in messages:
        kind, text = message.get("type"), _text(message.get("content"))
        if kind == "gemini":
            _read_response(transcript, message)
        elif kind == "user" or kind in _NOTES:
            transcript.add_message("user" if kind == "user" else "system", text, time=message.get("timestamp"))
        if kind in ("user", "gemini", "error"):
            failure = str(text or kind) if kind == "error" else None
    return transcript.to_episode(metadata=metadata_of(about, "messages"), **_ending("error", failure))


def _collect(lines: list[Mapping[str, Any]]) -> tuple[dict[str, Any], list[Mapping[str, Any]]]:
    """Return what the lines say about the session, and its messages."""
    about: dict[str, Any] = {}
    messages: dict[str, Mapping[str, Any]] = {}
    for line in lines:
        update = line.get("$set")
        if isinstance(update, dict):
            about |= update
            for message in objects(update.get("messages"), "messages"):
                messages.setdefault(str(message.get("id")), message)
        elif isinstance(line.get("sessionId"), str):
            about |= line
            for number, message in enumerate(objects(line.get("messages"), "messages")):
                messages[str(message.get("id", number))] = message
        elif isinstance(line.get("id"), str):
            messages[line["id"]] = line
    return about, list(messages.values())


def _read_response(transcript: Transcript, message: Mapping[str, Any]) -> None:
    transcript.start_turn()
    time = message.get("timestamp")
    transcript.add_text(_text(message.get("content")), time=time)
    transcript.add_usage(message.get("tokens"), model=message.get("model"))
    for call in objects(message.get("toolCalls"), "tool calls"):
        extra = {"sub_agent": call["agentId"]} if isinstance(call.get("agentId"), str) else {}
        place = len(transcript.calls)
        transcript.add_call(call.get("name"), call.get("args"), call.get("id"), time=time, **extra)
        status = call.get("status")
        if status in _FAILED or status == "success":
            result, error = _result(call), status in _FAILED
            transcript.answer_call(place, result, error=error, time=call.get("timestamp"))


def _result(call: Mapping[str, Any]) -> Any:
    """Return what a tool sent to the model, or what it showed to the user if it sent nothing."""
    parts = call.get("result")
    for part in parts if isinstance(parts, list) else [parts]:
        answer = part.get("functionResponse") if isinstance(part, dict) else None
        if isinstance(answer, dict):
            response = answer.get("response")
            if isinstance(response, dict) and len(response) == 1:
                return parse_result(first_of(response, "output", "error", "result") or response)
            return response
    if parts is None:
        shown = call.get("resultDisplay")
        return shown if isinstance(shown, str) else None
    return parse_result(parts)


def _text(content: Any) -> Any:
    """Return the text in a message's content, which is a string, a part or a list of both, or None if it is empty."""
    if content is None or isinstance(content, str):
        return content or None
    parts = content if isinstance(content, list) else [content]
    if not all(isinstance(part, (str, dict)) for part in parts):
        raise RecordError(f"the content of a message must be text or parts, not {describe_type(parts[0])}")
    return "".join(_part_text(part) for part in parts) or None


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if part.get("thought") is True:
        return ""
    if isinstance(part.get("text"), str):
        return str(part["text"])
    return next((f"[{name}]" for name in ("inlineData", "fileData") if name in part), "")


# Streams


@dataclass
class _Stream:
    """What the events of a stream have said so far."""

    transcript: Transcript = field(default_factory=Transcript)
    about: dict[str, Any] = field(default_factory=dict)
    text: str = ""
    """The pieces of text by the agent that belong together."""
    time: Any = None
    """The time of the first piece."""
    in_response: bool = False
    failure: str | None = None

    def read(self, event: Mapping[str, Any]) -> None:
        """Read an event."""
        kind, time = event.get("type"), event.get("timestamp")
        if kind == "tool_use" or (kind == "message" and event.get("role") == "assistant"):
            self._start_response()
            if kind == "message":
                self.time = self.time if self.text else time
                self.text += str(event.get("content") or "")
                return
        elif kind in ("message", "tool_result"):
            self.in_response = False
        self.end_text()
        if kind == "message":
            self.transcript.add_message("user", _text(event.get("content")), time=time)
        elif kind == "tool_use":
            self.transcript.add_call(event.get("tool_name"), event.get("parameters"), event.get("tool_id"), time=time)
        elif kind == "tool_result":
            _read_answer(self.transcript, event)
        elif kind == "error":
            self.transcript.add_message("system", _text(event.get("message")), time=time)
        else:
            self._read_frame(event)

    def _start_response(self) -> None:
        if not self.in_response:
            self.transcript.start_turn()
            self.in_response = True

    def end_text(self) -> None:
        """Add the text that the agent has said since the last event of another kind."""
        self.transcript.add_text(self.text, time=self.time)
        self.text = ""

    def _read_frame(self, event: Mapping[str, Any]) -> None:
        """Read the event that starts or ends the stream."""
        if event.get("type") in ("init", "result"):
            self.about |= {name: one for name, one in event.items() if name not in ("type", "timestamp")}
            self.transcript.add_usage(None, model=event.get("model"))
        if event.get("type") == "result":
            self.failure = _read_end(self.transcript, event)


def _read_stream(lines: list[Mapping[str, Any]]) -> Episode:
    stream = _Stream()
    for line in lines:
        stream.read(line)
    stream.end_text()
    return stream.transcript.to_episode(metadata=metadata_of(stream.about), **_ending("result", stream.failure))


def _read_answer(transcript: Transcript, line: Mapping[str, Any]) -> None:
    error, output = line.get("status") in _FAILED, line.get("output")
    reason = line.get("error")
    if error and isinstance(reason, dict):
        output = output or reason.get("message")
    time = line.get("timestamp")
    transcript.add_result(line.get("tool_id"), output if error else parse_result(output), error=error, time=time)


def _read_end(transcript: Transcript, line: Mapping[str, Any]) -> str | None:
    """Add what the run used, and return why it failed, or None if it did not."""
    stats = line.get("stats")
    models = stats.get("models") if isinstance(stats, dict) else None
    for name in models if isinstance(models, dict) else ():
        transcript.add_usage(None, model=name)
    transcript.add_usage(stats)
    transcript.usage.pop("requests", None)
    error = line.get("error")
    if line.get("status") != "error":
        return None
    return str(error.get("message") if isinstance(error, dict) else error or "error")


def _ending(kind: str, failure: str | None) -> dict[str, Any]:
    """Return how a session ended, if something other than the agent failed: fields for `to_episode`."""
    return {} if failure is None else {"ended": FAILED_OUTSIDE, "failure": {"kind": kind, "message": failure}}


FORMAT: Final = session_format(
    "gemini-cli", "a call with the status `error` or `cancelled`", mismatch, _key, read_session
)
