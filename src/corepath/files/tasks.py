"""Tasks and episodes on disk."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, cast

from pydantic import BaseModel, ValidationError

from corepath.automaton.alphabet import Forbidden
from corepath.automaton.automaton import Automaton
from corepath.automaton.harm import HarmKind
from corepath.decoy import Decoy
from corepath.episode import Episode
from corepath.errors import Fault, InputError, NotationError, Problem, TaskError, count, nearest
from corepath.files import VERSION
from corepath.files.schema import TYPED, CallRecord, DecoyEntry, EpisodeRecord, ForbidEntry, PolicyEntry, TaskFile
from corepath.files.yaml import Located, read_json, read_yaml, why_unread
from corepath.notation import parser
from corepath.notation.action import Action, Tool
from corepath.notation.call import UNANSWERED, Call
from corepath.notation.matchers import Fields, Matcher
from corepath.notation.procedure import Procedure
from corepath.rules.policy import Policy, after, before, needed, never
from corepath.task import Task
from corepath.values import parse_json
from corepath.world.world import World, state_matcher, world

TASK_ENDINGS = (".yaml", ".yml", ".json")


def load_tasks(*paths: str | Path) -> dict[str, Task]:
    """The tasks in files, or in folders and all below them but for the folders of runs, by id.

    Raises `InputError` with everything that is wrong in any of them.
    """
    tasks: dict[str, Task] = {}
    problems: list[Problem] = []
    origin: dict[str, Located] = {}
    for file in _task_files(paths):
        try:
            documents = _documents(file)
        except InputError as error:
            problems += error.problems
            continue
        for document in documents:
            try:
                task = _task(document)
            except InputError as error:
                problems += error.problems
                continue
            if task.id in tasks:
                first = origin[task.id].problem("", ("id",))
                message = f"task '{task.id}' is already in {first.file}:{first.line}; give this one another id"
                problems.append(document.problem(message, ("id",)))
            tasks[task.id], origin[task.id] = task, document
    if problems:
        raise InputError(problems)
    return tasks


def load_task(path: str | Path) -> Task:
    """The one task in a file; of several the one that is named, as in `tasks.yaml::bank/transfer`."""
    file, _, id_ = str(path).partition("::")
    tasks = load_tasks(file)
    if not id_ and len(tasks) == 1:
        return next(iter(tasks.values()))
    if id_ in tasks:
        return tasks[id_]
    if id_:
        raise InputError([Problem(file, 1, 1, f"has no task '{id_}'{nearest(id_, tasks)}")])
    few = ", ".join(list(tasks)[:5]) + ", …" * (len(tasks) > 5)
    example = f"; name one, as in {file}::{next(iter(tasks))}" if tasks else ""
    raise InputError([Problem(file, 1, 1, f"has {count(len(tasks), 'task')} ({few}){example}")])


@dataclass(frozen=True)
class EpisodeLine:
    """One line of an episode file: the episode, or what is wrong with it."""

    line: int
    episode: Episode | None
    problem: Problem | None = None


def read_episodes(path: str | Path, stream: IO[bytes] | None = None) -> Iterator[EpisodeLine]:
    """The lines of an episode file, one by one; a bad line is told of and the next one read."""
    try:
        with Path(path).open("rb") if stream is None else nullcontext(stream) as lines:
            yield from _episode_lines(str(path), lines)
    except OSError as error:
        yield EpisodeLine(1, None, Problem(str(path), 1, 1, f"cannot be read: {error.strerror}"))


def load_episodes(path: str | Path) -> list[Episode]:
    """All episodes of a file. Raises `InputError` with every bad line."""
    lines = list(read_episodes(path))
    if problems := [line.problem for line in lines if line.problem]:
        raise InputError(problems)
    return [line.episode for line in lines if line.episode]


def episode_json(episode: Episode) -> str:
    """The episode as one line of an episode file."""
    record: dict[str, Any] = {"version": VERSION, "task": episode.task}
    optional = {
        "agent": episode.agent,
        "epoch": episode.epoch,
        "params": dict(episode.params) or None,
        "answer": episode.answer,
        "other_calls": [_call_dict(call) for call in episode.other_calls] or None,
        "messages": list(episode.messages) or None,
        "seed": episode.seed,
        "fingerprint": episode.fingerprint,
        "scoring": episode.scoring,
    }
    record |= {name: value for name, value in optional.items() if value is not None}
    record |= episode.extra
    record["calls"] = [_call_dict(call) for call in episode.calls]
    return json.dumps(record, allow_nan=False)


# Tasks


def _task_files(paths: Iterable[str | Path]) -> list[Path]:
    files: list[Path] = []
    problems: list[Problem] = []
    for path in map(Path, paths):
        if path.is_dir():
            inside = sorted(
                one
                for one in path.rglob("*")
                if one.suffix in TASK_ENDINGS
                and one.is_file()
                and not any(part.startswith(".") for part in one.relative_to(path).parts)
                and not any((above / "episodes.jsonl").is_file() for above in one.parents if above.is_relative_to(path))
            )
            files += inside
            if not inside:
                problems.append(Problem(str(path), 1, 1, "no task files here; they end in .yaml, .yml or .json"))
        elif path.exists():
            files.append(path)
        else:
            problems.append(Problem(str(path), 1, 1, "no such file or folder"))
    if problems:
        raise InputError(problems)
    return list({file.resolve(): file for file in files}.values())


def _documents(file: Path) -> list[Located]:
    try:
        raw = file.read_bytes()
    except OSError as error:
        raise InputError([Problem(str(file), 1, 1, f"cannot be read: {error.strerror}")]) from None
    try:
        source = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        message = f"not UTF-8: the byte 0x{raw[error.start]:02x}; save the file as UTF-8"
        raise InputError([Problem(str(file), line, column, message)]) from None
    read = read_json if file.suffix == ".json" else read_yaml
    documents = [item for one in read(str(file), source) for item in one.items()] if source.strip() else []
    if not documents:
        raise InputError([Problem(str(file), 1, 1, "no task in this file; a task has at least an id and a procedure")])
    return documents


def _task(document: Located) -> Task:
    if not isinstance(document.data, dict):
        raise InputError([document.problem("a task is a mapping with an id and a procedure")])
    data = document.data | {name: document.typed(name) for name in TYPED if name in document.data}
    if wrong := _other_version(data):
        raise InputError([document.problem(wrong, ("version",))])
    problems: list[Problem] = []
    try:
        return _Builder(document, TaskFile.model_validate(data)).task()
    except ValidationError as error:
        problems = [_model_problem(document, one) for one in error.errors()]
        wrong_fields = {one["loc"][0] for one in error.errors()}
        rest = {name: value for name, value in data.items() if name not in wrong_fields}
        builder = _Builder(document, TaskFile.model_validate({"id": "?", **rest}))
        common = builder.texts()
        if builder.file.procedure is not None and "actions" not in wrong_fields:
            builder.procedure(builder.known_tools(common))
        faults: Iterable[Fault] = builder.faults
    except TaskError as error:
        faults = error.problems
    problems += [document.problem(one.message, _place(one), one.offset, at_key=one.at_key) for one in faults]
    raise InputError(sorted(problems, key=lambda one: (one.line, one.column)))


def _place(fault: Fault) -> tuple[str | int, ...]:
    """The field that a fault stands in; an action without a name stands in the procedure."""
    match fault.where:
        case ("actions", int()):
            return ("procedure",)
    return fault.where


def _other_version(data: Mapping[str, Any]) -> str | None:
    version = str(data.get("version", VERSION))
    if version.isdecimal() and int(version) != VERSION:
        return f"version {version} is not known here; this corepath reads version {VERSION}"
    return None


_ENTRIES: Mapping[Any, type[BaseModel]] = {"forbid": ForbidEntry, "policies": PolicyEntry, "decoys": DecoyEntry}
_OTHER_FIELDS = {
    **dict.fromkeys(("steps", "workflow", "plan", "path", "sequence"), "procedure"),
    **dict.fromkeys(("name", "task", "task_id"), "id"),
    **dict.fromkeys(("description", "instruction", "question"), "prompt"),
    **dict.fromkeys(("forbidden", "never"), "forbid"),
}
"""What the fields of a task are called elsewhere."""


def _model_problem(document: Located, error: Any) -> Problem:
    where = error["loc"]
    if where[0] == "forbid":  # the third part says which of its two forms an entry has
        where = (*where[:2], *where[3:])
    name = str(where[-1])
    if error["input"] is None and any(sign in name for sign in '()="'):
        message = (
            f"YAML ended a call at ',' and made a field of the rest, '{name}'; put the whole call in single quotes"
        )
        return document.problem(message, where, at_key=True)
    match error["type"]:
        case "missing":
            return document.problem(f"'{name}' is missing", where)
        case "extra_forbidden":
            known = TaskFile if len(where) == 1 else _ENTRIES[where[0]]
            meant = _OTHER_FIELDS.get(name) if known is TaskFile else None
            hint = f"; write '{meant}'" if meant else nearest(name, known.model_fields)
            return document.problem(f"no field '{name}'{hint}", where, at_key=True)
        case "string_type" if where == ("procedure",) and isinstance(error["input"], list):
            message = "expected text, not a list; write the steps as a >> b"
        case "string_type" if isinstance(error["input"], (dict, list)):
            message = f"expected text, not {_kind(error['input'])}; a call with ':' or ',' goes in single quotes"
        case _:
            message = _expected(error)
    return document.problem(message, where)


def _expected(error: Any) -> str:
    """What a value should have been, in the words of the file."""
    if error["type"] == "string_unicode":
        return "the text holds half a character (a lone surrogate)"
    wanted = {
        "string_type": "text",
        "list_type": "a list",
        "dict_type": "a mapping",
        "model_type": "a mapping",
        "int_type": "a whole number",
        "int_parsing": "a whole number",
        "float_type": "a number",
        "string_too_short": "a text that is not empty",
        "greater_than_equal": f"a number of {error.get('ctx', {}).get('ge')} or more",
        "too_short": "two calls",
        "too_long": "two calls",
        "literal_error": error.get("ctx", {}).get("expected"),
    }.get(error["type"])
    given = error["input"]
    if wanted and given is None:
        return f"expected {wanted}, but nothing is there"
    shown = f"'{given[:60]}'" if isinstance(given, str) and error["type"] != "list_type" else _kind(given)
    if error["type"] == "list_type" and isinstance(given, str):
        call = given[:60] if "(" in given or error["loc"][0] == "tags" else f"{given[:60]}(...)"
        return f"expected a list, not text; write ['{call}']"
    if error["type"] in ("too_short", "too_long"):
        shown = str(len(given))
    return f"expected {wanted}, not {shown}" if wanted else f"{error['msg'][0].lower()}{error['msg'][1:]}"


def _kind(value: Any) -> str:
    match value:
        case bool() | int() | float():
            return json.dumps(value)[:60]
        case str():
            return "text"
        case list():
            return "a list"
    return "a mapping"


_OF_WORLDS = ("setup", "goal", "policies", "decoys", "says")
_UNREAD = Action("", Fields(()))
"""Stands for an action whose text does not read, so that what speaks of it is read all the same."""


class _Builder:
    """A task from a checked file: every text in it is read, and all that is wrong is told at once."""

    def __init__(self, document: Located, read: TaskFile) -> None:
        self.document, self.file = document, read
        self.faults: list[Fault] = []
        self.actions: dict[str, Action] = {}
        self.reading: list[str] = []
        self.world: World[Any] | None = None

    def task(self) -> Task:
        file = self.file
        if file.world is not None:
            try:
                self.world = world(file.world)
            except TaskError as error:
                self.faults.append(Fault(str(error), ("world",)))
        common = self.texts()
        procedure, warnings = self.procedure(self.known_tools(common))
        if self.faults:
            raise TaskError(self.faults)
        common |= {
            "id": file.id,
            "prompt": file.prompt,
            "world": file.world,
            "tags": tuple(file.tags),
            "most_calls": file.most_calls,
            "warnings": (*map(str, self.document.warnings), *warnings),
        }
        common |= self.of_world()
        if procedure is not None:
            return self.completed(Task(procedure=procedure, actions=tuple(self.actions.values()), **common))
        rules = {name: common[name] for name in ("reads", "neutral", "forbid", "unlisted")}
        if common["tools"] is not None:
            rules["tools"] = {tool.name: tool for tool in common["tools"]}
        edges = {state: after or {} for state, after in (file.transitions or {}).items()}
        made = Automaton.from_transitions(
            self.actions, file.start or "", file.accept or [], edges, golden=file.golden, **rules
        )
        return self.completed(Task(automaton=made, **common))

    def known_tools(self, texts: Mapping[str, Any]) -> set[str]:
        """The tools that the task speaks of, and those of its world."""
        patterns = (*self.actions.values(), *texts["reads"], *texts["neutral"], *(one.call for one in texts["forbid"]))
        listed = {tool.name for tool in texts["tools"] or ()}
        return listed | {one.tool for one in patterns} | set(self.world.tools if self.world else ())

    def completed(self, task: Task) -> Task:
        """The task with what is odd about it, in its world, where it names one."""
        if told := task.automaton.alphabet.overlaps:
            warnings = (str(self.document.problem(one.message, one.where)) for one in told)
            automaton: Any = task.automaton if task.procedure is None else None  # a procedure is compiled again
            task = replace(task, warnings=(*task.warnings, *warnings), automaton=automaton)
        return task if self.world is None else self.world.complete(task)

    def of_world(self) -> dict[str, Any]:
        """What only a task of a world has."""
        file = self.file
        if self.world is None:
            given = [name for name in _OF_WORLDS if getattr(file, name)]
            if given:
                raise TaskError.of(f"'{given[0]}' belongs to a task of a world; name it in 'world'", given[0])
            return {}
        start = self._start(self.world)
        goal = None if file.goal is None else self._text(("goal",), file.goal, parser.matcher)
        policies = [self._policy(place, entry) for place, entry in enumerate(file.policies)]
        decoys = {name: self._decoy(name, entry) for name, entry in file.decoys.items()}
        if self.faults:
            raise TaskError(self.faults)
        return {
            "start": start,
            "goal": None if goal is None else state_matcher(self.world, goal),
            "policies": policies,
            "decoys": decoys,
            "says": file.says,
        }

    def _start(self, world: World[Any]) -> Any:
        setup = self.file.setup or {}
        for name, value in setup.items():
            try:
                world.starting({name: value})
            except TaskError as error:
                self.faults.append(Fault(str(error), ("setup", name)))
        if self.faults:
            raise TaskError(self.faults)
        return world.starting(setup)

    def _policy(self, place: int, entry: PolicyEntry) -> Policy | None:
        kinds: dict[str, Any] = {"before": before, "after": after, "needed": needed, "never": never}
        given = [kind for kind in kinds if getattr(entry, kind) is not None]
        if len(given) != 1:
            self.faults.append(Fault("a policy is one of before, after, needed and never", ("policies", place)))
            return None
        where = ("policies", place, given[0])
        texts = getattr(entry, given[0])
        calls = [self._pattern(where, text) for text in ([texts] if isinstance(texts, str) else texts)]
        return None if None in calls else cast("Policy", kinds[given[0]](*calls, because=entry.because))

    def _decoy(self, name: str, entry: DecoyEntry) -> Decoy:
        where = ("decoys", name, "calls")
        calls = [self._text((*where, place), text, parser.call) for place, text in enumerate(entry.calls)]
        if entry.harm is not None and entry.harm not in list(HarmKind):
            message = f"no kind of harm '{entry.harm}'{nearest(entry.harm, [kind.value for kind in HarmKind])}"
            self.faults.append(Fault(message, ("decoys", name, "harm")))
        return Decoy(calls, entry.harm, entry.fools)

    def texts(self) -> dict[str, Any]:
        """What stands in call notation, but for the procedure."""
        file = self.file
        for name in file.actions:
            self._action(name)
        return {
            "reads": self._patterns("reads", file.reads),
            "neutral": self._patterns("neutral", file.neutral),
            "forbid": self._forbid(),
            "unlisted": file.unlisted,
            "tools": self._tools(),
            "answer": self._answer(),
        }

    def procedure(self, tools: Collection[str] = ()) -> tuple[Procedure | None, tuple[str, ...]]:
        """The procedure, and what is odd about it; `tools` are known to the task."""
        file = self.file
        outright = {"start": file.start, "accept": file.accept, "transitions": file.transitions}
        given = [name for name, value in outright.items() if value is not None]
        if file.procedure is None:
            if not given:
                self.faults.append(Fault("'procedure' is missing: say what may be done, as in create >> deposit"))
            for name in outright:
                if given and name not in given:
                    self.faults.append(Fault(f"'{name}' is missing beside '{given[0]}'", (given[0],)))
            return None, ()
        if given:
            self.faults.append(
                Fault(f"'{given[0]}' and 'procedure' are two ways to say the same; keep one", (given[0],))
            )
        if file.golden != "acyclic":
            self.faults.append(Fault("'golden' goes with 'transitions'; a procedure has no circles", ("golden",)))
        found = self._text(
            ("procedure",),
            file.procedure,
            lambda text: parser.procedure(text, self._action, tuple(file.actions), tools),
        )
        if found is None:
            return None, ()
        told = (self.document.problem(warning, ("procedure",)) for warning in found.warnings)
        return found.procedure, tuple(map(str, told))

    def _action(self, name: str) -> Action | None:
        """The action of that name; those that it speaks of are read first."""
        if name in self.actions or name not in self.file.actions:
            return self.actions.get(name)
        if name in self.reading:
            circle = " → ".join([*self.reading[self.reading.index(name) :], name])
            self.faults.append(Fault(f"result_of goes in a circle: {circle}", ("actions", name)))
            return _UNREAD
        self.reading.append(name)
        text = self.file.actions[name]
        found = self._text(("actions", name), text, lambda text: parser.action(text, self._action))
        self.reading.pop()
        self.actions[name] = (found or _UNREAD).named(name)
        return self.actions[name]

    def _patterns(self, key: str, texts: list[str]) -> tuple[Action, ...]:
        found: list[Action] = []
        for place, text in enumerate(texts):
            where = (key, place)
            read = self._pattern(where, text)
            if read is not None:
                found.append(read)
            elif self.document.cut_at(where):
                break  # what YAML made of the rest of this call is not worth an error each
        return tuple(found)

    def _pattern(self, where: tuple[str | int, ...], text: str) -> Action | None:
        """A pattern of calls, or an action by its name."""
        read: Action | None = self.actions.get(text.strip()) or self._text(where, text, parser.action)
        return read

    def _forbid(self) -> tuple[Forbidden, ...]:
        found: list[Forbidden] = []
        for place, entry in enumerate(self.file.forbid):
            given = ForbidEntry(call=entry, why=None) if isinstance(entry, str) else entry
            where = ("forbid", place) if isinstance(entry, str) else ("forbid", place, "call")
            read = self._pattern(where, given.call)
            if read is not None:
                found.append(Forbidden(read, given.severity, given.why))
        return tuple(found)

    def _tools(self) -> tuple[Tool, ...] | None:
        if self.file.tools is None:
            return None
        found = [self._text(("tools", place), text, parser.tool) for place, text in enumerate(self.file.tools)]
        return tuple(tool for tool in found if tool is not None)

    def _answer(self) -> Matcher | None:
        if self.file.answer is None:
            return None
        read: Matcher | None = self._text(("answer",), self.file.answer, parser.matcher)
        return read

    def _text(self, where: tuple[str | int, ...], text: str, read: Any) -> Any:
        try:
            return read(text)
        except NotationError as error:
            message, offset = error.message, error.position
            if cut := self.document.cut_at(where):
                message = f"YAML ended this text at '{cut}': {text}; put the whole of it in single quotes"
                offset = 0
            self.faults.append(Fault(message, where, offset))
        except TaskError as error:
            self.faults.append(Fault(str(error), where))
        return None


# Episodes


def _episode_lines(file: str, lines: IO[bytes]) -> Iterator[EpisodeLine]:
    found = False
    for number, raw in enumerate(lines, start=1):
        if raw.strip() in (b"", b"\xef\xbb\xbf"):
            continue
        found = True
        try:
            yield EpisodeLine(number, _episode(raw))
        except _LineError as error:
            yield EpisodeLine(number, None, Problem(file, number, error.column, error.message))
    if not found:
        yield EpisodeLine(1, None, Problem(file, 1, 1, "no episodes in this file; each line is one JSON object"))


class _LineError(Exception):
    def __init__(self, message: str, column: int = 1) -> None:
        self.message, self.column = message, column


def _episode(raw: bytes) -> Episode:
    try:
        text = raw.decode("utf-8-sig").rstrip()
    except UnicodeDecodeError as error:
        raise _LineError(f"not UTF-8: the byte 0x{raw[error.start]:02x}", error.start + 1) from None
    try:
        data = parse_json(text)
    except json.JSONDecodeError as error:
        cut = " (the line is cut short)" if error.pos >= len(text) or "Unterminated" in error.msg else ""
        raise _LineError(f"not JSON: {why_unread(error)}{cut}; each line is one whole episode", error.colno) from None
    except ValueError as error:
        raise _LineError(why_unread(error)) from None
    if not isinstance(data, dict):
        raise _LineError('an episode is a JSON object with "task" and "calls"')
    if wrong := _other_version(data):
        raise _LineError(wrong)
    try:
        record = EpisodeRecord.model_validate(data, strict=True)
    except ValidationError as error:
        raise _LineError(_record_problems(data, error.errors()[:5])) from None
    return Episode(
        task=record.task,
        calls=tuple(map(_call, record.calls, data["calls"])),
        agent=record.agent,
        epoch=record.epoch,
        params=record.params,
        answer=record.answer,
        other_calls=tuple(map(_call, record.other_calls, data.get("other_calls", ()))),
        messages=tuple(record.messages),
        seed=record.seed,
        fingerprint=record.fingerprint,
        scoring=record.scoring,
        extra=_besides(EpisodeRecord, data),
    )


_OTHER_NAMES = {
    "task": ("task_id", "taskId", "task_name", "taskName", "id"),
    "calls": ("tool_calls", "toolCalls", "steps", "actions", "trajectory", "trace"),
    "tool": ("name", "tool_name", "toolName", "function", "function_name", "action"),
    "arguments": ("args", "input", "tool_input", "parameters", "params", "kwargs", "toolInput"),
}
"""What the required fields of an episode and of a call are called elsewhere."""
_OTHER_FORMATS = (
    *("messages", "choices", "output", "contents", "candidates", "resourceSpans", "resource_spans", "scopeSpans"),
    *("spans", "samples", "jsonrpc", "trajectory", "simulations", "traj", "role", "trace_id"),
)
"""What records of other formats have at their top."""


def _record_problems(data: Mapping[str, Any], errors: Iterable[Any]) -> str:
    """What is wrong with an episode; where it looks like a record of another format, that alone."""
    other = next((name for name in _OTHER_FORMATS if name in data), None)
    if other is not None and "calls" not in data:
        return f"'calls' is missing, and '{other}' is there; make episodes of other formats with: corepath import"
    return "; ".join(dict.fromkeys(map(_record_problem, errors)))


def record_problems(error: ValidationError) -> list[tuple[tuple[str | int, ...], str]]:
    """Everything that a model finds wrong in a record: the path of the field, and what is wrong there."""
    return [(one["loc"], _record_problem(one)) for one in error.errors()]


def _record_problem(error: Any) -> str:
    where, name, given = ".".join(str(part)[:60] for part in error["loc"]), error["loc"][-1], error["input"]
    if error["loc"][0] == "scoring":
        return "'scoring': expected 'paper', 'recommended' or an object of options"
    if error["type"] != "missing":
        what = " with 'tool' and 'arguments'" if error["type"] == "model_type" else ""
        return f"'{where}': {_expected(error).replace('a mapping', f'an object{what}')}"
    other = next((one for one in _OTHER_NAMES.get(name, ()) if one in given), None)
    if other is not None and not (name == "tool" and isinstance(given[other], dict)):
        return f"'{where}' is missing; it is called '{other}' here, write '{name}'"
    if other is not None:
        return f"'{where}' is missing, and '{other}' is an object; make episodes of other formats with: corepath import"
    return f"'{where}' is missing" + ("; where there are none, write {}" if name == "arguments" else "")


def _besides(model: type[BaseModel], data: Mapping[str, Any]) -> dict[str, Any]:
    """What stands in a record that the format does not know."""
    return {name: value for name, value in data.items() if name not in model.model_fields}


def _call(record: CallRecord, data: Mapping[str, Any]) -> Call:
    return Call(
        tool=record.tool,
        arguments=record.arguments,
        result=record.result if "result" in record.model_fields_set else UNANSWERED,
        error=record.error,
        id=record.id,
        turn=record.turn,
        extra=_besides(CallRecord, data),
    )


def _call_dict(call: Call) -> dict[str, Any]:
    record: dict[str, Any] = {"tool": call.tool, "arguments": call.arguments}
    if call.result is not UNANSWERED:
        record["result"] = call.result
    optional: Mapping[str, Any] = {"error": call.error, "id": call.id, "turn": call.turn}
    return record | {name: value for name, value in optional.items() if value is not None} | dict(call.extra)
