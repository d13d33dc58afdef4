"""Read MCP logs: JSON-RPC messages as lines or in a list.

A message may be bare, or be in an object with its direction and time. Server log lines with a message after some text
are read too. A file is one session, unless its records have a `sessionId` or it has several `initialize` requests, each
of which begins a session. A call's result is its `structuredContent`, or else the text in its `content`. A call that is
deferred as a task, or sent again with requested input, counts as one call.

In logs from `corepath serve`, the `_meta` field in a result says which episode a call belongs to. This field restores
the task, seed and agent, separates the episodes in one session, and marks calls beyond the step limit, which are left
out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import Problem, RecordError
from corepath.files.document import describe_json_error
from corepath.importers.content import parse_result, text_of, time_of
from corepath.importers.format import Format
from corepath.importers.reading import Place, Sample, is_lines, read_records
from corepath.importers.sessions import Sessions
from corepath.importers.transcript import Transcript
from corepath.notation.call import Call
from corepath.play.episode_origin import origin_in, restore
from corepath.values import arguments_of, canonical, parse_json

_BODY_FIELDS: Final = ("message", "data", "payload", "body", "msg", "raw")
_TIME_FIELDS: Final = ("timestamp", "time", "ts", "@timestamp")
_SESSION_FIELDS: Final = ("sessionId", "session_id", "mcp-session-id", "Mcp-Session-Id")
_METHODS: Final = (
    "tools/", "resources/", "prompts/", "notifications/", "sampling/", "roots/", "elicitation/", "completion/",
    "logging/", "tasks/",
)  # fmt: skip
_MESSAGE_START: Final = re.compile(r'\{\s*"(?:jsonrpc|id|method|params|result|error)"\s*:')
_SAMPLE: Final = 1000
_BOM: Final = b"\xef\xbb\xbf"
_CANCELLED: Final = "notifications/cancelled"


def mismatch(value: Any) -> str | None:
    """Explain why a record contains no MCP message, or return None if it contains one."""
    try:
        found = [message for _, message in _messages(value)]
    except RecordError as error:
        return str(error)
    return None if any(map(_is_mcp, found)) else "no JSON-RPC message with an MCP method, such as 'tools/call'"


def _recognise(sample: Sample) -> str | None:
    """Explain why a file is not in this format, or return None if it is."""
    for _, value in islice(_values(sample.file), _SAMPLE):
        if not isinstance(value, Problem) and mismatch(value) is None:
            return None
    return "no JSON-RPC message with an MCP method, such as 'tools/call'"


def _read_file(file: Path) -> Iterator[Episode | Problem]:
    """Yield a log's episodes session by session, and a `Problem` for each message or session that cannot be read.

    The messages are first stored in a temporary database, so a log may be larger than memory.
    """
    with Sessions() as stored:
        split = _Split()
        for place, value in _values(file):
            if isinstance(value, Problem):
                yield value
                continue
            try:
                for envelope, message in _messages(value):
                    stored.add(split.key(envelope, message), place, [_session_name(envelope), _time(envelope), message])
            except RecordError as error:
                yield place.problem(str(error))
        empty = True
        for key, _ in stored.list_sessions():
            empty = False
            yield from _read_session(str(file), stored.lines(key))
        if empty:
            yield Problem(str(file), 1, 1, "no JSON-RPC messages in this file")


def _read_session(file: str, lines: Iterator[tuple[int, Any]]) -> Iterator[Episode | Problem]:
    session: _Session | None = None
    for line, (name, time, message) in lines:
        session = session or _Session(name)
        try:
            session.add(message, time)
        except RecordError as error:
            yield Problem(file, line, 1, str(error))
    try:
        yield from () if session is None else session.to_episodes()
    except RecordError as error:
        yield Problem(file, 1, 1, str(error))


def _session_name(envelope: Mapping[str, Any]) -> str:
    return next((str(envelope[one]) for one in _SESSION_FIELDS if envelope.get(one) is not None), "")


def _time(envelope: Mapping[str, Any]) -> Any:
    return next((envelope[one] for one in _TIME_FIELDS if envelope.get(one) is not None), None)


def _values(file: Path) -> Iterator[tuple[Place, Any]]:
    """Yield each JSON value in a file with its place.

    A file that is not JSON as a whole is read line by line, and lines of plain text are skipped.
    """
    try:
        with file.open("rb") as read:
            start = b"".join(read.read(4096).removeprefix(_BOM).split())[:2]
            if start in (b"[{", b"[[", b"[]") or (start[:1] == b"{" and not is_lines(file)):
                yield from read_records(file, lambda one: isinstance(one, dict))
                return
            read.seek(0)
            for number, line in enumerate(read, start=1):
                place = Place(str(file), number)
                value = _parse_line(place, line)
                if value is not None:
                    yield place, value
    except OSError as error:
        place = Place(str(file))
        yield place, place.problem(f"cannot be read: {error.strerror}")


def _parse_line(place: Place, raw: bytes) -> Any:
    """Parse the JSON in a line, or return None if the line has none.

    The JSON is the whole line, or the first object after some text. Invalid JSON is returned as a `Problem`.
    """
    line = raw.removeprefix(_BOM).decode(errors="surrogateescape").strip()
    start = line.find("{")
    if start < 0 or (start > 0 and '"jsonrpc"' not in line and not _MESSAGE_START.match(line, start)):
        return None
    try:
        if start == 0 or parse_result(line) != line:
            return parse_json(line, stored=True)
        _, end = json.JSONDecoder(parse_int=str).raw_decode(line, start)
        return parse_json(line[start:end], stored=True)
    except RecursionError:
        return place.problem("nested too deeply")
    except ValueError as error:
        return place.problem(f"not JSON: {describe_json_error(error)}")


def _messages(value: Any) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yield each JSON-RPC message in `value` as a pair: the object around the message, and the message.

    A bare message is paired with itself. Objects without a message are skipped.
    """
    if isinstance(value, list):
        for one in value:
            yield from _messages(one)
        return
    if not isinstance(value, dict):
        raise RecordError("a JSON-RPC message is an object with 'jsonrpc', 'method' or 'id'")
    if _is_message(value):
        yield value, value
        return
    for name in _BODY_FIELDS:
        inner = parse_result(value.get(name))
        batch = inner if isinstance(inner, list) else [inner]
        if batch and all(_is_message(one) for one in batch):
            yield from ((value, one) for one in batch)
            return


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    return value.get("jsonrpc") == "2.0" and ("method" in value or "id" in value)


def _is_mcp(message: Mapping[str, Any]) -> bool:
    method = message.get("method")
    if method == "initialize":
        params = message.get("params")
        return isinstance(params, dict) and "protocolVersion" in params
    return isinstance(method, str) and method.startswith(_METHODS)


@dataclass
class _Split:
    """Tells sessions apart. A second `initialize` with the same session id begins a new session."""

    _counts: dict[str, int] = field(default_factory=dict)
    _initialized: set[str] = field(default_factory=set)

    def key(self, envelope: Mapping[str, Any], message: Mapping[str, Any]) -> str:
        """Return the key of a message's session."""
        name = _session_name(envelope)
        key = f"{self._counts.setdefault(name, 0)} {name}"
        if message.get("method") == "initialize" and "id" in message:
            if key in self._initialized:
                self._counts[name] += 1
                key = f"{self._counts[name]} {name}"
            self._initialized.add(key)
        return key


@dataclass
class _Session:
    """One session: its transcript, and the requests that still wait for a response."""

    name: str
    transcript: Transcript = field(default_factory=Transcript)
    metadata: dict[str, Any] = field(default_factory=dict)
    _calls: dict[str, int] = field(default_factory=dict)
    """The index of the call that each waiting request made or asks about, keyed by request id."""
    _others: dict[str, str] = field(default_factory=dict)
    """The method of each waiting request that is not a call, keyed by request id."""
    _tasks: dict[str, int] = field(default_factory=dict)
    """The index of the call that each task on the server runs, keyed by task id."""
    _resumable: dict[str, int] = field(default_factory=dict)
    """The index of each call that the client will send again, keyed by tool and arguments.

    The server has requested more input for these calls.
    """
    _origins: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    """The origin of each episode that `corepath serve` played in this session, keyed by episode."""
    _episode_of: dict[int, str | None] = field(default_factory=dict)
    """The episode for each call index, or None if no episode recorded the call."""

    def __post_init__(self) -> None:
        if self.name:
            self.metadata["session_id"] = self.name

    def add(self, message: Mapping[str, Any], time: Any) -> None:
        """Add a request, a notification or a response.

        Raises `RecordError` if a request reuses an id too early, or if a response belongs to no request.
        """
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        method = message.get("method")
        if method is None:
            self._add_answer(message, time)
        elif method == "tools/call" and "id" in message:
            self._add_call(_key(message["id"]), params, message["id"], time)
        elif method == "tasks/result" and str(params.get("taskId")) in self._tasks:
            self._calls[_key(message.get("id"))] = self._tasks[str(params["taskId"])]
        elif method == _CANCELLED:
            self._cancel(params)
        elif "id" in message:
            if method == "initialize":
                self.metadata |= {"client": params.get("clientInfo"), "protocol": params.get("protocolVersion")}
            self._others[_key(message["id"])] = str(method)

    def to_episodes(self) -> Iterator[Episode]:
        """Yield the session's episodes. There is only one, unless `corepath serve` played several in the session."""
        metadata = {name: one for name, one in self.metadata.items() if one is not None}
        whole = self.transcript.to_episode(metadata=metadata or None)
        if len(self._origins) > 1:
            self._require_episode_of_each(whole.calls)
            whole = replace(whole, extra={name: one for name, one in whole.extra.items() if name != "seconds"})
        for key in self._origins or (None,):
            calls = tuple(call for n, call in enumerate(whole.calls) if self._episode_of.get(n, key) == key)
            yield restore(replace(whole, calls=calls), self._origins.get(key or ""))

    def _require_episode_of_each(self, calls: tuple[Call, ...]) -> None:
        for number, call in enumerate(calls):
            if number not in self._episode_of:
                raise RecordError(f"the call {call.label} could belong to any of {len(self._origins)} episodes")

    def _note_origin(self, result: Any, place: int | None) -> None:
        """Store which episode a result from `corepath serve` belongs to. Other results are ignored.

        If `place` is set, the call at that index is assigned to the episode, and gets the tool and arguments that the
        episode recorded.
        """
        origin = origin_in(result.get("_meta")) if isinstance(result, dict) else None
        if origin is None:
            return
        key = canonical([origin.get(name) for name in ("task", "seed", "episode")])
        self._origins[key] = {name: one for name, one in origin.items() if name != "recorded"}
        if place is None:
            return
        recorded = origin.get("recorded")
        self._episode_of[place] = None if recorded is False else key
        if isinstance(recorded, dict) and "tool" in recorded:
            call = self.transcript.calls[place]
            self.transcript.calls[place] = replace(
                call, tool=str(recorded["tool"]), arguments=recorded.get("arguments")
            )

    def _add_call(self, key: str, params: Mapping[str, Any], id_: Any, time: Any) -> None:
        if key in self._calls:
            raise RecordError(f"the id {key:.60} is used twice before the first call was answered")
        content = canonical([params.get("name"), arguments_of(params.get("arguments"))])
        resumes = params.get("requestState") is not None or params.get("inputResponses") is not None
        if resumes and content in self._resumable:
            self._calls[key] = self._resumable.pop(content)
            return
        extra = {} if time is None or time_of(time) is not None else {"timestamp": time}
        place = len(self.transcript.calls)
        self.transcript.add_call(params.get("name"), params.get("arguments"), time=time, **extra)
        self.transcript.calls[place] = replace(self.transcript.calls[place], id=id_ if isinstance(id_, str) else key)
        self._calls[key] = place

    def _cancel(self, params: Mapping[str, Any]) -> None:
        place = self._calls.get(_key(params.get("requestId")))
        if place is not None:
            call = self.transcript.calls[place]
            self.transcript.calls[place] = replace(
                call, extra={**call.extra, "cancelled": params.get("reason") or True}
            )

    def _add_answer(self, message: Mapping[str, Any], time: Any) -> None:
        key, result = _key(message.get("id")), message.get("result")
        is_call = key in self._calls and (key not in self._others or "error" in message or _is_call_result(result))
        if is_call:
            self._answer_call(self._calls.pop(key), message, time)
        elif key in self._others:
            self._note_origin(result, None)
            if self._others.pop(key) == "initialize" and isinstance(result, dict):
                self.metadata["server"] = result.get("serverInfo")
        else:
            raise RecordError(f"a result for the id {key:.60}, but no request waits for it")

    def _answer_call(self, place: int, message: Mapping[str, Any], time: Any) -> None:
        """Set the result of the call at index `place`, unless `message` only defers the call."""
        result = message.get("result")
        self._note_origin(result, place)
        fields: Mapping[str, Any] = result if isinstance(result, dict) else {}
        if isinstance(fields.get("task"), dict):
            self._tasks[str(fields["task"].get("taskId"))] = place
        elif fields.get("resultType") == "input_required":
            call = self.transcript.calls[place]
            self._resumable[canonical([call.tool, call.arguments])] = place
        elif "error" in message:
            self.transcript.answer_call(place, _error_message(message["error"]), error=True, time=time)
        else:
            self.transcript.answer_call(place, _result_value(result), error=fields.get("isError") is True, time=time)


def _is_call_result(result: Any) -> bool:
    """Return True if `result` looks like a tool call's result and not like the result of another request."""
    names = ("content", "structuredContent", "isError", "toolResult", "task")
    return isinstance(result, dict) and any(name in result for name in names) and "role" not in result


def _result_value(result: Any) -> Any:
    """Return a tool's result: its structured content, or else its text, or else its content unchanged."""
    if not isinstance(result, dict):
        return result
    if result.get("structuredContent") is not None:
        return result["structuredContent"]
    content = result.get("content", result.get("toolResult", result))
    texts = isinstance(content, list) and all(isinstance(one, dict) and one.get("type") == "text" for one in content)
    if not texts:
        return content
    return text_of(content) if result.get("isError") is True else parse_result(text_of(content))


def _error_message(error: Any) -> Any:
    return error.get("message") or dict(error) if isinstance(error, dict) else error


def _key(id_: Any) -> str:
    """Convert an id to a key that distinguishes the number 1 from the string "1"."""
    return json.dumps(id_, default=repr)


FORMAT: Final = Format(
    "mcp",
    "a result with `isError`; a JSON-RPC error",
    _recognise,
    _read_file,
    signs=("jsonrpc",),
)
