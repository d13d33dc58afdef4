"""The tasks of a file or a folder by id. Each is built when it is first needed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from corepath.errors import InputError, Problem
from corepath.files.document import Document
from corepath.files.folders import list_task_files, read_source
from corepath.files.task_scan import Part, scan, valid_id
from corepath.files.tasks import build_task, build_tasks, load_tasks, read_text
from corepath.task import Task


class TaskIndex:
    """The tasks in a task file, or in a folder of task files.

    In advance, only ids are read: a file is scanned, and parsed only if the scan cannot tell its ids.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = path
        self._entries: Mapping[str, Task | _Entry] | None = None
        self._broken: dict[str, tuple[Problem, ...]] = {}

    def entries(self) -> Mapping[str, Task | _Entry]:
        """Return an entry for every task by id, in the order of the files.

        Raises `InputError` if a file cannot be read, if it has a task whose id cannot be told, or if two tasks have the
        same id.
        """
        if self._entries is None:
            self._entries = _index_files(list_task_files([self._path]))
        return self._entries

    def build_all(self) -> Mapping[str, Task]:
        """Build all tasks, and keep them. Raises `InputError` with the problems in all files."""
        self._entries = tasks = load_tasks(self._path)
        return tasks

    def build(self, id_: str) -> Task:
        """Build the task `id_`, which must have an entry. Raises `InputError` with its problems."""
        if id_ in self._broken:
            raise InputError(self._broken[id_])
        entry = self.entries()[id_]
        if isinstance(entry, Task):
            return entry
        try:
            return entry.build(id_)
        except InputError as error:
            self._broken[id_] = error.problems
            raise


@dataclass(frozen=True, slots=True)
class _File:
    """A task file. `text` is None if the file is read again when one of its tasks is built."""

    path: str
    text: str | None

    def read(self, part: Part | None = None) -> list[Document]:
        """Return one document for each task in the file, or in a part of it."""
        text, origin = read_source(self.path) if self.text is None else self.text, (0, 0)
        if part is not None:
            text, origin = text[part.start : part.end], (part.line, part.column)
        return read_text(self.path, text, is_json=self.path.endswith(".json"), origin=origin)


@dataclass(frozen=True, slots=True)
class _Entry:
    """Where a task is: in a part of a file, or alone in the file. `task` is the task if it was built at once."""

    file: _File
    part: Part | None = None
    task: Task | None = None

    def build(self, id_: str) -> Task:
        """Build the task. Raises `InputError` with its problems, or if it has another id."""
        if self.task is not None:
            return self.task
        documents = self.file.read(self.part)
        task = build_task(documents[0])
        if task.id != id_ or len(documents) > 1:
            raise InputError([Problem(self.file.path, 1, 1, f"task '{id_}' is not alone here; the file changed")])
        return task


# Finding ids


def _index_files(paths: Iterable[str]) -> dict[str, _Entry]:
    entries: dict[str, _Entry] = {}
    problems: list[Problem] = []
    repeated: dict[str, _File] = {}
    for path in paths:
        try:
            for id_, entry in _index_file(path):
                if other := entries.get(id_):
                    repeated |= {one.file.path: one.file for one in (other, entry)}
                entries[id_] = entry
        except InputError as error:
            problems += error.problems
    try:
        build_tasks(file.read for file in repeated.values())  # names both places of an id
    except InputError as error:
        problems += error.problems
    if problems:
        raise InputError(problems)
    return entries


def _index_file(path: str) -> list[tuple[str, _Entry]]:
    """Return the id and the place of each task in a file.

    If the scan cannot tell an id, its part is parsed. If that is not enough, the whole file is.
    """
    text = read_source(path)
    parts = scan(text, is_json=path.endswith(".json"))
    if parts is not None and len(parts) == 1 and (id_ := parts[0].id) is not None:
        return [(id_, _Entry(_File(path, None if Path(path).is_file() else text)))]
    file = _File(path, text)
    found: list[tuple[str, _Entry]] = []
    for part in parts if parts is not None and len(parts) > 1 else ():
        id_ = part.id or _parse_id(file, part)
        if id_ is None:
            return _parse_file(file)
        found.append((id_, _Entry(file, part)))
    return found or _parse_file(file)


def _parse_id(file: _File, part: Part) -> str | None:
    """Parse a part, and return the id in it. Return None if the part is not a single task with a valid id."""
    try:
        documents = file.read(part)
    except InputError:
        return None
    return valid_id(documents[0].data) if len(documents) == 1 else None


def _parse_file(file: _File) -> list[tuple[str, _Entry]]:
    """Parse a file. Several tasks are built at once, since it would take as long to find one of them again."""
    documents = file.read()
    if len(documents) == 1 and (id_ := valid_id(documents[0].data)):
        return [(id_, _Entry(file))]
    return [(id_, _Entry(file, task=task)) for id_, task in build_tasks([lambda: documents]).items()]
