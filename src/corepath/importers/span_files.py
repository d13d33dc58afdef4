"""Read JSON files span by span, in any form that `span_envelopes` lists.

A file, or even a single line, may be larger than memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from corepath.errors import Problem, RecordError
from corepath.importers.compressed import open_bytes
from corepath.importers.content import describe_type
from corepath.importers.json_lines import read_lines
from corepath.importers.json_parts import PartError, Text, read_parts
from corepath.importers.json_parts import Path as PartPath
from corepath.importers.otlp import Resource, Span, parse_span
from corepath.importers.parquet import is_parquet, read_parquet
from corepath.importers.span_envelopes import GROUPS, SCOPES, WRAPPERS, find_spans, group_of, resources_in
from corepath.importers.span_forms import is_phoenix, to_otlp
from corepath.importers.span_rows import row_span
from corepath.importers.span_tables import is_table_start, read_table

_OBJECTS: Final = ((), *((group,) for group in GROUPS), *((group, scope) for group in GROUPS for scope in SCOPES))
"""The names on the paths of objects that contain spans. Other objects on these paths are spans themselves."""
_SPAN_LISTS: Final = (("spans",), *((*names, "spans") for names in _OBJECTS if len(names) == 2))


@dataclass(frozen=True)
class Found:
    """A span, its line in the file, and its group id. A group consists of the spans that one resource sent."""

    span: Span
    line: int
    group: str


class Wanted(Protocol):
    """Says of a whole line or row, before it is read, whether it is wanted."""

    def __call__(self, file: str, line: int, value: Any, /) -> bool:
        """Return False to skip the line or row with this value."""


def all_wanted(_file: str, _line: int, _value: Any, /) -> bool:
    """Want every line and row."""
    return True


def read_spans(file: Path, wanted: Wanted = all_wanted) -> Iterator[Found | Resource | Problem]:
    """Yield a file's spans and resources in order, and a `Problem` for each span or resource that is malformed."""
    name = str(file)

    def read_value(name: str, line: int, value: Any) -> Iterator[Found | Resource | Problem]:
        return _read_value(name, line, value) if wanted(name, line, value) else iter(())

    try:
        if is_parquet(file):
            for number, row in enumerate(read_parquet(file), start=1):
                if isinstance(row, Problem):
                    yield row
                elif wanted(name, number, row):
                    yield from _read_row(name, number, row)
            return
        with open_bytes(file) as read:
            yield from read_lines(name, read, read_value, _read_in_parts, (is_table_start, _read_in_table))
    except OSError as error:
        yield Problem(name, 1, 1, f"cannot be read: {error.strerror}")


def _read_row(name: str, number: int, row: Mapping[str, Any]) -> Iterator[Found | Resource | Problem]:
    """Yield the span in a row of a Parquet file, and its resource. Its times are in microseconds."""
    try:
        yield from _read_value(name, number, row if is_phoenix(row) else row_span(row))
    except RecordError as error:
        yield Problem(name, number, 1, str(error))


def _read_value(name: str, line: int, value: Any) -> Iterator[Found | Resource | Problem]:
    try:
        for one in find_spans(value, str(line)):
            yield one if isinstance(one, Resource) else _try_span(name, line, *one)
    except RecordError as error:
        yield Problem(name, line, 1, str(error))


def _try_span(name: str, line: int, group: str, raw: Mapping[str, Any]) -> Found | Problem:
    try:
        return Found(parse_span(to_otlp(raw)), line, group_of(raw, group))
    except RecordError as error:
        which = raw.get("spanId") or raw.get("spanID") or raw.get("name")
        return Problem(name, line, 1, f"span {which!s:.60}: {error}" if which else str(error))


def _read_in_table(name: str, text: Text, line: int) -> Iterator[Found | Resource | Problem]:
    """Yield spans from a data frame that is too large to parse at once."""
    try:
        for number, row in enumerate(read_table(text)):
            yield _try_span(name, line, str(number), row)
    except PartError as error:
        yield Problem(name, line + error.line - 1, 1, str(error))


def _read_in_parts(name: str, text: Text, first_line: int) -> Iterator[Found | Resource | Problem]:
    """Yield spans and resources from text that is too large to parse at once or is spread over many lines."""
    pending = _Fields((), first_line)
    before: PartPath = ()
    try:
        for path, part_line, value in read_parts(text, _enter):
            line = first_line + part_line - 1
            inside = path[:-1] if _is_field(path) else path
            pending.has_spans = pending.has_spans or _is_inside(inside, pending.path)
            if inside == path:
                yield from _read_part(name, line, path, value)
            else:
                if inside != pending.path:
                    yield from pending.read(name)
                    pending = _Fields(inside, line, has_spans=_is_inside(before, inside))
                pending.fields[str(path[-1])] = value
            before = inside
    except PartError as error:
        yield Problem(name, first_line + error.line - 1, 1, str(error))
    yield from pending.read(name)


@dataclass
class _Fields:
    """The fields of an object that is read part by part: a span, or an object around spans.

    `path` is the object's path in the file.
    """

    path: PartPath
    line: int
    fields: dict[str, Any] = field(default_factory=dict)
    has_spans: bool = False

    def read(self, name: str) -> Iterator[Found | Resource | Problem]:
        """Yield the span and its resource, or only the resources of an object around spans."""
        try:
            if self.has_spans:
                yield from resources_in(self.fields, _group(self.path))
            elif self.fields:
                yield from _read_value(name, self.line, self.fields)
        except RecordError as error:
            yield Problem(name, self.line, 1, str(error))


def _is_field(path: PartPath) -> bool:
    """Return True if the part at `path` is a field of an object outside the groups of spans."""
    names = _names(path)
    return isinstance(path[-1], str) and names[:1] not in _OBJECTS[1:] and names not in _SPAN_LISTS


def _is_inside(path: PartPath, outer: PartPath) -> bool:
    return len(path) > len(outer) > 0 and path[: len(outer)] == outer


def _read_part(name: str, line: int, path: PartPath, value: Any) -> Iterator[Found | Resource | Problem]:
    """Yield the span or resource in one part of a group of spans. Other fields are ignored."""
    names = _names(path)
    if names[1:] == ("resource",) and isinstance(value, dict):
        try:
            yield from resources_in({"resource": value}, _group(path))
        except RecordError as error:
            yield Problem(name, line, 1, str(error))
    elif names[-1:] == ("spans",) and isinstance(value, dict):
        yield _try_span(name, line, _group(path), value)
    elif not names or names[-1] in (*GROUPS, *SCOPES, "spans"):
        yield Problem(name, line, 1, f"not OTLP: {describe_type(value)} instead of an object or a list of spans")


def _enter(path: PartPath) -> bool:
    """Return True if the value at `path` may contain spans, so that it is read item by item."""
    names = _names(path)
    return names in _OBJECTS or (names in _SPAN_LISTS and path[-1] == "spans")


def _names(path: PartPath) -> tuple[str, ...]:
    """Return the field names on a path, without the wrappers at its beginning."""
    names = tuple(one for one in path if isinstance(one, str))
    while names and names[0] in WRAPPERS:
        names = names[1:]
    return names


def _group(path: PartPath) -> str:
    """Return the id of a part's group, e.g. `0.2`. The id consists of the list indexes on the path to the group."""
    numbers: list[str] = []
    for one in path:
        if isinstance(one, int):
            numbers.append(str(one))
        elif one not in (*GROUPS, *WRAPPERS):
            break
    return ".".join(numbers)
