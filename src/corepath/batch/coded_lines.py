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
import pyarrow.compute as pc

from corepath.batch.coding import TaskCoder
from corepath.batch.lines import EpisodeLine, PlacedLine, parse_call
from corepath.notation.call import UNANSWERED

Ints = npt.NDArray[np.int64]
_STYLES: Final = ((b'"calls": [{', b"}, {"), (b'"calls":[{', b"},{"))
"""How calls begin in a line, and what stands between two of them: with spaces and without."""
_END: Final = b"}]"
CUT_OUT: Final = secrets.randbits(60)
"""What a line has for its calls once they are cut out: a number that no line can have by itself."""
_CUT: Final = pa.scalar(b'"calls":%d' % CUT_OUT, pa.large_binary())


@dataclass(frozen=True)
class CutLines:
    """Lines without their calls, and the texts of all calls between their brackets.

    `rows` says which lines they are. `offsets` says where the calls of each begin among all calls.
    """

    rows: Ints
    around: list[bytes]
    calls: pa.DictionaryArray
    offsets: Ints

    def number_calls(self, coder_of: Ints, coders: Sequence[TaskCoder]) -> NumberedCalls:
        """Number the calls. `coder_of` has the number of each line's coder, or -1."""
        size = len(self.calls.dictionary)
        keys = np.repeat(coder_of, np.diff(self.offsets)) * size + _to_numpy(self.calls.indices)
        distinct = pa.array(keys).dictionary_encode()
        numbers, places = np.divmod(_to_numpy(distinct.dictionary), max(size, 1))
        texts = [b"{%b}" % text for text in self.calls.dictionary.take(pa.array(places)).to_pylist()]
        text_of = _to_numpy(distinct.indices).astype(np.int64)
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


def cut_lines(texts: Sequence[bytes]) -> CutLines:
    """Cut the calls out of all lines that are in a usual form."""
    begin, between = _STYLES[0] if not texts or _STYLES[0][0] in texts[0] else _STYLES[1]
    heads, rests, rows = _split_once(_join(texts), begin, np.arange(len(texts)))
    calls, tails, left = _split_once(rests, _END, np.arange(len(rows)))
    heads = heads if len(left) == len(rows) else heads.take(pa.array(left))
    flat = pc.and_(pc.equal(pc.count_substring(heads, b"{"), 1), pc.less(pc.find_substring(heads, b"["), 0))
    rows, chosen = rows[left], _to_numpy(flat)
    if not chosen.all():
        heads, calls, tails, rows = heads.filter(flat), calls.filter(flat), tails.filter(flat), rows[chosen]
    parts = pc.split_pattern(calls, between)
    around = pc.binary_join_element_wise(heads, tails, _CUT).to_pylist()
    offsets = np.concatenate(([0], np.cumsum(_to_numpy(pc.list_value_length(parts)))))
    return CutLines(rows, around, parts.flatten().dictionary_encode(), offsets)


def _join(texts: Sequence[bytes]) -> pa.Array:
    """Return texts as a column."""
    offsets = np.zeros(len(texts) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)), out=offsets[1:])
    return pa.Array.from_buffers(
        pa.large_binary(), len(texts), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(texts))]
    )


def _split_once(texts: pa.Array, at: bytes, rows: Ints) -> tuple[pa.Array, pa.Array, Ints]:
    """Return what comes before and after the first `at` in each text that has it, and the rows of these texts."""
    parts = pc.split_pattern(texts, at, max_splits=1)
    has_both = _to_numpy(pc.list_value_length(parts)) == 2
    if not has_both.all():
        parts, rows = parts.filter(pa.array(has_both)), rows[has_both]
    both = parts.flatten()
    places = np.arange(0, len(both), 2)
    return both.take(pa.array(places)), both.take(pa.array(places + 1)), rows


class KeptLines:
    """The lines of a batch, and what those that are coded say: their calls, and beside their calls."""

    def __init__(self, lines: Sequence[PlacedLine]) -> None:
        self.lines = lines
        self.places: list[int] = []
        """The places of the lines that are coded."""
        self._said: dict[str, list[Any]] = {"seed": [], "agent": [], "epoch": []}
        self._texts: list[bytes] = []
        self._text_of = array("q")

    def add(self, places: Sequence[int], lines: Sequence[EpisodeLine]) -> None:
        """Add lines that are coded."""
        self.places += places
        self._said["seed"] += [line.seed for line in lines]
        self._said["agent"] += [line.agent for line in lines]
        self._said["epoch"] += [line.epoch for line in lines]

    def add_calls(self, texts: Sequence[bytes], text_of: Ints) -> None:
        """Add the texts of coded calls. `text_of` says which text each has."""
        self._text_of.frombytes((text_of + len(self._texts)).tobytes())
        self._texts += texts

    def columns(self, file: str) -> dict[str, Any]:
        """Return the columns that come from the coded lines."""
        placed = [self.lines[place] for place in self.places]
        numbers, offsets, _ = zip(*placed, strict=True) if placed else ((), (), ())
        name = pa.repeat(pa.scalar(file, pa.string()), len(placed))
        return {"file": name, "line": numbers, "offset": offsets, **self._said}

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


def _to_numpy(column: pa.Array) -> npt.NDArray[Any]:
    found: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return found
