"""Score tables of episodes, or of spans, in one call: what engines such as Spark and Ray run on many machines."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from corepath.batch.files import Settings
from corepath.batch.lines import join_lines
from corepath.batch.schema import SCORES
from corepath.batch.scorer import BatchScorer
from corepath.batch.spans import read_traces
from corepath.episode import Episode
from corepath.errors import Problem, RecordError
from corepath.importers.routing import Routing
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


def score_spans(
    rows: pa.Table,
    source: str,
    tasks: Names = (),
    scoring: Scoring | None = None,
    rules: Names = (),
    routing: Routing | None = None,
    by: Literal["trace", "session"] = "trace",
) -> pa.Table:
    """Score the traces, or the sessions, in a table with one row for each span. Returns one row of scores for each.

    `rows` has all spans of some traces, as OpenTelemetry, OpenInference, Langfuse or LangSmith export them, and
    `source` is one of `otel`, `openinference`, `langfuse` and `langsmith`. `routing` says which task a trace belongs
    to. Rules need none. What cannot be read or scored has a row of its own, in which `problem` says why.

    Columns `file` and `line` say where a span stands. Spans that start and end together are in that order, and scores
    have the place of their trace's first row.
    """
    scorer = find_scorer(tasks, scoring, rules)
    place = [name for name in PLACE if name in rows.schema.names]
    rows = rows.sort_by([(name, "ascending") for name in place]) if place else rows
    with TemporaryDirectory() as folder:
        file = Path(folder) / "spans.parquet"
        pq.write_table(rows.drop_columns(place), file, compression="none")
        scores = scorer.score_episodes(_read_episodes(file, source, routing, by)).scores
    first = pc.subtract(scores.column("line"), 1)
    known = {name: rows.column(name).combine_chunks().take(first) for name in place}
    return pa.Table.from_batches([_place(scores, known)], SCORES)


def _read_episodes(
    file: Path, source: str, routing: Routing | None, by: Literal["trace", "session"]
) -> Iterator[tuple[Episode, Mapping[str, Any]] | Problem]:
    for one in read_traces([file], by=by, source=source):
        if isinstance(one, Problem):
            yield one
            continue
        try:
            episode = one.episode if routing is None else routing(one.episode)
        except RecordError as error:
            yield Problem(str(file), one.line, 1, f"trace {one.trace:.40}: {error}")
        else:
            yield episode, {"trace": one.trace, "line": one.line}


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
        scores = scorer.score_lines(join_lines(texts), "").scores
        place = batch.select([name for name in PLACE if name in batch.schema.names])
        batch = place.take(pc.subtract(scores.column("line"), 1))  # without blank lines
    else:
        scores = scorer.score_table(batch).scores
    return _place(scores, {name: batch.column(name) for name in PLACE if name in batch.schema.names})


def _place(scores: pa.RecordBatch, known: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """Return scores with the known columns of `PLACE`, and nulls for the others."""
    for name in PLACE:
        field = SCORES.field(name)
        column = known[name].cast(field.type) if name in known else pa.nulls(scores.num_rows, field.type)
        scores = scores.set_column(SCORES.get_field_index(name), field, column)
    return scores
