"""Look at the records of a file a second time, without keeping them in memory."""

from __future__ import annotations

import marshal
from array import array
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Final, Self

from corepath.errors import Problem
from corepath.importers.reading import Place, parse_line

_BUFFER: Final = 2**18


class KeptRecords:
    """Records and their places, numbered from 0 in the order in which they were added.

    A record that is a line of the file is read there again, and others are copied to a temporary file. Use it in a
    `with` statement.
    """

    def __init__(self, file: Path) -> None:
        self._name = str(file)
        self._file = file.open("rb", buffering=_BUFFER)
        self._copies = TemporaryFile(buffering=_BUFFER)  # noqa: SIM115 - closed in __exit__
        self._end = 0
        self._lines = array("q")
        self._starts = array("q")
        self._sizes = array("q")
        """The size of each record's copy, or 0 if the record is a line of the file."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._copies.close()

    def add(self, place: Place, value: Any) -> int:
        """Add a record, which may be a `Problem`, and return its number."""
        self._lines.append(place.line)
        if place.start is None:
            self._copies.seek(self._end)
            self._starts.append(self._end)
            self._sizes.append(self._copies.write(_pack(place, value)))
            self._end += self._sizes[-1]
        else:
            self._starts.append(place.start)
            self._sizes.append(0)
        return len(self._lines) - 1

    def __iter__(self) -> Iterator[tuple[Place, Any]]:
        return map(self.load, range(len(self._lines)))

    def load(self, number: int) -> tuple[Place, Any]:
        """Return the place and the value of a record."""
        line, start, size = self._lines[number], self._starts[number], self._sizes[number]
        if size:
            self._copies.seek(start)
            return _unpack(self._name, line, self._copies.read(size))
        self._file.seek(start)
        place = Place(self._name, line, None, start)
        return place, parse_line(place, self._file.readline())


def _pack(place: Place, value: Any) -> bytes:
    broken = (value.file, value.line, value.column, value.message) if isinstance(value, Problem) else None
    return marshal.dumps((place.number, None if broken else value, broken))


def _unpack(name: str, line: int, packed: bytes) -> tuple[Place, Any]:
    number, value, broken = marshal.loads(packed)  # noqa: S302 - only this module writes what is read here
    return Place(name, line, number), value if broken is None else Problem(*broken)
