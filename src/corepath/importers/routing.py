"""Decide which task an imported trace belongs to."""

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
    """Rules that assign imported episodes to tasks.

    If `by` is set, the task depends on the value at this path in the episode, e.g. `metadata.flow`. Otherwise every
    episode is assigned to `task`, or keeps its own task if `task` is None.

    `table` maps such values to task ids. Its keys may contain `*`, and the first key that matches is used. Without a
    table, the value itself is the task id. An episode that moves to another task loses its seed, fingerprint and
    scores, because they belong to the old task.
    """

    task: str | None = None
    by: str | None = None
    table: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, episode: Episode) -> Episode:
        """Return the episode with its task set. Raises `RecordError` if the task cannot be determined."""
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
    """Assign an episode to `task`. If its task changes, the seed, fingerprint and scores are dropped."""
    if task == episode.task:
        return episode
    return replace(episode, task=task, seed=None, fingerprint=None, scores={})


def _value_at(value: Any, path: str) -> Any:
    """Return the value at a dotted path, or None if there is none.

    Keys may contain dots themselves, e.g. `service.name`.
    """
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
    """Yield every way to split a dotted path into a key and the rest of the path."""
    parts = path.split(".")
    for end in range(1, len(parts)):
        yield ".".join(parts[:end]), ".".join(parts[end:])


def _item(value: Any, key: str) -> Any:
    """Return the value under an object's key or at a list's index, or None if there is none."""
    if isinstance(value, Mapping):
        return value.get(key)
    if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
        return value[int(key)]
    return None


def read_table(path: Path) -> dict[str, str]:
    """Read a YAML or JSON file that maps names to task ids. Raises `InputError` with every problem in the file."""
    document = read_mapping(path, "a map has a line for each name: 'NAME: TASK'")
    twice = [(one, one.message.rpartition(";")[0]) for one in document.warnings]
    problems = [replace(one, message=f"{message}; only one can count") for one, message in twice]
    for name, task in document.data.items():
        if not isinstance(task, str) or not task:
            problems.append(document.problem(f"'{name}' has no task; a line of a map is 'NAME: TASK'", (name,)))
    if problems:
        raise InputError(problems)
    return dict(document.data)
