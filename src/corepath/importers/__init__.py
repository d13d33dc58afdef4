"""Import the traces of other tools as episodes, without the packages that wrote them.

`formats` has one module a format, `registry` lists them, and `format` defines what a format is. The other modules are
what formats share.
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
    """Read the episodes of a file one by one, with a problem for each bad record.

    `format` is a name in `registry.FORMATS`, `generic:MAP.yaml`, or `auto` to recognise it. Raises `InputError` if the
    file cannot be read or no format fits. The path `-` is standard input.
    """
    known = None if format == "auto" else find_format(format)
    with readable(Path(path)) as (file, name):
        try:
            for found in (known or recognise_format(file)).read(file):
                yield _rename(found, file, name) if isinstance(found, Problem) else found
        except InputError as error:
            raise InputError(_rename(one, file, name) for one in error.problems) from None


def _rename(problem: Problem, file: Path, name: str) -> Problem:
    """Replace the path of a temporary copy with the name the user gave."""
    return replace(problem, file=name) if problem.file == str(file) else problem
