"""`Routing`: decides which task an imported trace belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    """Sets the task of an episode: `task` for all, or by the value at the path `by`, such as `metadata.flow`.

    `table` maps such values to task ids; its keys may contain `*`, and the first match counts. Without a table the
    value is the task id itself. Without `task` and `by`, an episode keeps the task it has. An episode that is moved to
    another task loses the seed, fingerprint and scores of its old one.
    """

    task: str | None = None
    by: str | None = None
    table: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, episode: Episode) -> Episode:
        """The episode with its task set. Raises `RecordError` if the task is unknown."""
        if self.by is not None:
            return _move_to_task(self._find_task(episode), episode)
        if self.task is not None:
            return _move_to_task(self.task, episode)
        if not episode.task:
            raise RecordError(
                "the trace does not name its task; give it with --task, or say where to find it with --task-by"
            )
        return episode

    def _find_task(self, episode: Episode) -> str:
        value = _value_at(parse_json(episode_json(episode)), self.by or "")
        if not isinstance(value, (str, int)) or isinstance(value, bool) or value == "":
            has = ", ".join(sorted(map(str, episode.extra.get("metadata") or {}))[:8])
            raise RecordError(f"no task name at '{self.by}'" + (f"; metadata has {has}" if has else ""))
        if not self.table:
            return str(value)
        for pattern, task in self.table.items():
            if fnmatchcase(str(value), pattern):
                return task
        raise RecordError(f"the map has no task for '{str(value)[:120]}'")


def _move_to_task(task: str, episode: Episode) -> Episode:
    """Change an episode's task, and drop what only holds for the task that was played."""
    if task == episode.task:
        return episode
    return replace(episode, task=task, seed=None, fingerprint=None, scores={})


def _value_at(value: Any, path: str) -> Any:
    """The value at a path; None if there is none. Keys may contain dots, such as `service.name`."""
    if not isinstance(value, (Mapping, list)):
        return None
    if isinstance(value, Mapping) and path in value:
        return value[path]
    for key, rest in _split(path):
        found = _value_at(_item(value, key), rest)
        if found is not None:
            return found
    return _item(value, path)


def _split(path: str) -> Iterator[tuple[str, str]]:
    """Every way to split a path into a key and the rest."""
    parts = path.split(".")
    for end in range(1, len(parts)):
        yield ".".join(parts[:end]), ".".join(parts[end:])


def _item(value: Any, key: str) -> Any:
    """The value under a key of an object, or at an index of a list; None if there is none."""
    if isinstance(value, Mapping):
        return value.get(key)
    if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
        return value[int(key)]
    return None


def read_table(path: Path) -> dict[str, str]:
    """Read a map of names to task ids from YAML or JSON. Raises `InputError` with everything that is wrong in it."""
    document = read_mapping(path, "a map has a line for each name: 'NAME: TASK'")
    twice = [(one, one.message.rpartition(";")[0]) for one in document.warnings]
    problems = [replace(one, message=f"{message}; only one can count") for one, message in twice]
    for name, task in document.data.items():
        if not isinstance(task, str) or not task:
            problems.append(document.problem(f"'{name}' has no task; a line of a map is 'NAME: TASK'", (name,)))
    if problems:
        raise InputError(problems)
    return dict(document.data)
