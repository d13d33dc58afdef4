"""Episodes as an Arrow batch, coded column by column: each distinct call is looked at only once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corepath.batch.coded import CodedEpisodes
from corepath.batch.coding import TaskCoder, read_arguments
from corepath.batch.schema import EPISODES
from corepath.errors import CorepathError, RecordError
from corepath.notation.call import UNANSWERED
from corepath.values import arguments_of, parse_json

KEY: Final = ("task", "seed", "fingerprint", "scoring")
"""The columns that decide how an episode is scored."""
_TEXTS: Final = ("scoring", "params", "answer", "messages")
"""The columns of an episode with JSON text."""
_NUMBERED: Final = pa.dictionary(pa.int32(), pa.string())
_NOT_FAILED: Final = pa.array(["", '""', "null", "false"])
"""What the text of an error says if the call did not fail."""


class ArrowEpisodes:
    """The rows of a batch in the schema of episodes. Columns may be missing, and texts may be nested values.

    Raises `RecordError` if some row has a value that it must not have, e.g. a text that is not UTF-8.
    """

    def __init__(self, batch: pa.RecordBatch) -> None:
        missing = [name for name in ("task", "calls") if name not in batch.schema.names]
        if missing:
            raise CorepathError(f"episodes need a column '{missing[0]}'; there is {', '.join(batch.schema.names[:20])}")
        self._batch = batch
        self.size = batch.num_rows
        self.calls = _flatten_calls(batch.column("calls"))
        self.offsets = np.concatenate(([0], np.cumsum(_lengths(batch.column("calls")))))
        self._read = {name: read_column(batch, name) for name in (*KEY, "trace", "agent", "epoch", "record")}

    def column(self, name: str, rows: slice = slice(None)) -> pa.Array:
        """Return a column in the type that the schema says, or nulls if it is missing."""
        found = self._read[name][rows] if name in self._read else read_column(self._batch[rows], name)
        return found.dictionary_decode() if _is_numbered(found) else found

    @cached_property
    def keys(self) -> tuple[list[tuple[Any, ...]], npt.NDArray[np.int64]]:
        """The distinct values of the columns in `KEY`, and the number of each row's values."""
        columns = [self._number_values(name) for name in KEY]
        numbers = _combine(columns)
        rows = _first_rows(numbers.indices, len(numbers.dictionary))
        values = [column.take(rows).to_pylist() for column in columns]
        return list(zip(*values, strict=True)), to_numpy(numbers.indices)

    def _number_values(self, name: str) -> pa.DictionaryArray:
        """Return a column as numbers of distinct values, as which it may have been read."""
        found = self._read[name]
        return found if _is_numbered(found) else found.dictionary_encode()

    def code(self, coders: Sequence[TaskCoder | None]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Return a number for each call, and which rows are coded. `coders` has one coder for each of the `keys`.

        Rows are not coded if their task has no coder, or if something is wrong with them.
        """
        _, key_of = self.keys
        lengths = np.diff(self.offsets)
        usable = np.array([coder is not None for coder in coders], dtype=bool)[key_of]
        usable &= ~to_numpy(self._batch.column("calls").is_null()).astype(bool)
        call_keys = np.repeat(key_of, lengths)
        wrong = to_numpy(self.calls["tool"].is_null()).astype(bool) | ~np.repeat(usable, lengths)
        parts = [self.calls[name].dictionary_encode() for name in ("tool", "arguments")]
        distinct = _combine(parts, 2 * call_keys + to_numpy(self.failed))
        first = to_numpy(_first_rows(distinct.indices, len(distinct.dictionary)))
        numbers = np.full(len(first), -1, dtype=np.int64)
        tools, texts = (_as_text(self.calls[name].take(pa.array(first))).to_pylist() for name in ("tool", "arguments"))
        failed, often = to_numpy(self.failed)[first], np.bincount(to_numpy(distinct.indices)) > 1
        for place, row in enumerate(first.tolist()):
            coder = coders[call_keys[row]]
            if coder is not None and not wrong[row]:
                call = (tools[place], texts[place], bool(failed[place]))
                numbers[place] = coder.number_row(*call, remember=bool(often[place]))
        found = numbers[to_numpy(distinct.indices)]
        bad = np.flatnonzero(wrong)
        usable[np.searchsorted(self.offsets, bad, side="right") - 1] = False
        return found, usable

    @property
    def said(self) -> _SaidInRows:
        """Finds what all calls say."""
        return _SaidInRows(self, np.arange(self.offsets[-1]))

    @property
    def without_record(self) -> npt.NDArray[np.bool_]:
        """Whether each row has no other keys."""
        return to_numpy(self.column("record").is_null()).astype(bool)

    def select(
        self,
        coded: CodedEpisodes,
        coders: Sequence[TaskCoder | None],
        numbers: npt.NDArray[np.int64],
        usable: npt.NDArray[np.bool_],
    ) -> None:
        """Add the usable rows to coded episodes. `numbers` has a number for each call."""
        rows, lengths = np.flatnonzero(usable), np.diff(self.offsets)
        is_all = len(rows) == self.size
        origin = np.arange(len(numbers)) if is_all else np.flatnonzero(np.repeat(usable, lengths))
        coded.said = _SaidInRows(self, origin)
        coded.calls.frombytes((numbers if is_all else numbers[origin]).tobytes())
        coded.offsets.frombytes(np.cumsum(lengths[rows]).tobytes())
        by_key = np.array([-1 if coder is None else coder.number for coder in coders], dtype=np.int64)
        coded.coder_of.frombytes(by_key[self.keys[1][rows]].tobytes())
        coded.places = rows
        coded.known = {name: self.column(name) for name in ("trace", "seed", "agent")}
        coded.known["epoch"] = self.column("epoch").fill_null(0)
        if not is_all:
            coded.known = {name: column.take(pa.array(rows)) for name, column in coded.known.items()}

    @cached_property
    def failed(self) -> pa.Array:
        """Whether each call failed."""
        error = self.calls["error"].dictionary_encode()
        failed = pc.invert(pc.is_in(error.dictionary, value_set=_NOT_FAILED))
        return pc.fill_null(failed.take(error.indices), fill_value=False)

    def record(self, row: int) -> bytes:
        """Return a row as a line of an episode file. If its record is not JSON, the line is not, either."""
        return self.records(row, row + 1)[0]

    def records(self, begin: int, end: int) -> list[bytes]:
        """Return some rows as lines of an episode file."""
        rows, calls = slice(begin, end), slice(int(self.offsets[begin]), int(self.offsets[end]))
        names = [name for name in EPISODES.names if name != "calls"]
        values = zip(*(self.column(name, rows).to_pylist() for name in names), strict=True)
        parts = zip(*(column[calls].to_pylist() for column in self.calls.values()), strict=True)
        has_calls = self._batch.column("calls")[rows].is_valid().to_pylist()
        lengths = np.diff(self.offsets[begin : end + 1]).tolist()
        return [
            _record(dict(zip(names, row, strict=True)), list(islice(parts, length)) if there else None)
            for row, length, there in zip(values, lengths, has_calls, strict=True)
        ]


def _record(row: dict[str, Any], calls: Iterable[tuple[str | None, ...]] | None) -> bytes:
    """Return a row with its calls as a line of an episode file."""
    found: dict[str, Any] = {}
    text = row.pop("record")
    if text is not None:
        try:
            extra = parse_json(text)
        except ValueError:
            return str(text).encode()
        found |= extra if isinstance(extra, dict) else {"record": extra}
    for name, value in row.items():
        if value is not None:
            found[name] = _value_of(value) if name in _TEXTS else value
    if calls is not None:
        found["calls"] = [_call_record(*call) for call in calls]
    return json.dumps(found).encode()


def _call_record(tool: str | None, arguments: str | None, result: str | None, error: str | None) -> dict[str, Any]:
    record = {"tool": tool, "arguments": arguments_of(arguments)}
    if result is not None:
        record["result"] = _value_of(result)
    if error is not None:
        record["error"] = _value_of(error)
    return record


@dataclass(frozen=True)
class _SaidInRows:
    """Finds what calls say in the rows of a batch. `origin` says where each coded call stands among all calls."""

    episodes: ArrowEpisodes
    origin: npt.NDArray[np.int64]

    def identify(self, calls: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        rows = pa.array(self.origin[calls])
        said = [self.episodes.calls[name].take(rows) for name in ("arguments", "result")]
        numbers = _combine([one.dictionary_encode() for one in [*said, self.episodes.failed.take(rows)]])
        return to_numpy(numbers.indices)

    def find_arguments(self, at: int) -> Any:
        return read_arguments(self.episodes.calls["arguments"][int(self.origin[at])].as_py())

    def find_result(self, at: int) -> Any:
        text = self.episodes.calls["result"][int(self.origin[at])].as_py()
        return UNANSWERED if text is None else _value_of(text)


def read_column(batch: pa.RecordBatch, name: str) -> pa.Array:
    """Return a column of episodes in its own type, or nulls if it is missing. Texts may be numbers of distinct texts.

    Raises `RecordError` if some row has a value that it must not have.
    """
    kind = EPISODES.field(name).type
    if name not in batch.schema.names:
        return pa.nulls(batch.num_rows, kind)
    return _fit(batch.column(name), kind, f"the column '{name}'")


def _fit(column: pa.Array, kind: pa.DataType, what: str) -> pa.Array:
    """Return a column in a type, texts maybe as numbers of distinct texts. `what` says in errors what it is."""
    try:
        return _as_texts(column) if kind == pa.string() else column.cast(kind)
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise RecordError(f"{what} has a value that cannot be read: {error}") from None
    except pa.ArrowNotImplementedError:
        raise CorepathError(f"{what} must have the type {kind}, not {column.type}") from None


def _flatten_calls(column: pa.Array) -> dict[str, pa.Array]:
    """Return the parts of all calls as text."""
    if not any(is_like_list(column.type) for is_like_list in _LIKE_LISTS):
        raise CorepathError(f"the column 'calls' must be a list of calls, not {column.type}")
    calls = column.flatten()
    if not pa.types.is_struct(calls.type):
        raise CorepathError(f"the column 'calls' must have calls with 'tool' and 'arguments', not {calls.type}")
    there = {calls.type.field(place).name: place for place in range(calls.type.num_fields)}
    if missing := [name for name in ("tool", "arguments") if name not in there]:
        raise CorepathError(f"the calls lack the field '{missing[0]}'; they have {', '.join(list(there)[:20])}")
    return {
        name: _fit(calls.field(there[name]), pa.string(), f"the field '{name}' of the calls")
        if name in there
        else pa.nulls(len(calls), pa.string())
        for name in ("tool", "arguments", "result", "error")
    }


def _lengths(column: pa.Array) -> npt.NDArray[np.int64]:
    return to_numpy(pc.fill_null(pc.list_value_length(column).cast(pa.int64()), 0))


def _as_texts(column: pa.Array) -> pa.Array:
    """Return a column as text, or as numbers of distinct texts if it is so already."""
    return column if _is_numbered(column) and _is_utf8(column.dictionary) else _as_text(column)


def _is_numbered(column: pa.Array) -> bool:
    """Whether a column has numbers of distinct texts, none of which is null."""
    return bool(column.type == _NUMBERED and not column.dictionary.null_count)


def _is_utf8(texts: pa.Array) -> bool:
    """Whether all texts are in UTF-8, which Arrow does not check when it reads them."""
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _as_text(column: pa.Array) -> pa.Array:
    """Return a column as text. Values that are not text become JSON. Raises `ArrowInvalid` if a text is not UTF-8."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_string(column.type):
        column.validate(full=True)
        return column
    if any(is_like_text(column.type) for is_like_text in _LIKE_TEXT):
        return column.cast(pa.string())
    values = column.to_pylist(maps_as_pydicts="lossy")
    return pa.array([None if value is None else json.dumps(value, default=str) for value in values], pa.string())


_LIKE_TEXT: Final = (
    pa.types.is_large_string, pa.types.is_null, pa.types.is_string_view, pa.types.is_binary, pa.types.is_large_binary,
    pa.types.is_binary_view,
)  # fmt: skip
"""The types that hold text, as bytes if what wrote them did not say that it is text."""
_LIKE_LISTS: Final = (
    pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list, pa.types.is_list_view,
    pa.types.is_large_list_view,
)  # fmt: skip


def _combine(columns: Sequence[pa.DictionaryArray], numbers: npt.NDArray[np.int64] | None = None) -> pa.DictionaryArray:
    """Return one number for each distinct combination of values, and of `numbers`. Null is a value of its own."""
    numbers = np.zeros(len(columns[0]), dtype=np.int64) if numbers is None else numbers
    for column in columns:
        size = len(column.dictionary) + 1
        indices = column.indices.fill_null(size - 1) if column.indices.null_count else column.indices
        if numbers.max(initial=0) > 2**62 // size:
            numbers = to_numpy(pa.array(numbers).dictionary_encode().indices)
        numbers = numbers * size
        numbers += indices.to_numpy(zero_copy_only=False)
    return pa.array(numbers).dictionary_encode()


def _first_rows(indices: pa.Array, size: int) -> pa.Array:
    """Return the first row with each number."""
    rows = to_numpy(indices)
    first = np.zeros(size, dtype=np.int64)
    first[rows[::-1]] = np.arange(len(rows) - 1, -1, -1)
    return pa.array(first)


def to_numpy(column: pa.Array) -> npt.NDArray[np.int64]:
    """Return a column without nulls as an array. Integers have 64 bits there."""
    found: npt.NDArray[np.int64] = column.to_numpy(zero_copy_only=False)
    return found.astype(np.int64) if found.dtype.kind in "iu" else found


def _value_of(text: str) -> Any:
    """Return the JSON value of a text, or the text itself if it is not JSON."""
    try:
        return parse_json(text)
    except ValueError:
        return text
