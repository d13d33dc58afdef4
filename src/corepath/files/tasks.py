"""Loading tasks from files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from corepath.errors import Fault, InputError, Problem, TaskError, count, nearest
from corepath.files.schema import TYPED, DecoyEntry, ForbidEntry, PolicyEntry, TaskFile
from corepath.files.task_builder import TaskBuilder
from corepath.files.validation import expected, kind_of, other_version
from corepath.files.yaml import Located, read_json, read_yaml
from corepath.task import Task

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
    if wrong := other_version(data):
        raise InputError([document.problem(wrong, ("version",))])
    problems: list[Problem] = []
    try:
        return TaskBuilder(document, TaskFile.model_validate(data)).task()
    except ValidationError as error:
        problems = [_model_problem(document, one) for one in error.errors()]
        wrong_fields = {one["loc"][0] for one in error.errors()}
        rest = {name: value for name, value in data.items() if name not in wrong_fields}
        builder = TaskBuilder(document, TaskFile.model_validate({"id": "?", **rest}))
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
            message = f"expected text, not {kind_of(error['input'])}; a call with ':' or ',' goes in single quotes"
        case _:
            message = expected(error)
    return document.problem(message, where)
