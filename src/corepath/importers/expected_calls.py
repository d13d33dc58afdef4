"""Read the calls that a benchmark or a person expects in each task."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from corepath.authoring.derive import Expected
from corepath.errors import InputError, Problem
from corepath.importers.format import Source
from corepath.importers.registry import find_source, recognise_source


def read_expected_calls(path: str | Path, source: str = "auto") -> Iterator[Expected | Problem]:
    """Yield each task's expected calls, and a `Problem` for each malformed task.

    `source` is a name in `registry.SOURCES`, or `auto`, which recognises the source from the file. A task that appears
    twice is yielded once, and is a problem if its calls differ. Raises `InputError` if the file does not exist or its
    source is not recognised.
    """
    file = Path(path)
    known: dict[str, Expected] = {}
    for one in source_of(file, source).read(file):
        if isinstance(one, Problem):
            yield one
        elif one.id not in known:
            known[one.id] = one
            yield one
        elif one.fingerprint != known[one.id].fingerprint:
            yield Problem(str(file), 1, 1, f"task '{one.id[:120]}' appears twice, with different expected calls")


def is_source(file: Path) -> bool:
    """Return True if a file has expected calls in a known form."""
    try:
        return recognise_source(file) is not None
    except InputError:
        return False


def source_of(file: Path, source: str = "auto") -> Source:
    """Look up a source by name, or recognise it from `file` if `source` is `auto`.

    Raises `InputError` if the file does not exist or its source is not recognised.
    """
    if not file.exists():
        raise InputError([Problem(str(file), 1, 1, "no such file")])
    return recognise_source(file) if source == "auto" else find_source(source)
