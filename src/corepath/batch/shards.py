"""Split input files into shards, and read the rows of a shard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final, TypeVar

from corepath.errors import CorepathError, InputError, no_such_file
from corepath.importers.compressed import is_packed, open_bytes
from corepath.values import parse_json

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

SHARD_BYTES: Final = 8 << 20
"""The size of a shard of a file that can be split."""
SHARD_ROWS: Final = 200_000
"""About how many rows of Parquet make a shard."""
SPAN_BYTES: Final = 256 << 20
"""The size of a shard of spans. Each of them reads all files."""
TRACES: Final = 5_000
"""How many traces made of spans are scored at once."""
BLOCK_BYTES: Final = 8 << 20
"""About how many bytes of lines are scored at once."""
ROWS: Final = 50_000
"""How many rows of Parquet are scored at once."""
NUMBERED: Final = ("calls.", "task", "fingerprint", "scoring")
"""The columns of Parquet that are read as numbers of distinct texts, by how their names begin."""
T = TypeVar("T")


@dataclass(frozen=True)
class Shard:
    """A part of the input that is scored by itself.

    `begin` and `end` are bytes of a plain file, row groups of a Parquet file, or 0 and 0 for a packed file, which is
    read as a whole. `size` is its share of the work in bytes. If the rows are spans, `spans` holds all such files, and
    the shard has the traces of part `begin` of `end`.
    """

    number: int
    file: str
    begin: int
    end: int
    size: int
    spans: tuple[str, ...] = ()


def plan_shards(files: Iterable[Path]) -> list[Shard]:
    """Split files into shards. The same files always give the same shards."""
    found: list[Shard] = []
    spans: list[Path] = []
    for file in files:
        if not file.is_file():
            raise CorepathError(no_such_file(str(file)))
        if _has_spans(file):
            spans.append(file)
            continue
        for begin, end, size in _split(file):
            found.append(Shard(len(found), str(file), begin, end, size))
    total = sum(file.stat().st_size for file in spans)
    parts = 1 + total // SPAN_BYTES if spans else 0
    for part in range(parts):
        found.append(Shard(len(found), str(spans[0]), part, parts, total // parts, tuple(map(str, spans))))
    return found


def _has_spans(file: Path) -> bool:
    """Whether the rows of a file are spans, and not episodes."""
    from corepath.batch.spans import find_span_format  # noqa: PLC0415  # slow to import

    try:
        return not _has_episodes(file) and find_span_format(file) is not None
    except (InputError, OSError, ValueError):
        return False  # reading it says what is wrong


def _has_episodes(file: Path) -> bool:
    """Whether a file begins with an episode."""
    if file.suffix == ".parquet":
        import pyarrow as pa  # noqa: PLC0415  # slow to import
        import pyarrow.parquet as pq  # noqa: PLC0415

        try:
            return {"task", "calls"} <= set(pq.read_schema(file).names)
        except (pa.ArrowException, OSError):
            return True
    with open_bytes(file) as stream:
        first = next((line for line in stream if line.strip()), b"")
    try:
        return "calls" in parse_json(first.decode("utf-8-sig"))
    except (ValueError, TypeError):
        return False


def _split(file: Path) -> Iterator[tuple[int, int, int]]:
    size = file.stat().st_size
    if file.suffix == ".parquet":
        yield from _split_parquet(file, size)
    elif is_packed(file):
        yield 0, 0, size
    else:
        for begin in range(0, max(size, 1), SHARD_BYTES):
            end = min(begin + SHARD_BYTES, size)
            yield begin, end, end - begin


def _split_parquet(file: Path, size: int) -> Iterator[tuple[int, int, int]]:
    """Yield groups of row groups with about `SHARD_ROWS` rows. A file that cannot be read is one shard."""
    import pyarrow as pa  # noqa: PLC0415  # slow to import
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        metadata = pq.read_metadata(file)
    except (pa.ArrowException, OSError):
        yield 0, 0, size
        return
    begin = rows = 0
    for group in range(metadata.num_row_groups):
        rows += metadata.row_group(group).num_rows
        if rows >= SHARD_ROWS or group == metadata.num_row_groups - 1:
            yield begin, group + 1, size * rows // max(metadata.num_rows, 1)
            begin, rows = group + 1, 0
    if not metadata.num_row_groups:
        yield 0, 0, size


class DamagedFileError(Exception):
    """Raised when a file cannot be read further. The message says why."""


def read_lines(shard: Shard) -> Iterator[bytes]:
    """Yield the lines that begin in a shard. Raises `DamagedFileError` if the file cannot be read to its end."""
    return chain.from_iterable(map(BytesIO, read_blocks(shard)))


def read_blocks(shard: Shard) -> Iterator[bytes]:
    """Yield the lines that begin in a shard, some MB at a time.

    Raises `DamagedFileError` if the file cannot be read to its end, after all lines before that.
    """
    try:
        with open_bytes(Path(shard.file)) as stream:
            if is_packed(Path(shard.file)):
                yield from _unpacked_blocks(stream)
            else:
                yield from _blocks_between(stream, shard.begin, shard.end)
    except OSError as error:
        raise DamagedFileError(f"cannot be read: {error.strerror or error}") from None
    except InputError as error:
        raise DamagedFileError(error.problems[0].message) from None


def _blocks_between(stream: IO[bytes], begin: int, end: int) -> Iterator[bytes]:
    at = begin
    if begin:
        stream.seek(begin - 1)
        at += len(stream.readline()) - 1  # a line that began before belongs to the shard before
    while at < end and (block := stream.read(min(end - at, BLOCK_BYTES))):
        if not block.endswith(b"\n"):
            block += stream.readline()
        yield block
        at += len(block)


def _unpacked_blocks(stream: IO[bytes]) -> Iterator[bytes]:
    lines: list[bytes] = []
    size = 0
    try:
        for line in stream:
            lines.append(line)
            size += len(line)
            if size >= BLOCK_BYTES:
                yield b"".join(lines)
                lines, size = [], 0
    except (OSError, InputError):
        yield b"".join(lines)
        raise
    yield b"".join(lines)


def read_rows(shard: Shard) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a shard of Parquet. Raises `pyarrow.ArrowException` or `OSError` if they cannot be read."""
    import pyarrow.parquet as pq  # noqa: PLC0415  # slow to import

    groups = range(shard.begin, shard.end)
    with pq.ParquetFile(shard.file, pre_buffer=False, page_checksum_verification=True) as file:
        rows = sum(file.metadata.row_group(group).num_rows for group in groups)
        if 2 * rows < ROWS * len(groups):  # many small row groups, which are better read together
            yield from _read_groups(file, file, groups)
            return
        columns = map(file.schema.column, range(len(file.schema)))
        texts = [one.path for one in columns if one.path.startswith(NUMBERED) and one.physical_type == "BYTE_ARRAY"]
        with pq.ParquetFile(
            shard.file, metadata=file.metadata, pre_buffer=False, read_dictionary=texts, page_checksum_verification=True
        ) as numbered:
            for group in groups:
                yield from _read_groups(numbered, file, [group])


def _read_groups(file: pq.ParquetFile, plain: pq.ParquetFile, groups: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of row groups, which `file` may read as numbers of distinct texts.

    Arrow cannot read nested texts as numbers if some of them are not stored so, because there are too many, or if they
    were stored as numbers in several row groups. It says so, and `plain` reads the row groups one by one. So it does if
    one of them is damaged, which ends the file only there.
    """
    import pyarrow as pa  # noqa: PLC0415  # slow to import

    done = 0
    try:
        for batch in file.iter_batches(ROWS, groups, use_threads=False):
            yield batch
            done += batch.num_rows
    except (pa.ArrowException, OSError):
        for batch in (one for group in groups for one in plain.iter_batches(ROWS, [group], use_threads=False)):
            if done < batch.num_rows:
                yield batch.slice(done)
            done = max(0, done - batch.num_rows)


def in_batches(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of at most `size` items."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch
