"""Files of OTLP JSON span by span, of any size: a line, or a file that is one value, may be larger than memory."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from corepath.errors import Problem, RecordError
from corepath.files.document import describe_json_error
from corepath.importers.json_parts import PartError, Text, parts
from corepath.importers.json_parts import Path as PartPath
from corepath.importers.otlp import GROUPS, SCOPES, Resource, Span, attributes_of, kind_of, span_of, spans_of
from corepath.values import parse_json

LONGEST_LINE: Final = 8 * 2**20
"""Bytes of a line that is read at once; a longer one is read part by part."""

_INTO: Final = ((), *((group,) for group in GROUPS), *((group, scope) for group in GROUPS for scope in SCOPES))


@dataclass(frozen=True)
class Found:
    """A span and its place: its line, and the group that it stands in."""

    span: Span
    line: int
    group: str


def read_spans(file: Path) -> Iterator[Found | Resource | Problem]:
    """What a file holds, in its order; a Problem for what cannot be read."""
    name = str(file)
    try:
        with file.open("rb") as read:
            yield from _lines(name, read)
    except OSError as error:
        yield Problem(name, 1, 1, f"cannot be read: {error.strerror}")


def _lines(name: str, read: io.BufferedReader) -> Iterator[Found | Resource | Problem]:
    """Line by line, a very long line part by part; where the first is no value of its own, the whole file so."""
    number, begun = 0, False
    while line := read.readline(LONGEST_LINE):
        number += 1
        whole = line.endswith(b"\n") or len(line) < LONGEST_LINE
        value = _parsed(line) if whole and line.strip() else None
        if not whole:
            rest = _Line(read, line)
            yield from _part_by_part(name, _Decoded(rest.read), number)
            rest.pass_over()
        elif isinstance(value, ValueError) and not begun and read.peek(1):
            read.seek(-len(line), io.SEEK_CUR)
            yield from _part_by_part(name, _Decoded(read.read), number)
            return
        elif isinstance(value, ValueError):
            yield Problem(name, number, 1, f"not JSON: {describe_json_error(value)}")
        elif line.strip():
            yield from _all(name, number, value)
        begun = begun or bool(line.strip())


class _Line:
    """What is left of a line whose beginning was read."""

    def __init__(self, read: io.BufferedReader, begin: bytes) -> None:
        self._read, self._begin, self._ended = read, begin, False

    def read(self, size: int, /) -> bytes:
        raw, self._begin = self._begin, b""
        if not raw and not self._ended:
            raw = self._read.readline(size)
            self._ended = raw.endswith(b"\n") or len(raw) < size
        return raw

    def pass_over(self) -> None:
        """Go to its end."""
        while not self._ended:
            self.read(LONGEST_LINE)


class _Decoded:
    """Bytes as text."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()

    def read(self, size: int, /) -> str:
        while raw := self._read(size):
            if text := self._decoder.decode(raw):
                return text
        return self._decoder.decode(b"", final=True)


def _parsed(line: bytes) -> Any:
    try:
        return parse_json(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return ValueError(f"not UTF-8: the byte 0x{line[error.start]:02x}")
    except ValueError as error:
        return error


def _all(name: str, line: int, value: Any) -> Iterator[Found | Resource | Problem]:
    try:
        for one in spans_of(value, str(line)):
            yield one if isinstance(one, Resource) else _found(name, line, *one)
    except RecordError as error:
        yield Problem(name, line, 1, str(error))


def _found(name: str, line: int, group: str, raw: Mapping[str, Any]) -> Found | Problem:
    try:
        return Found(span_of(raw), line, group)
    except RecordError as error:
        which = raw.get("spanId") or raw.get("name")
        return Problem(name, line, 1, f"span {which!s:.60}: {error}" if which else str(error))


def _part_by_part(name: str, read: Text, first: int) -> Iterator[Found | Resource | Problem]:
    """Spans, resources, and objects that stand outside both, of what is too large or too spread to be a line."""
    loose: dict[str, Any] = {}
    at: PartPath = ()
    holds_groups: PartPath = ()
    line = first
    try:
        for path, place, value in parts(read, _goes_on):
            line = first + place - 1
            names = [one for one in path if isinstance(one, str)]
            if names[:1] and names[0] not in GROUPS:
                if loose and path[:-1] != at and at != holds_groups:
                    yield from _all(name, line, loose)
                loose = {} if path[:-1] != at else loose
                at, loose[names[0]] = path[:-1], value
                continue
            holds_groups = path[: path.index(names[0])] if names else holds_groups
            if names[1:] == ["resource"] and isinstance(value, dict):
                yield from _resource(name, line, _group(path), value)
            elif names[-1:] == ["spans"] and isinstance(value, dict):
                yield _found(name, line, _group(path), value)
            elif not names or names[-1] in (*GROUPS, *SCOPES, "spans"):
                yield Problem(name, line, 1, f"not OTLP: {kind_of(value)} where an object or a list of spans is due")
    except PartError as error:
        yield Problem(name, first + error.line - 1, 1, str(error))
    if loose and at != holds_groups:
        yield from _all(name, line, loose)


def _resource(name: str, line: int, group: str, value: Mapping[str, Any]) -> Iterator[Resource | Problem]:
    try:
        yield Resource(group, attributes_of(value.get("attributes")))
    except RecordError as error:
        yield Problem(name, line, 1, str(error))


def _goes_on(path: PartPath) -> bool:
    names = tuple(one for one in path if isinstance(one, str))
    return names in _INTO or (names[:-1] in _INTO and len(names) == 3 and path[-1] == "spans")


def _group(path: PartPath) -> str:
    """The numbers on the way to the object that holds a resource and its spans."""
    numbers: list[str] = []
    for one in path:
        if isinstance(one, int):
            numbers.append(str(one))
        elif one not in GROUPS:
            break
    return ".".join(numbers)
