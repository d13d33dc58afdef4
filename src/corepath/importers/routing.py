"""Which task a stored trace is of: one for all, or by something that the trace says of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from corepath.episode import Episode
from corepath.errors import InputError, RecordError
from corepath.files.document import read_mapping
from corepath.files.episodes import episode_json
from corepath.values import parse_json


@dataclass(frozen=True)
class Routing:
    """`task` is the task of every trace; `by` is the path of what names it, such as `metadata.flow`.

    `table` says which task a name stands for; its names may have `*`, and the first that fits counts. Without a table
    the name itself is the task's id. An episode that has a task keeps it unless one of these says otherwise; then it
    loses what was recorded of the other task.
    """

    task: str | None = None
    by: str | None = None
    table: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, episode: Episode) -> Episode:
        """The episode with its task. Raises `RecordError` where none can be told."""
        if self.by is not None:
            return _of_task(self._named(episode), episode)
        if self.task is not None:
            return _of_task(self.task, episode)
        if not episode.task:
            raise RecordError(
                "the trace does not say which task it is of; say it with --task, or by what with --task-by"
            )
        return episode

    def _named(self, episode: Episode) -> str:
        value = _inside(parse_json(episode_json(episode)), self.by or "")
        if not isinstance(value, (str, int)) or isinstance(value, bool) or value == "":
            has = ", ".join(sorted(map(str, episode.extra.get("metadata") or {}))[:8])
            raise RecordError(f"nothing at '{self.by}' that names a task" + (f"; metadata has {has}" if has else ""))
        if not self.table:
            return str(value)
        for pattern, task in self.table.items():
            if fnmatchcase(str(value), pattern):
                return task
        raise RecordError(f"the map has no task for '{str(value)[:120]}'")


def _of_task(task: str, episode: Episode) -> Episode:
    """The episode as one of this task: seed, fingerprint and scores are of the task that was played."""
    if task == episode.task:
        return episode
    return replace(episode, task=task, seed=None, fingerprint=None, scores={})


def _inside(value: Any, path: str) -> Any:
    """What stands at a path; a name may have dots of its own, such as `service.name`."""
    if isinstance(value, Mapping) and path in value:
        return value[path]
    parts = path.split(".")
    for end in range(1, len(parts)):
        name, rest = ".".join(parts[:end]), ".".join(parts[end:])
        if isinstance(value, Mapping) and name in value:
            found = _inside(value[name], rest)
        elif isinstance(value, list) and name.isdecimal() and int(name) < len(value):
            found = _inside(value[int(name)], rest)
        else:
            continue
        if found is not None:
            return found
    return value[int(path)] if isinstance(value, list) and path.isdecimal() and int(path) < len(value) else None


def read_table(path: Path) -> dict[str, str]:
    """A map file: names and task ids, as YAML or JSON. Raises `InputError` with what is wrong in it."""
    document = read_mapping(path, "a map has a line for each name: 'NAME: TASK'")
    twice = [(one, one.message.rpartition(";")[0]) for one in document.warnings]
    problems = [replace(one, message=f"{message}; only one can count") for one, message in twice]
    for name, task in document.data.items():
        if not isinstance(task, str) or not task:
            problems.append(document.problem(f"'{name}' has no task; a line of a map is 'NAME: TASK'", (name,)))
    if problems:
        raise InputError(problems)
    return dict(document.data)
