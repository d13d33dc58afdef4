"""Decide which task and agent an imported trace belongs to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from corepath.episode import Episode, change_fields
from corepath.errors import InputError, RecordError
from corepath.files.document import read_mapping
from corepath.files.episodes import episode_json
from corepath.importers.path_pattern import PREFIX, PathPattern
from corepath.values import parse_json


@dataclass(frozen=True)
class Routing:
    """Rules that assign imported episodes to tasks and agents.

    If `by` is set, the task depends on the value at this path in the episode, e.g. `metadata.flow`, or on a part of the
    file's path, e.g. `path:runs/{task}/*.json`. Otherwise every episode is assigned to `task`, or keeps its own task if
    `task` is None. `agent_by` finds the agent in the same way. `agent` is the agent of all episodes that name none.

    `table` maps values found by `by` to task ids. Its keys may contain `*`, and the first key that matches is used.
    Without a table, the value itself is the task id. An episode that moves to another task loses its seed, fingerprint
    and scores, because they belong to the old task.
    """

    task: str | None = None
    by: str | None = None
    table: Mapping[str, str] = field(default_factory=dict)
    agent: str | None = None
    agent_by: str | None = None

    def __post_init__(self) -> None:
        for by in (self.by, self.agent_by):
            if by is not None and by.startswith(PREFIX):
                PathPattern.parse(by.removeprefix(PREFIX))

    def __call__(self, episode: Episode, file: Path | None = None) -> Episode:
        """Return the episode with its task and agent set. Raises `RecordError` if the task cannot be determined."""
        if self.agent_by is not None:
            episode = change_fields(episode, agent=_find(self.agent_by, episode, file, "agent"))
        elif episode.agent is None:
            episode = change_fields(episode, agent=self.agent)
        if self.by is not None:
            return _move_to_task(self._look_up(_find(self.by, episode, file, "task")), episode)
        if self.task is not None:
            return _move_to_task(self.task, episode)
        if not episode.task:
            raise RecordError(
                "the trace does not name its task; give it with --task, or say where to find it with --task-by"
            )
        return episode

    def _look_up(self, name: str) -> str:
        if not self.table:
            return name
        for pattern, task in self.table.items():
            if fnmatchcase(name, pattern):
                return task
        raise RecordError(f"the map has no task for '{name[:120]}'")


def _find(by: str, episode: Episode, file: Path | None, what: str) -> str:
    """Return the name of an episode's task or agent. Raises `RecordError` if there is none."""
    if by.startswith(PREFIX):
        pattern = PathPattern.parse(by.removeprefix(PREFIX))
        found = None if file is None else pattern.find(file)
        if found is None:
            raise RecordError(f"the file's path does not fit '{by}'")
        return found
    value = _value_at(parse_json(episode_json(episode)), by)
    if not isinstance(value, (str, int)) or isinstance(value, bool) or value == "":
        has = ", ".join(f"metadata.{name}" for name in sorted(map(str, episode.extra.get("metadata") or {}))[:8])
        raise RecordError(f"no {what} at '{by}'" + (f"; the trace has {has}" if has else ""))
    return str(value)


def _move_to_task(task: str, episode: Episode) -> Episode:
    """Assign an episode to `task`. If its task changes, the seed, fingerprint and scores are dropped."""
    if task == episode.task:
        return episode
    return change_fields(episode, task=task, seed=None, fingerprint=None, scores={})


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


def read_table(path: Path, meaning: str = "TASK") -> dict[str, str]:
    """Read a YAML or JSON file that maps names to task ids or other names.

    `meaning` says for error messages what the names are mapped to. Raises `InputError` with every problem in the file.
    """
    document = read_mapping(path, f"a map has a line for each name: 'NAME: {meaning}'")
    twice = [(one, one.message.rpartition(";")[0]) for one in document.warnings]
    problems = [replace(one, message=f"{message}; only one can count") for one, message in twice]
    for name, task in document.data.items():
        if not isinstance(task, str) or not task:
            what = f"'{name}' has no {meaning.lower()}; a line of a map is 'NAME: {meaning}'"
            problems.append(document.problem(what, (name,)))
    if problems:
        raise InputError(problems)
    return dict(document.data)
