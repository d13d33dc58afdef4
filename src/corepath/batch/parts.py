"""The folder of a batch that is not finished: one file for each shard that is, and what the batch is about."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corepath.batch.schema import SCORES
from corepath.errors import CorepathError

PARTS: Final = ".parts"
"""The ending of the folder beside the file of scores."""
ROW_GROUP: Final = 20_000
"""How many rows a row group of scores has, however the input was split."""
MOST_PROBLEMS: Final = 1_000
"""How many problems of a shard are kept in words. All are counted, and stand in the scores."""
_REPORT: Final = b"corepath"
_EMPTY: Final = pa.RecordBatch.from_pylist([], schema=SCORES)
_WRITING: Final = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
_READING: Final = pa.ipc.IpcReadOptions(use_threads=False)
_PLAN: Final = "plan.json"


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

    def begin(self, plan: Mapping[str, Any], *, resume: bool) -> None:
        """Make the folder, or go on in it. Raises `CorepathError` if another batch is there."""
        if self.path.exists() and not resume:
            raise CorepathError(f"{self.path} has an unfinished batch; go on with --resume, or delete it")
        if self.path.exists():
            known = self._read_plan()
            if known is not None and known != json.loads(json.dumps(plan)):
                raise CorepathError(f"{self.path} is of another batch: {_name_difference(known, plan)} changed")
            for left in self.path.glob("*.tmp"):
                left.unlink(missing_ok=True)
        self.path.mkdir(parents=True, exist_ok=True)
        _write_whole(self.path / _PLAN, lambda file: file.write_text(json.dumps(plan, indent=1)))

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

    def join(self, shards: Sequence[Any], reports: Mapping[int, ShardReport], about: Mapping[str, Any]) -> None:
        """Write the scores of all shards into one file, and delete the folder. The file says what it is `about`."""

        def write(file: Path) -> None:
            with pq.ParquetWriter(file, SCORES, compression="zstd", version="2.6") as writer:
                for batch in _in_row_groups(self._read_parts(shards, reports)):
                    writer.write_table(batch, row_group_size=ROW_GROUP)
                writer.add_key_value_metadata({f"corepath.{name}": json.dumps(value) for name, value in about.items()})

        _write_whole(self.out, write)
        self.delete()

    def _read_parts(self, shards: Sequence[Any], reports: Mapping[int, ShardReport]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all shards. Lines are counted from the beginning of their file."""
        before: dict[str, int] = {}
        for shard in shards:
            first = before.get(shard.file, 0)
            before[shard.file] = first + reports[shard.number].lines
            with pa.OSFile(str(self.part(shard.number))) as stream, pa.ipc.open_file(stream, options=_READING) as part:
                for number in range(part.num_record_batches):
                    batch = part.get_batch(number)
                    lines = pc.add(batch.column("line"), first)
                    yield batch.set_column(batch.schema.get_field_index("line"), SCORES.field("line"), lines)

    def delete(self) -> None:
        """Delete the folder."""
        for file in self.path.iterdir():
            file.unlink()
        self.path.rmdir()


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
        with unfinished.open("rb") as written:
            os.fsync(written.fileno())
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)


def _in_row_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Put batches together into tables of `ROW_GROUP` rows."""
    waiting: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        waiting.append(batch)
        size += batch.num_rows
        while size >= ROW_GROUP:
            joined = pa.Table.from_batches(waiting, SCORES)
            yield joined.slice(0, ROW_GROUP)
            waiting, size = joined.slice(ROW_GROUP).to_batches(), size - ROW_GROUP
    if size:
        yield pa.Table.from_batches(waiting, SCORES)


def _name_difference(known: Any, plan: Mapping[str, Any]) -> str:
    before = known if isinstance(known, dict) else {}
    return ", ".join(name for name, value in plan.items() if before.get(name) != json.loads(json.dumps(value)))
