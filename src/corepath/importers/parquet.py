"""Read the rows of Parquet files. Needs pyarrow, which is imported only when such a file is read."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from corepath.errors import InputError, MissingExtraError, Problem, install

_MAGIC: Final = b"PAR1"
_BATCH: Final = 64
"""How many rows are converted at a time. A row may hold a whole conversation."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1f]")
_BUFFER: Final = 2**18
"""How many bytes of each column are read at a time."""


def is_parquet(file: Path) -> bool:
    """Return True if a file is a Parquet file, judging by its first bytes. A file that cannot be read is none."""
    try:
        with file.open("rb") as read:
            return read.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def read_parquet(file: Path) -> Iterator[dict[str, Any] | Problem]:
    """Yield each row of a Parquet file as a dict of JSON values, and a `Problem` for a row or where the file is broken.

    Times become numbers of microseconds since 1970. Only a small part of the file is in memory at any time. Raises
    `InputError` if pyarrow is not installed.
    """
    try:
        arrow, parquet = import_pyarrow(file)
    except MissingExtraError:
        message = f"a Parquet file; to read such files: {install('parquet')}"
        raise InputError([Problem(str(file), 1, 1, message)]) from None
    done = 0
    try:
        with parquet.ParquetFile(file, buffer_size=_BUFFER, pre_buffer=False) as table:
            for batch in table.iter_batches(batch_size=_BATCH, use_threads=False):
                yield from _rows(batch, arrow, str(file), done + 1)
                done += batch.num_rows
    except (arrow.ArrowException, OSError, ValueError) as error:
        yield Problem(str(file), done + 1, 1, f"not a readable Parquet file: {str(error)[:200]}")


def import_pyarrow(file: Path) -> tuple[Any, Any]:
    """Return the modules pyarrow and pyarrow.parquet. Raises `MissingExtraError` if pyarrow is not installed."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise MissingExtraError(f"{file}: reading Parquet needs pyarrow: {install('parquet')}") from None


def _rows(batch: Any, arrow: Any, file: str, first: int) -> Iterator[dict[str, Any] | Problem]:
    """Yield the rows of a batch, and a `Problem` for each that has a text which is not UTF-8."""
    try:
        columns = [_values(batch.column(number), arrow) for number in range(batch.num_columns)]
    except UnicodeDecodeError as error:
        if batch.num_rows == 1:
            yield Problem(file, first, 1, f"not UTF-8: the byte 0x{error.object[error.start]:02x}")
            return
        for row in range(batch.num_rows):
            yield from _rows(batch.slice(row, 1), arrow, file, first + row)
        return
    names = batch.schema.names
    for values in zip(*columns, strict=True):
        yield dict(zip(names, values, strict=True))


def _values(column: Any, arrow: Any) -> list[Any]:
    """Return a column's values as JSON values."""
    types = arrow.types
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if types.is_timestamp(column.type):
        column = column.cast(arrow.timestamp("us", column.type.tz), safe=False).cast(arrow.int64())
    values: list[Any] = column.to_pylist()
    plain = types.is_string(column.type) or types.is_integer(column.type) or types.is_boolean(column.type)
    if plain:
        return values
    is_map = types.is_map(column.type)
    return [_json_value(dict(one) if is_map and one is not None else one) for one in values]


def _text(value: bytes) -> str:
    """Decode bytes that are text. Others, e.g. ids, become hexadecimal digits, so that they stay different."""
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return value.hex()
    return value.hex() if _CONTROL.search(text) else text


def _json_value(value: Any) -> Any:
    """Convert a value that pyarrow returns to a JSON value. Types that JSON does not have become text."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, dict):
        return {str(name): _json_value(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(one) for one in value]
    if isinstance(value, bytes):
        return _text(value)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return str(value)
    return number if math.isfinite(number) else str(number)
