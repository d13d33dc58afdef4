"""Import traces that other tools wrote, without installing those tools.

Each module in `formats` reads one format, `registry` lists the formats, and `format` defines what a format is. The
other modules hold code that the formats share.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from corepath.episode import Episode
from corepath.errors import InputError, Problem
from corepath.importers.reading import readable
from corepath.importers.registry import find_format, recognise_format


def import_trace(path: str | Path, format: str = "auto") -> Iterator[Episode | Problem]:  # noqa: A002
    """Yield the episodes in a trace file one by one, and a `Problem` for each record that cannot be read.

    `path` may be `-` for standard input. `format` is a name in `registry.FORMATS`, `generic:MAP.yaml`, or `auto`, which
    recognises the format from the file. Raises `InputError` if the file cannot be read or its format is not recognised.
    """
    known = None if format == "auto" else find_format(format)
    with readable(Path(path)) as (file, name):
        try:
            for found in (known or recognise_format(file)).read(file):
                yield _rename(found, file, name) if isinstance(found, Problem) else found
        except InputError as error:
            raise InputError(_rename(one, file, name) for one in error.problems) from None


def _rename(problem: Problem, file: Path, name: str) -> Problem:
    """Return `problem` with the file name that the user passed instead of a temporary copy's path."""
    return replace(problem, file=name) if problem.file == str(file) else problem
