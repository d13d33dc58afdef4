"""Score tables of episodes in one call, as engines such as Spark and Ray make it on many machines."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from corepath.batch.files import Settings
from corepath.batch.lines import place_lines
from corepath.batch.schema import SCORES
from corepath.batch.scorer import BatchScorer
from corepath.scoring.options import Scoring

PLACE: Final = ("file", "line", "offset")
"""The columns that say where an episode stands. They are copied from the episodes, if they are there."""
Names = str | Path | Iterable[str | Path]
Rows = TypeVar("Rows", pa.RecordBatch, pa.Table)


def score_batch(batch: Rows, tasks: Names = (), scoring: Scoring | None = None, rules: Names = ()) -> Rows:
    """Score a batch or a table of episodes, and return another one with one row of scores for each.

    `tasks` names files, folders or worlds, as `corepath score --tasks` does, and `rules` names rule files. Each process
    loads them once. If there are rules and no tasks, episodes are scored by the rules alone. For an episode that cannot
    be scored, the column `problem` says why.

    Episodes are in the schema `EPISODES`. They may also be lines of episode files: a column `record` with their text,
    and no columns `task` and `calls`. Blank lines are left out. Columns `file`, `line` and `offset` are copied.
    """
    scorer = find_scorer(tasks, scoring, rules)
    if isinstance(batch, pa.RecordBatch):
        return _score(batch, scorer)
    return pa.Table.from_batches([_score(part, scorer) for part in batch.combine_chunks().to_batches()], SCORES)


def find_scorer(tasks: Names, scoring: Scoring | None, rules: Names) -> BatchScorer:
    """Return the scorer for tasks and rules with these names, which is made once in each process and thread."""
    return _make_scorer(Settings(_list(tasks), _list(rules), scoring), Path.cwd(), threading.get_ident())


@lru_cache(maxsize=4)
def _make_scorer(settings: Settings, _where: Path, _thread: int) -> BatchScorer:
    return settings.make_scorer()


def _list(names: Names) -> tuple[str, ...]:
    return (str(names),) if isinstance(names, (str, Path)) else tuple(map(str, names))


def _score(batch: pa.RecordBatch, scorer: BatchScorer) -> pa.RecordBatch:
    if "record" in batch.schema.names and not {"task", "calls"} & set(batch.schema.names):
        texts = batch.column("record").cast(pa.binary()).fill_null(b"null").to_pylist()
        scores = scorer.score_lines(place_lines(texts), "").scores
        batch = batch.take(pc.subtract(scores.column("line"), 1))  # without blank lines
    else:
        scores = scorer.score_table(batch).scores
    return place_scores(scores, batch)


def place_scores(scores: pa.RecordBatch, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return scores with the columns of `PLACE` in `rows`, and nulls for those that are not there."""
    for name in PLACE:
        field = SCORES.field(name)
        there = name in rows.schema.names
        column = rows.column(name).cast(field.type) if there else pa.nulls(scores.num_rows, field.type)
        scores = scores.set_column(SCORES.get_field_index(name), field, column)
    return scores
