"""JSON lines cut into calls, all lines of a batch at once, so that each distinct call is looked at only once.

Lines are cut where calls begin and end in most lines. If a cut is wrong, e.g. within a text, one of the parts is not
JSON. If all parts are JSON, then so is the whole, and it means what they mean.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corepath.batch.coding import TaskCoder
from corepath.batch.lines import EpisodeLine, PlacedLine, parse_call, parse_line
from corepath.notation.call import UNANSWERED

Ints = npt.NDArray[np.int64]
_STYLES: Final = ((b'"calls": [{', b"}, {"), (b'"calls":[{', b"},{"))
"""How calls begin in a line, and what stands between two of them: with spaces and without."""
_END: Final = b"}]"
_CUT: Final = pa.scalar(b'"calls":0', pa.large_binary())
"""What a line has for its calls once they are cut out."""


@dataclass(frozen=True)
class CutLines:
    """Lines without their calls, and the texts of all calls between their brackets.

    `rows` says which lines they are. `offsets` says where the calls of each begin among all calls.
    """

    rows: Ints
    around: list[bytes]
    calls: pa.DictionaryArray
    offsets: Ints

    def number_calls(self, coder_of: Ints, coders: Sequence[TaskCoder]) -> Ints:
        """Return a number for each call. It is -1 if the call is in an unusual form, or if `coder_of` its line is."""
        size = len(self.calls.dictionary)
        keys = np.repeat(coder_of, np.diff(self.offsets)) * size + _to_numpy(self.calls.indices)
        distinct = pa.array(keys).dictionary_encode()
        numbers, places = np.divmod(_to_numpy(distinct.dictionary), max(size, 1))
        texts = self.calls.dictionary.take(pa.array(places)).to_pylist()
        found = [
            -1 if number < 0 else _number_text(coders[number], b"{%b}" % text)
            for number, text in zip(numbers.tolist(), texts, strict=True)
        ]
        numbered: Ints = np.array(found, dtype=np.int64)[_to_numpy(distinct.indices)]
        return numbered

    def find_usable(self, numbers: Ints) -> npt.NDArray[np.bool_]:
        """Return for each line whether all its calls have a number."""
        bad = np.flatnonzero(numbers < 0)
        usable = np.ones(len(self.rows), dtype=bool)
        usable[np.searchsorted(self.offsets, bad, side="right") - 1] = False
        return usable


def cut_lines(texts: Sequence[bytes]) -> CutLines:
    """Cut the calls out of all lines that are in a usual form."""
    begin, between = _STYLES[0] if not texts or _STYLES[0][0] in texts[0] else _STYLES[1]
    lines = pa.array(texts, pa.large_binary())
    heads, rests, rows = _split_once(lines, begin, np.arange(len(texts)))
    flat = pc.and_(pc.equal(pc.count_substring(heads, b"{"), 1), pc.less(pc.find_substring(heads, b"["), 0))
    heads, rests, rows = heads.filter(flat), rests.filter(flat), rows[_to_numpy(flat)]
    calls, tails, left = _split_once(rests, _END, np.arange(len(rows)))
    heads = heads.take(pa.array(left))
    parts = pc.split_pattern(calls, between)
    around = pc.binary_join_element_wise(heads, tails, _CUT).to_pylist()
    offsets = np.concatenate(([0], np.cumsum(_to_numpy(pc.list_value_length(parts)))))
    return CutLines(rows[left], around, parts.flatten().dictionary_encode(), offsets)


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
    """The lines of a batch, and what those that are coded say beside their calls."""

    def __init__(self, lines: Sequence[PlacedLine]) -> None:
        self.lines = lines
        self.places: list[int] = []
        """The places of the lines that are coded."""
        self.offsets: Sequence[int] = ()
        """Where the calls of each of them begin among all coded calls."""
        self._said: dict[str, list[Any]] = {"seed": [], "agent": [], "epoch": []}
        self._last: tuple[int, Sequence[msgspec.Raw]] = (-1, ())

    def add(self, places: Sequence[int], lines: Sequence[EpisodeLine]) -> None:
        """Add lines that are coded."""
        self.places += places
        self._said["seed"] += [line.seed for line in lines]
        self._said["agent"] += [line.agent for line in lines]
        self._said["epoch"] += [line.epoch for line in lines]

    def columns(self, file: str) -> dict[str, Any]:
        """Return the columns that come from the coded lines."""
        placed = [self.lines[place] for place in self.places]
        numbers, offsets, _ = zip(*placed, strict=True) if placed else ((), (), ())
        name = pa.repeat(pa.scalar(file, pa.string()), len(placed))
        return {"file": name, "line": numbers, "offset": offsets, **self._said}

    def find_call(self, at: int) -> tuple[bytes, Any]:
        """Return the arguments and the result of a call among all coded calls. Its line is parsed again."""
        number = bisect(self.offsets, at) - 1
        if self._last[0] != number:
            line = parse_line(self.lines[self.places[number]][2])
            assert line is not None
            assert isinstance(line.calls, list)
            self._last = (number, line.calls)
        call = parse_call(self._last[1][at - self.offsets[number]])
        return bytes(call.arguments), UNANSWERED if call.result is msgspec.UNSET else call.result


def _number_text(coder: TaskCoder, text: bytes) -> int:
    try:
        return coder.number_text(text)
    except ValueError:
        return -1


def _to_numpy(column: pa.Array) -> npt.NDArray[Any]:
    found: npt.NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return found
