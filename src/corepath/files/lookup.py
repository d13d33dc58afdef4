"""Looking up tasks by name: `world/task`, `file.yaml::id`, `file.py::task`, a world, a file, or a folder."""

from __future__ import annotations

import ast
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from corepath.episode import Episode
from corepath.errors import InputError, Problem, TaskError, count, nearest, no_such_file
from corepath.files.folders import TASK_ENDINGS, find_files
from corepath.task import Task
from corepath.world.discovery import installed_worlds, load_worlds, world
from corepath.world.exploring import simulator_of
from corepath.world.world import World

if TYPE_CHECKING:
    from corepath.files.task_index import TaskIndex

MOST_KEPT: Final = 4096
"""Maximum number of built tasks to keep in memory, apart from those that a command builds all at once."""
_MOST_HINTS: Final = 100


@dataclass(frozen=True)
class Source:
    """Where a task comes from. Any process can make the task from its source.

    `where` is a world's name, a file's path, or a folder's path with a slash at the end.
    """

    where: str
    id: str

    @property
    def in_file(self) -> bool:
        """Whether the task comes from a task file. Such a task has no variants."""
        return self.where.endswith(TASK_ENDINGS) or ("/" in self.where and not self.where.endswith(".py"))

    @property
    def is_missing(self) -> bool:
        """Whether the task's file no longer exists."""
        return (self.in_file or self.where.endswith(".py")) and not Path(self.where).exists()

    @property
    def name(self) -> str:
        """The task's name within its world, e.g. `water_plant`."""
        return self.id.partition("/")[2]

    def world(self) -> World[Any]:
        """Return the world that the task is played in. Raises `TaskError` if the task has no world."""
        if self.in_file:
            return world(simulator_of(self.make()).name)
        name = self.id.partition("/")[0]
        if not self.where.endswith(".py"):
            return world(name)
        worlds = {one.name: one for one in _load_worlds(self.where)}
        if name not in worlds:
            raise TaskError.of(f"{self.where} has no world '{name[:60]}'{nearest(name, worlds)}")
        return worlds[name]

    def make(self, seed: int = 0) -> Task:
        """Make the task. A seed other than 0 selects a variant."""
        return _make(self, seed, str(Path(self.where).resolve()))


def task(name: str | Path, seed: int = 0) -> Task:
    """Look up a task by name, e.g. `farm/water_plant`, `tasks.yaml::bank/transfer` or `greenhouse.py::warm_up`.

    A file with a single task needs no `::`. Raises `TaskError` or `InputError` if there is no such task.
    """
    found = sources(str(name))
    if len(found) != 1:
        few = ", ".join(source.id for source in found[:5]) + ", …" * (len(found) > 5)
        place = str(name).partition("::")[0]
        how = found[0].id if place in installed_worlds() else f"{place}::{found[0].id}"
        raise TaskError.of(f"'{name}' has {len(found):,} tasks ({few}); name one, as in {how}")
    if seed and found[0].in_file:
        raise TaskError.of(f"{name} is in a task file, which has no variants; only tasks of worlds have a seed")
    return found[0].make(seed)


def sources(target: str, *, check: bool = False) -> list[Source]:
    """List the sources of the tasks that `target` names: a single task, or all tasks in a world, a file or a folder.

    Raises `TaskError` if nothing has that name, and `InputError` if the tasks in a file cannot be told apart or, with
    `check`, if a file has any problem.
    """
    place, several, id_ = target.partition("::")
    if place.endswith(".jsonl") and Path(place).is_file():
        raise TaskError.of(f"{place} is a file of episodes; a task file ends in .yaml, .yml or .json")
    if place.endswith((".py", *TASK_ENDINGS)) or _is_folder(place) or _is_other_file(place):
        found = _sources_in(place, check=check and not several)
        return [_pick(found, id_, place)] if several else found
    if several:
        raise TaskError.of(f"'{target}': the part before '::' must be a file, and there is no file '{place}'")
    return _sources_of_world(target)


def all_sources(targets: Iterable[str], *, playable: bool = False, check: bool = True) -> list[Source]:
    """List the sources of all tasks in `targets`, each only once. Without targets, use every installed world.

    With `check`, all tasks of whole files and folders are built. Otherwise only their ids are read, which takes little
    time even if there are many. Raises `TaskError` if two tasks share an id or, with `playable`, if a task in a file
    has no world, and `InputError` as `sources` does.
    """
    wanted = list(targets) or list(installed_worlds())
    found: dict[str, Source] = {}
    for source in (source for target in wanted for source in sources(target, check=check)):
        other = found.setdefault(source.id, source)
        if not _is_same(other, source):
            raise TaskError.of(f"two tasks are called '{source.id}', in {other.where} and in {source.where}")
    if not found:
        raise TaskError.of("no worlds are installed")
    for source in found.values():
        if playable and source.in_file and source.make().simulator is None:
            raise TaskError.of(f"task '{source.id}' of {source.where} names no world to be played in; "
                               f"check it with: corepath check {source.where}")  # fmt: skip
    return list(found.values())


class Tasks:
    """Looks up the tasks that episodes were played on, in `targets` or, without targets, in the installed worlds."""

    def __init__(self, targets: Iterable[str | Path] = ()) -> None:
        named = [str(target) for target in targets]
        self.sources = {source.id: source for source in all_sources(named, check=False)} if named else {}
        self._hints: dict[str, str] = {}
        self._find = lru_cache(MOST_KEPT)(self._make if named else self._make_installed)

    def of(self, episode: Episode) -> Task:
        """Return the task that an episode was played on, which is built when it is first needed.

        Raises `TaskError` if there is no such task, or if the task in the file has problems.
        """
        if not episode.task:
            raise TaskError.of("it names no task; judge it by rules (--rules), or name its task with corepath import")
        return self._find(episode.task, episode.seed or 0)

    def _make(self, id_: str, seed: int) -> Task:
        if id_ not in self.sources:
            raise TaskError.of(f"no task '{id_[:120]}'{self._hint(id_)}")
        source = self.sources[id_]
        if seed and source.in_file:
            raise TaskError.of(f"the episode was played on the variant of seed {seed}, and a task file has no variants")
        try:
            return source.make(seed)
        except InputError as error:
            first, *others = error.problems
            more = f"; corepath check lists {count(len(others), 'more problem')}" if others else ""
            raise TaskError.of(f"{first}{more}") from None

    def _hint(self, id_: str) -> str:
        """Return a hint at the task that was probably meant. It takes time, so only the first unknown ids get one."""
        if id_ not in self._hints and len(self._hints) < _MOST_HINTS:
            self._hints[id_] = nearest(id_, self.sources)
        return self._hints.get(id_, "")

    def _make_installed(self, id_: str, seed: int) -> Task:
        name, _, short = id_.partition("/")
        known = installed_worlds()
        if name not in known or short not in world(name).makers:
            close = nearest(short, world(name).makers) if name in known else ""
            raise TaskError.of(f"no task '{id_[:120]}' in the installed worlds{close if 'did you' in close else ''}; "
                               "say with --tasks in which file or folder it is")  # fmt: skip
        return task(id_, seed)


# Targets


def _sources_of_world(target: str) -> list[Source]:
    name, _, short = target.partition("/")
    known = installed_worlds()
    if name not in known:
        raise TaskError.of(f"no world or file '{target}'{_suggest_target(target, known)}")
    makers = world(name).makers
    wanted = makers if short in ("", "*") else [short]
    if wanted != makers and short not in makers:
        raise TaskError.of(f"no task '{short}' in world '{name}'{nearest(short, makers)}")
    return [Source(name, f"{name}/{one}") for one in wanted]


def _is_folder(place: str) -> bool:
    """Whether `place` means a folder. Raises `TaskError` if it could mean either a folder or a world.

    A path such as `./farm` always means the folder.
    """
    if not place or not Path(place).is_dir():
        return False
    if place in installed_worlds():
        if _has_task_files(place) or _world_files(place):
            raise TaskError.of(f"'{place}' is a world, and a folder of tasks here; write ./{place} for the folder, "
                               f"or '{place}/*' for the world")  # fmt: skip
        return False
    return True


def _suggest_target(target: str, known: Iterable[str]) -> str:
    """Suggest a task or world for the end of an error message, e.g. `; did you mean 'farm/water_plant'?`."""
    named = [f"{one}/{target}" for one in known if target in world(one).makers]
    return f"; did you mean '{named[0]}'?" if named else nearest(target.partition("/")[0], known)


def _is_other_file(place: str) -> bool:
    """Whether `place` exists and is neither a folder nor a world, e.g. a pipe."""
    return place not in installed_worlds() and Path(place).exists() and not Path(place).is_dir()


def _sources_in(place: str, *, check: bool) -> list[Source]:
    """List the sources of the tasks in a file, or in a folder and its subfolders. With `check`, build the tasks."""
    if not Path(place).exists():
        raise TaskError.of(no_such_file(place))
    if place.endswith(".py"):
        return [Source(place, f"{one.name}/{name}") for one in _load_worlds(place) for name in one.makers]
    if not Path(place).is_dir():
        return _list_tasks(place if place.endswith(TASK_ENDINGS) or "/" in place else f"./{place}", check=check)
    python = _world_files(place)
    found = _list_tasks(f"{place.rstrip('/')}/", check=check) if _has_task_files(place) or not python else []
    return [*found, *(source for file in python for source in _sources_in(file, check=check))]


def _list_tasks(where: str, *, check: bool) -> list[Source]:
    index = _open_index(where)
    return [Source(where, id_) for id_ in (index.build_all() if check else index.entries())]


def _pick(found: list[Source], id_: str, place: str) -> Source:
    """Return the source whose id or name is `id_`. Raises `TaskError` unless exactly one source matches."""
    named = [source for source in found if id_ == source.id or (id_ == source.name and not source.in_file)]
    if len(named) != 1:
        short = {source.name: source.id for source in found}
        close = get_close_matches(id_[:100], short, n=1)
        hint = f"; did you mean '{short[close[0]]}'?" if close else nearest(id_, [source.id for source in found])
        raise TaskError.of(f"{place} has no task '{id_}'{hint}")
    return named[0]


def _has_task_files(folder: str) -> bool:
    return any(find_files(folder, *TASK_ENDINGS))


def _world_files(folder: str) -> list[str]:
    """List the Python files in a folder that create a `World`. Other Python files are never imported."""
    return [path for path in find_files(folder, ".py") if _creates_world(path)]


def _creates_world(path: str) -> bool:
    """Whether a file has `... = World(...)` at module level. The file is parsed, not run."""
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return False
    values = [node.value for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign))]
    called = [value.func for value in values if isinstance(value, ast.Call)]
    called = [func.value if isinstance(func, ast.Subscript) else func for func in called]
    names = [func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") for func in called]
    return "World" in names


def _is_same(one: Source, other: Source) -> bool:
    """Whether two sources with the same id refer to the same task. Two paths may lead to the same task file."""
    if one == other:
        return True
    return one.where.endswith(TASK_ENDINGS) and Path(one.where).resolve() == Path(other.where).resolve()


@lru_cache(maxsize=MOST_KEPT)
def _make(source: Source, seed: int, _where: str) -> Task:
    if source.in_file:
        index = _open_index(source.where)
        if source.id not in (known := index.entries()):
            raise TaskError.of(f"{source.where} has no task '{source.id[:60]}'{nearest(source.id, known)}")
        return index.build(source.id)
    return source.world().make(source.name, seed)


def _open_index(path: str) -> TaskIndex:
    return _open_index_once(path, str(Path(path).resolve()))


@lru_cache(maxsize=64)
def _open_index_once(path: str, _where: str) -> TaskIndex:
    from corepath.files.task_index import TaskIndex  # noqa: PLC0415  # slow to import, and not needed for worlds

    return TaskIndex(path)


def _load_worlds(path: str) -> list[World[Any]]:
    return _load_worlds_once(path, str(Path(path).resolve()))


@lru_cache(maxsize=64)
def _load_worlds_once(path: str, _where: str) -> list[World[Any]]:
    try:
        return load_worlds(path)
    except TaskError as error:
        raise InputError([Problem(path, _error_line(error, path), 1, str(error))]) from None


def _error_line(error: TaskError, path: str) -> int:
    """Return the line in the Python file `path` at which `error` was raised, or 1 if the line is unknown."""
    cause = error.__cause__ or error
    if isinstance(cause, SyntaxError):
        return cause.lineno or 1
    lines = [frame.lineno for frame in traceback.extract_tb(cause.__traceback__) if frame.filename.endswith(path)]
    return (lines[-1] if lines else None) or 1
