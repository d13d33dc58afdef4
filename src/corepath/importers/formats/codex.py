"""Read sessions of Codex CLI: its rollout files, and the output of `codex exec --json`.

Each line of a rollout is an event. In rollouts before September 2025, each line is an item of the conversation itself.
Calls and messages are read from these items. Events repeat them for display, and are read only for tokens and errors.
Items of one response share a turn: a response ends where its tokens are counted, or its state is stored, or, if the
rollout has neither, where an output follows. What the user rolled back did happen, so its calls are kept, and what a
compaction repeats is left out.

The output of a shell command names the exit code: in JSON, or in the lines above the output. Codex itself says that a
command with another exit code than 0 failed. A sub-agent has a rollout of its own, which is an episode of its own.

`codex exec --json` has no items, but says what was done: a command is a call to `shell`, changes of files are a call to
`apply_patch`, and each state of the to-do list is a call to `update_plan`, whose result is unknown. Calls that run at
the same time share a turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from corepath.episode import CONTEXT_LIMIT, FAILED_OUTSIDE, Episode
from corepath.errors import RecordError
from corepath.importers.content import first_of, message_text, metadata_of, objects, parse_result
from corepath.importers.sessions import session_format
from corepath.importers.transcript import Transcript

_LINES: Final = (
    "session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state",
)  # fmt: skip
_CALLS: Final = (
    "function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "web_search_call",
    "image_generation_call",
)  # fmt: skip
_OUTPUTS: Final = ("function_call_output", "custom_tool_call_output", "tool_search_output", "local_shell_call_output")
_BY_MODEL: Final = (*_CALLS, "reasoning")
_PROMPTS: Final = ("base_instructions", "instructions", "dynamic_tools")
_EXIT_CODE: Final = re.compile(
    r"(?:Exit code: |(?:Command: [^\n]*\n)?(?:Chunk ID: [^\n]*\n)?Wall time: [^\n]*\nProcess exited with code )"
    r"(-?\d{1,10})\n"
)
"""The exit code in the lines that Codex writes above the output of a command."""
_DONE: Final = ("completed", "failed", "declined")
_TURN_ENDS: Final = ("task_complete", "turn_complete")
_FULL: Final = "context_window_exceeded"


def mismatch(value: Any) -> str | None:
    """Explain why a record is not in this format, or return None if it is."""
    if not isinstance(value, dict):
        return "no objects"
    if _is_rollout(value) or _is_header(value) or _is_exec(value):
        return None
    return "no line with a 'payload' of the type session_meta or response_item, nor an event such as 'thread.started'"


def _is_rollout(line: Mapping[str, Any]) -> bool:
    return line.get("type") in _LINES and isinstance(line.get("payload"), dict)


def _is_header(line: Mapping[str, Any]) -> bool:
    """Return True if this is the first line of an old rollout, or one that says that the state was stored."""
    if line.get("record_type") == "state":
        return True
    return "type" not in line and {"id", "timestamp", "instructions"} <= line.keys()


def _is_exec(line: Mapping[str, Any]) -> bool:
    kind = str(line.get("type"))
    if kind == "thread.started":
        return isinstance(line.get("thread_id"), str)
    item = line.get("item")
    return kind.startswith("item.") and isinstance(item, dict) and {"id", "type"} <= item.keys()


def _key(line: Any) -> str | None:
    """Return the id of the session that a line starts, or None if the line belongs to the session before it."""
    if not isinstance(line, dict):
        return None
    if line.get("type") == "thread.started":
        id_ = line.get("thread_id")
    elif _is_rollout(line):
        id_ = line["payload"].get("id") if line["type"] == "session_meta" else None
    else:
        id_ = line.get("id") if _is_header(line) else None
    return id_ if isinstance(id_, str) else None


def read_session(records: list[Any]) -> Iterator[Episode]:
    """Yield the episode in a session's lines, or nothing if the session was forked before anything happened."""
    lines = list(objects(records, "lines"))
    if any(_is_exec(line) for line in lines):
        yield _read_exec(lines)
        return
    events = [_event(line) for line in lines]
    if any(kind == "response_item" for kind, _, _ in events):
        yield _Rollout.of(events).to_episode()


# Rollouts

_Event = tuple[str, Mapping[str, Any], Any]
"""The type of a line, what it holds, and its time."""


def _event(line: Mapping[str, Any]) -> _Event:
    payload, time = line.get("payload"), line.get("timestamp")
    if isinstance(payload, dict):
        return str(line.get("type")), payload, time
    if _is_header(line):
        return ("state" if "record_type" in line else "session_meta"), line, time
    return ("response_item" if isinstance(line.get("type"), str) else "other"), line, time


@dataclass
class _Rollout:
    """What the lines of a rollout have said so far."""

    failed: set[str]
    """The ids of calls that failed, by the events of the rollout."""
    has_ends: bool
    """Whether the rollout says where a response ends."""
    transcript: Transcript = field(default_factory=Transcript)
    called: set[str] = field(default_factory=set)
    in_response: bool = False
    model: Any = None
    total: Any = None
    """The tokens used so far, by the last event that counted them."""
    metadata: dict[str, Any] = field(default_factory=dict)
    failure: Mapping[str, Any] | None = None
    """The error after the last response, or None."""

    @classmethod
    def of(cls, events: list[_Event]) -> _Rollout:
        """Read the lines of a rollout."""
        failed = {id_ for kind, payload, _ in events if kind == "event_msg" and (id_ := _failed_call(payload))}
        has_ends = any(_is_end(kind, payload) for kind, payload, _ in events)
        rollout = cls(failed, has_ends)
        for kind, payload, time in events:
            rollout.read(kind, payload, time)
        return rollout

    def read(self, kind: str, payload: Mapping[str, Any], time: Any) -> None:
        """Read a line."""
        if _is_end(kind, payload):
            self.in_response = False
        if kind == "response_item":
            self._read_item(payload, time)
        elif kind == "session_meta":
            self._read_start(payload, time)
        elif kind == "turn_context":
            self.model = payload.get("model") or self.model
        elif kind == "compacted":
            self.transcript.add_message("system", message_text(payload.get("message")), time=time)
        elif kind == "event_msg":
            self._read_event(payload)

    def _read_start(self, payload: Mapping[str, Any], time: Any) -> None:
        if self.metadata:
            return
        self.metadata = metadata_of(payload, *_PROMPTS) or {}
        for name in _PROMPTS[:2]:
            prompt = payload.get(name)
            prompt = prompt.get("text") if isinstance(prompt, dict) else prompt
            self.transcript.add_message("system", prompt if isinstance(prompt, str) else None, time=time)

    def _read_event(self, payload: Mapping[str, Any]) -> None:
        kind, info = payload.get("type"), payload.get("info")
        if kind == "token_count" and isinstance(info, dict) and info.get("total_token_usage") != self.total:
            self.total = info.get("total_token_usage")
            self.transcript.add_usage(info.get("last_token_usage"), model=self.model)
        error = (
            payload if kind == "error" else payload.get("error") if kind in ("task_complete", "turn_complete") else None
        )
        if isinstance(error, dict):
            self.failure = error

    def _read_item(self, item: Mapping[str, Any], time: Any) -> None:
        kind = str(item.get("type"))
        if kind in _BY_MODEL or (kind == "message" and item.get("role") == "assistant"):
            self._start_response()
        if kind == "message":
            self._read_message(item, time)
        elif kind == "agent_message":
            text = message_text(item.get("content"))
            self.transcript.add_message("user", text, time=time, author=str(item.get("author")))
        elif kind in _CALLS:
            self._read_call(item, kind, time)
        elif kind in _OUTPUTS:
            self._read_output(item, time)
            self.in_response = self.in_response and self.has_ends

    def _start_response(self) -> None:
        self.failure = None
        if not self.in_response:
            self.transcript.start_turn()
            self.in_response = True
            if isinstance(self.model, str):
                self.transcript.models.setdefault(self.model)

    def _read_message(self, item: Mapping[str, Any], time: Any) -> None:
        text = message_text(item.get("content"))
        if item.get("role") == "assistant":
            self.transcript.add_text(text, time=time)
        else:
            self.in_response = False
            self.transcript.add_message(str(item.get("role") or "user"), text, time=time)

    def _read_call(self, item: Mapping[str, Any], kind: str, time: Any) -> None:
        id_ = first_of(item, "call_id", "id")
        if isinstance(id_, str):
            if id_ in self.called:
                return
            self.called.add(id_)
        extra = {} if kind == _CALLS[0] else {"type": kind}
        if isinstance(item.get("namespace"), str):
            extra["namespace"] = item["namespace"]
        name = item.get("name") or kind.removesuffix("_call")
        place = len(self.transcript.calls)
        self.transcript.add_call(name, _arguments(item, kind), id_, time=time, **extra)
        if kind in _CALLS[-2:] and (item.get("status") == "completed" or item.get("result") is not None):
            self.transcript.answer_call(place, item.get("result"))

    def _read_output(self, item: Mapping[str, Any], time: Any) -> None:
        """Add the output of a call, unless the call has one already."""
        id_ = first_of(item, "call_id", "id")
        if not isinstance(id_, str) or not id_:
            raise RecordError(f"an item of the type {str(item.get('type'))[:60]!r} needs 'call_id'")
        if id_ in self.called and not self.transcript.waits_for(id_):
            return
        content, success = _output(item)
        error = id_ in self.failed or success is False or _exit_code(content) not in (None, 0)
        self.transcript.add_result(id_, parse_result(content), error=error, time=time)

    def to_episode(self) -> Episode:
        """Build the episode of the rollout."""
        return self.transcript.to_episode(metadata=self.metadata or None, **_ending(self.failure))


def _is_end(kind: str, payload: Mapping[str, Any]) -> bool:
    """Return True if a line comes between two responses of the model."""
    return kind == "state" or (kind == "event_msg" and payload.get("type") == "token_count")


def _failed_call(event: Mapping[str, Any]) -> str | None:
    """Return the id of the call that failed, if that is what an event says, else None."""
    kind, id_, result = event.get("type"), event.get("call_id"), event.get("result")
    failed = False
    if kind == "exec_command_end":
        failed = event.get("status") in _DONE[1:] or event.get("exit_code", 0) != 0
    elif kind == "patch_apply_end":
        failed = event.get("success") is False
    elif kind == "mcp_tool_call_end" and isinstance(result, dict):
        inner = first_of(result, "Ok")
        failed = "Err" in result or (isinstance(inner, dict) and first_of(inner, "isError", "is_error") is True)
    return id_ if failed and isinstance(id_, str) else None


def _arguments(item: Mapping[str, Any], kind: str) -> Any:
    if kind == "custom_tool_call":
        return {"input": item.get("input")}
    if kind == "image_generation_call":
        return {"prompt": item.get("revised_prompt")}
    given = first_of(item, "arguments", "action")
    if kind in ("local_shell_call", "web_search_call") and isinstance(given, dict):
        return {name: value for name, value in given.items() if value is not None}
    return {} if given is None else given


def _output(item: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the content of an output, and whether the call was a success, which is None if it is unknown."""
    content, success = first_of(item, "output", "tools"), None
    if isinstance(content, dict) and "content" in content:
        content, success = content["content"], content.get("success")
    if isinstance(content, list) and all(_is_text(part) for part in content):
        content = "".join(part["text"] for part in content)
    return content, success


def _exit_code(content: Any) -> int | None:
    """Return the exit code that an output names, or None if it names none."""
    if isinstance(content, str) and (header := _EXIT_CODE.match(content)):
        return int(header[1])
    value = parse_result(content)
    metadata = value.get("metadata") if isinstance(value, dict) else None
    code = metadata.get("exit_code") if isinstance(metadata, dict) else None
    return code if isinstance(code, int) and not isinstance(code, bool) else None


def _is_text(part: Any) -> bool:
    return isinstance(part, dict) and isinstance(part.get("text"), str)


def _ending(failure: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return how a session ended, if it was not by the agent: fields for `to_episode`."""
    if failure is None:
        return {}
    kind = failure.get("codex_error_info")
    if kind == _FULL:
        return {"ended": CONTEXT_LIMIT}
    kind = kind if isinstance(kind, str) else "error"
    return {"ended": FAILED_OUTSIDE, "failure": {"kind": kind, "message": str(failure.get("message") or kind)}}


# codex exec


def _read_exec(lines: list[Mapping[str, Any]]) -> Episode:
    transcript = Transcript()
    open_items: dict[str, int] = {}
    failure: Mapping[str, Any] | None = None
    thread = None
    for line in lines:
        kind, item, error = str(line.get("type")), line.get("item"), line.get("error")
        if kind == "thread.started":
            thread = line.get("thread_id")
            open_items.clear()  # the numbers of items begin again when a thread is resumed
        elif kind == "turn.completed":
            transcript.add_usage(line.get("usage"))
        elif kind in ("turn.failed", "error"):
            failure = error if isinstance(error, dict) else line
        elif kind.startswith("item.") and isinstance(item, dict):
            failure = None
            _read_exec_item(transcript, item, kind, open_items)
    transcript.usage.pop("requests", None)
    return transcript.to_episode(metadata={"thread_id": thread} if thread else None, **_ending(failure))


def _read_exec_item(transcript: Transcript, item: Mapping[str, Any], event: str, open_items: dict[str, int]) -> None:
    kind, id_ = str(item.get("type")), str(item.get("id"))
    if kind in ("agent_message", "error"):
        if event == "item.completed":
            text = message_text(first_of(item, "text", "message"))
            transcript.add_text(text) if kind == "agent_message" else transcript.add_message("system", text)
        return
    called = _exec_call(item, kind)
    if called is None:
        return
    tool, arguments, extra = called
    if kind == "todo_list":
        if event != "item.completed":
            transcript.start_turn()
            transcript.add_call(tool, arguments)
            open_items[id_] = -1
        return
    if id_ not in open_items:
        if not any(place >= 0 for place in open_items.values()):
            transcript.start_turn()
        open_items[id_] = len(transcript.calls)
        transcript.add_call(tool, arguments, None if transcript.waits_for(id_) else id_, **extra)
    if event == "item.completed":
        place = open_items.pop(id_)
        result, error = _exec_result(item, kind), item.get("status") in _DONE[1:]
        transcript.answer_call(place, result, error=error)


def _exec_call(item: Mapping[str, Any], kind: str) -> tuple[Any, Any, dict[str, Any]] | None:
    """Return the tool, the arguments and other details of a call, or None if an item is no call."""
    if kind == "command_execution":
        return "shell", {"command": item.get("command")}, {}
    if kind == "file_change":
        return "apply_patch", {"changes": item.get("changes")}, {}
    if kind == "mcp_tool_call":
        return item.get("tool"), item.get("arguments"), {"server": item.get("server")}
    if kind == "collab_tool_call":
        return item.get("tool"), {name: item.get(name) for name in ("prompt", "receiver_thread_ids")}, {}
    if kind == "web_search":
        return kind, {"query": item.get("query")}, {}
    return ("update_plan", {"plan": item.get("items")}, {}) if kind == "todo_list" else None


def _exec_result(item: Mapping[str, Any], kind: str) -> Any:
    if kind == "command_execution":
        return {"output": item.get("aggregated_output"), "exit_code": item.get("exit_code")}
    error = item.get("error")
    if isinstance(error, dict) and error.get("message"):
        return error["message"]
    return first_of(item, "result", "agents_states", "status")


FORMAT: Final = session_format(
    "codex",
    "an output whose exit code is not 0; a command, patch or MCP call that an event reports as failed; "
    "an item with the status `failed` or `declined`",
    mismatch,
    _key,
    read_session,
)
