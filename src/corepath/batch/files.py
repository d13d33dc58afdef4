"""Score files of episodes into one file of scores: shard by shard, in one process or several."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from corepath.batch.lines import split_lines
from corepath.batch.parts import MOST_PROBLEMS, FinishedScores, JoinedScores, PartsFolder, ShardReport, write_part
from corepath.batch.scorer import BatchScorer, ScoredBatch
from corepath.batch.shards import (
    TRACES,
    DamagedFileError,
    Shard,
    in_batches,
    plan_shards,
    read_blocks,
    read_rows,
)
from corepath.batch.spans import read_traces
from corepath.episode import Episode
from corepath.errors import CorepathError, Problem
from corepath.files.folders import TASK_ENDINGS, find_files
from corepath.files.lookup import Tasks
from corepath.files.rules import load_rules
from corepath.importers.compressed import is_packed
from corepath.importers.spans import Traced
from corepath.processes import ProcessKilledError, ProcessPool
from corepath.scoring.options import Scoring

SMALL: Final = 8 << 20
"""Input of fewer bytes is scored in this process, since starting others takes longer."""


@dataclass(frozen=True)
class Settings:
    """How episodes are scored. `tasks` and `rules` are as the user named them.

    If `scoring` is None, each episode is scored with the options in its record. Without `tasks` but with `rules`, they
    are scored by the rules alone.
    """

    tasks: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    scoring: Scoring | None = None

    def make_scorer(self) -> BatchScorer:
        """Load tasks and rules. Raises `CorepathError` if there is something wrong with them."""
        rules = [rule for path in self.rules for rule in load_rules(path).rules]
        return BatchScorer(None if rules and not self.tasks else Tasks(self.tasks), self.scoring, rules)

    def to_dict(self) -> dict[str, Any]:
        """Return what decides the scores, with a hash of each file of tasks and rules."""
        options = None if self.scoring is None else self.scoring.options
        named = {name: _hash_files(name) for name in (*self.tasks, *self.rules)}
        return {"files": named, "scoring": options}


@dataclass
class BatchReport:
    """What came of a batch.

    `bad` counts the rows with a problem, `damaged` the shards that could not be read to their end, and `empty` the
    files without episodes. `failed` holds the shards that could not be written, with the reason.
    """

    shards: int = 0
    skipped: int = 0
    episodes: int = 0
    bad: int = 0
    damaged: int = 0
    empty: int = 0
    ordinary: int = 0
    problems: list[Problem] = field(default_factory=list)
    failed: list[Problem] = field(default_factory=list)
    seconds: float = 0.0


Progress = Callable[[int, int, int], None]
"""Called with the episodes, bytes and bytes in total so far: first with those that were there before, if any."""


def score_files(
    files: Sequence[Path],
    out: Path,
    settings: Settings,
    *,
    processes: int | None = None,
    resume: bool = False,
    progress: Progress = lambda *_: None,
) -> BatchReport:
    """Score the episodes in files, and write the scores to `out`.

    Finished shards stand in a folder beside `out` until all are there, so that `resume` can go on after an
    interruption. `out` is only ever a whole file. Raises `CorepathError` if nothing can be scored.
    """
    began = time.monotonic()
    settings.make_scorer()  # raises if tasks or rules are wrong, before anything is written
    shards = plan_shards(files)
    folder = PartsFolder(out)
    plan: dict[str, Any] = {"input": [[str(file), file.stat().st_size] for file in files]}
    plan["settings"] = settings.to_dict()
    if resume and out.exists() and not folder.path.exists():
        return _report_finished(FinishedScores.open(out, plan, files), len(shards))
    times = [file.stat().st_mtime_ns for file in files]
    try:
        folder.begin({**plan, "times of input": times, "shards": len(shards)}, resume=resume)
        report = _score_plan(plan, shards, folder, settings, processes, progress)
    finally:
        folder.release()
    report.seconds = time.monotonic() - began
    return report


def _score_plan(
    plan: dict[str, Any], shards: Sequence[Shard], folder: PartsFolder, settings: Settings, processes: int | None,
    progress: Progress,
) -> BatchReport:  # fmt: skip
    """Score the shards that are not finished yet, and join all."""
    reports = {shard.number: known for shard in shards if (known := folder.read_report(shard.number)) is not None}
    report = BatchReport(shards=len(shards), skipped=len(reports))
    meter = _Meter(sum(shard.size for shard in shards), progress)
    for shard in shards:
        if shard.number in reports:
            meter.count(shard, reports[shard.number])
    meter.show()
    left = [shard for shard in shards if shard.number not in reports]
    joined = JoinedScores(folder, shards)
    try:
        joined.add_finished(reports)
        for shard, found in _score_shards(left, folder, joined, settings, _choose_processes(processes, left)):
            if isinstance(found, Problem):
                report.failed.append(found)
            else:
                reports[shard.number] = found
                meter.count(shard, found)
                meter.show()
            joined.add_finished(reports)
        if not report.failed:
            is_damaged = any(one.damage is not None for one in reports.values())
            joined.finish({"tasks": settings.tasks, "rules": settings.rules, "plan": plan, "damaged": is_damaged})
    finally:
        joined.abandon()
    _sum_up(report, shards, reports)
    return report


def score_shard(shard: Shard, part: Path, scorer: BatchScorer, joined: JoinedScores | None = None) -> ShardReport:
    """Score a shard and write its part, and what is joined in the same process. Raises `OSError` if that fails."""
    counts = _ShardCounts()
    batches = counts.count(_score_batches(shard, scorer, counts))
    return write_part(part, batches if joined is None else joined.take_batches(shard, batches), counts.report)


@dataclass
class _ShardCounts:
    lines: int = 0
    episodes: int = 0
    bad: int = 0
    ordinary: int = 0
    problems: list[tuple[str, int, int, str]] = field(default_factory=list)
    damage: str | None = None

    def count(self, batches: Iterator[ScoredBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the scores of each batch, and count its rows."""
        for batch in batches:
            self.episodes += batch.scores.num_rows - len(batch.problems)
            self.bad += len(batch.problems)
            self.ordinary += batch.ordinary
            for problem in batch.problems[: MOST_PROBLEMS - len(self.problems)]:
                self.problems.append((problem.file, problem.line, problem.column, problem.message))
            yield batch.scores

    def report(self) -> ShardReport:
        """Return what was counted."""
        return ShardReport(**vars(self))


def _score_batches(shard: Shard, scorer: BatchScorer, counts: _ShardCounts) -> Iterator[ScoredBatch]:
    """Score a shard batch by batch. What cannot be read is noted, and ends the shard."""
    try:
        if shard.spans:
            yield from _score_traces(shard, scorer)
        elif shard.file.endswith(".parquet"):
            yield from _score_rows(shard, scorer, counts)
        else:
            yield from _score_lines(shard, scorer, counts)
    except DamagedFileError as error:
        counts.damage = str(error)


def _score_lines(shard: Shard, scorer: BatchScorer, counts: _ShardCounts) -> Iterator[ScoredBatch]:
    try:
        offset = None if is_packed(Path(shard.file)) else 0 if shard.begin == 0 else _first_offset(shard)
    except OSError as error:
        raise DamagedFileError(f"cannot be read: {error.strerror or error}") from None
    for block in read_blocks(shard):
        lines = split_lines(block, counts.lines + 1, offset)
        counts.lines += len(lines)
        offset = None if offset is None else offset + len(block)
        yield scorer.score_lines(lines, shard.file)


def _score_traces(shard: Shard, scorer: BatchScorer) -> Iterator[ScoredBatch]:
    traces = read_traces([Path(file) for file in shard.spans], shard.begin, shard.end)
    for batch in in_batches(map(_place_trace, traces), TRACES):
        yield scorer.score_episodes(batch)


def _place_trace(one: Traced | Problem) -> tuple[Episode, dict[str, Any]] | Problem:
    if isinstance(one, Problem):
        return one
    return one.episode, {"file": str(one.file), "line": one.line, "trace": one.trace}


def _first_offset(shard: Shard) -> int:
    """Return where the first line begins that belongs to a shard."""
    with Path(shard.file).open("rb") as stream:
        stream.seek(shard.begin - 1)
        return shard.begin - 1 + len(stream.readline())


def _score_rows(shard: Shard, scorer: BatchScorer, counts: _ShardCounts) -> Iterator[ScoredBatch]:
    try:
        for batch in read_rows(shard):
            scored = scorer.score_table(batch, shard.file, counts.lines + 1)
            counts.lines += batch.num_rows
            yield scored
    except (OSError, pa.ArrowException) as error:
        raise DamagedFileError(f"cannot be read: {error}") from None
    except CorepathError as error:
        raise DamagedFileError(str(error)) from None


def _choose_processes(wanted: int | None, shards: Sequence[Shard]) -> int:
    if wanted is None:
        wanted = 1 if sum(shard.size for shard in shards) < SMALL else os.cpu_count() or 1
    return max(1, min(wanted, len(shards)))


def _score_shards(
    shards: Sequence[Shard], folder: PartsFolder, joined: JoinedScores, settings: Settings, processes: int
) -> Iterator[tuple[Shard, ShardReport | Problem]]:
    """Score shards, and yield each as soon as it is finished."""
    if processes == 1:
        scorer = settings.make_scorer()
        for shard in shards:
            with _no_garbage():
                found = _try_shard(lambda one: score_shard(one, folder.part(one.number), scorer, joined), shard)
            yield shard, found
        return
    with ProcessPool(processes, partial(_prepare, settings, folder), "spawn") as pool:
        waiting = {pool.submit(shard): shard for shard in shards}
        while waiting:
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                shard = waiting.pop(future)
                yield shard, _try_shard(lambda _, future=future: future.result(), shard)  # type: ignore[misc]


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Look for no garbage in cycles meanwhile. Lines leave none, and looking for it takes longer than reading them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.collect(0)  # what came in the meantime
        if was_on:
            gc.enable()


def _try_shard(run: Callable[[Shard], ShardReport], shard: Shard) -> ShardReport | Problem:
    try:
        return run(shard)
    except OSError as error:
        return Problem(shard.file, 1, 1, f"its scores cannot be written: {error.strerror or error}")
    except CorepathError as error:
        return Problem(shard.file, 1, 1, f"cannot be scored: {error}")
    except ProcessKilledError:
        return Problem(shard.file, 1, 1, "the process that scored it was killed; was there enough memory?")


def _prepare(settings: Settings, folder: PartsFolder) -> Callable[[Shard], ShardReport]:
    """Load tasks and rules in a new process, and return a function that scores a shard."""
    scorer = settings.make_scorer()

    def score(shard: Shard) -> ShardReport:
        with _no_garbage():
            return score_shard(shard, folder.part(shard.number), scorer)

    return score


@dataclass
class _Meter:
    """Counts what is done, and says so."""

    total: int
    progress: Progress
    episodes: int = 0
    done: int = 0

    def count(self, shard: Shard, report: ShardReport) -> None:
        """Count a finished shard."""
        self.episodes += report.episodes
        self.done += shard.size

    def show(self) -> None:
        """Say how far it is."""
        self.progress(self.episodes, self.done, self.total)


def _report_finished(found: FinishedScores, shards: int) -> BatchReport:
    bad = found.count_bad()
    return BatchReport(shards, shards, found.rows - bad, bad, damaged=found.is_damaged)


def _sum_up(report: BatchReport, shards: Sequence[Shard], reports: dict[int, ShardReport]) -> None:
    """Add up the reports of all shards. Lines are counted from the beginning of their file."""
    before: dict[str, int] = {}
    with_spans = any(shard.spans for shard in shards)  # an empty file may be one of spans, of which none came
    seen = {} if with_spans else dict.fromkeys(shard.file for shard in shards)
    for shard in shards:
        found = reports.get(shard.number)
        if found is None:
            continue
        first = before.get(shard.file, 0) if shard.begin else 0  # a file may be named twice
        before[shard.file] = first + found.lines
        if found.episodes or found.bad or found.damage is not None:
            seen.pop(shard.file, None)
        report.episodes += found.episodes
        report.bad += found.bad
        report.damaged += found.damage is not None
        report.ordinary += found.ordinary
        report.problems += [Problem(file, first + line, column, text) for file, line, column, text in found.problems]
        if found.damage is not None:
            report.problems.append(Problem(shard.file, before[shard.file] + 1, 1, found.damage))
    if not report.failed:
        report.empty = len(seen)
        report.problems += [Problem(file, 1, 1, "no episodes in this file") for file in seen]


def _hash_files(name: str) -> str | None:
    """Return a hash of the files that may hold the tasks or rules with this name.

    A world has none: its code is not part of the input.
    """
    place = Path(name.partition("::")[0])
    if not place.exists():
        return None
    files = sorted(map(Path, find_files(place, *TASK_ENDINGS, ".py"))) if place.is_dir() else [place]
    digest = blake2b(digest_size=16)
    for file in files:
        digest.update(str(file.relative_to(place) if place.is_dir() else file.name).encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()
