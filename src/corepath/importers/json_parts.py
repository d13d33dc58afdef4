"""Parse JSON part by part, for files in which a single value may be larger than memory."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from corepath.files.document import describe_json_error
from corepath.values import parse_json

Path = tuple[str | int, ...]
"""A part's path: the value's number in the file, then keys and list indexes, e.g. `(0, "samples", 3)`."""

LONGEST: Final = 256 * 2**20
"""The maximum number of characters in one part."""
_CHUNK: Final = 2**18
_NEAR: Final = 16
"""A syntax error this close to the end of the buffer may only mean that more text has to be read."""
_SPACE: Final = " \t\r\n"
_REST_OF_NUMBER: Final = re.compile(r"[-+.eE\d]*")


class Text(Protocol):
    """An object with a `read` method that returns text, e.g. an open text file."""

    def read(self, size: int, /) -> str:
        """Read at most `size` characters, or return an empty string at the end of the file."""


class PartError(ValueError):
    """Raised when JSON cannot be parsed. `line` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def read_parts(file: Text, enter: Callable[[Path], bool]) -> Iterator[tuple[Path, int, object]]:
    """Parse a file's JSON values into parts, and yield each part's path, line and value.

    If `enter(path)` is true for a list or an object, its items become separate parts. Otherwise the whole list or
    object is one part. Raises `PartError` at the first syntax error, after yielding the parts before the error.
    """
    text = _Buffer(file)
    number = 0
    while text.peek():
        yield from _value(text, (number,), enter)
        number += 1


def _value(text: _Buffer, path: Path, enter: Callable[[Path], bool]) -> Iterator[tuple[Path, int, object]]:
    opening = text.peek()
    if opening not in ("{", "[") or not enter(path):
        line = text.line
        yield path, line, text.take_value()
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
            name = str(text.take_value())
            text.skip(":")
        yield from _value(text, (*path, name), enter)
        number += 1
        if text.peek() == closing:
            text.skip(closing)
            return
        text.skip(",")


class _Buffer:
    """A buffer for a text file. Only the value being parsed is kept in memory."""

    def __init__(self, file: Text) -> None:
        self._file, self._held, self._at, self._ended = file, "", 0, False
        self.line = 1
        self._decoder = json.JSONDecoder(parse_int=str)

    def peek(self) -> str:
        """Skip white space and return the next character without consuming it.

        At the end of the file, return an empty string.
        """
        while True:
            while self._at < len(self._held) and self._held[self._at] in _SPACE:
                self.line += self._held[self._at] == "\n"
                self._at += 1
            if self._at < len(self._held):
                return self._held[self._at]
            if not self._more():
                return ""

    def skip(self, expected: str) -> None:
        """Consume the next character. Raises `PartError` if that character is not `expected`."""
        found = self.peek()
        if found != expected:
            what = f"'{found}'" if found else "end of file"
            raise PartError(f"not JSON: {what} instead of '{expected}'", self.line)
        self._at += 1

    def take_value(self) -> object:
        """Parse and consume the value at the current position. Raises `PartError` if there is no valid value."""
        if not self.peek():
            raise PartError("not JSON: end of file instead of a value", self.line)
        end = self._find_end()
        text = self._held[self._at : end]
        try:
            value: object = parse_json(text, stored=True)
        except ValueError as error:
            raise PartError(str(error), self.line) from None
        self.line += text.count("\n")
        self._at = end
        return value

    def _find_end(self) -> int:
        """Return the index at which the current value ends.

        More of the file is read until the buffer holds the whole value.
        """
        while True:
            try:
                _, end = self._decoder.raw_decode(self._held, self._at)
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated") or error.pos >= len(self._held) - _NEAR
                if cut and self._more():
                    continue
                raise self._syntax_error(error) from None
            except RecursionError:
                raise PartError("nested too deeply", self.line) from None
            rest = _REST_OF_NUMBER.match(self._held, end)
            if rest is None or rest.end() < len(self._held) or not self._more():
                return end

    def _syntax_error(self, error: json.JSONDecodeError) -> PartError:
        line = self.line + self._held.count("\n", self._at, error.pos)
        early = error.msg.startswith("Unterminated") or error.pos >= len(self._held.rstrip())
        return PartError(f"not JSON: {'it ends early' if early else describe_json_error(error)}", line)

    def _more(self) -> bool:
        """Read more of the file into the buffer, or return False at the end of the file.

        The buffer doubles each time, so a long value is parsed again only a few times.
        """
        if self._ended:
            return False
        left = len(self._held) - self._at
        if left > LONGEST:
            raise PartError(f"a value of more than {LONGEST:,} characters, or an unclosed quote", self.line)
        try:
            read = self._file.read(max(_CHUNK, left))
        except UnicodeDecodeError as error:
            raise PartError(f"not UTF-8: the byte 0x{error.object[error.start]:02x}", self.line) from None
        self._ended = not read
        if read:
            self._held, self._at = self._held[self._at :] + read, 0
        return bool(read)
