"""Define the classes `Format` and `Source`, with which the modules in `formats` declare what they read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from corepath.authoring.derive import Expected
from corepath.episode import Episode
from corepath.errors import Problem
from corepath.importers.reading import Sample, read_records, try_record

Mismatch = Callable[[Any], str | None]
"""A function that explains why a record is not in a format, or returns None if it is."""
ReadRecord = Callable[[Any], Iterator[Episode]]
"""A function that yields the episodes in one record. It raises `RecordError` if the record is malformed."""

_SAMPLE: Final = 20
"""How many records at the start of a file are checked to recognise the file's format."""


@dataclass(frozen=True)
class Format:
    """A trace format that corepath can import. The format's module declares it as `FORMAT`."""

    name: str
    """The name that users pass to `--from`. The module has the same name, with `_` instead of `-`."""
    errors: str
    """When a call counts as failed, in the words of docs/import.md."""
    recognise: Callable[[Sample], str | None]
    """Explain why a file is not in this format, or return None if it is."""
    read: Callable[[Path], Iterator[Episode | Problem]]
    """Yield a file's episodes, and a `Problem` for each bad record. The episodes need not name a task."""
    read_together: Callable[[Sequence[Path]], Iterator[Episode | Problem]] | None = None
    """Like `read`, but for several files among which the records of one episode may be spread.

    It is None if an episode is always within one file.
    """
    companions: Callable[[Path], Iterator[Path]] = lambda _: iter(())
    """Yield the other files that `read` reads too, so that they are not read again by themselves."""
    signs: tuple[str, ...] = ()
    """Words of ASCII letters and underscores of which each file in this format has one, or none if that is unknown.

    They save `auto` the work of recognising a format that reads the file itself, not only the sample.
    """
    configure: Callable[[str], Format] | None = None
    """A function that makes the format for `--from NAME:SETTING`, or None if the format has no setting."""


@dataclass(frozen=True)
class Source:
    """A file format for expected calls, which `corepath derive` reads. The format's module declares it as `SOURCE`."""

    name: str
    """The name that users pass to `derive --from`. The module has the same name, with `_` instead of `-`."""
    recognise: Callable[[Sample], str | None]
    """Explain why a file is not in this format, or return None if it is."""
    read: Callable[[Path], Iterator[Expected | Problem]]
    """Yield the expected calls for each task, and a `Problem` for each malformed task."""
    tool_file: Path | None = None
    """The tool file that corepath ships for this source, or None if users have to provide one."""


def record_format(name: str, errors: str, mismatch: Mismatch, read_record: ReadRecord) -> Format:
    """Define a format whose records are independent JSON values.

    `errors` says when a call counts as failed.
    """

    def read(file: Path) -> Iterator[Episode | Problem]:
        empty = True
        for place, value in read_records(file, lambda one: mismatch(one) is None):
            empty = False
            yield from try_record(place, value, read_record)
        if empty:
            yield Problem(str(file), 1, 1, "no records in this file")

    return Format(name, errors, lambda sample: recognise_records(sample, mismatch), read)


def recognise_records(sample: Sample, mismatch: Mismatch) -> str | None:
    """Explain why none of a file's first records is in a format, or return None if at least one is."""
    why: str | None = None
    for value in islice(sample.records(lambda one: mismatch(one) is None), _SAMPLE):
        if isinstance(value, Problem):
            why = why or value.message
            continue
        why = mismatch(value)
        if why is None:
            return None
    return why or "no records in it"
