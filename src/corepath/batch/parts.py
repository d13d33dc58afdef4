"""The folder of a batch that is not finished: one file for each shard that is, and what the batch is about."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corepath.batch.schema import SCORES
from corepath.batch.shards import Shard
from corepath.errors import CorepathError

PARTS: Final = ".parts"
"""The ending of the folder beside the file of scores."""
ROW_GROUP: Final = 100_000
"""How many rows a row group of scores has, however the input was split."""
_COUNTED: Final = ("line", "offset")
"""Columns that grow from row to row: their differences take the least time and space. Others repeat their values."""
MOST_PROBLEMS: Final = 1_000
"""How many problems of a shard are kept in words. All are counted, and stand in the scores."""
_REPORT: Final = b"corepath"
_EMPTY: Final = pa.RecordBatch.from_pylist([], schema=SCORES)
_WRITING: Final = pa.ipc.IpcWriteOptions(use_threads=False)
_READING: Final = pa.ipc.IpcReadOptions(use_threads=False)
_PLAN: Final = "plan"
"""The file that says what the batch is about. Its name has no ending, since a folder's JSON files may be tasks."""


@dataclass(frozen=True)
class ShardReport:
    """What came of a shard: how many lines it had and how many episodes, and what was wrong.

    `problems` holds the file, the line within the shard, the column and the message of the first problems. `ordinary`
    counts the episodes that were not coded. `damage` says why the rest of the shard could not be read, or is None.
    """

    lines: int = 0
    episodes: int = 0
    bad: int = 0
    ordinary: int = 0
    problems: Sequence[tuple[str, int, int, str]] = field(default_factory=tuple)
    damage: str | None = None


class PartsFolder:
    """The folder `NAME.parts` beside the file of scores `NAME`. Its files are written whole or not at all."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.path = out.with_name(out.name + PARTS)
        self._lock: int | None = None

    def begin(self, plan: Mapping[str, Any], *, resume: bool) -> None:
        """Make the folder, or go on in it. Raises `CorepathError` if another batch or another process is there."""
        is_there = self.path.exists()
        self.path.mkdir(exist_ok=True)
        self._take()
        if self.out.exists() and not resume:  # another process may just have finished it
            if not is_there:
                self.delete()
            raise CorepathError(f"{self.out} is already there; choose another name, or delete it")
        if is_there and not resume:
            raise CorepathError(f"{self.path} has an unfinished batch; go on with --resume, or delete it")
        if is_there:
            known = self._read_plan()
            if known is not None and known != json.loads(json.dumps(plan)):
                raise CorepathError(f"{self.path} is of another batch: {_name_difference(known, plan)} changed")
            for left in self.path.glob("*.tmp"):
                left.unlink(missing_ok=True)
        _write_whole(self.path / _PLAN, lambda file: file.write_text(json.dumps(plan, indent=1)))

    def _take(self) -> None:
        """Lock the folder as long as this process writes there. The lock ends with the process."""
        self._lock = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise CorepathError(f"another process is writing {self.out}; wait for it, or choose another name") from None

    def release(self) -> None:
        """Let other processes write here."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _read_plan(self) -> Any:
        try:
            return json.loads((self.path / _PLAN).read_text())
        except (OSError, ValueError):
            return None

    def part(self, number: int) -> Path:
        """Return the file of a shard."""
        return self.path / f"{number:06}.arrow"

    def read_report(self, number: int) -> ShardReport | None:
        """Return the report of a finished shard, or None if it is not finished."""
        try:
            with pa.OSFile(str(self.part(number))) as stream, pa.ipc.open_file(stream) as part:
                metadata = part.get_batch_with_custom_metadata(part.num_record_batches - 1).custom_metadata
        except (OSError, pa.ArrowException):
            return None
        return ShardReport(**json.loads(metadata[_REPORT]))

    def read_part(self, number: int) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a finished shard."""
        with pa.OSFile(str(self.part(number))) as stream, pa.ipc.open_file(stream, options=_READING) as part:
            for place in range(part.num_record_batches):
                yield part.get_batch(place)

    def delete(self) -> None:
        """Delete the folder."""
        for file in self.path.iterdir():
            file.unlink()
        self.path.rmdir()


class JoinedScores:
    """The file of scores while it is written. It gets the rows of each shard as soon as all before it are there.

    It stands in the folder of parts, and moves to its place once it is whole.
    """

    def __init__(self, folder: PartsFolder, shards: Sequence[Shard]) -> None:
        self._folder, self._shards = folder, shards
        self._file = folder.path / f"joined.{os.getpid()}.tmp"
        self._next = 0
        self._is_there = False
        self._lines: dict[str, int] = {}
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0
        self._writer = pq.ParquetWriter(
            self._file, SCORES, compression="zstd", version="2.6", write_statistics=["file", *_COUNTED],
            use_dictionary=[name for name in _list_columns() if name not in _COUNTED],
            column_encoding=dict.fromkeys(_COUNTED, "DELTA_BINARY_PACKED"),
        )  # fmt: skip

    def take_batches(self, shard: Shard, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches of a shard, and add them on the way if it is the next one."""
        self._is_there = shard.number == self._next
        if self._is_there:
            self._begin(shard)
        for batch in batches:
            if self._is_there:
                self._add(shard, batch)
            yield batch

    def add_finished(self, reports: Mapping[int, ShardReport]) -> None:
        """Add the next shards as far as they are finished."""
        while self._next < len(self._shards) and self._next in reports:
            shard = self._shards[self._next]
            if not self._is_there:
                self._begin(shard)
                for batch in self._folder.read_part(shard.number):
                    self._add(shard, batch)
            self._lines[shard.file] = self._lines.get(shard.file, 0) + reports[self._next].lines
            self._next, self._is_there = self._next + 1, False

    def _begin(self, shard: Shard) -> None:
        """Count lines anew where a file begins, which may be named twice."""
        if shard.begin == 0:
            self._lines[shard.file] = 0

    def _add(self, shard: Shard, batch: pa.RecordBatch) -> None:
        """Add rows. Their lines are counted from the beginning of their file."""
        lines = pc.add(batch.column("line"), self._lines.get(shard.file, 0))
        self._waiting.append(batch.set_column(SCORES.get_field_index("line"), SCORES.field("line"), lines))
        self._rows += batch.num_rows
        while self._rows >= ROW_GROUP:
            self._write(ROW_GROUP)

    def _write(self, rows: int) -> None:
        joined = pa.Table.from_batches(self._waiting, SCORES)
        self._writer.write_table(joined.slice(0, rows), row_group_size=ROW_GROUP)
        self._waiting, self._rows = joined.slice(rows).to_batches(), self._rows - rows

    def finish(self, about: Mapping[str, Any]) -> None:
        """Move the file to its place, and delete the folder. The file says what it is `about`."""
        if self._rows:
            self._write(self._rows)
        self._writer.add_key_value_metadata({f"corepath.{name}": json.dumps(value) for name, value in about.items()})
        self._writer.close()
        _move(self._file, self._folder.out)
        self._folder.delete()

    def abandon(self) -> None:
        """Delete what is written. The parts stay."""
        with suppress(OSError):
            self._writer.close()
        self._file.unlink(missing_ok=True)


@dataclass(frozen=True)
class FinishedScores:
    """A file of scores that is whole."""

    path: Path
    rows: int
    is_damaged: bool
    """Whether part of the input could not be read."""

    @classmethod
    def open(cls, path: Path, plan: Mapping[str, Any], files: Iterable[Path]) -> FinishedScores:
        """Open the scores of a batch. Raises `CorepathError` if it was another batch, or if there are no scores."""
        try:
            metadata = pq.read_metadata(path)
            known = json.loads((metadata.metadata or {})[b"corepath.plan"])
            is_damaged = json.loads(metadata.metadata[b"corepath.damaged"])
        except (OSError, pa.ArrowException, KeyError, ValueError):
            raise CorepathError(
                f"{path} is no file of scores by this command; choose another name, or delete it"
            ) from None
        changed = _name_difference(known, plan)
        written = path.stat().st_mtime_ns
        if not changed and any(file.stat().st_mtime_ns > written for file in files):
            changed = "input"
        if changed:
            raise CorepathError(f"{path} is of another batch: {changed} changed; choose another name, or delete it")
        return cls(path, metadata.num_rows, is_damaged)

    def count_bad(self) -> int:
        """Count the rows with a problem."""
        with pq.ParquetFile(self.path, pre_buffer=False) as file:
            batches = file.iter_batches(ROW_GROUP, columns=["problem"], use_threads=False)
            return sum(len(batch) - batch.column(0).null_count for batch in batches)


def write_part(file: Path, batches: Iterable[pa.RecordBatch], report: Any) -> ShardReport:
    """Write the scores of a shard with its report, which `report` returns once all batches are there.

    The report goes with a last batch, which is empty.
    """
    found: list[ShardReport] = []

    def write(into: Path) -> None:
        with pa.OSFile(str(into), "wb") as stream, pa.ipc.new_file(stream, SCORES, options=_WRITING) as writer:
            for batch in batches:
                writer.write_batch(batch)
            found.append(report())
            writer.write_batch(_EMPTY, {_REPORT: json.dumps(asdict(found[0])).encode()})

    _write_whole(file, write)
    return found[0]


def _write_whole(file: Path, write: Any) -> None:
    """Write a file under another name first, so that it is whole once it has its own."""
    unfinished = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        write(unfinished)
        _move(unfinished, file)
    finally:
        unfinished.unlink(missing_ok=True)


def _list_columns() -> Iterator[str]:
    """Yield the names of the columns of scores as Parquet has them."""
    for column in SCORES:
        if pa.types.is_list(column.type):
            yield from (f"{column.name}.list.element.{one.name}" for one in column.type.value_type)
        else:
            yield column.name


def _move(unfinished: Path, file: Path) -> None:
    with unfinished.open("rb") as written:
        os.fsync(written.fileno())
    unfinished.replace(file)


def _name_difference(known: Any, plan: Mapping[str, Any]) -> str:
    before = known if isinstance(known, dict) else {}
    return ", ".join(name for name, value in plan.items() if before.get(name) != json.loads(json.dumps(value)))
