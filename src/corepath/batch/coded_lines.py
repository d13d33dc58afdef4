"""JSON lines cut into calls, all lines of a batch at once, so that each distinct call is looked at only once.

Lines are cut where calls begin and end in most lines. If a cut is wrong, e.g. within a text, one of the parts is not
JSON. If all parts are JSON, then so is the whole, and it means what they mean.
"""

from __future__ import annotations

import secrets
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corepath.batch.arrow import to_numpy
from corepath.batch.coding import TaskCoder
from corepath.batch.lines import EpisodeLine, Lines, parse_call
from corepath.batch.schema import SCORES
from corepath.notation.call import UNANSWERED

Ints = npt.NDArray[np.int64]
_STYLES: Final = ((b'"calls": [{', b"}, {"), (b'"calls":[{', b"},{"))
"""How calls begin in a line, and what stands between two of them: with spaces and without."""
_END: Final = b"}]"
CUT_OUT: Final = secrets.randbits(60)
"""What a line has for its calls once they are cut out: a number that no line can have by itself."""
_CUT: Final = b'"calls":%d' % CUT_OUT


@dataclass(frozen=True)
class CutLines:
    """Lines without their calls, and the texts of all calls between their brackets.

    `rows` says which lines they are. `around` holds the distinct texts of lines without calls, and `around_of` says
    which of them each line has. `calls` says which of the `texts` each call has. `offsets` says where the calls of each
    line begin among all calls.
    """

    rows: Ints
    around: list[bytes]
    around_of: Ints
    texts: pa.Array
    calls: Ints
    offsets: Ints

    def number_calls(self, coder_of: Ints, coders: Sequence[TaskCoder]) -> NumberedCalls:
        """Number the calls. `coder_of` has the number of each line's coder, or -1."""
        size = max(len(self.texts), 1)
        distinct = pa.array(np.repeat(coder_of, np.diff(self.offsets)) * size + self.calls).dictionary_encode()
        numbers, places = np.divmod(to_numpy(distinct.dictionary), size)
        texts = [b"{%b}" % text for text in self.texts.take(pa.array(places)).to_pylist()]
        text_of = to_numpy(distinct.indices)
        often = np.bincount(text_of, minlength=len(texts)) > 1
        found = [
            -1 if number < 0 else _number_text(coders[number], text, remember)
            for number, text, remember in zip(numbers.tolist(), texts, often.tolist(), strict=True)
        ]
        return NumberedCalls(np.array(found, dtype=np.int64)[text_of], texts, text_of)

    def find_usable(self, numbers: Ints) -> npt.NDArray[np.bool_]:
        """Return for each line whether all its calls have a number."""
        bad = np.flatnonzero(numbers < 0)
        usable = np.ones(len(self.rows), dtype=bool)
        usable[np.searchsorted(self.offsets, bad, side="right") - 1] = False
        return usable


@dataclass(frozen=True)
class NumberedCalls:
    """The number of each call, or -1 if it is in an unusual form; and its text, as a place in `texts`."""

    numbers: Ints
    texts: list[bytes]
    text_of: Ints


def cut_lines(lines: Lines) -> CutLines:
    """Cut the calls out of all lines that are in a usual form.

    Such a line has a head, a call, then a gap and a call in turn, and a tail. Any other line is one piece. All pieces
    together are the whole block, so that they can be told apart without copying any of them.
    """
    begin, between = _STYLES[0] if not len(lines) or _STYLES[0][0] in lines[0] else _STYLES[1]
    data = np.frombuffer(lines.block, dtype=np.uint8)
    braces = np.flatnonzero(data == ord("{"))
    starts, ends = lines.starts[:-1], lines.starts[1:]
    opened = _first_from(starts, _find(data, begin, braces)) + len(begin)
    closed = _first_from(opened, _find(data, _END, np.flatnonzero(data == ord("]"))))
    is_cut = closed + len(_END) <= ends
    gaps = _find(data, between, braces)
    row_of = np.searchsorted(starts, gaps, side="right") - 1
    within = is_cut[row_of] & (opened[row_of] <= gaps) & (gaps + len(between) <= closed[row_of])
    gaps, row_of = gaps[within], row_of[within]
    count = np.bincount(row_of, minlength=len(lines))
    first = np.concatenate(([0], np.cumsum(np.where(is_cut, 3 + 2 * count, 1))))
    bounds = np.empty(first[-1] + 1, dtype=np.int64)
    bounds[first] = lines.starts
    bounds[first[:-1][is_cut] + 1] = opened[is_cut]
    bounds[first[1:][is_cut] - 1] = closed[is_cut]
    places = first[row_of] + 2 + 2 * (np.arange(len(gaps)) - (np.cumsum(count) - count)[row_of])
    bounds[places], bounds[places + 1] = gaps, gaps + len(between)
    return _gather(_slice(lines.block, bounds), first, np.flatnonzero(is_cut), begin)


def _find(data: npt.NDArray[np.uint8], text: bytes, last: Ints) -> Ints:
    """Return where a text begins in data. `last` holds the places where its last byte stands."""
    found = last[np.searchsorted(last, len(text) - 1) :]
    for back, byte in enumerate(reversed(text[:-1]), start=1):
        found = found[data[found - back] == byte]
    return found - (len(text) - 1)


def _first_from(places: Ints, found: Ints) -> Ints:
    """Return the first of the places in `found` that is not before each of `places`, or a place after all others."""
    after: Ints = np.append(found, 1 << 60)[np.searchsorted(found, places)]
    return after


def _slice(block: bytes, bounds: Ints) -> pa.DictionaryArray:
    """Return the texts between bounds in a block."""
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(block)]
    return pa.Array.from_buffers(pa.large_binary(), len(bounds) - 1, buffers).dictionary_encode()


def _gather(pieces: pa.DictionaryArray, first: Ints, rows: Ints, begin: bytes) -> CutLines:
    """Sort the pieces of lines into calls and what is around them.

    `first` says where the pieces of each line begin, and `rows` which lines are cut. Their heads end with `begin`.
    """
    numbers, texts = to_numpy(pieces.indices), pieces.dictionary
    calls = (np.arange(len(numbers)) - np.repeat(first[:-1], np.diff(first))) % 2 == 1
    size = len(texts)
    pairs = pa.array(numbers[first[rows]] * size + numbers[first[rows + 1] - 1]).dictionary_encode()
    head, tail = np.divmod(to_numpy(pairs.dictionary), max(size, 1))
    heads = [text[: -len(begin)] for text in texts.take(pa.array(head)).to_pylist()]
    tails = [text[len(_END) :] for text in texts.take(pa.array(tail)).to_pylist()]
    flat = np.array([text.count(b"{") == 1 and b"[" not in text for text in heads], dtype=bool)
    around = [b"%b%b%b" % (before, _CUT, after) for before, after in zip(heads, tails, strict=True)]
    around_of, lengths = to_numpy(pairs.indices), (np.diff(first)[rows] - 1) // 2
    found, chosen = numbers[calls], flat[around_of]
    if not chosen.all():
        found, rows = found[np.repeat(chosen, lengths)], rows[chosen]
        around_of, lengths = around_of[chosen], lengths[chosen]
    return CutLines(rows, around, around_of, texts, found, np.concatenate(([0], np.cumsum(lengths))))


class KeptLines:
    """The lines of a batch, and what those that are coded say: their calls, and beside their calls."""

    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.places = array("q")
        """The places of the lines that are coded."""
        self._around: list[EpisodeLine | None] = []
        self._around_of = array("q")
        self._texts: list[bytes] = []
        self._text_of = array("q")

    def add(self, places: Ints, around: Sequence[EpisodeLine | None], around_of: Ints) -> None:
        """Add lines that are coded. `around_of` says which of `around` each has beside its calls."""
        self.places.frombytes(places.tobytes())
        self._around_of.frombytes((around_of + len(self._around)).tobytes())
        self._around += around

    def add_calls(self, texts: Sequence[bytes], text_of: Ints) -> None:
        """Add the texts of coded calls. `text_of` says which text each has."""
        self._text_of.frombytes((text_of + len(self._texts)).tobytes())
        self._texts += texts

    def columns(self, file: str) -> dict[str, pa.Array]:
        """Return the columns that come from the coded lines."""
        places, lines = np.frombuffer(self.places, dtype=np.int64), self.lines
        offset = None if lines.offset is None else pa.array(lines.starts[places] + lines.offset)
        columns = {
            "file": pa.repeat(pa.scalar(file, pa.string()), len(places)),
            "line": pa.array(places + lines.first),
            "offset": pa.nulls(len(places), pa.int64()) if offset is None else offset,
        }
        around_of = pa.array(np.frombuffer(self._around_of, dtype=np.int64))
        for name in ("seed", "agent", "epoch"):
            values = [None if line is None else getattr(line, name) for line in self._around]
            columns[name] = pa.array(values, SCORES.field(name).type).take(around_of)
        return columns

    def identify(self, calls: Ints) -> Ints:
        """Return a number for each of some coded calls. Calls that say the same have the same number."""
        return np.frombuffer(self._text_of, dtype=np.int64)[calls]

    def find_arguments(self, at: int) -> Any:
        """Return the arguments of a call among all coded calls."""
        return parse_call(self._texts[self._text_of[at]]).arguments

    def find_result(self, at: int) -> Any:
        """Return the result of a call among all coded calls."""
        found = parse_call(self._texts[self._text_of[at]]).result
        return UNANSWERED if found is msgspec.UNSET else found


def _number_text(coder: TaskCoder, text: bytes, remember: bool) -> int:  # noqa: FBT001
    try:
        return coder.number_text(text, remember=remember)
    except ValueError:
        return -1
