"""Read the rows that tracing platforms export: JSON lines, JSON with nested lists of rows, and Parquet.

A file, or even a single line, may be larger than memory.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from corepath.errors import Problem, RecordError
from corepath.importers.compressed import open_bytes
from corepath.importers.content import describe_type
from corepath.importers.json_lines import LONGEST_LINE, read_lines
from corepath.importers.json_parts import PartError, Text, read_parts
from corepath.importers.json_parts import Path as PartPath
from corepath.importers.otlp import Span
from corepath.importers.parquet import is_parquet, read_parquet
from corepath.importers.span_files import Found, Wanted, all_wanted

_START: Final = 2 * LONGEST_LINE
"""How many bytes at the start of a text file are read to recognise the file's format."""
_SAMPLE: Final = 200
"""How many rows at the start of a file are checked to recognise the file's format."""

Row = Mapping[str, Any]
ReadRow = Callable[[Row, Row], Span | None]
"""A function that turns a row and the row that contains it (or an empty one) into a span, or None if it is none.

It raises `RecordError` if the row is malformed.
"""


@dataclass(frozen=True)
class RowFormat:
    """What the rows of a platform look like.

    `lists` names the fields that hold a list of rows, in the answers of the platform's API and in rows themselves.
    A text file of the platform has one of `keys` near its start.
    """

    name: str
    lists: tuple[str, ...]
    keys: tuple[str, ...]
    read_row: ReadRow
    trace_name: Callable[[str], bool]
    """Return True for the name of the field with a row's trace id."""

    def trace_of(self, value: Any) -> str | None:
        """Return the trace id in a single row, or None if it has none, or if `value` holds other rows."""
        if not isinstance(value, dict) or any(isinstance(value.get(name), (dict, list)) for name in self.lists):
            return None
        given = [one for name, one in value.items() if self.trace_name(name)]
        return given[0] or None if len(given) == 1 and isinstance(given[0], str) else None

    def recognise(self, file: Path) -> str | None:
        """Explain why a file has no rows of this platform, or return None if one of its first rows is."""
        try:
            rows = self.read(file) if is_parquet(file) else self._read_start(file)
        except OSError as error:
            return f"cannot be read: {error.strerror}"
        if rows is None:
            return f"none of the fields {', '.join(self.keys)}"
        found = any(isinstance(one, Found) for one in islice(rows, _SAMPLE))
        return None if found else f"no {self.name} among the first rows"

    def _read_start(self, file: Path) -> Iterator[Found | Problem] | None:
        """Return the rows at the start of a text file, or None if none of the platform's fields is there."""
        with open_bytes(file) as read:
            start = read.read(_START)
        if not any(f'"{key}"'.encode() in start for key in self.keys):
            return None
        text = io.BufferedReader(io.BytesIO(start))
        return read_lines(str(file), text, self._read_value, self._read_in_parts)

    def read(self, file: Path, wanted: Wanted = all_wanted) -> Iterator[Found | Problem]:
        """Yield a file's rows as spans, and a `Problem` for each row that is malformed."""
        name = str(file)

        def read_value(name: str, line: int, value: Any) -> Iterator[Found | Problem]:
            return self._read_value(name, line, value) if wanted(name, line, value) else iter(())

        try:
            if is_parquet(file):
                for number, row in enumerate(read_parquet(file), start=1):
                    yield from (row,) if isinstance(row, Problem) else read_value(name, number, row)
                return
            with open_bytes(file) as read:
                yield from read_lines(name, read, read_value, self._read_in_parts)
        except OSError as error:
            yield Problem(name, 1, 1, f"cannot be read: {error.strerror}")

    def _read_in_parts(self, name: str, text: Text, first_line: int) -> Iterator[Found | Problem]:
        """Yield the rows in text that is too large to parse at once or is spread over many lines.

        The items of a list are parsed one by one. The other fields of the object around the lists are a row too.
        """
        number: str | int = 0
        row: dict[str, Any] = {}
        line, in_list = first_line, False
        try:
            for path, part_line, value in read_parts(text, self._enter):
                line = first_line + part_line - 1
                if path[0] != number:
                    yield from self._read_rest(name, line, row, in_list=in_list)
                    number, row, in_list = path[0], {}, False
                if len(path) == 1 or isinstance(path[-1], int):
                    in_list = True
                    yield from self._read_value(name, line, value, row)
                else:
                    _put(row, path[1:], value)
        except PartError as error:
            yield Problem(name, first_line + error.line - 1, 1, str(error))
        yield from self._read_rest(name, line, row, in_list=in_list)

    def _read_rest(self, name: str, line: int, row: Row, *, in_list: bool) -> Iterator[Found | Problem]:
        """Yield the row around the lists that were read before. If there are such lists, it need not be a row."""
        if row:
            yield from (one for one in self._read_value(name, line, row) if not in_list or isinstance(one, Found))

    def _enter(self, path: PartPath) -> bool:
        return len(path) == 1 or path[-1] in self.lists

    def _read_value(self, name: str, line: int, value: Any, above: Row | None = None) -> Iterator[Found | Problem]:
        """Yield the spans in a value: a row, with the rows in its lists, or a list of rows.

        `above` is the row that contains the value. A list of rows may hold ids instead, which are ignored.
        """
        if isinstance(value, list):
            for one in value:
                yield from self._read_value(name, line, one, above)
        elif isinstance(value, dict):
            inner = {field: value[field] for field in self.lists if isinstance(value.get(field), (list, dict))}
            row = {field: one for field, one in value.items() if field not in inner}
            yield from self._read_row(name, line, row, above or {}, is_row=not inner)
            for one in inner.values():
                yield from self._read_value(name, line, one, row)
        elif above is None or not isinstance(value, str):
            yield Problem(name, line, 1, f"expected an object, not {describe_type(value)}")

    def _read_row(self, name: str, line: int, row: Row, above: Row, *, is_row: bool) -> Iterator[Found | Problem]:
        """Yield the span of a row. If `is_row` is false, it may also be an object that only holds lists of rows."""
        try:
            span = self.read_row(row, above)
        except RecordError as error:
            yield Problem(name, line, 1, str(error))
            return
        if span is not None:
            yield Found(span, line, "")
        elif is_row:
            yield Problem(
                name, line, 1, f"not one of the {self.name}: it has {', '.join(map(str, row))[:120] or 'no field'}"
            )


def _put(row: dict[str, Any], path: PartPath, value: Any) -> None:
    """Set the value at a path in nested dicts."""
    for name in path[:-1]:
        inner = row.setdefault(str(name), {})
        if not isinstance(inner, dict):
            return
        row = inner
    row[str(path[-1])] = value
