"""Read JSON files record by record. A file holds JSON lines, one JSON value, a list of values or server-sent events."""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, islice
from os import fstat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Final, NamedTuple, TypeVar

from corepath.errors import InputError, Problem, RecordError
from corepath.files.document import describe_json_error
from corepath.importers.compressed import is_compressed
from corepath.importers.event_text import is_event_text, read_events
from corepath.importers.json_parts import PartError, read_parts
from corepath.importers.parquet import is_parquet
from corepath.values import parse_json

_SAMPLE: Final = 4096
"""How many bytes at the start of a file are checked to see whether the file is text."""
_SAMPLE_LINES: Final = 3
_SAMPLE_RECORDS: Final = 40
"""How many records at the start of a file are kept to recognise the file's format."""
_BLOCK: Final = 2**22
"""How many bytes are searched for signs of a format at a time. A file that is not larger is kept in memory."""
_BUFFER: Final = 2**18
"""How many bytes of a file with lines are read at a time."""
_ESCAPE: Final = r"\u00"
_ESCAPED_LETTERS: Final = (r"\u004", r"\u005", r"\u006", r"\u007")
"""How the escapes of ASCII letters and underscores begin, which hardly any program writes."""
_EXTRA_DATA: Final = "not JSON: Extra data"
_BRACKETS: Final = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]')


_Read = TypeVar("_Read")


class Place(NamedTuple):
    """A record's position: its file, its line, and its number (from 1) if the record is in a list.

    `start` is how many bytes are before the record, if it is a line of JSON lines.
    """

    file: str
    line: int = 1
    number: int | None = None
    start: int | None = None

    def problem(self, message: str) -> Problem:
        """Return a problem with `message` at this position."""
        which = "" if self.number is None else f"record {self.number}: "
        return Problem(self.file, self.line, 1, which + message)


@contextmanager
def readable(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield a path that can be read more than once, and the file's name for messages.

    Pipes and standard input (`-`) are copied to a temporary file. Raises `InputError` if the file cannot be read, or if
    it is empty, compressed with gzip or encoded as UTF-16.
    """
    is_stdin = str(path) == "-"
    name = "<stdin>" if is_stdin else str(path)
    try:
        if path.is_file() and not is_stdin:
            _require_text(path, name)
            yield path, name
            return
        pipe = nullcontext(sys.stdin.buffer) if is_stdin else path.open("rb")
        with TemporaryDirectory() as folder, pipe as source:
            copy = Path(folder, path.name)
            with copy.open("wb") as target:
                shutil.copyfileobj(source, target)
            _require_text(copy, name)
            yield copy, name
    except FileNotFoundError:
        raise InputError([Problem(name, 1, 1, "no such file")]) from None
    except IsADirectoryError:
        raise InputError([Problem(name, 1, 1, "a folder; name the files in it")]) from None
    except OSError as error:
        raise InputError([Problem(name, 1, 1, f"cannot be read: {error.strerror}")]) from None


def _require_text(file: Path, name: str) -> None:
    """Raise `InputError` if a file is empty, compressed with gzip, or encoded as UTF-16."""
    with file.open("rb") as read:
        start = read.read(_SAMPLE)
    why = None
    if not start.strip() and len(start) < _SAMPLE:
        why = "the file is empty"
    elif start.startswith(b"\x1f\x8b"):
        why = "compressed with gzip; unpack it first"
    elif start.startswith((b"\xff\xfe", b"\xfe\xff")) or (start[:4].isascii() and start[:4].count(0) == 2):
        why = "UTF-16; save it as UTF-8"
    if why is not None:
        raise InputError([Problem(name, 1, 1, why)])


def read_records(file: Path, is_record: Callable[[Any], bool]) -> Iterator[tuple[Place, Any]]:
    """Yield each record in a file with its place. A record that cannot be parsed is yielded as a `Problem`.

    If the file holds a list, its items are the records, unless `is_record` is true for the list itself. JSON lines are
    read line by line, so such a file may be larger than memory.
    """
    name = str(file)
    sample = _KNOWN.get(file) or Sample(file)
    try:
        if sample.is_events:
            yield from _read_event_file(file)
            return
        if not sample.is_lines:
            yield from _records_in(file, sample.document, is_record)
            return
        with file.open("rb", buffering=_BUFFER) as read:
            end = 0
            for number, raw in enumerate(read, start=1):
                start, end = end, end + len(raw)
                if raw.strip():
                    place = Place(name, number, None, start)
                    yield place, parse_line(place, raw)
    except OSError as error:
        place = Place(name)
        yield place, place.problem(f"cannot be read: {error.strerror}")


@dataclass
class Sample:
    """The first records in a file, from which the file's format is recognised, and what else is known of the file.

    Nothing is read or parsed twice.
    """

    file: Path
    _found: dict[str, bool] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def is_events(self) -> bool:
        """Whether the file has server-sent events."""
        start = self._start.decode("utf-8-sig", "replace")
        return is_event_text(start.replace("\r\n", "\n")[:_SAMPLE].splitlines())

    @cached_property
    def is_lines(self) -> bool:
        """Whether the file looks like JSON lines, judging by its first lines.

        The first line may be invalid if one of the others is valid JSON.
        """
        with self._open() as read:
            return _are_lines(list(islice((line for line in read if line.strip()), _SAMPLE_LINES)))

    @cached_property
    def document(self) -> Any:
        """The value of a file that is not JSON lines, or a `Problem` if it cannot be parsed as a whole."""
        with self._open() as read:
            return _parse(Place(str(self.file)), read.read())

    @cached_property
    def _values(self) -> list[Any]:
        if self._is_parquet:
            return [Place(str(self.file)).problem("a Parquet file of another kind than those that can be read")]
        found = [value for _, value in islice(read_records(self.file, lambda _: True), _SAMPLE_RECORDS)]
        if len(found) == 1 and isinstance(found[0], Problem):  # perhaps a list that was cut
            found = [value for _, value in islice(read_records(self.file, lambda _: False), _SAMPLE_RECORDS)]
        return found

    @contextmanager
    def reuse(self) -> Iterator[None]:
        """Let `read_records` use this sample inside the `with` block."""
        _KNOWN[self.file] = self
        try:
            yield
        finally:
            _KNOWN.pop(self.file, None)

    def may_have(self, signs: Sequence[str]) -> bool:
        """Return False if the file has none of `signs`, which are words of ASCII letters and underscores."""
        return not signs or not self._is_searched or any(map(self._has, signs))

    @cached_property
    def _is_searched(self) -> bool:
        """Whether the file is searched for signs. Of many lines, recognising a format reads only the first."""
        try:
            if (self._small is None and self.is_lines) or is_compressed(self._start) or self._is_parquet:
                return False
            return not (self._has(_ESCAPE) and any(map(self._has, _ESCAPED_LETTERS)))
        except OSError:
            return False

    def _has(self, sign: str) -> bool:
        if sign not in self._found:
            word = sign.encode()
            self._found[sign] = word in self._small if self._small is not None else self._search(word)
        return self._found[sign]

    def _search(self, word: bytes) -> bool:
        """Return True if a large file has a word. RE2 finds it several times as fast as `in`, but is slow to import."""
        import re2  # noqa: PLC0415

        find = re2.compile(re2.escape(word)).search
        return any(find(block) is not None for block in self._blocks(len(word)))

    def _blocks(self, overlap: int) -> Iterator[bytes]:
        """Yield the file's bytes in large blocks. Each begins with the last bytes of the one before it."""
        end = b""
        with self.file.open("rb") as read:
            while block := read.read(_BLOCK):
                yield end + block
                end = block[-overlap:]

    @cached_property
    def _is_parquet(self) -> bool:
        return is_parquet(self.file)

    @cached_property
    def _start(self) -> bytes:
        with self._open() as read:
            return read.read(4 * _SAMPLE)

    @cached_property
    def _small(self) -> bytes | None:
        """The bytes of a file that is not large, so that it is opened only once, or None if it is large."""
        with self.file.open("rb") as read:
            return read.read() if fstat(read.fileno()).st_size <= _BLOCK else None

    def _open(self) -> IO[bytes]:
        return self.file.open("rb") if self._small is None else io.BytesIO(self._small)

    @property
    def is_valid(self) -> bool:
        """Whether all records in the sample could be parsed."""
        return not any(isinstance(value, Problem) for value in self._values)

    def records(self, is_record: Callable[[Any], bool]) -> Iterator[Any]:
        """Yield the first records as `read_records` would, with a `Problem` for each that cannot be parsed."""
        return chain.from_iterable(
            value if isinstance(value, list) and not is_record(value) else (value,) for value in self._values
        )


_KNOWN: Final[dict[Path, Sample]] = {}
"""The samples of the files that are being recognised or read."""


def try_record(place: Place, value: Any, read: Callable[[Any], Iterator[_Read]]) -> Iterator[_Read | Problem]:
    """Yield what `read` finds in a record, and a `Problem` if `read` raises `RecordError`.

    A record that is already a `Problem` is yielded unchanged.
    """
    if isinstance(value, Problem):
        yield value
        return
    try:
        yield from read(value)
    except RecordError as error:
        yield place.problem(str(error))


def is_lines(file: Path) -> bool:
    """Return True if a file looks like JSON lines, judging by its first lines."""
    return (_KNOWN.get(file) or Sample(file)).is_lines


def _are_lines(lines: list[bytes]) -> bool:
    if len(lines) < 2 or _is_json(lines[0]):
        return len(lines) > 1
    text, first = (b"".join(some).decode("utf-8-sig", "replace").strip() for some in (lines, lines[:1]))
    try:
        _, end = json.JSONDecoder(parse_int=str).raw_decode(text)
    except json.JSONDecodeError as error:
        return error.pos < len(text) and any(map(_is_json, lines[1:]))
    except RecursionError:
        return any(map(_is_json, lines[1:]))
    return end <= len(first)


def _read_event_file(file: Path) -> Iterator[tuple[Place, Any]]:
    """Yield the data of each event in a file of server-sent events, with its place."""
    with file.open(encoding="utf-8", errors="surrogateescape") as read:
        for number, data in read_events(read):
            place = Place(str(file), number)
            yield place, _parse(place, data.encode("utf-8", "surrogateescape"))


def _is_json(line: bytes) -> bool:
    try:
        parse_json(line.decode("utf-8-sig"), stored=True)
    except ValueError:
        return False
    return True


def _records_in(file: Path, value: Any, is_record: Callable[[Any], bool]) -> Iterator[tuple[Place, Any]]:
    """Yield each record and its place from a file that is not JSON lines. `value` is what its document is.

    If the file is broken, the records before the error come first, then a `Problem`.
    """
    name = str(file)
    place = Place(name)
    if isinstance(value, Problem) and value.message == _EXTRA_DATA:
        yield from _split_concatenated(name, file.read_bytes().decode("utf-8-sig"))
        return
    kept = recover_json(file.read_bytes()) if isinstance(value, Problem) else value
    if isinstance(kept, list) and not is_record(kept):
        for number, one in enumerate(kept, start=1):
            yield Place(name, 1, number), one
    elif not isinstance(value, Problem):
        yield place, value
    if isinstance(value, Problem):
        yield place, value


def _split_concatenated(name: str, text: str) -> Iterator[tuple[Place, Any]]:
    """Yield each value and its place from text that holds several JSON values in a row."""
    try:
        for _, line, value in read_parts(io.StringIO(text), lambda _: False):
            yield Place(name, line), value
    except PartError as error:
        place = Place(name, error.line)
        yield place, place.problem(str(error))


def recover_json(raw: bytes) -> Any:
    """Parse a broken JSON file up to its last complete item, or return None if no item is complete.

    The file holds a list of items, or an object with such lists. If a list is itself one record, the result is only
    part of that record, and the caller has to reject it.
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
    for bracket in _BRACKETS.finditer(text):
        if bracket[0] in "[{":
            closers.append("]" if bracket[0] == "[" else "}")
        elif bracket[0] in "]}":
            if not closers or closers.pop() != bracket[0]:
                break
            if closers in (["]"], ["}", "]"]):
                end, closing = bracket.end(), "".join(reversed(closers))
    try:
        return parse_json(text[:end] + closing, stored=True) if end else None
    except ValueError:
        return None


def parse_line(place: Place, raw: bytes) -> Any:
    """Parse the record in a line, or return a `Problem` if it is not JSON."""
    return _parse(place, raw.rstrip())


def _parse(place: Place, raw: bytes) -> Any:
    """Parse a record's JSON, or return a `Problem` if the JSON is invalid."""
    try:
        return parse_json(raw.removeprefix(BOM_UTF8), stored=True)
    except UnicodeDecodeError as error:
        return place.problem(f"not UTF-8: the byte 0x{error.object[error.start]:02x}")
    except json.JSONDecodeError as error:
        found = place.problem(f"not JSON: {describe_json_error(error)}")
        return Problem(found.file, place.line + error.lineno - 1, error.colno, found.message)
    except ValueError as error:
        return place.problem(describe_json_error(error))
