"""Logs of MCP: JSON-RPC messages, one a line, a list of them, or each in an object with its direction and its time.

A line of text that holds a message after its words, as servers write it to their logs, is read too. A file is one
session, unless its lines say of which one they are (`sessionId`), or it has several times `initialize`, each of which
begins one. An error is a result with `isError`, or an error of JSON-RPC. A result is its `structuredContent`, else the
text of its `content`. A call that is put off as a task, or that asks for input and is sent again, is one call. What
`corepath serve` says of its episodes in the `_meta` of its results is read back: task, seed and agent are known then,
episodes that share a log are told apart, and a call beyond the step limit, which is not recorded, is none.
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
from corepath.importers.messages import Conversation, result_value, text_of
from corepath.importers.reading import Place, is_lines, records
from corepath.play.origin import origin_in, restore
from corepath.values import arguments_of, canonical, parse_json

_BODIES: Final = ("message", "data", "payload", "body", "msg", "raw")
_TIMES: Final = ("timestamp", "time", "ts", "@timestamp")
_SESSIONS: Final = ("sessionId", "session_id", "mcp-session-id", "Mcp-Session-Id")
_METHODS: Final = (
    "tools/", "resources/", "prompts/", "notifications/", "sampling/", "roots/", "elicitation/", "completion/",
    "logging/", "tasks/",
)  # fmt: skip
_BEGINS: Final = re.compile(r'\{\s*"(?:jsonrpc|id|method|params|result|error)"\s*:')
_LOOKED_AT: Final = 1000
_MARK: Final = b"\xef\xbb\xbf"
_CANCELLED: Final = "notifications/cancelled"


def fits(value: Any) -> str | None:
    """Why a record is not of this format; None where it is."""
    try:
        found = [message for _, message in _messages(value)]
    except RecordError as error:
        return str(error)
    return None if any(map(_is_mcp, found)) else "no JSON-RPC message with a method of MCP, such as 'tools/call'"


def episodes(value: Any) -> Iterator[Episode]:
    """The episodes of messages, one a session."""
    sessions = _Sessions()
    for envelope, message in _messages(value):
        sessions.add(envelope, message)
    for session in sessions.all:
        yield from session.episodes()


def fits_file(file: Path) -> str | None:
    """Why a file is not of this format; None where it is."""
    for _, value in islice(_values(file), _LOOKED_AT):
        if not isinstance(value, Problem) and fits(value) is None:
            return None
    return "no JSON-RPC message with a method of MCP, such as 'tools/call'"


def stream(file: Path) -> Iterator[Episode | Problem]:
    """The episodes of a log, one a session; a message that fits no request is a problem, and the rest is kept."""
    sessions = _Sessions()
    for place, value in _values(file):
        if isinstance(value, Problem):
            yield value
            continue
        try:
            for envelope, message in _messages(value):
                sessions.add(envelope, message)
        except RecordError as error:
            yield place.problem(str(error))
    if not sessions.all:
        yield Problem(str(file), 1, 1, "no JSON-RPC messages in this file")
    for session in sessions.all:
        try:
            yield from session.episodes()
        except RecordError as error:
            yield Problem(str(file), 1, 1, str(error))


def _values(file: Path) -> Iterator[tuple[Place, Any]]:
    """The values of a JSON file, or line by line those of JSON lines and of lines of text."""
    try:
        with file.open("rb") as read:
            begin = b"".join(read.read(4096).removeprefix(_MARK).split())[:2]
            if begin in (b"[{", b"[[", b"[]") or (begin[:1] == b"{" and not is_lines(file)):
                yield from records(file, lambda one: isinstance(one, Mapping))
                return
            read.seek(0)
            for number, line in enumerate(read, start=1):
                place = Place(str(file), number)
                value = _in_line(place, line)
                if value is not None:
                    yield place, value
    except OSError as error:
        place = Place(str(file))
        yield place, place.problem(f"cannot be read: {error.strerror}")


def _in_line(place: Place, raw: bytes) -> Any:
    """The message in a line: the line itself, or the first object after words, whatever follows it."""
    line = raw.removeprefix(_MARK).decode(errors="surrogateescape").strip()
    begin = line.find("{")
    if begin < 0 or (begin > 0 and '"jsonrpc"' not in line and not _BEGINS.match(line, begin)):
        return None
    try:
        if begin == 0 or result_value(line) != line:
            return parse_json(line, stored=True)
        _, end = json.JSONDecoder(parse_int=str).raw_decode(line, begin)
        return parse_json(line[begin:end], stored=True)
    except RecursionError:
        return place.problem("nested too deeply")
    except ValueError as error:
        return place.problem(f"not JSON: {describe_json_error(error)}")


def _messages(value: Any) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """The messages of a value, each with what stands around it. What is no message gives none."""
    if isinstance(value, list):
        for one in value:
            yield from _messages(one)
        return
    if not isinstance(value, Mapping):
        raise RecordError("a message of JSON-RPC is an object with 'jsonrpc', 'method' or 'id'")
    if _is_message(value):
        yield value, value
        return
    for name in _BODIES:
        inner = result_value(value.get(name))
        batch = inner if isinstance(inner, list) else [inner]
        if batch and all(_is_message(one) for one in batch):
            yield from ((value, one) for one in batch)
            return


def _is_message(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    return value.get("jsonrpc") == "2.0" and ("method" in value or "id" in value)


def _is_mcp(message: Mapping[str, Any]) -> bool:
    method = message.get("method")
    if method == "initialize":
        params = message.get("params")
        return isinstance(params, Mapping) and "protocolVersion" in params
    return isinstance(method, str) and method.startswith(_METHODS)


@dataclass
class _Sessions:
    """The sessions of a log by their names; where it names none, each `initialize` begins one."""

    all: list[_Session] = field(default_factory=list)
    _now: dict[str, _Session] = field(default_factory=dict)

    def add(self, envelope: Mapping[str, Any], message: Mapping[str, Any]) -> None:
        name = next((str(envelope[one]) for one in _SESSIONS if envelope.get(one) is not None), "")
        session = self._now.get(name)
        if session is None or (message.get("method") == "initialize" and session.begun):
            session = self._now[name] = _Session(name)
            self.all.append(session)
        session.add(message, next((envelope[one] for one in _TIMES if envelope.get(one) is not None), None))


@dataclass
class _Session:
    """The requests of a session that wait for their answer, and the calls among them."""

    name: str
    made: Conversation = field(default_factory=Conversation)
    told: dict[str, Any] = field(default_factory=dict)
    begun: bool = False
    _calls: dict[str, int] = field(default_factory=dict)
    _others: dict[str, str] = field(default_factory=dict)
    _tasks: dict[str, int] = field(default_factory=dict)
    _again: dict[str, int] = field(default_factory=dict)
    _ours: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _of: dict[int, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name:
            self.told["session_id"] = self.name

    def add(self, message: Mapping[str, Any], time: Any) -> None:
        params = message.get("params")
        params = params if isinstance(params, Mapping) else {}
        method = message.get("method")
        if method is None:
            self._answer(message)
        elif method == "tools/call" and "id" in message:
            self._call(_key(message["id"]), params, message["id"], time)
        elif method == "tasks/result" and str(params.get("taskId")) in self._tasks:
            self._calls[_key(message.get("id"))] = self._tasks[str(params["taskId"])]
        elif method == _CANCELLED:
            self._cancelled(params)
        elif "id" in message:
            if method == "initialize":
                self.begun = True
                self.told |= {"client": params.get("clientInfo"), "protocol": params.get("protocolVersion")}
            self._others[_key(message["id"])] = str(method)

    def episodes(self) -> Iterator[Episode]:
        """The episode of the session; of one with `corepath serve`, all that were played in it."""
        told = {name: one for name, one in self.told.items() if one is not None}
        whole = self.made.episode(metadata=told or None)
        if len(self._ours) > 1 and (lost := [call for n, call in enumerate(whole.calls) if n not in self._of]):
            raise RecordError(f"{len(self._ours)} episodes, and the call {lost[0].label} could be of any of them")
        for which in self._ours or (None,):
            calls = tuple(call for n, call in enumerate(whole.calls) if self._of.get(n, which) == which)
            yield restore(replace(whole, calls=calls), self._ours.get(which or ""))

    def _note(self, result: Any, place: int | None) -> None:
        """Keep what a result of ours says of its episode, and of the call at a place."""
        said = origin_in(result.get("_meta")) if isinstance(result, Mapping) else None
        if said is None:
            return
        which = canonical([said.get(name) for name in ("task", "seed", "episode")])
        self._ours[which] = {name: one for name, one in said.items() if name != "recorded"}
        if place is None:
            return
        recorded = said.get("recorded")
        self._of[place] = None if recorded is False else which
        if isinstance(recorded, Mapping) and "tool" in recorded:
            call = self.made.calls[place]
            self.made.calls[place] = replace(call, tool=str(recorded["tool"]), arguments=recorded.get("arguments"))

    def _call(self, key: str, params: Mapping[str, Any], id_: Any, time: Any) -> None:
        if key in self._calls:
            raise RecordError(f"the id {key:.60} is used twice, and the first call was not answered before")
        same = canonical([params.get("name"), arguments_of(params.get("arguments"))])
        goes_on = params.get("requestState") is not None or params.get("inputResponses") is not None
        if goes_on and same in self._again:
            self._calls[key] = self._again.pop(same)
            return
        extra = {} if time is None else {"timestamp": time}
        place = len(self.made.calls)
        self.made.call(params.get("name"), params.get("arguments"), **extra)
        self.made.calls[place] = replace(self.made.calls[place], id=id_ if isinstance(id_, str) else key)
        self._calls[key] = place

    def _cancelled(self, params: Mapping[str, Any]) -> None:
        place = self._calls.get(_key(params.get("requestId")))
        if place is not None:
            call = self.made.calls[place]
            self.made.calls[place] = replace(call, extra={**call.extra, "cancelled": params.get("reason") or True})

    def _answer(self, message: Mapping[str, Any]) -> None:
        key, result = _key(message.get("id")), message.get("result")
        is_call = key in self._calls and (key not in self._others or "error" in message or _is_of_a_call(result))
        if not is_call and key in self._others:
            self._note(result, None)
            if self._others.pop(key) == "initialize" and isinstance(result, Mapping):
                self.told["server"] = result.get("serverInfo")
            return
        if key not in self._calls:
            raise RecordError(f"a result for the id {key:.60}, and no request waits for it")
        place = self._calls.pop(key)
        self._note(result, place)
        if isinstance(result, Mapping) and isinstance(result.get("task"), Mapping):
            self._tasks[str(result["task"].get("taskId"))] = place
        elif isinstance(result, Mapping) and result.get("resultType") == "input_required":
            call = self.made.calls[place]
            self._again[canonical([call.tool, call.arguments])] = place
        elif "error" in message:
            self.made.answer_at(place, _said(message["error"]), error=True)
        else:
            error = isinstance(result, Mapping) and result.get("isError") is True
            self.made.answer_at(place, _value(result), error=error)


def _is_of_a_call(result: Any) -> bool:
    names = ("content", "structuredContent", "isError", "toolResult", "task")
    return isinstance(result, Mapping) and any(name in result for name in names) and "role" not in result


def _value(result: Any) -> Any:
    """What a tool gave: structured, else as text, else the contents as they are."""
    if not isinstance(result, Mapping):
        return result
    if result.get("structuredContent") is not None:
        return result["structuredContent"]
    content = result.get("content", result.get("toolResult", result))
    texts = isinstance(content, list) and all(isinstance(one, Mapping) and one.get("type") == "text" for one in content)
    if not texts:
        return content
    return text_of(content) if result.get("isError") is True else result_value(text_of(content))


def _said(error: Any) -> Any:
    return error.get("message") or dict(error) if isinstance(error, Mapping) else error


def _key(id_: Any) -> str:
    """An id as a key: the number 1 is another one than the text "1"."""
    return json.dumps(id_, default=repr)
