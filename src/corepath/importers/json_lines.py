"""Read text files of JSON lines, or of JSON that is spread over many lines. A line may be larger than memory."""

from __future__ import annotations

import codecs
import io
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from corepath.errors import Problem
from corepath.files.document import describe_json_error
from corepath.importers.json_parts import Text
from corepath.values import parse_json

LONGEST_LINE: Final = 8 * 2**20
"""The maximum number of bytes in a line that is parsed at once. Longer lines are parsed part by part."""

_Read = TypeVar("_Read")
_ReadInParts = Callable[[str, Text, int], Iterator[_Read]]
_Special = tuple[Callable[[bytes], bool], _ReadInParts[_Read]]


def read_lines(
    name: str,
    read: io.BufferedReader[Any],
    read_value: Callable[[str, int, Any], Iterator[_Read]],
    read_in_parts: _ReadInParts[_Read],
    special: _Special[_Read] | None = None,
) -> Iterator[_Read | Problem]:
    """Yield what is in a file line by line, and a `Problem` for each line that is not JSON.

    `read_value` gets the file's name, the line's number and its value. A very long line is passed to `read_in_parts`
    as text, and so is the whole file if its first line is not JSON, unless only that line is spoilt. `special` is
    another function for very long lines that begin in a certain way, and the function that recognises them.
    """
    number, started = 0, False
    held: bytes | OSError = b""
    while line := held or _read_line(read):
        number, held = number + 1, b""
        if isinstance(line, OSError):
            yield Problem(name, number, 1, f"cannot be read: {line.strerror}")
            return
        whole = line.endswith(b"\n") or len(line) < LONGEST_LINE
        if whole and not line.strip():
            continue
        value = _parse(line) if whole else None
        if not whole:
            rest = _LineReader(read, line)
            yield from _choose(line, read_in_parts, special)(name, _Decoder(rest.read), number)
            rest.skip()
        elif isinstance(value, ValueError) and not started and not _is_spoilt(line, held := _read_line(read)):
            if not held:
                yield Problem(name, number, 1, f"not JSON: {describe_json_error(value)}")
                return
            line += held
            yield from read_in_parts(name, _Decoder(_Rest(read, line).read), number)
            return
        elif isinstance(value, ValueError):
            yield Problem(name, number, 1, f"not JSON: {describe_json_error(value)}")
        else:
            yield from read_value(name, number, value)
        started = True


def _is_spoilt(first: bytes, second: bytes | OSError) -> bool:
    """Whether a first line that is not JSON is no part of a longer text, as the second line is an object by itself."""
    if isinstance(second, OSError):
        return True
    goes_on = first.rstrip().endswith((b"[", b"{", b",", b":", codecs.BOM_UTF8))
    return not goes_on and second.startswith(b"{") and not isinstance(_parse(second), ValueError)


def _choose(line: bytes, usual: _ReadInParts[_Read], special: _Special[_Read] | None) -> _ReadInParts[_Read]:
    """Return the function that reads a very long line."""
    return special[1] if special is not None and special[0](line) else usual


def _read_line(read: io.BufferedReader[Any]) -> bytes | OSError:
    """Return the next line or the beginning of a very long one, or the error if it cannot be read."""
    try:
        return read.readline(LONGEST_LINE)
    except OSError as error:
        return error


class _Rest:
    """A reader for the rest of a file whose beginning has already been read."""

    def __init__(self, read: io.BufferedReader[Any], begin: bytes) -> None:
        self._read, self._begin = read, begin

    def read(self, size: int, /) -> bytes:
        raw, self._begin = self._begin, b""
        return raw or self._read.read(size)


class _LineReader:
    """A reader for one line whose beginning has already been read from the file."""

    def __init__(self, read: io.BufferedReader[Any], begin: bytes) -> None:
        self._read, self._begin, self._ended = read, begin, False

    def read(self, size: int, /) -> bytes:
        raw, self._begin = self._begin, b""
        if not raw and not self._ended:
            raw = self._read.readline(size)
            self._ended = raw.endswith(b"\n") or len(raw) < size
        return raw

    def skip(self) -> None:
        """Skip to the end of the line."""
        while not self._ended:
            self.read(LONGEST_LINE)


class _Decoder:
    """A reader that decodes bytes as UTF-8."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()

    def read(self, size: int, /) -> str:
        while raw := self._read(size):
            if text := self._decoder.decode(raw):
                return text
        return self._decoder.decode(b"", final=True)


def _parse(line: bytes) -> Any:
    """Parse a line as JSON, or return a `ValueError` if the line is invalid."""
    try:
        return parse_json(line.decode("utf-8-sig"), stored=True)
    except UnicodeDecodeError as error:
        return ValueError(f"not UTF-8: the byte 0x{line[error.start]:02x}")
    except ValueError as error:
        return error
