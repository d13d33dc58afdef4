"""How tasks are named: `world/task`, `file.yaml::id`, `file.py::task`, a whole world or file, or a folder of them."""

from __future__ import annotations

import ast
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from corepath.episode import Episode
from corepath.errors import InputError, Problem, TaskError, nearest, no_such_file
from corepath.task import Task
from corepath.world.discovery import installed_worlds, load_worlds, world
from corepath.world.exploring import simulator_of
from corepath.world.world import World

_FILES = (".yaml", ".yml", ".json")


@dataclass(frozen=True)
class Source:
    """A task that can be made here and in another process: `where` is a world's name, a file, or a folder with a /."""

    where: str
    id: str

    @property
    def in_file(self) -> bool:
        """Whether it is a task file's, which has no variants."""
        return self.where.endswith(_FILES) or ("/" in self.where and not self.where.endswith(".py"))

    @property
    def gone(self) -> bool:
        """Whether it is of a file that is not there."""
        return (self.in_file or self.where.endswith(".py")) and not Path(self.where).exists()

    @property
    def name(self) -> str:
        """The task's name in its world."""
        return self.id.partition("/")[2]

    def world(self) -> World[Any]:
        """The world of the task."""
        if self.in_file:
            return world(simulator_of(self.make()).name)
        name = self.id.partition("/")[0]
        if not self.where.endswith(".py"):
            return world(name)
        worlds = {one.name: one for one in _worlds_in(self.where)}
        if name not in worlds:
            raise TaskError.of(f"{self.where} has no world '{name[:60]}'{nearest(name, worlds)}")
        return worlds[name]

    def make(self, seed: int = 0) -> Task:
        """The task; any other seed than 0 gives a variant of it."""
        return _made(self, seed, str(Path(self.where).resolve()))


def task(name: str | Path, seed: int = 0) -> Task:
    """The one task of that name: `farm/water_plant`, `tasks.yaml::bank/transfer`, `greenhouse.py::warm_up`.

    A file that holds one task needs no `::`. Raises `TaskError` or `InputError` where there is no such task.
    """
    found = sources(str(name))
    if len(found) != 1:
        few = ", ".join(source.id for source in found[:5]) + ", …" * (len(found) > 5)
        place = str(name).partition("::")[0]
        how = found[0].id if place in installed_worlds() else f"{place}::{found[0].id}"
        raise TaskError.of(f"'{name}' has {len(found):,} tasks ({few}); name one, as in {how}")
    if seed and found[0].in_file:
        raise TaskError.of(f"{name} is of a task file, which has no variants; only tasks of worlds have a seed")
    return found[0].make(seed)


def sources(target: str) -> list[Source]:
    """The tasks that a user names: one, or all of a world, of a file, or of a folder with everything below it.

    Raises `TaskError` where there are none of that name, and `InputError` with what is wrong in a file.
    """
    place, several, id_ = target.partition("::")
    if place.endswith(".jsonl") and Path(place).is_file():
        raise TaskError.of(f"{place} is a file of episodes; a task file ends in .yaml, .yml or .json")
    if place.endswith((".py", *_FILES)) or _is_folder(place) or _is_other_file(place):
        found = _sources_in(place)
        return [_pick(found, id_, place)] if several else found
    if several:
        raise TaskError.of(f"'{target}': what stands before '::' is a file; there is no file '{place}'")
    return _sources_of_world(target)


def all_sources(targets: Iterable[str], *, playable: bool = False) -> list[Source]:
    """The tasks of all these targets, each once; those of every installed world where there are no targets.

    Those that can be played are in a world: with `playable` any other raises `TaskError`.
    """
    wanted = list(targets) or list(installed_worlds())
    found: dict[str, Source] = {}
    for source in (source for target in wanted for source in sources(target)):
        other = found.setdefault(source.id, source)
        if not _same(other, source):
            raise TaskError.of(f"two tasks are called '{source.id}', in {other.where} and in {source.where}")
    if not found:
        raise TaskError.of("no worlds are installed")
    for source in found.values():
        if playable and source.in_file and source.make().simulator is None:
            raise TaskError.of(f"task '{source.id}' of {source.where} names no world to be played in; "
                               f"check it with: corepath check {source.where}")  # fmt: skip
    return list(found.values())


class Tasks:
    """The tasks of episodes: those that were named, else those of installed worlds."""

    def __init__(self, targets: Iterable[str | Path] = ()) -> None:
        named = [str(target) for target in targets]
        self.sources = {source.id: source for source in all_sources(named)} if named else {}
        self._suggestion = cache(lambda name: nearest(name, self.sources))  # a wrong id seldom comes alone
        self._of_world = cache(task)

    def of(self, episode: Episode) -> Task:
        """The task of an episode. Raises `TaskError` where there is none."""
        seed = episode.seed or 0
        if not self.sources:
            return self._installed(episode.task, seed)
        if episode.task not in self.sources:
            raise TaskError.of(f"no task '{episode.task[:120]}'{self._suggestion(episode.task)}")
        source = self.sources[episode.task]
        if seed and source.in_file:
            raise TaskError.of(f"the episode was played on the variant of seed {seed}, and a task file has no variants")
        return source.make(seed)

    def _installed(self, id_: str, seed: int) -> Task:
        name, _, short = id_.partition("/")
        known = installed_worlds()
        if name not in known or short not in world(name).makers:
            close = nearest(short, world(name).makers) if name in known else ""
            raise TaskError.of(f"no task '{id_[:120]}' in the installed worlds{close if 'did you' in close else ''}; "
                               "say with --tasks in which file or folder it is")  # fmt: skip
        return self._of_world(id_, seed)


# Where they stand


def _sources_of_world(target: str) -> list[Source]:
    name, _, short = target.partition("/")
    known = installed_worlds()
    if name not in known:
        raise TaskError.of(f"no world or file '{target}'{_near(target, known)}")
    makers = world(name).makers
    wanted = makers if short in ("", "*") else [short]
    if wanted != makers and short not in makers:
        raise TaskError.of(f"no task '{short}' in world '{name}'{nearest(short, makers)}")
    return [Source(name, f"{name}/{one}") for one in wanted]


def _is_folder(place: str) -> bool:
    """Whether a folder is meant; one that is called as a world is meant with `./farm`."""
    if not place or not Path(place).is_dir():
        return False
    if place in installed_worlds():
        if _files_in(place) or _worlds_below(place):
            raise TaskError.of(f"'{place}' is a world, and a folder of tasks here; write ./{place} for the folder, "
                               f"or '{place}/*' for the world")  # fmt: skip
        return False
    return True


def _near(target: str, known: Iterable[str]) -> str:
    """The task that has that name in its world, or what is called nearly so."""
    named = [f"{one}/{target}" for one in known if target in world(one).makers]
    return f"; did you mean '{named[0]}'?" if named else nearest(target.partition("/")[0], known)


def _is_other_file(place: str) -> bool:
    """Whether it is a file without an ending of tasks, such as a pipe."""
    return place not in installed_worlds() and Path(place).exists() and not Path(place).is_dir()


def _sources_in(place: str) -> list[Source]:
    """The tasks of a file, or of a folder and all below it."""
    if not Path(place).exists():
        raise TaskError.of(no_such_file(place))
    if place.endswith(".py"):
        return [Source(place, f"{one.name}/{name}") for one in _worlds_in(place) for name in one.makers]
    if not Path(place).is_dir():
        where = place if place.endswith(_FILES) or "/" in place else f"./{place}"
        return [Source(where, id_) for id_ in _file(where)]
    python = _worlds_below(place)
    where = f"{place.rstrip('/')}/"
    found = [Source(where, id_) for id_ in _file(where)] if _files_in(place) or not python else []
    return [*found, *(source for file in python for source in _sources_in(file))]


def _pick(found: list[Source], id_: str, place: str) -> Source:
    """The task of that id, or of that name in its world."""
    named = [source for source in found if id_ == source.id or (id_ == source.name and not source.in_file)]
    if len(named) != 1:
        short = {source.name: source.id for source in found}
        close = get_close_matches(id_[:100], short, n=1)
        hint = f"; did you mean '{short[close[0]]}'?" if close else nearest(id_, [source.id for source in found])
        raise TaskError.of(f"{place} has no task '{id_}'{hint}")
    return named[0]


def _files_in(folder: str) -> bool:
    return any(path.suffix in _FILES and _is_seen(path, folder) for path in Path(folder).rglob("*"))


def _worlds_below(folder: str) -> list[str]:
    """The Python files of a folder that make a World; no other is run."""
    return [str(path) for path in sorted(Path(folder).rglob("*.py")) if _is_seen(path, folder) and _makes_world(path)]


def _is_seen(path: Path, folder: str) -> bool:
    """Whether a file below a folder may be one of tasks: it is not hidden, and not in the folder of a run."""
    hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    above = [one for one in path.parents if one.is_relative_to(folder)]
    return path.is_file() and not hidden and not any((one / "episodes.jsonl").is_file() for one in above)


def _makes_world(path: Path) -> bool:
    """Whether a file has `... = World(...)` outside of any function; it is read, not run."""
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return False
    values = [node.value for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign))]
    made = [value.func for value in values if isinstance(value, ast.Call)]
    made = [func.value if isinstance(func, ast.Subscript) else func for func in made]
    names = [func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "") for func in made]
    return "World" in names


def _same(one: Source, other: Source) -> bool:
    return one == other or (Path(one.where).resolve() == Path(other.where).resolve() and one.where.endswith(_FILES))


@lru_cache(maxsize=4096)
def _made(source: Source, seed: int, _where: str) -> Task:
    if source.in_file:
        found = _file(source.where)
        if source.id not in found:
            raise TaskError.of(f"{source.where} has no task '{source.id[:60]}'{nearest(source.id, found)}")
        return found[source.id]
    return source.world().make(source.name, seed)


def _file(path: str) -> dict[str, Task]:
    return _file_at(path, str(Path(path).resolve()))


@lru_cache(maxsize=64)
def _file_at(path: str, _where: str) -> dict[str, Task]:
    from corepath.files.tasks import load_tasks  # noqa: PLC0415  # reading files needs more than worlds do

    return load_tasks(path)


def _worlds_in(path: str) -> list[World[Any]]:
    return _worlds_at(path, str(Path(path).resolve()))


@lru_cache(maxsize=64)
def _worlds_at(path: str, _where: str) -> list[World[Any]]:
    try:
        return load_worlds(path)
    except TaskError as error:
        raise InputError([Problem(path, _line(error, path), 1, str(error))]) from None


def _line(error: TaskError, path: str) -> int:
    """The line of a Python file at which it failed."""
    cause = error.__cause__ or error
    if isinstance(cause, SyntaxError):
        return cause.lineno or 1
    lines = [frame.lineno for frame in traceback.extract_tb(cause.__traceback__) if frame.filename.endswith(path)]
    return (lines[-1] if lines else None) or 1
