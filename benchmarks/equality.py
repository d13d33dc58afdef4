"""Every value of a batch equals that of score(), to the last bit; and how often episodes repeat in real data."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyarrow import parquet

from benchmarks.claims import Claim
from benchmarks.tau import published
from benchmarks.workloads import all_workloads, write_parquet
from corepath import Episode, Score, score
from corepath.batch.lines import join_lines
from corepath.batch.scorer import BatchScorer, ScoredBatch
from corepath.files.episodes import load_episodes
from corepath.files.lookup import Tasks
from corepath.values import canonical

SCORED = (
    "pc", "pc_ktc", "pc_ktc_lower", "pc_ktc_upper", "prefix_criticality", "harm_rate", "harm_count", "efficiency",
    "directness", "pc_hlr", "accepted", "missing_steps", "state_match", "response_match", "answer_match", "length",
    "profile",
)  # fmt: skip


def same_values() -> Iterator[Claim]:
    """Each score in a batch of JSON lines and of Parquet, against score() on the same episode, to the last bit."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for work in all_workloads():
            file = folder / "episodes.jsonl"
            file.write_bytes(b"".join(work.lines(work.usual)))
            yield from _compare_file(work.name, file, work.write_tasks(folder))
        for run, file in published().items():
            if not file.is_file():
                yield Claim(f"{run}", "is missing: its file of results is not here")
                continue
            episodes, tasks = import_results(file, folder / file.stem)
            yield from _compare_file(run, episodes, (str(tasks),))


def import_results(file: Path, folder: Path) -> tuple[Path, Path]:
    """Import a file of a benchmark's results. Returns the files of episodes and of tasks."""
    code = "import sys; from corepath.cli import main; sys.exit(main())"
    given = [sys.executable, "-c", code, "benchmark", str(file), "--out", str(folder)]
    subprocess.run(given, capture_output=True, text=True, check=True)
    return folder / "episodes.jsonl", folder / "tasks.yaml"


def _compare_file(name: str, file: Path, targets: Sequence[str]) -> Iterator[Claim]:
    tasks = Tasks(targets)
    episodes = load_episodes(file)
    wanted = [(episode, score(tasks.of(episode), episode)) for episode in episodes]
    other = file.with_suffix(".parquet")
    write_parquet(other, iter(episodes))
    for form, batches in (("JSON lines", score_lines(file, targets)), ("Parquet", score_rows(other, targets))):
        scored = list(batches)
        rows = [row for one in scored for row in one.scores.to_pylist()]
        wrong = len(rows) != len(wanted) or [
            row for row, (episode, one) in zip(rows, wanted, strict=True) if not _is_same(row, episode, one)
        ]
        ordinary = sum(one.ordinary for one in scored)
        shown = f"{len(rows):,} episodes, {ordinary:,} of them scored one by one"
        yield Claim(f"{name}, {form}: every value the same", f"{shown}" + f", wrong: {wrong}"[:300] * bool(wrong),
                    not wrong)  # fmt: skip


def score_lines(file: Path, targets: Sequence[str]) -> Iterator[ScoredBatch]:
    scorer = BatchScorer(Tasks(targets))
    with file.open("rb") as stream:
        while batch := list(islice(stream, 700)):
            yield scorer.score_lines(join_lines(batch), str(file))


def score_rows(file: Path, targets: Sequence[str]) -> Iterator[ScoredBatch]:
    scorer = BatchScorer(Tasks(targets))
    for batch in parquet.ParquetFile(file).iter_batches(700):
        yield scorer.score_table(batch, str(file))


def _is_same(row: dict[str, Any], episode: Episode, found: Score) -> bool:
    harms = [(one["index"], one["kind"], one["effected"], one["again"]) for one in row["harms"] or ()]
    return (
        row["problem"] is None
        and (row["task"], row["agent"], row["epoch"]) == (episode.task, episode.agent, episode.epoch)
        and all(row[name] == getattr(found, name) for name in SCORED)
        and harms == [(one.index, one.kind.value, one.effected, one.again) for one in found.harms]
    )


def repetition() -> Iterator[Claim]:
    """How often calls, whole episodes and condensed paths repeat in real runs of τ-bench and τ²-bench."""
    with TemporaryDirectory() as name:
        for run, file in published().items():
            if not file.is_file():
                yield Claim(f"{run}", "is missing: its file of results is not here")
                continue
            episodes, tasks = import_results(file, Path(name) / file.stem)
            yield Claim(run, _count_distinct(load_episodes(episodes), Tasks((str(tasks),))))


def _count_distinct(episodes: Sequence[Episode], tasks: Tasks) -> str:
    calls: set[Any] = set()
    raw: set[Any] = set()
    paths: set[Any] = set()
    count = 0
    for episode in episodes:
        texts = tuple((call.tool, canonical(call.arguments), call.failed) for call in episode.calls)
        trace = score(tasks.of(episode), episode).trace
        count += len(texts)
        calls.update((episode.task, text) for text in texts)
        raw.add((episode.task, texts))
        paths.add((episode.task, trace.tokens, trace.harm_mask, trace.end.state))
    shares = ((len(calls), count, "calls"), (len(raw), len(episodes), "episodes"), (len(paths), len(episodes), "paths"))
    return "distinct: " + ", ".join(f"{found / max(total, 1):.0%} of {total:,} {what}" for found, total, what in shares)
