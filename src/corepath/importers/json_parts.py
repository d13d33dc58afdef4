"""Large JSON part by part: a file of which one value alone may be larger than memory."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from corepath.files.document import describe_json_error
from corepath.values import parse_json

Path = tuple[str | int, ...]
"""Where a part stands: the number of the value in the file, then keys and numbers in lists."""

LONGEST: Final = 256 * 2**20
"""Characters of one part; what is longer is refused."""
_CHUNK: Final = 2**18
_NEAR: Final = 16
_SPACE: Final = " \t\r\n"
_REST_OF_NUMBER: Final = re.compile(r"[-+.eE\d]*")


class Text(Protocol):
    """Whatever gives text piece by piece, and nothing at its end."""

    def read(self, size: int, /) -> str:
        """The next characters, at most so many."""


class PartError(ValueError):
    """JSON that does not read; `line` is where, from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def parts(read: Text, enter: Callable[[Path], bool]) -> Iterator[tuple[Path, int, object]]:
    """The parts of the values of a file with their paths and lines.

    A list or an object is read whole, unless `enter` says to go into it. Raises `PartError` where the JSON ends early
    or is wrong; what was given before stands.
    """
    text = _Text(read)
    number = 0
    while text.peek():
        yield from _value(text, (number,), enter)
        number += 1


def _value(text: _Text, path: Path, enter: Callable[[Path], bool]) -> Iterator[tuple[Path, int, object]]:
    opening = text.peek()
    if opening not in ("{", "[") or not enter(path):
        line = text.line
        yield path, line, text.whole()
        return
    text.skip(opening)
    closing = "}" if opening == "{" else "]"
    if text.peek() == closing:
        text.skip(closing)
        return
    number = 0
    while True:
        name: str | int = number
        if opening == "{":
            if text.peek() != '"':
                raise PartError("not JSON: a key in double quotes is missing", text.line)
            name = str(text.whole())
            text.skip(":")
        yield from _value(text, (*path, name), enter)
        number += 1
        if text.peek() == closing:
            text.skip(closing)
            return
        text.skip(",")


class _Text:
    """The text of a file, of which only what is being read is held."""

    def __init__(self, read: Text) -> None:
        self._read, self._held, self._at, self._ended = read, "", 0, False
        self.line = 1
        self._decoder = json.JSONDecoder(parse_int=str)

    def peek(self) -> str:
        """The next sign that is no space; nothing at the end."""
        while True:
            while self._at < len(self._held) and self._held[self._at] in _SPACE:
                self.line += self._held[self._at] == "\n"
                self._at += 1
            if self._at < len(self._held):
                return self._held[self._at]
            if not self._more():
                return ""

    def skip(self, sign: str) -> None:
        found = self.peek()
        if found != sign:
            what = f"'{found}' stands" if found else "the file ends"
            raise PartError(f"not JSON: {what} where '{sign}' is due", self.line)
        self._at += 1

    def whole(self) -> object:
        """The value that begins here."""
        if not self.peek():
            raise PartError("not JSON: the file ends where a value is due", self.line)
        while True:
            try:
                _, end = self._decoder.raw_decode(self._held, self._at)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated") or error.pos >= len(self._held) - _NEAR
                if cut and self._more():
                    continue
                line = self.line + self._held.count("\n", self._at, error.pos)
                early = error.msg.startswith("Unterminated") or error.pos >= len(self._held.rstrip())
                raise PartError(f"not JSON: {'it ends early' if early else describe_json_error(error)}", line) from None
            except RecursionError:
                raise PartError("nested too deeply", self.line) from None
            rest = _REST_OF_NUMBER.match(self._held, end)
            if rest is not None and rest.end() == len(self._held) and self._more():
                continue
            found = self._held[self._at : end]
            try:
                value: object = parse_json(found, stored=True)
            except ValueError as error:
                raise PartError(str(error), self.line) from None
            self.line += found.count("\n")
            self._at = end
            return value

    def _more(self) -> bool:
        """Read on: as much again as is held, so that a long value is not looked at often."""
        if self._ended:
            return False
        left = len(self._held) - self._at
        if left > LONGEST:
            raise PartError(f"a value of more than {LONGEST:,} characters, or a quote that does not end", self.line)
        try:
            read = self._read.read(max(_CHUNK, left))
        except UnicodeDecodeError as error:
            raise PartError(f"not UTF-8: the byte 0x{error.object[error.start]:02x}", self.line) from None
        self._ended = not read
        if read:
            self._held, self._at = self._held[self._at :] + read, 0
        return bool(read)
