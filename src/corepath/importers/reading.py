"""JSON files record by record: JSON lines, one JSON value, or a list of values."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from corepath.errors import Problem
from corepath.json_values import parse_json
from corepath.located import why_unread

_SIGNS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]')


@dataclass(frozen=True)
class Place:
    """Where a record stands: a line of a file, and its number in a list, from 1, where it stands in one."""

    file: str
    line: int = 1
    number: int | None = None

    def problem(self, message: str) -> Problem:
        """Something wrong with the record."""
        which = "" if self.number is None else f"record {self.number}: "
        return Problem(self.file, self.line, 1, which + message)


def records(file: Path, whole: Callable[[Any], bool]) -> Iterator[tuple[Place, Any]]:
    """The records of a file with their places; a Problem in the place of one that cannot be read.

    `whole` says whether a value is one record; a list that is none is a list of records. A file of JSON lines is read
    line by line, so that it may be larger than memory.
    """
    name = str(file)
    try:
        lines = _is_lines(file)
        if not lines:
            yield from _all(name, file.read_bytes(), whole)
            return
        with file.open("rb") as read:
            for number, raw in enumerate(read, start=1):
                if raw.strip():
                    place = Place(name, number)
                    yield place, _value(place, raw.rstrip())
    except OSError as error:
        place = Place(name)
        yield place, place.problem(f"cannot be read: {error.strerror}")


def _is_lines(file: Path) -> bool:
    """Whether the first line is a JSON value of its own and another line follows."""
    with file.open("rb") as read:
        first = read.readline()
        while first and not first.strip():
            first = read.readline()
        rest = any(line.strip() for line in iter(read.readline, b""))
    if not rest:
        return False
    try:
        parse_json(first.decode("utf-8-sig"))
    except ValueError:
        return file.suffix == ".jsonl"
    return True


def _all(name: str, raw: bytes, whole: Callable[[Any], bool]) -> Iterator[tuple[Place, Any]]:
    place = Place(name)
    value = _value(place, raw)
    kept = before_the_fault(raw) if isinstance(value, Problem) else value
    if isinstance(kept, list) and not whole(kept):
        for number, one in enumerate(kept, start=1):
            yield Place(name, 1, number), one
    elif not isinstance(value, Problem):
        yield place, value
    if isinstance(value, Problem):
        yield place, value


def before_the_fault(raw: bytes) -> Any:
    """What a broken file holds before its fault: a list, or an object with lists, of the items that are whole.

    None where that is nothing. A list that is one record is then a part of it, which is for the caller to refuse.
    """
    text = raw.decode("utf-8-sig", "replace")
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        text = text[: error.pos]
    except (ValueError, RecursionError):
        return None
    closers: list[str] = []
    end, closing = 0, ""
    for sign in _SIGNS.finditer(text):
        if sign[0] in "[{":
            closers.append("]" if sign[0] == "[" else "}")
        elif sign[0] in "]}":
            if not closers or closers.pop() != sign[0]:
                break
            if closers in (["]"], ["}", "]"]):
                end, closing = sign.end(), "".join(reversed(closers))
    try:
        return parse_json(text[:end] + closing) if end else None
    except ValueError:
        return None


def _value(place: Place, raw: bytes) -> Any:
    try:
        return parse_json(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return place.problem(f"not UTF-8: the byte 0x{raw[error.start]:02x}")
    except json.JSONDecodeError as error:
        found = place.problem(f"not JSON: {why_unread(error)}")
        return Problem(found.file, place.line + error.lineno - 1, error.colno, found.message)
    except ValueError as error:
        return place.problem(why_unread(error))
