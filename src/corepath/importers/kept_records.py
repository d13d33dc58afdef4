"""Keep parsed records on disk, so that a file that is larger than memory is parsed only once."""

from __future__ import annotations

import marshal
from array import array
from collections.abc import Iterator
from typing import IO, Any

from corepath.errors import Problem
from corepath.importers.reading import Place


class KeptRecords:
    """Records and their places in an open temporary file, numbered from 0 in the order in which they were added."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file, self._name = file, name
        self._ends = array("q", [0])

    def add(self, place: Place, value: Any) -> int:
        """Add a record, which may be a `Problem`, and return its number."""
        broken = (value.file, value.line, value.column, value.message) if isinstance(value, Problem) else None
        packed = marshal.dumps((place.line, place.number, None if broken else value, broken))
        if self._file.tell() != self._ends[-1]:
            self._file.seek(self._ends[-1])
        self._file.write(packed)
        self._ends.append(self._ends[-1] + len(packed))
        return len(self._ends) - 2

    def __iter__(self) -> Iterator[tuple[Place, Any]]:
        return map(self.load, range(len(self._ends) - 1))

    def load(self, number: int) -> tuple[Place, Any]:
        """Return the place and the value of a record."""
        start = self._ends[number]
        if self._file.tell() != start:
            self._file.seek(start)
        packed = self._file.read(self._ends[number + 1] - start)
        line, place, value, broken = marshal.loads(packed)  # noqa: S302 - only this class writes the file
        return Place(self._name, line, place), value if broken is None else Problem(*broken)
