"""Read any other JSON, using a map that says where calls, results and other values are in a record.

A call failed if the value at the map's `error` path exists and is not null, false or empty. If this value is `true`,
the call's result is the error message. The map is YAML:

    version: 1
    group_by: session             # only if each line is one event: lines with the same value are one episode
    order_by: at                  # with group_by: the lines are sorted by this value
    episodes: runs                # only if a record has several episodes
    agent: config.model           # agent to metadata are optional, and are looked up in the episode
    task: case_id
    epoch: attempt
    answer: output.text
    reward: score
    metadata: config              # kept for `--task-by metadata.NAME`
    calls: steps.actions          # a name applies to each item in a list: every action in every step
    only: {type: [tool, mcp_*]}   # only the calls with one of these values at a path, or skip: all but those
    tool: name                    # tool to time are looked up in each call
    arguments: input
    result: observation
    error: failure
    id: call_id
    turn: step
    time: at
    messages: steps.said          # what was said; message_only and message_skip select as only and skip do
    message_role: who             # `assistant` if it is missing
    message_text: text            # `content` if it is missing
    message_time: at
    answers: steps.observations   # only if results are separate from calls; the two are joined by id
    answer_id: call_id
    answer_result: content
    answer_error: is_error

A path consists of names and numbers separated by dots. If a name contains a dot itself, the path is a list, e.g.
[attributes, gen_ai.tool.name]. With `group_by`, `calls` may be left out if each line is a call. A call without a tool
is kept if another call in the same episode has a tool. A separate result that belongs to no call makes the record
invalid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, Final

from corepath.episode import Episode, typed_fields
from corepath.errors import InputError, Problem, RecordError, nearest
from corepath.files.document import Document, read_mapping
from corepath.importers.content import message_text, time_of
from corepath.importers.format import Format, record_format
from corepath.importers.json_paths import (
    MISSING,
    Keys,
    Position,
    items_at,
    parse_path,
    path_exists,
    value_at,
    value_or_none,
)
from corepath.importers.sessions import session_format
from corepath.notation.call import UNANSWERED, Call
from corepath.notation.message import Message
from corepath.values import arguments_of, canonical

Filter = Mapping[Keys, tuple[str, ...]]
"""The values that are allowed at some paths. They may contain `*`."""

_AGENT: Final = "assistant"
_ROLES: Final = {"human": "user", "ai": _AGENT, "agent": _AGENT, "model": _AGENT, "developer": "system"}
_FILTERS: Final = ("only", "skip", "message_only", "message_skip")


@dataclass(frozen=True)
class Paths:
    """A parsed map, which says where each value is in a record. A path is None if the map does not set it."""

    tool: Keys
    calls: Keys | None = None
    group_by: Keys | None = None
    order_by: Keys | None = None
    episodes_at: Keys | None = None
    agent: Keys | None = None
    task: Keys | None = None
    epoch: Keys | None = None
    answer: Keys | None = None
    reward: Keys | None = None
    metadata: Keys | None = None
    arguments: Keys | None = None
    result: Keys | None = None
    error: Keys | None = None
    id: Keys | None = None
    turn: Keys | None = None
    time: Keys | None = None
    messages: Keys | None = None
    message_role: Keys | None = None
    message_text: Keys = ("content",)
    message_time: Keys | None = None
    answers: Keys | None = None
    answer_id: Keys | None = None
    answer_result: Keys | None = None
    answer_error: Keys | None = None
    only: Filter = field(default_factory=dict)
    skip: Filter = field(default_factory=dict)
    message_only: Filter = field(default_factory=dict)
    message_skip: Filter = field(default_factory=dict)


def read_map(path: str | Path) -> Paths:
    """Read a map from a file. Raises `InputError` with every problem in the file."""
    document = read_mapping(path, "a map is one mapping, as in calls: steps.actions")
    problems: list[Problem] = []
    read = dict(_read_fields(document, problems))
    needed = ("tool",) if "group_by" in document.data else ("calls", "tool")
    problems += [document.problem(f"'{name}' is missing") for name in needed if name not in document.data]
    if "answers" in read and not {"id", "answer_id"} <= read.keys():
        problems.append(
            document.problem("'answers' are joined by id: 'id' and 'answer_id' are needed too", ("answers",))
        )
    if problems:
        raise InputError(problems)
    return Paths(**read)


def _read_fields(document: Document, problems: list[Problem]) -> Iterator[tuple[str, Any]]:
    """Yield the name and path of each `Paths` field that a map sets.

    Problems in the map are added to `problems`.
    """
    known = {"episodes" if one.name == "episodes_at" else one.name: one.name for one in fields(Paths)}
    for key, value in document.data.items():
        keys = _read_filter(value) if key in _FILTERS else parse_path(value)
        if key == "version":
            if value != "1":
                problems.append(document.problem("this corepath reads version 1 of maps", ("version",)))
        elif key not in known:
            problems.append(document.problem(f"no field '{key}'{nearest(key, known)}", (key,), at_key=True))
        elif keys is None and key in _FILTERS:
            problems.append(
                document.problem("a filter is paths with the values there, as in {type: [call, tool_*]}", (key,))
            )
        elif keys is None:
            problems.append(document.problem("a path is names separated by dots, or a list of names", (key,)))
        else:
            yield known[key], keys


def _read_filter(value: Any) -> Filter | None:
    """Parse a filter, or return None if `value` is not one."""
    if not isinstance(value, dict):
        return None
    read: dict[Keys, tuple[str, ...]] = {}
    for path, allowed in value.items():
        keys, texts = parse_path(path), allowed if isinstance(allowed, list) else [allowed]
        if keys is None or not all(isinstance(text, str) for text in texts):
            return None
        read[keys] = tuple(texts)
    return read


def _is_wanted(value: Any, only: Filter, skip: Filter) -> bool:
    """Return True if a value has what `only` asks for at every path, and not what `skip` names."""
    return all(_fits(value, *one) for one in only.items()) and not any(_fits(value, *one) for one in skip.items())


def _fits(value: Any, keys: Keys, texts: tuple[str, ...]) -> bool:
    found = value_at(value, keys)
    if found is MISSING:
        return False
    text = found if isinstance(found, str) else canonical(found)
    return any(fnmatchcase(text, pattern) for pattern in texts)


# Records


def mismatch(paths: Paths, value: Any) -> str | None:
    """Explain why a record cannot be read with the map `paths`, or return None if it can."""
    if not isinstance(value, dict):
        return "a record must be an object"
    if paths.group_by is not None:
        missing = value_at(value, paths.group_by) is MISSING
        return f"nothing at '{'.'.join(paths.group_by)}', by which the map groups lines" if missing else None
    found = _episodes(value, paths)
    calls = paths.calls or ()
    if not found or all(isinstance(one, dict) and path_exists(one, calls) for one in found):
        return None
    return f"nothing at '{'.'.join(calls)}', where the map expects the calls"


def read_record(paths: Paths, value: Any) -> Iterator[Episode]:
    """Yield the episodes that a map finds in a record. Raises `RecordError` if the record is malformed."""
    if wrong := mismatch(paths, value):
        raise RecordError(wrong)
    for one in _episodes(value, paths):
        yield _read_episode(one, paths)


def _episodes(value: Mapping[str, Any], paths: Paths) -> list[Any]:
    return [value] if paths.episodes_at is None else [one for _, one in items_at(value, paths.episodes_at)]


def _read_group(paths: Paths, lines: list[Any]) -> Iterator[Episode]:
    """Yield the episode in lines that belong together."""
    if paths.order_by is not None:
        lines = sorted(lines, key=lambda one: _order(value_or_none(one, paths.order_by)))
    yield _read_episode(lines, paths)


def _order(value: Any) -> tuple[int, float, str]:
    """Return a key that sorts numbers and times before texts, and texts before everything else."""
    time = time_of(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return 0, float(value), ""
    if time is not None:
        return 0, time, ""
    return (1, 0.0, value) if isinstance(value, str) else (2, 0.0, "")


def _read_episode(one: Any, paths: Paths) -> Episode:
    task, agent, metadata, answer, reward = (
        _first(value_or_none(one, keys), one)
        for keys in (paths.task, paths.agent, paths.metadata, paths.answer, paths.reward)
    )
    calls, places = _read_calls(one, paths)
    extra = {"metadata": metadata, "reward": reward}
    return Episode(
        task="" if task is None else str(task),
        calls=tuple(calls),
        agent=None if agent is None else str(agent),
        epoch=_read_epoch(one, paths),
        answer=answer,
        messages=tuple(_read_messages(one, paths, places)),
        **typed_fields({name: value for name, value in extra.items() if value is not None}),
    )


def _first(found: Any, episode: Any) -> Any:
    """Return the first of several values if the episode consists of lines, each of which may have its own."""
    return found[0] if isinstance(episode, list) and isinstance(found, list) and found else found


def _read_calls(one: Any, paths: Paths) -> tuple[list[Call], list[Position]]:
    """Return an episode's calls and their positions."""
    found = [
        (position, call)
        for position, call in items_at(one, paths.calls or ())
        if not isinstance(call, dict) or _is_wanted(call, paths.only, paths.skip)
    ]
    calls = [_read_call(call, paths) for _, call in found]
    if calls and all(value_at(call, paths.tool) is MISSING for _, call in found):
        raise RecordError(f"nothing at '{'.'.join(paths.tool)}', where the map expects the tools")
    if paths.answers is not None:
        _join_answers(calls, [answer for _, answer in items_at(one, paths.answers)], paths)
    return calls, [position for position, _ in found]


def _read_messages(one: Any, paths: Paths, places: list[Position]) -> Iterator[Message]:
    """Yield an episode's messages. `places` holds the positions of its calls.

    Where a message stands among the calls is known only if both are in the same part of the record.
    """
    ordered = isinstance(one, list) or (paths.calls or ())[:1] == (paths.messages or ())[:1]
    for position, message in () if paths.messages is None else items_at(one, paths.messages):
        if isinstance(message, dict) and not _is_wanted(message, paths.message_only, paths.message_skip):
            continue
        text = value_or_none(message, paths.message_text) if isinstance(message, dict) else message
        role = value_or_none(message, paths.message_role)
        if text not in (None, "", []):
            before = sum(place < position for place in places) if ordered else None
            time = time_of(value_or_none(message, paths.message_time))
            yield Message(_role(role, message, paths), message_text(text), before, time)


def _role(given: Any, message: Any, paths: Paths) -> str:
    """Return who said a message. Without a role, it is the agent's if it is text or the map knows no roles."""
    if isinstance(given, str):
        return _ROLES.get(given.lower(), given)
    known = paths.message_role is None and isinstance(message, (Mapping, str))
    return _AGENT if known or isinstance(message, str) else ""


def _read_epoch(one: Any, paths: Paths) -> int:
    epoch = _first(value_or_none(one, paths.epoch), one)
    if epoch is None:
        return 0
    if not isinstance(epoch, int) or isinstance(epoch, bool):
        raise RecordError(f"the epoch, at '{'.'.join(paths.epoch or ())}', is not an integer")
    return epoch


def _read_call(call: Any, paths: Paths) -> Call:
    if not isinstance(call, dict):
        raise RecordError("a call must be an object")
    keys = (paths.tool, paths.arguments, paths.id, paths.turn)
    tool, arguments, id_, turn = (value_or_none(call, one) for one in keys)
    unanswered = Call(
        tool="" if tool is None else str(tool),
        arguments=arguments_of(arguments),
        id=None if id_ is None else str(id_),
        turn=turn if isinstance(turn, int) and not isinstance(turn, bool) else None,
        time=time_of(value_or_none(call, paths.time)),
    )
    return _answer(unanswered, value_at(call, paths.result), value_at(call, paths.error))


def _answer(call: Call, result: Any, error: Any) -> Call:
    """Return the call with its result or error set, or unchanged if it has neither."""
    if error is MISSING or error in (None, False, ""):
        return call if result is MISSING else replace(call, result=result)
    if error is True:
        return replace(call, error="error" if result in (MISSING, None, "") else result)
    return replace(call, error=error)


def _join_answers(calls: list[Call], answers: list[Any], paths: Paths) -> None:
    """Add the results in `answers` to `calls`, which is changed in place.

    Each result goes to the first call with the same id that has no result yet.
    """
    waiting: dict[str, list[int]] = {}
    for place, call in enumerate(calls):
        if call.id is not None and call.result is UNANSWERED and not call.failed:
            waiting.setdefault(call.id, []).append(place)
    for answer in answers:
        if not isinstance(answer, dict):
            raise RecordError("an answer must be an object")
        id_ = str(value_at(answer, paths.answer_id))
        if not waiting.get(id_):
            raise RecordError(f"an answer to the call id '{id_[:60]}', but no call waits for it")
        place = waiting[id_].pop(0)
        calls[place] = _answer(
            calls[place], value_at(answer, paths.answer_result), value_at(answer, paths.answer_error)
        )


def _configure(path: str) -> Format:
    paths = read_map(path)
    if paths.group_by is None:
        return record_format(FORMAT.name, FORMAT.errors, partial(mismatch, paths), partial(read_record, paths))
    return session_format(
        FORMAT.name, FORMAT.errors, partial(mismatch, paths), partial(_group, paths), partial(_read_group, paths)
    )


def _group(paths: Paths, line: Any) -> str:
    """Return the value by which a line is grouped. Raises `RecordError` if it has none."""
    if wrong := mismatch(paths, line):
        raise RecordError(wrong)
    found = value_at(line, paths.group_by)
    return found if isinstance(found, str) else canonical(found)


_NO_MAP: Final = "needs a map of its fields: --from generic:MAP.yaml"


def _refuse(path: Path) -> Iterator[Episode | Problem]:
    yield Problem(str(path), 1, 1, _NO_MAP)


FORMAT: Final = Format(
    "generic",
    "the value at the map's `error`, unless it is null, false or empty",
    lambda _: _NO_MAP,
    _refuse,
    configure=_configure,
)
