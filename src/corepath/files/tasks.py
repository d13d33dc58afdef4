"""Load tasks from files and strings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from corepath.errors import Fault, InputError, Problem, TaskError, count, nearest
from corepath.files.document import Document, read_json, read_yaml
from corepath.files.folders import list_task_files, read_source
from corepath.files.kinds import describe_other_kind
from corepath.files.schema import TYPED, TaskFile
from corepath.files.task_builder import TaskBuilder
from corepath.files.validation import task_file_problem, version_problem
from corepath.files.yaml import Origin
from corepath.task import Task
from corepath.values import parse_json


def load_tasks(*paths: str | Path) -> dict[str, Task]:
    """Load the tasks in files and folders, and return them by id.

    Hidden files and run folders inside a folder are skipped. Raises `InputError` with the problems in all files.
    """
    return build_tasks(partial(read_file, file) for file in list_task_files(paths))


def parse_tasks(text: str, name: str = "text") -> dict[str, Task]:
    """Parse the tasks in a YAML or JSON string, and return them by id.

    Raises `InputError` with every problem in the string. Messages use `name` as the file name.
    """
    text = text.removeprefix("\ufeff")
    return build_tasks([partial(read_text, name, text, is_json=_is_json(text))])


def load_task(path: str | Path) -> Task:
    """Load a file's only task, or the task with the id after `::`, e.g. `tasks.yaml::bank/transfer`.

    Raises `InputError` if there is no such task.
    """
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


# Reading


def read_file(file: str) -> list[Document]:
    """Read a task file, and return one document per task. Raises `InputError` if the file cannot be read or parsed."""
    return read_text(file, read_source(file), is_json=file.endswith(".json"))


def read_text(name: str, text: str, *, is_json: bool, origin: Origin = (0, 0)) -> list[Document]:
    """Parse `text`, and return one document per task. Raises `InputError` if there is no task.

    `name` is the file name for error messages, and `origin` is where `text` begins in the file.
    """
    read = read_json if is_json else read_yaml
    documents = [task for document in read(name, text, origin) for task in document.split()] if text.strip() else []
    if not documents:
        raise InputError([Problem(name, 1, 1, "no task here; a task has at least an id and a procedure")])
    return documents


def _is_json(text: str) -> bool:
    """Whether `text` is valid JSON. YAML cannot read all JSON, because it rejects tabs and very long keys."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        parse_json(text)
    except ValueError:
        return False
    return True


# Building


def build_tasks(readers: Iterable[Callable[[], list[Document]]]) -> dict[str, Task]:
    """Build the tasks in all documents that `readers` return, and return the tasks by id.

    Raises `InputError` with the problems in all documents.
    """
    tasks: dict[str, Task] = {}
    problems: list[Problem] = []
    origin: dict[str, Document] = {}
    for read in readers:
        try:
            documents = read()
        except InputError as error:
            problems += error.problems
            continue
        for document in documents:
            try:
                task = build_task(document)
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


def build_task(document: Document) -> Task:
    """Build the task in a document. Raises `InputError` with every problem in it."""
    if not isinstance(document.data, dict):
        raise InputError([document.problem("a task is a mapping with an id and a procedure")])
    if other := describe_other_kind(document.data, "task file"):
        raise InputError([document.problem(other)])
    data = document.data | {name: document.typed(name) for name in TYPED if name in document.data}
    if wrong := version_problem(data):
        raise InputError([document.problem(wrong, ("version",))])
    problems: list[Problem] = []
    try:
        return TaskBuilder(document, TaskFile.model_validate(data)).build()
    except ValidationError as error:
        problems = [task_file_problem(document, one) for one in error.errors()]
        faults = _faults_beside(document, data, {one["loc"][0] for one in error.errors()})
    except TaskError as error:
        faults = error.problems
    problems += [document.problem(one.message, _field(one), one.offset, at_key=one.at_key) for one in faults]
    raise InputError(sorted(problems, key=lambda one: (one.line, one.column)))


def _faults_beside(document: Document, data: Mapping[str, Any], rejected: set[str | int]) -> Iterable[Fault]:
    """Return the faults in the fields that passed validation, so that all mistakes are reported at once.

    `rejected` are the names of the fields that did not pass.
    """
    rest = {name: value for name, value in data.items() if name not in rejected}
    builder = TaskBuilder(document, TaskFile.model_validate({"id": "?", **rest}))
    fields = builder.parse_fields()
    if builder.file.procedure is not None and "actions" not in rejected:
        builder.parse_procedure(builder.known_tools(fields))
    return builder.faults


def _field(fault: Fault) -> tuple[str | int, ...]:
    """Return the path to the field that contains a fault. For an action without a name, this is the procedure."""
    match fault.where:
        case ("actions", int()):
            return ("procedure",)
    return fault.where
