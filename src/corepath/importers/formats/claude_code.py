"""Read sessions of Claude Code: its session files, and the output of `claude -p --output-format stream-json`.

The stream is also what the Agent SDK reads. Each line is an event. A response of the model is spread over several
lines with the same message id: they are one turn, and their usage counts once. Lines that a resumed or forked session
repeats count once. A file may hold several sessions; a session that continues another one in the same file is part of
it. What the user rewound did happen, so its calls are kept.

The calls of a sub-agent belong to the episode if they are in the same file. They have its id as `sub_agent`, and so do
its texts, which are never the answer. Its prompt is left out, since it is an argument of the call that started it. A
sub-agent's own file is an episode of its own.

Messages that the program wrote in the user's name are system messages. Hooks, attachments and other notes of the
program are left out, except for a message that the user sent while the agent was working.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from corepath.episode import CONTEXT_LIMIT, FAILED_OUTSIDE, TURN_LIMIT, Episode
from corepath.errors import Problem, RecordError
from corepath.importers.content import first_of, message_text, objects, parse_result, text_of
from corepath.importers.format import Format, recognise_records
from corepath.importers.sessions import session_format
from corepath.importers.transcript import Transcript

_CALLS: Final = ("tool_use", "server_tool_use", "mcp_tool_use")
_RESULT: Final = "tool_result"
_TITLES: Final = {"summary": "summary", "ai-title": "aiTitle", "custom-title": "customTitle"}
"""Types of lines that hold the session's title, with the field's name."""
_SESSION: Final = (
    "sessionId", "session_id", "cwd", "gitBranch", "version", "entrypoint", "agentId", "model", "permissionMode",
    "claude_code_version",
)  # fmt: skip
_RUN: Final = (
    "subtype", "is_error", "duration_ms", "duration_api_ms", "num_turns", "total_cost_usd", "stop_reason",
    "terminal_reason",
)  # fmt: skip
_NOT_THE_MODEL: Final = "<synthetic>"
"""The model's name in messages that the program wrote in the agent's name, such as errors of the API."""
_UNNAMED: Final = "sub-agent"
_NOTICE: Final = "<task-notification>"
_TOO_LONG: Final = "Prompt is too long"


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    if not isinstance(value, dict) or not isinstance(value.get("type"), str):
        return "no line with a 'type'"
    if _is_stored(value) or _is_streamed(value):
        return None
    return "no line of a session, with 'sessionId', 'uuid' and 'isSidechain', nor of a stream, with 'session_id'"


def _is_stored(line: Mapping[str, Any]) -> bool:
    """Return True if a line has a form that only session files have."""
    if line["type"] == "summary":
        return isinstance(line.get("leafUuid"), str)
    if line["type"] == "file-history-snapshot":
        return isinstance(line.get("snapshot"), dict)
    return isinstance(line.get("sessionId"), str) and "uuid" in line and "isSidechain" in line


def _is_streamed(line: Mapping[str, Any]) -> bool:
    """Return True if a line has a form that only the stream has."""
    if not isinstance(line.get("session_id"), str):
        return False
    if line["type"] == "result":
        return "num_turns" in line
    if line["type"] == "system":
        return line.get("subtype") == "init" and isinstance(line.get("tools"), list)
    return "parent_tool_use_id" in line and isinstance(line.get("message"), dict)


@dataclass
class _Sessions:
    """The session of each line in one file.

    A session that continues another one has its own id, but its first line follows a line of the other one.
    """

    session_of: dict[str, str] = field(default_factory=dict)
    """The session of each line, by the line's id."""
    continued: dict[str, str] = field(default_factory=dict)
    """The first session of a conversation, by the id of the session that continues it."""

    def __call__(self, line: Any) -> str | None:
        """Return the key of a line's session, or None if the line belongs to the session before it."""
        own = first_of(line, "sessionId", "session_id") if isinstance(line, dict) else None
        if not isinstance(own, str):
            return None
        before = first_of(line, "parentUuid", "logicalParentUuid")
        known = self.session_of.get(before) if isinstance(before, str) else None
        session = known or self.continued.get(own, own)
        self.continued.setdefault(own, session)
        if isinstance(line.get("uuid"), str):
            self.session_of[line["uuid"]] = session
        return session


def read_session(records: list[Any]) -> Iterator[Episode]:
    """Yield the episode in a session's lines, or nothing if they have no messages."""
    lines = list(_lines(records))
    if not any(line.get("type") in ("user", "assistant") for line, _ in lines):
        return
    alone = all(agent is not None for line, agent in lines if "message" in line)
    reader = _Reader(sent={text for line, _ in lines if isinstance(text := _sent_text(line), str)})
    for line, agent in lines:
        reader.read(line, None if alone else agent)
    yield reader.to_episode()


def _lines(records: list[Any]) -> Iterator[tuple[Mapping[str, Any], str | None]]:
    """Yield each line once, with the sub-agent that it belongs to, or None if it is the main agent's."""
    seen: set[str] = set()
    for record in objects(records, "lines"):
        line, agent = _unwrap(record)
        id_ = line.get("uuid")
        if isinstance(id_, str):
            if id_ in seen:
                continue
            seen.add(id_)
        yield line, None if agent is None else str(agent)


def _unwrap(line: Mapping[str, Any]) -> tuple[Mapping[str, Any], Any]:
    """Return a line and its sub-agent, or None. A line about progress may hold a line of a sub-agent."""
    data = line.get("data")
    if line.get("type") == "progress" and isinstance(data, dict) and data.get("type") == "agent_progress":
        inner = data.get("message")
        return (inner if isinstance(inner, dict) else {}), data.get("agentId") or _UNNAMED
    if line.get("isSidechain") is True:
        return line, line.get("agentId") or _UNNAMED
    return line, line.get("parent_tool_use_id")


def _sent_text(line: Mapping[str, Any]) -> Any:
    """Return the text of a line that shows a message by the user, or None if it is another line."""
    if line.get("type") == "user" and isinstance(line.get("message"), dict):
        return text_of(line["message"].get("content"))
    attachment = line.get("attachment")
    if isinstance(attachment, dict) and attachment.get("type") == "queued_command":
        return message_text(attachment.get("prompt"))
    return None


@dataclass
class _Reader:
    """What the lines of a session have said so far."""

    sent: set[str]
    """The texts of all messages by the user that have a line of their own."""
    transcript: Transcript = field(default_factory=Transcript)
    turns: dict[str, int] = field(default_factory=dict)
    """The turn of each response, by message id."""
    usage: dict[str, tuple[Any, Any, Any]] = field(default_factory=dict)
    """The usage, the model and the cost of each response, by message id. The last line of a response has the total."""
    called: set[str] = field(default_factory=set)
    said: set[tuple[str, str]] = field(default_factory=set)
    queue: list[Any] = field(default_factory=list)
    """Messages that the user sent while the agent was working, and that the agent has not seen yet."""
    metadata: dict[str, Any] = field(default_factory=dict)
    run: Mapping[str, Any] = field(default_factory=dict)
    """The line that says how the run ended, or an empty mapping if there is none."""
    failure: str | None = None
    """The error that the program reported after the agent's last message."""

    def read(self, line: Mapping[str, Any], agent: str | None) -> None:
        """Read a line. `agent` is the sub-agent that it belongs to, or None."""
        kind = str(line.get("type"))
        if kind in ("user", "assistant", "system"):
            self._read_session(line)
        if kind == "assistant":
            self._read_response(line, agent)
        elif kind == "user":
            self._read_user(line, agent)
        elif kind == "result" and isinstance(line.get("subtype"), str):
            self.run = line
        elif kind == "queue-operation":
            self._read_queue(line)
        elif kind == "attachment":
            self._add_sent(_sent_text(line), line)
        elif isinstance(title := line.get(_TITLES.get(kind, "")), str):
            self.metadata["title"] = title
        elif kind == "system" and agent is None and isinstance(line.get("content"), str):
            self.transcript.add_message("system", line["content"], time=line.get("timestamp"))

    def _read_session(self, line: Mapping[str, Any]) -> None:
        for name in _SESSION:
            if isinstance(line.get(name), (str, int, float)):
                self.metadata.setdefault(name, line[name])

    def _read_response(self, line: Mapping[str, Any], agent: str | None) -> None:
        message, time = _message(line), line.get("timestamp")
        if message.get("model") == _NOT_THE_MODEL:
            self._read_notice(line)
            return
        if agent is None:
            self.failure = None
        id_ = str(message.get("id") or line.get("uuid") or len(self.turns))
        self.transcript.turn = self.turns.setdefault(id_, len(self.turns) + 1)
        self.usage[id_] = (message.get("usage"), message.get("model"), line.get("costUSD"))
        extra = {} if agent is None else {"sub_agent": agent}
        for block in _blocks(message):
            kind = str(block.get("type"))
            if kind == "text":
                self._add_text(id_, block.get("text"), time, extra)
            elif kind in _CALLS:
                self._add_call(block, time, extra)
            elif kind.endswith(_RESULT):
                self._add_result(block, time)

    def _read_notice(self, line: Mapping[str, Any]) -> None:
        """Read a message that the program wrote in the agent's name."""
        text = text_of(_message(line).get("content"))
        self.transcript.add_message("system", text, time=line.get("timestamp"))
        if line.get("isApiErrorMessage") is True or line.get("error"):
            self.failure = str(text or line.get("error"))

    def _add_text(self, id_: str, text: Any, time: Any, extra: Mapping[str, Any]) -> None:
        """Add text from the agent, unless the same response has said it already."""
        if not isinstance(text, str) or (id_, text) in self.said:
            return
        self.said.add((id_, text))
        if extra:
            self.transcript.add_message("assistant", text, time=time, **extra)
        else:
            self.transcript.add_text(text, time=time)

    def _add_call(self, block: Mapping[str, Any], time: Any, extra: Mapping[str, Any]) -> None:
        id_ = block.get("id")
        if isinstance(id_, str):
            if id_ in self.called:
                return
            self.called.add(id_)
        kind = {} if block.get("type") == _CALLS[0] else {"type": block["type"]}
        self.transcript.add_call(block.get("name"), block.get("input"), id_, time=time, **kind, **extra)

    def _add_result(self, block: Mapping[str, Any], time: Any) -> None:
        """Add the result of a call, unless the call has one already."""
        id_ = block.get("tool_use_id")
        if not isinstance(id_, str) or not id_:
            raise RecordError(f"a block of the type {str(block.get('type'))[:60]!r} needs 'tool_use_id'")
        if id_ in self.called and not self.transcript.waits_for(id_):
            return
        value, error = _result(block)
        self.transcript.add_result(id_, value, error=error, time=time)

    def _read_user(self, line: Mapping[str, Any], agent: str | None) -> None:
        """Read the results and the text in a message to the agent."""
        blocks, time = _blocks(_message(line)), line.get("timestamp")
        for block in blocks:
            if str(block.get("type")).endswith(_RESULT):
                self._add_result(block, time)
        by_program = any(line.get(name) is True for name in ("isMeta", "isCompactSummary", "isSynthetic"))
        text = message_text([block for block in blocks if not str(block.get("type")).endswith(_RESULT)])
        if agent is None:
            self.transcript.add_message("system" if by_program else "user", text, time=time)

    def _read_queue(self, line: Mapping[str, Any]) -> None:
        """Follow the queue of messages that the user sends while the agent is working.

        A message that leaves the queue for a turn of its own has a line of its own. One that is given to the agent in
        the middle of a turn may have none.
        """
        operation = line.get("operation")
        if operation == "enqueue":
            self.queue.append(line.get("content"))
        elif operation == "popAll":
            self.queue.clear()
        elif operation in ("dequeue", "remove") and self.queue:
            text = self.queue.pop(0)
            if operation == "remove" and isinstance(text, str) and text not in self.sent:
                self._add_sent(text, line)

    def _add_sent(self, text: Any, line: Mapping[str, Any]) -> None:
        by_program = isinstance(text, str) and text.startswith(_NOTICE)
        self.transcript.add_message("system" if by_program else "user", text, time=line.get("timestamp"))

    def to_episode(self) -> Episode:
        """Build the episode of the session."""
        self._add_usage()
        extra: dict[str, Any] = _ending(self.run, self.failure)
        duration = self.run.get("duration_ms")
        if isinstance(duration, (int, float)) and not isinstance(duration, bool) and 0 <= duration < 1e15:
            extra["seconds"] = duration / 1000
        run = {name: self.run[name] for name in _RUN if isinstance(self.run.get(name), (str, int, float))}
        return self.transcript.to_episode(metadata=(self.metadata | run) or None, **extra)

    def _add_usage(self) -> None:
        """Add up what the responses used. In a stream, only the last line has the total."""
        total = self.run.get("usage")
        for used, model, cost in self.usage.values():
            self.transcript.add_usage(None if total else used, model=model, cost=None if total else cost)
        if total:
            self.transcript.add_usage(total, cost=self.run.get("total_cost_usd"))
            if "requests" in self.transcript.usage:
                self.transcript.usage["requests"] = len(self.usage)


def _ending(run: Mapping[str, Any], failure: str | None) -> dict[str, Any]:
    """Return how the session ended, if it was not by the agent: fields for `to_episode`."""
    kind = run.get("subtype")
    if run.get("is_error") is True or (run and kind != "success"):
        errors = run.get("errors")
        reported = "; ".join(map(str, errors)) if isinstance(errors, list) else None
        failure = str(run.get("result") or reported or failure or kind)
    if kind == "error_max_turns":
        return {"ended": TURN_LIMIT}
    if failure is None:
        return {}
    if failure.startswith(_TOO_LONG):
        return {"ended": CONTEXT_LIMIT}
    return {"ended": FAILED_OUTSIDE, "failure": {"kind": str(kind or "api_error"), "message": failure}}


def _result(block: Mapping[str, Any]) -> tuple[Any, bool]:
    """Return the result in a block, and whether it is an error."""
    content = block.get("content")
    if isinstance(content, list) and all(isinstance(one, dict) and one.get("type") == "text" for one in content):
        content = "".join(str(one.get("text") or "") for one in content)
    failed = isinstance(content, dict) and str(content.get("type")).endswith("_error")
    if failed or block.get("is_error") is True:
        return content, True
    return parse_result(content), False


def _message(line: Mapping[str, Any]) -> Mapping[str, Any]:
    message = line.get("message")
    if not isinstance(message, dict):
        raise RecordError(f"a line of the type {str(line.get('type'))[:60]!r} needs a 'message' object")
    return message


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a message's blocks. If the content is a string, it becomes one text block."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(objects(content, "blocks of content"))


_NAME: Final = "claude-code"
_ERRORS: Final = "a result with `is_error`; for a tool that the API runs, a content whose type ends in `_error`"


def _read(file: Path) -> Iterator[Episode | Problem]:
    return session_format(_NAME, _ERRORS, mismatch, _Sessions(), read_session).read(file)


FORMAT: Final = Format(_NAME, _ERRORS, lambda sample: recognise_records(sample, mismatch), _read)
