"""Memory and time needed to read traces from files of span rows that overlap."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import zstandard

from benchmarks.claims import Claim
from benchmarks.imports import TURNS, Written, _observations, _write_parquet
from corepath.batch.spans import read_traces
from corepath.importers.spans import Traced

FEW, MANY = 100_000, 400_000
IN_A_FILE, AGAIN = 50_000, 500
MOST = 300

_READ = """
import re, sys, time
from pathlib import Path
from corepath.batch.spans import Traced, read_traces

begin = time.process_time()
traces, calls = set(), 0
for one in read_traces([Path(name) for name in sys.argv[1:]]):
    assert isinstance(one, Traced) and one.trace not in traces, one
    traces.add(one.trace)
    calls += len(one.episode.calls)
peak = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
print(len(traces), calls, peak // 1024, round(time.process_time() - begin))
"""


@dataclass(frozen=True)
class _Read:
    right: bool
    peak: int
    seconds: int
    rows: int


def overlapping_files() -> Iterator[Claim]:
    """Memory needed for observations of Langfuse in files that overlap and cut traces."""
    for ending in (".jsonl.zst", ".parquet"):
        few, many = (_read(rows, ending) for rows in (FEW, MANY))
        shown = f"{few.peak} MB, {many.peak} MB for {many.rows / few.rows:.1f} times the rows; {many.seconds} s"
        holds = few.right and many.right and many.peak < MOST and many.peak < 1.25 * few.peak
        yield Claim(f"{many.rows:,} rows as {ending}: each trace once, in under {MOST} MB", shown, holds)


def cost_of_shards() -> Iterator[Claim]:
    """CPU time of all shards together, against reading the files once."""
    with TemporaryDirectory() as folder:
        for ending in (".jsonl", ".parquet"):
            files, _ = write_files(Path(folder), 20_000, ending)
            times: dict[int, float] = {1: float("inf"), 2: float("inf"), 4: float("inf")}
            for _ in range(3):
                for shards in list(times):
                    times[shards] = min(times[shards], _time(files, shards))
            two, four = times[2] / times[1], times[4] / times[1]
            shown = f"{two:.2f} times for 2, {four:.2f} times for 4"
            what = f"{ending}: shards together cost at most 1.3 times (2), 1.7 times (4)"
            yield Claim(what, shown, two < 1.3 and four < 1.7)


def _time(files: list[Path], shards: int) -> float:
    begin = time.process_time()
    found = sum(isinstance(one, Traced) for shard in range(shards) for one in read_traces(files, shard, shards))
    assert found
    return time.process_time() - begin


def _read(rows: int, ending: str) -> _Read:
    with TemporaryDirectory() as folder:
        files, written = write_files(Path(folder), rows, ending)
        ran = [sys.executable, "-c", _READ, *map(str, files)]
        done = subprocess.run(ran, capture_output=True, text=True, check=True)
    traces, calls, peak, seconds = map(int, done.stdout.split())
    right = (traces, calls) == (written.traces, written.traces * (TURNS - 1))
    return _Read(right, peak, seconds, written.rows)


def write_files(folder: Path, rows: int, ending: str) -> tuple[list[Path], Written]:
    """Write about `rows` observations into files, each of which begins with the last rows of the one before."""
    written = Written()
    made = _observations(written, lambda: written.rows < rows)
    files: list[Path] = []
    last: list[dict[str, Any]] = []
    while part := list(islice(made, IN_A_FILE)):
        files.append(folder / f"{len(files):03}{ending}")
        _write(files[-1], [*last, *part])
        last = part[-AGAIN:]
    return files, written


def _write(file: Path, rows: list[dict[str, Any]]) -> None:
    if file.suffix == ".parquet":
        _write_parquet(file, iter(rows))
        return
    text = "".join(json.dumps(row) + "\n" for row in rows).encode()
    file.write_bytes(zstandard.compress(text) if file.suffix == ".zst" else text)
