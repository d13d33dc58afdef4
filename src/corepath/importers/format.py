"""`Format` and `Source`: the values that a module in `formats` declares to be found by `--from`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from corepath.authoring.derive import Expected
from corepath.episode import Episode
from corepath.errors import Problem
from corepath.importers.reading import read_records, try_record

Mismatch = Callable[[Any], str | None]
"""Why a record is not in a format; None if it is."""
ReadRecord = Callable[[Any], Iterator[Episode]]
"""Read the episodes of one record. Raises `RecordError` if the record is malformed."""

_SAMPLE: Final = 20
"""How many records at the start of a file decide its format."""


@dataclass(frozen=True)
class Format:
    """A trace format that corepath imports. Its module declares it as `FORMAT`."""

    name: str
    """What users pass to `--from`; the module has the same name, with `_` for `-`."""
    errors: str
    """When a call counts as failed, as docs/import.md states it."""
    recognise: Callable[[Path], str | None]
    """Why a file is not in this format; None if it is."""
    read: Callable[[Path], Iterator[Episode | Problem]]
    """Read the episodes of a file, with a problem for each bad record. The episodes need not name a task."""
    configure: Callable[[str], Format] | None = None
    """Make the format for `--from NAME:SETTING`; None if it takes no setting."""


@dataclass(frozen=True)
class Source:
    """A file format that states the calls expected in tasks, for `corepath derive`. Declared as `SOURCE`."""

    name: str
    """What users pass to `derive --from`; the module has the same name, with `_` for `-`."""
    recognise: Callable[[Path], str | None]
    """Why a file is not in this format; None if it is."""
    read: Callable[[Path], Iterator[Expected | Problem]]
    """Read the expected calls of each task, with a problem for each task that is malformed."""
    tool_file: Path | None = None
    """The tool file that ships with corepath; None if the user has to give one."""


def record_format(name: str, errors: str, mismatch: Mismatch, read_record: ReadRecord) -> Format:
    """Define a format whose records are JSON values that can be read independently of each other."""

    def read(file: Path) -> Iterator[Episode | Problem]:
        empty = True
        for place, value in read_records(file, lambda one: mismatch(one) is None):
            empty = False
            yield from try_record(place, value, read_record)
        if empty:
            yield Problem(str(file), 1, 1, "no records in this file")

    return Format(name, errors, lambda file: recognise_records(file, mismatch), read)


def recognise_records(file: Path, mismatch: Mismatch) -> str | None:
    """Why none of a file's first records is in a format; None if one is."""
    why: str | None = None
    tried = 0
    for _, value in read_records(file, lambda one: mismatch(one) is None):
        if isinstance(value, Problem):
            why = why or value.message
            continue
        why = mismatch(value)
        tried += 1
        if why is None or tried == _SAMPLE:
            return why
    return why or "no records in it"
