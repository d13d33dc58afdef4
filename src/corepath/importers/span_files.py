"""Read OTLP JSON files span by span. A file, or even a single line, may be larger than memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from corepath.errors import Problem, RecordError
from corepath.importers.content import describe_type
from corepath.importers.json_lines import read_lines
from corepath.importers.json_parts import PartError, Text, read_parts
from corepath.importers.json_parts import Path as PartPath
from corepath.importers.otlp import GROUPS, SCOPES, Resource, Span, attributes_of, find_spans, parse_span

_CONTAINERS: Final = ((), *((group,) for group in GROUPS), *((group, scope) for group in GROUPS for scope in SCOPES))


@dataclass(frozen=True)
class Found:
    """A span, its line in the file, and its group id. A group consists of the spans that one resource sent."""

    span: Span
    line: int
    group: str


def read_spans(file: Path) -> Iterator[Found | Resource | Problem]:
    """Yield a file's spans and resources in order, and a `Problem` for each span or resource that is malformed."""
    name = str(file)
    try:
        with file.open("rb") as read:
            yield from read_lines(name, read, _read_value, _read_in_parts)
    except OSError as error:
        yield Problem(name, 1, 1, f"cannot be read: {error.strerror}")


def _read_value(name: str, line: int, value: Any) -> Iterator[Found | Resource | Problem]:
    try:
        for one in find_spans(value, str(line)):
            yield one if isinstance(one, Resource) else _try_span(name, line, *one)
    except RecordError as error:
        yield Problem(name, line, 1, str(error))


def _try_span(name: str, line: int, group: str, raw: Mapping[str, Any]) -> Found | Problem:
    try:
        return Found(parse_span(raw), line, group)
    except RecordError as error:
        which = raw.get("spanId") or raw.get("name")
        return Problem(name, line, 1, f"span {which!s:.60}: {error}" if which else str(error))


def _read_in_parts(name: str, text: Text, first_line: int) -> Iterator[Found | Resource | Problem]:
    """Yield spans and resources from text that is too large to parse at once or is spread over many lines."""
    single = _SingleSpan(())
    groups_path: PartPath = ()
    line = first_line
    try:
        for path, part_line, value in read_parts(text, _enter):
            line = first_line + part_line - 1
            names = [one for one in path if isinstance(one, str)]
            if names and names[0] not in GROUPS:
                if path[:-1] != single.path:
                    yield from single.read(name, line, groups_path)
                    single = _SingleSpan(path[:-1])
                single.fields[names[0]] = value
                continue
            groups_path = path[: path.index(names[0])] if names else groups_path
            yield from _read_part(name, line, path, value)
    except PartError as error:
        yield Problem(name, first_line + error.line - 1, 1, str(error))
    yield from single.read(name, line, groups_path)


@dataclass(frozen=True)
class _SingleSpan:
    """A span outside `resourceSpans`, collected field by field. `path` is the span's path in the file."""

    path: PartPath
    fields: dict[str, Any] = field(default_factory=dict)

    def read(self, name: str, line: int, groups_path: PartPath) -> Iterator[Found | Resource | Problem]:
        """Yield the span and its resource, or nothing if the fields belong to the object with `resourceSpans`."""
        if self.fields and self.path != groups_path:
            yield from _read_value(name, line, self.fields)


def _read_part(name: str, line: int, path: PartPath, value: Any) -> Iterator[Found | Resource | Problem]:
    """Yield the span or resource in one part of `resourceSpans`. Other fields are ignored."""
    names = [one for one in path if isinstance(one, str)]
    if names[1:] == ["resource"] and isinstance(value, dict):
        yield from _resource(name, line, _group(path), value)
    elif names[-1:] == ["spans"] and isinstance(value, dict):
        yield _try_span(name, line, _group(path), value)
    elif not names or names[-1] in (*GROUPS, *SCOPES, "spans"):
        yield Problem(name, line, 1, f"not OTLP: {describe_type(value)} instead of an object or a list of spans")


def _resource(name: str, line: int, group: str, value: Mapping[str, Any]) -> Iterator[Resource | Problem]:
    try:
        yield Resource(group, attributes_of(value.get("attributes")))
    except RecordError as error:
        yield Problem(name, line, 1, str(error))


def _enter(path: PartPath) -> bool:
    """Return True if the value at `path` may contain spans, so that it is read item by item."""
    names = tuple(one for one in path if isinstance(one, str))
    return names in _CONTAINERS or (names[:-1] in _CONTAINERS and len(names) == 3 and path[-1] == "spans")


def _group(path: PartPath) -> str:
    """Return the id of a part's group, e.g. `0.2`. The id consists of the list indexes on the path to the group."""
    numbers: list[str] = []
    for one in path:
        if isinstance(one, int):
            numbers.append(str(one))
        elif one not in GROUPS:
            break
    return ".".join(numbers)
