"""Where tasks come from: an installed world, a world in a Python file, a task file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from corepath.errors import TaskError, nearest
from corepath.explore import simulator_of
from corepath.task import Episode, Task
from corepath.world import World, installed_worlds, load_worlds, world
from corepath.world import task as world_task

_FILES = (".yaml", ".yml", ".json")


@dataclass(frozen=True)
class Source:
    """A task that can be made here and in another process: `where` is a world's name, a file, or a folder with a /."""

    where: str
    id: str

    @property
    def in_file(self) -> bool:
        """Whether it is a task file's, which has no variants."""
        return self.where.endswith((*_FILES, "/"))

    @property
    def gone(self) -> bool:
        """Whether it is of a file that is not there."""
        return self.where.endswith((".py", "/", *_FILES)) and not Path(self.where).exists()

    @property
    def name(self) -> str:
        """The task's name in its world."""
        return self.id.partition("/")[2]

    def world(self) -> World[Any]:
        """The world of the task."""
        if self.in_file:
            found = simulator_of(_file(self.where)[self.id])
            assert isinstance(found, World)
            return found
        name = self.id.partition("/")[0]
        if not self.where.endswith(".py"):
            return world(name)
        return next(one for one in _worlds_in(self.where) if one.name == name)

    def make(self, seed: int = 0) -> Task:
        """The task; any other seed than 0 gives a variant of it."""
        return _made(self, seed, str(Path(self.where).resolve()))


def sources(target: str) -> list[Source]:
    """The tasks that a user names: `farm`, `farm/dry_plants`, a world in a .py file, task files or a folder of them.

    A folder that is called as a world is meant with `./farm`. Raises `TaskError` or `InputError` where there are none.
    """
    name, _, short = target.partition("/")
    known = installed_worlds()
    if target.endswith((".py", *_FILES)) or (name not in known and target and Path(target).is_dir()):
        return _sources_in(target)
    if name not in known:
        raise TaskError.of(f"no world or file '{target}'{nearest(name, known)}")
    makers = world(name).makers
    if short and short not in makers:
        raise TaskError.of(f"no task '{short}' in world '{name}'{nearest(short, makers)}")
    return [Source(name, f"{name}/{task}") for task in ([short] if short else makers)]


def _sources_in(path: str) -> list[Source]:
    """The tasks of a file, or of a folder of task files."""
    if not Path(path).exists():
        raise TaskError.of(f"no such file or folder: {path}")
    if path.endswith(".py"):
        return [Source(path, f"{one.name}/{task}") for one in _worlds_in(path) for task in one.makers]
    found = _file(path)
    for id_, task in found.items():
        if task.simulator is None:
            raise TaskError.of(
                f"{path}: task '{id_}' names no world to be run in; check it with: corepath check {path}"
            )
    where = f"{path.rstrip('/')}/" if Path(path).is_dir() else path
    return [Source(where, id_) for id_ in found]


def all_sources(targets: Iterable[str]) -> list[Source]:
    """The tasks of all these targets, each once; those of every installed world where there are no targets."""
    wanted = list(targets) or list(installed_worlds())
    found = {source.id: source for target in wanted for source in sources(target)}
    if not found:
        raise TaskError.of("no worlds are installed")
    return list(found.values())


class Tasks:
    """The tasks of episodes: those of files, else those of installed worlds, of which an episode has a `seed`."""

    def __init__(self, files: Mapping[str, Task] | None = None) -> None:
        self.files = files or {}
        self._suggestion = cache(lambda name: nearest(name, self.files))  # a wrong id seldom comes alone
        self._of_world = cache(world_task)

    def of(self, episode: Episode) -> Task:
        """The task of an episode. Raises `TaskError` where there is none."""
        if self.files:
            if episode.task not in self.files:
                raise TaskError.of(f"no task '{episode.task[:120]}'{self._suggestion(episode.task)}")
            return self.files[episode.task]
        seed = episode.extra.get("seed", 0)
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise TaskError.of(f"'seed' is a whole number, not {json.dumps(seed)[:60]}")
        name = episode.task.partition("/")[0]
        if name not in installed_worlds():
            raise TaskError.of(
                f"no task '{episode.task[:120]}': say with --tasks in which file or folder it is "
                f"(there is no world '{name[:60]}' either)"
            )
        return self._of_world(episode.task, seed)


@lru_cache(maxsize=4096)
def _made(source: Source, seed: int, _where: str) -> Task:
    if source.in_file:
        return _file(source.where)[source.id]
    return source.world().make(source.name, seed)


def _file(path: str) -> dict[str, Task]:
    return _file_at(path, str(Path(path).resolve()))


@lru_cache(maxsize=64)
def _file_at(path: str, _where: str) -> dict[str, Task]:
    from corepath.files import load_tasks  # noqa: PLC0415  # reading files needs more than worlds do

    return load_tasks(path)


def _worlds_in(path: str) -> list[World[Any]]:
    return _worlds_at(path, str(Path(path).resolve()))


@lru_cache(maxsize=64)
def _worlds_at(path: str, _where: str) -> list[World[Any]]:
    try:
        return load_worlds(path)
    except TaskError as error:
        raise TaskError.of(f"{path}: {error}") from None
