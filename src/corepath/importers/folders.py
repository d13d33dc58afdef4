"""Import many files at once: find them in folders, recognise each, and join those that belong together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NamedTuple

from corepath.episode import Episode
from corepath.errors import InputError, Problem
from corepath.importers.format import Format
from corepath.importers.reading import readable

ENDINGS: Final = (".json", ".jsonl", ".ndjson", ".eval", ".traj", ".parquet", ".log", ".sse")
"""The endings of files that are looked at in a folder. `only` can name others."""
NO_FILES: Final = f"no files of traces in this folder: none ends in {', '.join(ENDINGS)}"


class Imported(NamedTuple):
    """An imported episode, its file, and its number (from 1) among the episodes of that file."""

    episode: Episode
    file: Path
    number: int


def find_files(paths: Iterable[Path], only: Sequence[str] = ()) -> list[Path]:
    """Return the named files and the files in the named folders, in a fixed order.

    In a folder and the folders in it, files with one of the `ENDINGS` are taken, or else files that match one of the
    patterns `only`. Hidden files and folders are left out. A pattern is for the end of the path, as in `runs/*.json`.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            found |= dict.fromkeys(one for one in _walk(path) if _is_wanted(one, only))
        else:
            found[path] = None
    return list(found)


def _walk(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder, and then those in its folders."""
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(here, name) for name in sorted(files) if not name.startswith("."))


def _is_wanted(file: Path, only: Sequence[str]) -> bool:
    if not only:
        return file.suffix.lower() in ENDINGS
    return any(fnmatchcase(file.absolute().as_posix(), f"*/{pattern}") for pattern in only)


def import_traces(
    files: Iterable[Path], choose: Callable[[Path], Format], tell: Callable[[Path], None] = lambda _: None
) -> Iterator[Imported | Problem]:
    """Yield the episodes in files, and a `Problem` for each record or file that cannot be read.

    `choose` returns a file's format, and raises `InputError` if there is none. Files of a format whose episodes may be
    spread over several files are read together. `tell` is called with each file before it is read.
    """
    order: list[tuple[Format, list[Path]]] = []
    together: dict[str, list[Path]] = {}
    claimed: set[Path] = set()
    for file in files:
        if file in claimed:
            continue
        tell(file)
        if not file.is_file():  # a pipe can be read only once
            yield from _read_pipe(file, choose)
            continue
        try:
            with readable(file):
                chosen = choose(file)
        except InputError as error:
            yield from error.problems
            continue
        claimed.update(chosen.companions(file))
        if chosen.read_together is None:
            yield from _number(file, chosen.read(file))
        elif chosen.name in together:
            together[chosen.name].append(file)
        else:
            together[chosen.name] = [file]
            order.append((chosen, together[chosen.name]))
    for chosen, joined in order:
        read = chosen.read_together
        yield from _number(joined[0], chosen.read(joined[0]) if read is None or len(joined) == 1 else read(joined))


def _read_pipe(file: Path, choose: Callable[[Path], Format]) -> Iterator[Imported | Problem]:
    """Yield the episodes in standard input or a pipe, which is copied to a file first."""
    try:
        with readable(file) as (copy, name):
            for one in _number(Path(name), choose(copy).read(copy)):
                yield replace(one, file=name) if isinstance(one, Problem) and one.file == str(copy) else one
    except InputError as error:
        yield from error.problems


def _number(file: Path, found: Iterator[Episode | Problem]) -> Iterator[Imported | Problem]:
    """Number the episodes in a file. It is a problem if there is nothing in it."""
    number = 0
    is_empty = True
    for one in found:
        is_empty = False
        if isinstance(one, Problem):
            yield one
        else:
            number += 1
            yield Imported(one, file, number)
    if is_empty:
        yield Problem(str(file), 1, 1, "no episodes in this file")
