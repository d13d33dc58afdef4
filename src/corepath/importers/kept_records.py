"""Keep parsed records, on disk if need be, so that a file that is larger than memory is parsed only once."""

from __future__ import annotations

import marshal
from array import array
from collections.abc import Iterator
from tempfile import TemporaryFile
from typing import Any, Final, Self

from corepath.errors import Problem
from corepath.importers.reading import Place

_BUFFER: Final = 2**20


class KeptRecords:
    """Records and their places, numbered from 0 in the order in which they were added.

    They are kept in a temporary file unless `in_memory` is true. Use it in a `with` statement.
    """

    def __init__(self, name: str, *, in_memory: bool = False) -> None:
        self._name = name
        self._in_memory: list[tuple[Place, Any]] | None = [] if in_memory else None
        self._file = TemporaryFile(buffering=_BUFFER)  # noqa: SIM115 - closed in __exit__
        self._ends = array("q", [0])
        self._place = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, place: Place, value: Any) -> int:
        """Add a record, which may be a `Problem`, and return its number."""
        if self._in_memory is not None:
            self._in_memory.append((place, value))
            return len(self._in_memory) - 1
        broken = (value.file, value.line, value.column, value.message) if isinstance(value, Problem) else None
        packed = marshal.dumps((place.line, place.number, None if broken else value, broken))
        self._seek(self._ends[-1])
        self._place += self._file.write(packed)
        self._ends.append(self._place)
        return len(self._ends) - 2

    def __iter__(self) -> Iterator[tuple[Place, Any]]:
        return iter(self._in_memory) if self._in_memory is not None else map(self.load, range(len(self._ends) - 1))

    def load(self, number: int) -> tuple[Place, Any]:
        """Return the place and the value of a record."""
        if self._in_memory is not None:
            return self._in_memory[number]
        self._seek(self._ends[number])
        packed = self._file.read(self._ends[number + 1] - self._place)
        self._place += len(packed)
        line, place, value, broken = marshal.loads(packed)  # noqa: S302 - only this class writes the file
        return Place(self._name, line, place), value if broken is None else Problem(*broken)

    def _seek(self, place: int) -> None:
        if place != self._place:
            self._file.seek(place)
            self._place = place
