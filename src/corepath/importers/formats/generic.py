"""Read any other JSON, using a map that says where calls, results and other values are in a record.

A call failed if the value at the map's `error` path exists and is not null, false or empty. If this value is `true`,
the call's result is the error message. The map is YAML:

    version: 1
    episodes: runs                # only if a record has several episodes
    agent: config.model           # agent to metadata are optional, and are looked up in the episode
    task: case_id
    epoch: attempt
    answer: output.text
    metadata: config              # kept for `--task-by metadata.NAME`
    calls: steps.actions          # a name applies to each item in a list: every action in every step
    tool: name                    # tool to time are looked up in each call
    arguments: input
    result: observation
    error: failure
    id: call_id
    turn: step
    time: started_at
    messages: steps.messages      # optional; the next three are looked up in each message, which may also be a text
    message_role: role
    message_text: content
    message_time: at
    answers: steps.observations   # only if results are separate from calls; the two are joined by id
    answer_id: call_id
    answer_result: content
    answer_error: is_error

A path consists of names and numbers separated by dots. If a name contains a dot itself, the path is a list, e.g.
[attributes, gen_ai.tool.name]. A call without a tool is kept if another call in the same episode has a tool. A separate
result that belongs to no call makes the record invalid. Messages are in order with the calls if the paths of both begin
with the same name. A message without a role is the agent's if the map has no `message_role`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from corepath.episode import Episode, Message
from corepath.errors import InputError, Problem, RecordError, nearest
from corepath.files.document import Document, read_mapping
from corepath.importers.content import message_text, time_of
from corepath.importers.format import Format, record_format
from corepath.notation.call import UNANSWERED, Call
from corepath.values import arguments_of

Keys = tuple[str, ...]
"""A path, split into its names."""
_Position = tuple[int, ...]
"""The numbers of the fields and items that lead to a value, by which values are in the order of the record."""
_MISSING: Final = UNANSWERED
_AGENT: Final = "assistant"
_ROLES: Final = {"human": "user", "ai": _AGENT, "agent": _AGENT, "model": _AGENT, "developer": "system"}


@dataclass(frozen=True)
class Paths:
    """A parsed map, which says where each value is in a record. A path is None if the map does not set it."""

    calls: Keys
    tool: Keys
    episodes_at: Keys | None = None
    agent: Keys | None = None
    task: Keys | None = None
    epoch: Keys | None = None
    answer: Keys | None = None
    metadata: Keys | None = None
    arguments: Keys = ("arguments",)
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


def read_map(path: str | Path) -> Paths:
    """Read a map from a file. Raises `InputError` with every problem in the file."""
    document = read_mapping(path, "a map is one mapping, as in calls: steps.actions")
    problems: list[Problem] = []
    read = dict(_read_fields(document, problems))
    problems += [document.problem(f"'{name}' is missing") for name in ("calls", "tool") if name not in document.data]
    if "answers" in read and not {"id", "answer_id"} <= read.keys():
        problems.append(
            document.problem("'answers' are joined by id: 'id' and 'answer_id' are needed too", ("answers",))
        )
    if problems:
        raise InputError(problems)
    return Paths(**read)


def _read_fields(document: Document, problems: list[Problem]) -> Iterator[tuple[str, Keys]]:
    """Yield the name and path of each `Paths` field that a map sets.

    Problems in the map are added to `problems`.
    """
    known = {"episodes" if one.name == "episodes_at" else one.name: one.name for one in fields(Paths)}
    for key, value in document.data.items():
        keys = _keys(value)
        if key == "version":
            if value != "1":
                problems.append(document.problem("this corepath reads version 1 of maps", ("version",)))
        elif key not in known:
            problems.append(document.problem(f"no field '{key}'{nearest(key, known)}", (key,), at_key=True))
        elif keys is None:
            problems.append(document.problem("a path is names separated by dots, or a list of names", (key,)))
        else:
            yield known[key], keys


def _keys(value: Any) -> Keys | None:
    """Split a path into its names, or return None if `value` is not a path."""
    parts = value.split(".") if isinstance(value, str) else value
    if not isinstance(parts, list) or not parts or not all(isinstance(one, str) and one for one in parts):
        return None
    return tuple(parts)


# Records


def mismatch(paths: Paths, value: Any) -> str | None:
    """Explain why a record cannot be read with the map `paths`, or return None if it can."""
    if not isinstance(value, Mapping):
        return "a record must be an object"
    found = _episodes(value, paths)
    if not found or all(isinstance(one, Mapping) and _path_exists(one, paths.calls) for one in found):
        return None
    return f"nothing at '{'.'.join(paths.calls)}', where the map expects the calls"


def read_record(paths: Paths, value: Any) -> Iterator[Episode]:
    """Yield the episodes that a map finds in a record. Raises `RecordError` if the record is malformed."""
    if wrong := mismatch(paths, value):
        raise RecordError(wrong)
    for one in _episodes(value, paths):
        yield _read_episode(one, paths)


def _episodes(value: Mapping[str, Any], paths: Paths) -> list[Any]:
    return [value] if paths.episodes_at is None else _values_at(value, paths.episodes_at)


def _read_episode(one: Mapping[str, Any], paths: Paths) -> Episode:
    task, agent, metadata = (_value_or_none(one, keys) for keys in (paths.task, paths.agent, paths.metadata))
    return Episode(
        task="" if task is None else str(task),
        calls=_read_calls(one, paths),
        agent=None if agent is None else str(agent),
        epoch=_read_epoch(one, paths),
        answer=_value_or_none(one, paths.answer),
        messages=tuple(_read_messages(one, paths)),
        extra={} if metadata is None else {"metadata": metadata},
    )


def _read_calls(one: Mapping[str, Any], paths: Paths) -> tuple[Call, ...]:
    found = _values_at(one, paths.calls)
    calls = [_read_call(call, paths) for call in found]
    if calls and all(_value_at(call, paths.tool) is _MISSING for call in found):
        raise RecordError(f"nothing at '{'.'.join(paths.tool)}', where the map expects the tools")
    if paths.answers is not None:
        _join_answers(calls, _values_at(one, paths.answers), paths)
    return tuple(calls)


def _read_messages(one: Mapping[str, Any], paths: Paths) -> Iterator[Message]:
    """Yield an episode's messages, each with its place among the calls if that is known."""
    if paths.messages is None:
        return
    calls = sorted(place for place, _ in _found_at(one, paths.calls))
    in_order = paths.messages[:1] == paths.calls[:1]
    for place, message in _found_at(one, paths.messages):
        is_object = isinstance(message, Mapping)
        text = message_text(_value_or_none(message, paths.message_text) if is_object else message)
        if text is not None:
            role = _AGENT if paths.message_role is None else _value_or_none(message, paths.message_role)
            before = bisect_left(calls, place) if in_order else None
            time = time_of(_value_or_none(message, paths.message_time))
            yield Message(_ROLES.get(str(role), str(role or "")), text, before, time)


def _read_epoch(one: Mapping[str, Any], paths: Paths) -> int:
    epoch = _value_or_none(one, paths.epoch)
    if epoch is None:
        return 0
    if not isinstance(epoch, int) or isinstance(epoch, bool):
        raise RecordError(f"the epoch, at '{'.'.join(paths.epoch or ())}', is not an integer")
    return epoch


def _read_call(call: Any, paths: Paths) -> Call:
    if not isinstance(call, Mapping):
        raise RecordError("a call must be an object")
    keys = (paths.tool, paths.arguments, paths.id, paths.turn, paths.time)
    tool, arguments, id_, turn, time = (_value_or_none(call, one) for one in keys)
    unanswered = Call(
        tool="" if tool is None else str(tool),
        arguments=arguments_of(arguments),
        id=None if id_ is None else str(id_),
        turn=turn if isinstance(turn, int) and not isinstance(turn, bool) else None,
        time=time_of(time),
    )
    return _answer(unanswered, _value_at(call, paths.result), _value_at(call, paths.error))


def _answer(call: Call, result: Any, error: Any) -> Call:
    """Return the call with its result or error set, or unchanged if it has neither."""
    if error is _MISSING or error in (None, False, ""):
        return call if result is _MISSING else replace(call, result=result)
    if error is True:
        return replace(call, error="error" if result in (_MISSING, None, "") else result)
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
        if not isinstance(answer, Mapping):
            raise RecordError("an answer must be an object")
        id_ = str(_value_at(answer, paths.answer_id))
        if not waiting.get(id_):
            raise RecordError(f"an answer to the call id '{id_[:60]}', but no call waits for it")
        place = waiting[id_].pop(0)
        calls[place] = _answer(
            calls[place], _value_at(answer, paths.answer_result), _value_at(answer, paths.answer_error)
        )


def _value_or_none(value: Any, keys: Keys | None) -> Any:
    """Return the value at a path, or None if there is none."""
    found = _value_at(value, keys)
    return None if found is _MISSING else found


def _value_at(value: Any, keys: Keys | None) -> Any:
    """Return the value at a path, or `_MISSING` if there is none.

    If the path leads to several values, they are returned as a list.
    """
    found = [] if keys is None else _values_at(value, keys, spread=False)
    return found[0] if len(found) == 1 else found or _MISSING


def _values_at(value: Any, keys: Keys, *, spread: bool = True) -> list[Any]:
    """Return all values at a path. If `spread` is true, each list at the end of the path is replaced by its items."""
    return [one for _, one in _found_at(value, keys, spread=spread)]


def _found_at(value: Any, keys: Keys, *, spread: bool = True) -> list[tuple[_Position, Any]]:
    """Return all values at a path, each with its position in the record. `spread` is as in `_values_at`."""
    found: list[tuple[_Position, Any]] = [((), value)]
    for key in keys:
        found = [((*place, *step), inner) for place, one in found for step, inner in _inside(one, key)]
    if not spread:
        return found
    lists = [(place, one if isinstance(one, list) else [one]) for place, one in found]
    return [((*place, number), item) for place, one in lists for number, item in enumerate(one)]


def _path_exists(value: Any, keys: Keys) -> bool:
    """Return True if a path leads to a value or stops at an empty list."""
    found = [value]
    for key in keys:
        if all(one == [] for one in found):
            break
        found = [inner for one in found for _, inner in _inside(one, key)]
    return bool(found)


def _inside(value: Any, key: str) -> list[tuple[_Position, Any]]:
    """Return the values under `key`, which is a name or a list index, each with its position in `value`.

    If `value` is a list, a name is looked up in each item.
    """
    if isinstance(value, Mapping):
        return [((list(value).index(key),), value[key])] if key in value else []
    if not isinstance(value, list):
        return []
    if key.isdecimal():
        return [((int(key),), value[int(key)])] if len(key) < 9 and int(key) < len(value) else []
    return [((n, *place), inner) for n, item in enumerate(value) for place, inner in _inside(item, key)]


def _configure(path: str) -> Format:
    paths = read_map(path)
    return record_format(FORMAT.name, FORMAT.errors, partial(mismatch, paths), partial(read_record, paths))


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
