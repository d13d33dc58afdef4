"""Find the files that may hold tasks, and read their text."""
# ruff: noqa: PTH114, PTH118, PTH123  # a folder may hold 10,000 files, and Path objects would take most of the time

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from corepath.errors import InputError, Problem

TASK_ENDINGS = (".yaml", ".yml", ".json")
_EPISODES = "episodes.jsonl"
"""A folder with this file is the folder of a run, and holds no tasks."""


def find_files(folder: str | Path, *endings: str) -> Iterator[str]:
    """Yield the files with these endings in a folder and its subfolders, except hidden files and run folders.

    Links to folders are not followed.
    """
    try:
        with os.scandir(folder) as listing:
            entries = {entry.name: entry for entry in listing if not entry.name.startswith(".")}
    except OSError:
        return
    if _EPISODES in entries and entries[_EPISODES].is_file():
        return
    place = "" if str(folder) == "." else str(Path(folder))
    for name in sorted(entries):
        entry = entries[name]
        if entry.is_dir(follow_symlinks=False):
            yield from find_files(os.path.join(place, name), *endings)
        elif name.endswith(endings) and entry.is_file():
            yield os.path.join(place, name)


def list_task_files(paths: Iterable[str | Path]) -> list[str]:
    """List the task files in `paths`, each only once. Raises `InputError` if a path does not exist or has no files."""
    files: dict[str, str] = {}
    problems: list[Problem] = []
    for path in map(Path, paths):
        if path.is_dir():
            inside = list(find_files(path, *TASK_ENDINGS))
            files |= dict(zip(_resolve(inside), inside, strict=True))
            if not inside:
                problems.append(Problem(str(path), 1, 1, _why_none(path)))
        elif path.exists():
            files[os.path.realpath(path)] = str(path)
        else:
            problems.append(Problem(str(path), 1, 1, "no such file or folder"))
    if problems:
        raise InputError(problems)
    return list(files.values())


def _why_none(folder: Path) -> str:
    if (folder / _EPISODES).is_file():
        return f"no tasks are looked for here, as {_EPISODES} makes it the folder of a run; name the task files"
    return "no task files here; they end in .yaml, .yml or .json"


def _resolve(files: Iterable[str]) -> Iterator[str]:
    """Yield the real path of each file. Links in the path of a folder are resolved once for all its files."""
    folders: dict[str, str] = {}
    for file in files:
        folder, name = os.path.split(file)
        if folder not in folders:
            folders[folder] = os.path.realpath(folder)
        yield os.path.realpath(file) if os.path.islink(file) else os.path.join(folders[folder], name)


def read_source(file: str) -> str:
    """Read the text of a task file. Raises `InputError` if it cannot be read."""
    try:
        with open(file, "rb", buffering=0) as opened:
            raw = opened.read()
    except OSError as error:
        raise InputError([Problem(file, 1, 1, f"cannot be read: {error.strerror}")]) from None
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        message = f"not UTF-8: the byte 0x{raw[error.start]:02x}; save the file as UTF-8"
        raise InputError([Problem(file, line, column, message)]) from None
