"""JSON files record by record: JSON lines, one JSON value, or a list of values."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from corepath.errors import InputError, Problem
from corepath.files.document import describe_json_error
from corepath.importers.json_parts import PartError, parts
from corepath.values import parse_json

_LOOKED_AT: Final = 4096
"""Bytes at the start of a file that tell what it is."""
_FIRST_LINES: Final = 3
_MORE: Final = "not JSON: Extra data"
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


@contextmanager
def readable(path: Path) -> Iterator[tuple[Path, str]]:
    """A file that can be read more than once, and its name: a pipe and the standard input, `-`, are copied first.

    Raises `InputError` where there is no text to read.
    """
    standard = str(path) == "-"
    name = "<stdin>" if standard else str(path)
    try:
        if path.is_file() and not standard:
            _look_at(path, name)
            yield path, name
            return
        given = nullcontext(sys.stdin.buffer) if standard else path.open("rb")
        with TemporaryDirectory() as folder, given as read:
            copy = Path(folder, path.name)
            with copy.open("wb") as write:
                shutil.copyfileobj(read, write)
            _look_at(copy, name)
            yield copy, name
    except FileNotFoundError:
        raise InputError([Problem(name, 1, 1, "no such file")]) from None
    except IsADirectoryError:
        raise InputError([Problem(name, 1, 1, "a folder; name the files in it")]) from None
    except OSError as error:
        raise InputError([Problem(name, 1, 1, f"cannot be read: {error.strerror}")]) from None


def _look_at(file: Path, name: str) -> None:
    with file.open("rb") as read:
        begin = read.read(_LOOKED_AT)
    why = None
    if not begin.strip() and len(begin) < _LOOKED_AT:
        why = "the file is empty"
    elif begin.startswith(b"\x1f\x8b"):
        why = "compressed with gzip; unpack it first"
    elif begin.startswith((b"\xff\xfe", b"\xfe\xff")) or (begin[:4].isascii() and begin[:4].count(0) == 2):
        why = "UTF-16; save it as UTF-8"
    if why is not None:
        raise InputError([Problem(name, 1, 1, why)])


def records(file: Path, whole: Callable[[Any], bool]) -> Iterator[tuple[Place, Any]]:
    """The records of a file with their places; a Problem in the place of one that cannot be read.

    `whole` says whether a value is one record; a list that is none is a list of records. A file of JSON lines is read
    line by line, so that it may be larger than memory.
    """
    name = str(file)
    try:
        if not is_lines(file):
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


def is_lines(file: Path) -> bool:
    """Whether each line is a JSON value of its own: the first, or another after one that is broken, not continued."""
    with file.open("rb") as read:
        lines = list(islice((line for line in read if line.strip()), _FIRST_LINES))
    if len(lines) < 2 or _stands_alone(lines[0]):
        return len(lines) > 1
    text, first = (b"".join(some).decode("utf-8-sig", "replace").strip() for some in (lines, lines[:1]))
    try:
        _, end = json.JSONDecoder(parse_int=str).raw_decode(text)
    except json.JSONDecodeError as error:
        return error.pos < len(text) and any(map(_stands_alone, lines[1:]))
    except RecursionError:
        return any(map(_stands_alone, lines[1:]))
    return end <= len(first)


def _stands_alone(line: bytes) -> bool:
    try:
        parse_json(line.decode("utf-8-sig"), stored=True)
    except ValueError:
        return False
    return True


def _all(name: str, raw: bytes, whole: Callable[[Any], bool]) -> Iterator[tuple[Place, Any]]:
    place = Place(name)
    value = _value(place, raw)
    if isinstance(value, Problem) and value.message == _MORE:
        yield from _one_after_another(name, raw.decode("utf-8-sig"))
        return
    kept = before_the_fault(raw) if isinstance(value, Problem) else value
    if isinstance(kept, list) and not whole(kept):
        for number, one in enumerate(kept, start=1):
            yield Place(name, 1, number), one
    elif not isinstance(value, Problem):
        yield place, value
    if isinstance(value, Problem):
        yield place, value


def _one_after_another(name: str, text: str) -> Iterator[tuple[Place, Any]]:
    """The values of a file that has more than one, each over several lines."""
    try:
        for _, line, value in parts(io.StringIO(text), lambda _: False):
            yield Place(name, line), value
    except PartError as error:
        place = Place(name, error.line)
        yield place, place.problem(str(error))


def before_the_fault(raw: bytes) -> Any:
    """What a broken file holds before its fault: a list, or an object with lists, of the items that are whole.

    None where that is nothing. A list that is one record is then a part of it, which is for the caller to refuse.
    """
    text = raw.decode("utf-8-sig", "replace")
    try:
        json.loads(text, parse_int=str)
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
        return parse_json(text[:end] + closing, stored=True) if end else None
    except ValueError:
        return None


def _value(place: Place, raw: bytes) -> Any:
    try:
        return parse_json(raw.decode("utf-8-sig"), stored=True)
    except UnicodeDecodeError as error:
        return place.problem(f"not UTF-8: the byte 0x{raw[error.start]:02x}")
    except json.JSONDecodeError as error:
        found = place.problem(f"not JSON: {describe_json_error(error)}")
        return Problem(found.file, place.line + error.lineno - 1, error.colno, found.message)
    except ValueError as error:
        return place.problem(describe_json_error(error))
