"""Any other JSON, by a small map that says where in a record things stand.

An error is what stands at the map's `error`, unless it is null, false, an empty text or not there; where it is `true`,
the result is the text of the error. The map is YAML:

    version: 1
    episodes: runs                # where several episodes stand in a record; without it a record is one
    agent: config.model           # each of these is optional, and looked up in the episode
    task: case_id
    epoch: attempt
    answer: output.text
    metadata: config              # kept, and `--task-by metadata.NAME` can route by it
    calls: steps.actions          # a name goes through the items of a list, so this is every action of every step
    tool: name                    # and these are looked up in each call
    arguments: input
    result: observation
    error: failure
    id: call_id
    turn: step
    answers: steps.observations   # only where results stand apart from the calls: each is joined by its id
    answer_id: call_id
    answer_result: content
    answer_error: is_error

A path is names and numbers with dots between them; a name that has a dot itself stands in a list, as in
[attributes, gen_ai.tool.name]. A call without a tool is kept where another call of its episode has one; an answer that
fits no call is an error of the record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import InputError, Problem, RecordError, nearest
from corepath.files.document import read_mapping
from corepath.notation.call import UNANSWERED, Call
from corepath.values import arguments_of

Keys = tuple[str, ...]
"""A path, name by name."""
_MISSING: Final = UNANSWERED


@dataclass(frozen=True)
class Paths:
    """Where things stand: the map, read. It is used as a format's module is."""

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
    answers: Keys | None = None
    answer_id: Keys | None = None
    answer_result: Keys | None = None
    answer_error: Keys | None = None

    def fits(self, value: Any) -> str | None:
        """Why a record cannot be read by the map; None where it can."""
        if not isinstance(value, Mapping):
            return "a record is an object"
        found = _episodes(value, self)
        if not found or all(isinstance(one, Mapping) and _leads_somewhere(one, self.calls) for one in found):
            return None
        return f"nothing stands at '{'.'.join(self.calls)}', where the map says that the calls are"

    def episodes(self, value: Any) -> Iterator[Episode]:
        """The episodes of a record."""
        if wrong := self.fits(value):
            raise RecordError(wrong)
        for one in _episodes(value, self):
            yield _episode(one, self)


def fits_file(_path: Path) -> str:
    """Why a file is not of this format: that is for a map to say."""
    return "needs a map of where things stand: --from generic:MAP.yaml"


def stream(path: Path) -> Iterator[Episode | Problem]:
    """Nothing without a map."""
    yield Problem(str(path), 1, 1, fits_file(path))


def with_map(path: str | Path) -> Paths:
    """The map in a file. Raises `InputError` with what is wrong in it."""
    document = read_mapping(path, "a map is one mapping, as in calls: steps.actions")
    problems, read = [], {}
    known = {"episodes" if one.name == "episodes_at" else one.name: one.name for one in fields(Paths)}
    for key, value in document.data.items():
        keys = _keys(value)
        if key == "version":
            if value != "1":
                problems.append(document.problem("this corepath reads version 1 of maps", ("version",)))
        elif key not in known:
            problems.append(document.problem(f"no field '{key}'{nearest(key, known)}", (key,), at_key=True))
        elif keys is None:
            problems.append(document.problem("a path is names with dots between them, or a list of names", (key,)))
        else:
            read[known[key]] = keys
    problems += [document.problem(f"'{name}' is missing") for name in ("calls", "tool") if name not in document.data]
    if "answers" in read and not {"id", "answer_id"} <= read.keys():
        problems.append(
            document.problem("'answers' are joined by id: say where 'id' and 'answer_id' stand", ("answers",))
        )
    if problems:
        raise InputError(problems)
    return Paths(**read)


def _keys(value: Any) -> Keys | None:
    parts = value.split(".") if isinstance(value, str) else value
    return (
        tuple(parts)
        if isinstance(parts, list) and parts and all(isinstance(one, str) and one for one in parts)
        else None
    )


def _episodes(value: Mapping[str, Any], paths: Paths) -> list[Any]:
    return [value] if paths.episodes_at is None else _found(value, paths.episodes_at)


def _episode(one: Mapping[str, Any], paths: Paths) -> Episode:
    calls = [_call(call, paths) for call in _found(one, paths.calls)]
    if calls and all(_at(call, paths.tool) is _MISSING for call in _found(one, paths.calls)):
        raise RecordError(f"nothing stands at '{'.'.join(paths.tool)}', where the map says that the tools are")
    if paths.answers is not None:
        _join(calls, _found(one, paths.answers), paths)
    agent, task, epoch = (_at(one, keys) for keys in (paths.agent, paths.task, paths.epoch))
    answer, metadata = _at(one, paths.answer), _at(one, paths.metadata)
    if epoch is not _MISSING and epoch is not None and (not isinstance(epoch, int) or isinstance(epoch, bool)):
        raise RecordError(f"what stands at '{'.'.join(paths.epoch or ())}', the epoch, is no whole number")
    return Episode(
        task="" if task is _MISSING or task is None else str(task),
        calls=tuple(calls),
        agent=None if agent is _MISSING or agent is None else str(agent),
        epoch=epoch if isinstance(epoch, int) else 0,
        answer=None if answer is _MISSING else answer,
        extra={} if metadata is _MISSING or metadata is None else {"metadata": metadata},
    )


def _call(call: Any, paths: Paths) -> Call:
    if not isinstance(call, Mapping):
        raise RecordError("a call is an object")
    tool, arguments, id_, turn = (_at(call, keys) for keys in (paths.tool, paths.arguments, paths.id, paths.turn))
    made = Call(
        tool="" if tool is _MISSING or tool is None else str(tool),
        arguments=arguments_of(None if arguments is _MISSING else arguments),
        id=None if id_ is _MISSING or id_ is None else str(id_),
        turn=turn if isinstance(turn, int) and not isinstance(turn, bool) else None,
    )
    return _answered(made, _at(call, paths.result), _at(call, paths.error))


def _answered(call: Call, result: Any, error: Any) -> Call:
    if error is _MISSING or error in (None, False, ""):
        return call if result is _MISSING else replace(call, result=result)
    if error is True:
        return replace(call, error="error" if result in (_MISSING, None, "") else result)
    return replace(call, error=error)


def _join(calls: list[Call], answers: list[Any], paths: Paths) -> None:
    """Each answer to the first call with its id that has none."""
    waiting: dict[str, list[int]] = {}
    for place, call in enumerate(calls):
        if call.id is not None and call.result is UNANSWERED and not call.failed:
            waiting.setdefault(call.id, []).append(place)
    for answer in answers:
        if not isinstance(answer, Mapping):
            raise RecordError("an answer is an object")
        id_ = str(_at(answer, paths.answer_id))
        if not waiting.get(id_):
            raise RecordError(f"an answer to the call id '{id_[:60]}', and no call waits for it")
        place = waiting[id_].pop(0)
        calls[place] = _answered(calls[place], _at(answer, paths.answer_result), _at(answer, paths.answer_error))


def _at(value: Any, keys: Keys | None) -> Any:
    """The one value at a path; a list of them where a list was gone through and has more than one."""
    found = [] if keys is None else _found(value, keys, spread=False)
    return found[0] if len(found) == 1 else found or _MISSING


def _found(value: Any, keys: Keys, *, spread: bool = True) -> list[Any]:
    """The values at a path; with `spread`, the items of the lists that stand at its end."""
    found = [value]
    for key in keys:
        found = [inner for one in found for inner in _inside(one, key)]
    return [item for one in found for item in (one if isinstance(one, list) else [one])] if spread else found


def _leads_somewhere(value: Any, keys: Keys) -> bool:
    """Whether something stands at a path, or would, were it not for an empty list on the way."""
    found = [value]
    for key in keys:
        if all(one == [] for one in found):
            break
        found = [inner for one in found for inner in _inside(one, key)]
    return bool(found)


def _inside(value: Any, key: str) -> list[Any]:
    if isinstance(value, Mapping):
        return [value[key]] if key in value else []
    if not isinstance(value, list):
        return []
    if key.isdecimal():
        return [value[int(key)]] if len(key) < 9 and int(key) < len(value) else []
    return [inner for item in value for inner in _inside(item, key)]
