"""Find worlds: installed worlds by name, and worlds in a Python file."""

from __future__ import annotations

import hashlib
import sys
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from corepath.errors import CorepathError, TaskError, nearest
from corepath.task import Task
from corepath.world.world import World

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "corepath.worlds"
"""The entry point group for worlds. An entry point looks like `farm = "corepath.worlds.farm:world"`."""


def installed_worlds() -> dict[str, EntryPoint]:
    """Return the entry points of all installed worlds, keyed by name, without importing them.

    Worlds in other packages are included.
    """
    return dict(_read_entry_points(tuple((path, _changed(path)) for path in sys.path)))


@lru_cache(maxsize=1)
def _read_entry_points(_places: tuple[tuple[str, int], ...]) -> dict[str, EntryPoint]:
    """Read the entry points of all installed packages. It takes long, so they are read again only if a folder changed.

    `_places` are the folders of `sys.path`, and when packages were last added to them or removed from them.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415  # slower than importing the rest of the package

    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    return dict(sorted(found.items()))


def _changed(path: str) -> int:
    """Return when an entry of `sys.path` was last changed; 0 if it does not exist."""
    try:
        return Path(path or ".").stat().st_mtime_ns
    except OSError:
        return 0


def world(name: str) -> World[Any]:
    """Load an installed world by name: `world("farm")`."""
    known = installed_worlds()
    if name not in known:
        raise TaskError.of(f"no world '{name}'{nearest(name, known)}")
    found = known[name].load()
    if not isinstance(found, World):
        raise TaskError.of(f"the entry point '{name}' names {known[name].value}, which is not a World")
    return found


def world_task(id: str, seed: int = 0) -> Task:  # noqa: A002
    """Make a task in an installed world from the task's id, e.g. `farm/water_plant`."""
    name, _, rest = id.partition("/")
    return world(name).make(rest, seed)


def load_worlds(path: str) -> list[World[Any]]:
    """Load all worlds in a Python file. The file is executed, as in an import."""
    module = _import_file(path)
    found = list({id(value): value for value in vars(module).values() if isinstance(value, World)}.values())
    if not found:
        raise TaskError.of('no World in it; write one as world = World("name", State)')
    names = [one.name for one in found]
    if duplicates := {name for name in names if names.count(name) > 1}:
        raise TaskError.of(f"two worlds have the name '{min(duplicates)}'; give one of them another")
    for one in found:
        if not one.makers:
            raise TaskError.of(f"world '{one.name}' has no tasks; write one with @world.task")
    return found


def _import_file(path: str) -> ModuleType:
    from importlib.util import module_from_spec, spec_from_file_location  # noqa: PLC0415

    name = f"corepath_world_{hashlib.sha256(path.encode()).hexdigest()[:12]}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TaskError.of(f"{path} cannot be read as Python")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except CorepathError:
        raise
    except (Exception, SystemExit) as error:
        raise TaskError.of(f"cannot be imported: {type(error).__name__}: {error}") from error
    return module
