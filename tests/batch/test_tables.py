"""Tables of episodes in any number of parts, as engines hand them over, get the rows that `score --out` writes."""

from __future__ import annotations

import io
import json
import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from corepath import Scoring, load_results
from corepath.batch import EPISODES, SCORES, BatchScorer, Settings, score_batch, score_files, score_spans
from corepath.cli import make_app
from corepath.errors import TaskError
from corepath.importers.routing import Routing
from tests.batch.cases import BAD_LINES, as_table, names_in, random_record, write_tasks
from tests.batch.span_tables import FAMILIES, make_table, write_rows

PARTS = (1, 3, 7)


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tasks(tmp_path_factory.mktemp("tasks"), random.Random("tables"))


@pytest.fixture(scope="module")
def records(tasks: Path) -> list[dict[str, Any]]:
    rng = random.Random("records")
    made = [random_record(rng, names_in(tasks)) for _ in range(300)]
    return [record | {"trace": f"t-{number}"} for number, record in enumerate(made)]


def as_bytes(scores: pa.Table) -> bytes:
    """Return scores as the bytes of a Parquet file with sorted rows."""
    into = io.BytesIO()
    order = [(name, "ascending") for name in ("file", "line", "trace")]
    pq.write_table(scores.cast(SCORES).sort_by(order), into)
    return into.getvalue()


def test_rows_are_the_same_in_any_number_of_parts(tasks: Path, records: list[dict[str, Any]], tmp_path: Path) -> None:
    file, out = tmp_path / "episodes.parquet", tmp_path / "scores.parquet"
    table = pa.Table.from_batches([as_table(records)])
    pq.write_table(table, file)
    score_files([file], out, Settings((str(tasks),)), processes=1)
    placed = table.append_column("file", pa.array([str(file)] * len(table)))
    placed = placed.append_column("line", pa.array(range(1, len(table) + 1), pa.int32()))
    order = random.Random("order").sample(range(len(table)), len(table))
    wanted = as_bytes(pq.read_table(out))
    for parts in PARTS:
        found = [score_batch(placed.take(order[part::parts]), str(tasks)) for part in range(parts)]
        assert as_bytes(pa.concat_tables(found)) == wanted


def test_lines_of_episode_files_are_rows_too(tasks: Path, records: list[dict[str, Any]], tmp_path: Path) -> None:
    file, out = tmp_path / "episodes.jsonl", tmp_path / "scores.parquet"
    lines = [json.dumps(record).encode() for record in records] + list(BAD_LINES)
    file.write_bytes(b"".join(line + b"\n" for line in lines))
    score_files([file], out, Settings((str(tasks),)), processes=1)
    table = pa.table({
        "record": pa.array(lines, pa.binary()), "file": [str(file)] * len(lines), "line": range(1, len(lines) + 1),
        "offset": [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines))],
    })  # fmt: skip
    wanted = as_bytes(pq.read_table(out))
    for parts in PARTS:
        found = [score_batch(table.take(list(range(part, len(lines), parts))), [tasks]) for part in range(parts)]
        assert as_bytes(pa.concat_tables(found)) == wanted


def test_a_table_gives_a_table_and_a_batch_a_batch(tasks: Path, records: list[dict[str, Any]]) -> None:
    batch = as_table(records[:5])
    found = score_batch(batch, [str(tasks)])
    assert isinstance(found, pa.RecordBatch)
    several = pa.Table.from_batches([batch.slice(0, 2), batch.slice(2)])
    assert score_batch(several, [str(tasks)]).equals(pa.Table.from_batches([found]))
    assert found.schema == SCORES
    for name in ("file", "line", "offset"):
        assert found.column(name).null_count == 5, "a row's place in a part means nothing"


def test_a_table_without_rows_gives_one_without_rows(tasks: Path) -> None:
    for empty in (as_table([]), pa.RecordBatch.from_pydict({"record": pa.array([], pa.string())})):
        for one in (empty, pa.Table.from_batches([empty]), pa.Table.from_batches([], empty.schema)):
            found = score_batch(one, str(tasks))
            assert (type(found), found.schema, found.num_rows) == (type(one), SCORES, 0)


def test_a_bad_row_says_why_and_keeps_its_trace(tasks: Path) -> None:
    good = {"task": "plain", "calls": []}
    batch = as_table([good | {"trace": "a", "task": "nothing"}, good | {"trace": "b"}, good | {"trace": "c"}])
    unreadable = pa.array([None, None, '{"reward": NaN}'])
    batch = batch.set_column(EPISODES.get_field_index("record"), "record", unreadable)
    rows = score_batch(batch, str(tasks)).to_pylist()
    assert [row["trace"] for row in rows] == ["a", "b", "c"]
    assert rows[0]["problem"].startswith("no task 'nothing'")
    assert rows[1]["problem"] is None
    assert rows[1]["pc"] == 0
    assert "NaN" in rows[2]["problem"]


def not_utf8(values: list[Any], *, as_text: bool) -> pa.Array:
    """Return a column in which the text `?` has become a byte that is not UTF-8, as Arrow reads it from a file."""
    stored = pa.array([b"\xff" if value == "?" else value for value in values], pa.binary())
    if not as_text:
        return stored
    return pa.Array.from_buffers(pa.string(), len(stored), stored.buffers(), stored.null_count)


@pytest.mark.parametrize("form", ["text", "bytes", "dictionary"])
@pytest.mark.parametrize("name", ["task", "agent", "trace", "record", "tool", "arguments", "result"])
def test_a_text_that_is_not_utf8_costs_one_row(name: str, form: str, tasks: Path, tmp_path: Path) -> None:
    texts: dict[str, list[Any]] = {
        "task": ["plain"] * 5, "agent": ["a"] * 5, "trace": list("abcde"), "record": [None] * 5, "tool": ["check"] * 5,
        "arguments": ['{"id": "A1"}'] * 5, "result": ["ok"] * 5,
    }  # fmt: skip
    texts[name][3] = "?"
    columns = {one: not_utf8(values, as_text=form != "bytes") for one, values in texts.items()}
    if form == "dictionary":
        columns = {one: column.dictionary_encode() for one, column in columns.items()}
    call = pa.StructArray.from_arrays([columns.pop(one) for one in ("tool", "arguments", "result")],
                                      ["tool", "arguments", "result"])  # fmt: skip
    batch = pa.record_batch({**columns, "calls": pa.ListArray.from_arrays(pa.array(range(6), pa.int32()), call)})
    rows = score_batch(batch, tasks).to_pylist()
    assert [row["problem"] is None for row in rows] == [True, True, True, False, True]
    assert f"'{name}'" in rows[3]["problem"]
    assert [row["trace"] for row in rows] == ["a", "b", "c", None if name == "trace" else "d", "e"]
    assert {row["pc"] for row in rows if row["problem"] is None} == {rows[0]["pc"]}

    file, out = tmp_path / "episodes.parquet", tmp_path / "scores.parquet"
    pq.write_table(pa.Table.from_batches([batch]), file)
    report = score_files([file], out, Settings((str(tasks),)), processes=1)
    assert (report.episodes, report.bad, report.damaged) == (4, 1, 0)
    assert [(problem.file, problem.line) for problem in report.problems] == [(str(file), 4)]
    found = pq.read_table(out).to_pylist()
    assert [row["line"] for row in found] == [1, 2, 3, 4, 5]
    assert len(load_results(out).problems) == 1
    explained = CliRunner().invoke(make_app("explain"), ["explain", str(out), "--episode", "1", "--episode", "4"])
    assert 'check(id="A1")' in explained.output
    assert explained.exception is None or isinstance(explained.exception, SystemExit)


@pytest.mark.parametrize("epoch", [[1.0, 1.5, float("nan"), 2.0], ["1", "x", "", "2"]])
def test_an_epoch_that_is_no_whole_number_costs_one_row(epoch: list[Any], tasks: Path) -> None:
    batch = as_table([{"task": "plain", "calls": []}] * 4)
    batch = batch.set_column(EPISODES.get_field_index("epoch"), "epoch", pa.array(epoch))
    rows = score_batch(batch, tasks).to_pylist()
    assert [row["epoch"] for row in rows] == [1, None, None, 2]
    assert [(row["problem"] or "").partition("'epoch'")[1] for row in rows] == ["", "'epoch'", "'epoch'", ""]


def test_calls_may_be_any_kind_of_list(tasks: Path) -> None:
    batch = as_table([{"task": "plain", "calls": [{"tool": "check", "arguments": {"id": id_}}] * 2} for id_ in "AB"])
    calls = batch.column("calls")
    kinds = (
        pa.LargeListArray.from_arrays(pa.array([0, 2, 4], pa.int64()), calls.values),
        pa.FixedSizeListArray.from_arrays(calls.values, 2),
        pa.ListViewArray.from_arrays(pa.array([0, 2], pa.int32()), pa.array([2, 2], pa.int32()), calls.values),
        pa.LargeListViewArray.from_arrays(pa.array([0, 2], pa.int64()), pa.array([2, 2], pa.int64()), calls.values),
    )
    for column in kinds:
        one = batch.set_column(EPISODES.get_field_index("calls"), "calls", column)
        assert score_batch(one, tasks) == score_batch(batch, tasks)
        assert score_batch(one[1:], tasks) == score_batch(batch[1:], tasks)


@pytest.mark.parametrize("kind", [pa.large_string(), pa.string_view(), pa.binary_view(), pa.large_binary()])
def test_lines_may_be_any_kind_of_text(kind: pa.DataType, tasks: Path) -> None:
    lines = pa.array(['{"task": "plain", "calls": []}', "", "not json"])
    column = lines.cast(pa.binary()).cast(kind) if "binary" in str(kind) else lines.cast(kind)
    found = score_batch(pa.table({"record": column, "line": [1, 2, 3]}), tasks)
    assert found == score_batch(pa.table({"record": lines, "line": [1, 2, 3]}), tasks)
    assert found["line"].to_pylist() == [1, 3]


@pytest.mark.parametrize("odd", [{"agent": "\ud800"}, {"task": "\ud800"}, {"trace": "\ud800"}])
def test_half_a_surrogate_pair_is_escaped(odd: dict[str, str], tasks: Path) -> None:
    ((name, _),) = odd.items()
    lines = [json.dumps({"task": "plain", "calls": [], "agent": "good"} | one) for one in (odd, {})]
    rows = score_batch(pa.table({"record": lines}), str(tasks)).to_pylist()
    assert rows[0][name] == "\\ud800"
    assert rows[1]["agent"] == "good"


@pytest.mark.parametrize("epoch", [2**63, -(2**63) - 1, 2**70])
def test_a_number_that_is_too_large_for_its_column_is_null(epoch: int, tasks: Path) -> None:
    record = json.dumps({"task": "plain", "calls": [], "epoch": epoch})
    (row,) = score_batch(pa.table({"record": [record]}), str(tasks)).to_pylist()
    assert (row["epoch"], row["task"], row["problem"]) == (None, "plain", None)


def test_tasks_and_rules_are_loaded_once(
    tasks: Path, records: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules: [never close(...)]\n")
    loaded: list[Settings] = []
    make = Settings.make_scorer

    def count(self: Settings) -> BatchScorer:
        loaded.append(self)
        return make(self)

    monkeypatch.setattr(Settings, "make_scorer", count)
    for names in ([str(tasks)], (tasks,), tasks, str(tasks), (str(one) for one in [tasks])):
        found = score_batch(as_table(records[:20]), names, Scoring(lam=0.25), rules)
        assert found.column("rules_broken").null_count < 20
    assert len(loaded) == 1
    score_batch(as_table(records[:20]), tasks, Scoring(lam=0.75), rules)
    assert len(loaded) == 2


def test_threads_do_not_share_a_scorer(tasks: Path, records: list[dict[str, Any]]) -> None:
    batch = as_table(records)
    wanted = score_batch(batch, tasks)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: score_batch(batch, tasks), range(8)):
            assert found.equals(wanted)


# Spans

SOURCES = {"otel": "otel", "clickhouse": "otel", "logfire": "otel", "phoenix": "openinference",
           "langfuse": "langfuse", "langsmith": "langsmith"}  # fmt: skip


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    file = tmp_path / "rules.yaml"
    file.write_text('rules: ["never scan(plant=\\"B\\", ...)"]\n')
    return file


def span_rows(family: str, folder: Path, traces: int = 12) -> tuple[Path, pa.Table, list[str]]:
    """Write a file of spans, and return it, its rows with their places, and the trace of each row."""
    made = make_table(traces, random.Random(family))
    file = write_rows(folder / "spans.parquet", [FAMILIES[family](one) for one in made])
    rows = pq.read_table(file)
    rows = rows.append_column("file", pa.array([str(file)] * len(rows)))
    return file, rows.append_column("line", pa.array(range(1, len(rows) + 1))), [one.trace for one in made]


def split(rows: pa.Table, traces: list[str], parts: int) -> list[pa.Table]:
    """Return rows in parts of whole traces, in any order."""
    order = random.Random("order").sample(range(len(rows)), len(rows))
    numbers = {trace: number % parts for number, trace in enumerate(sorted(set(traces)))}
    chosen = [[row for row in order if numbers[traces[row]] == part] for part in range(parts)]
    return [rows.take(pa.array(one, pa.int64())) for one in chosen]


@pytest.mark.parametrize("family", FAMILIES)
def test_spans_in_any_number_of_parts_get_the_scores_of_the_file(family: str, rules: Path, tmp_path: Path) -> None:
    file, rows, traces = span_rows(family, tmp_path)
    out = tmp_path / "scores.parquet"
    score_files([file], out, Settings(rules=(str(rules),)), processes=1)
    wanted = pq.read_table(out)
    assert {0, 1} == set(wanted["rules_broken"].to_pylist())
    for parts in (1, 3, len(set(traces))):
        found = [score_spans(part, SOURCES[family], rules=rules) for part in split(rows, traces, parts)]
        assert as_bytes(pa.concat_tables(found)) == as_bytes(wanted)


def test_a_trace_gets_its_task_by_routing(tasks: Path, tmp_path: Path) -> None:
    _, rows, _ = span_rows("otel", tmp_path, 2)
    found = score_spans(rows, "otel", tasks, routing=Routing(by="metadata.flow", table={"wat*": "plain"})).to_pylist()
    assert [(row["task"], row["problem"]) for row in found] == [("plain", None)] * 2
    found = score_spans(rows, "otel", tasks, routing=Routing(by="metadata.nothing")).to_pylist()
    assert all(row["problem"].startswith(f"trace {1:>032x}"[:30]) for row in found)
    assert all("no task at 'metadata.nothing'" in row["problem"] for row in found)


def test_bad_rows_of_spans_come_back_with_their_place(rules: Path, tmp_path: Path) -> None:
    _, rows, _ = span_rows("langsmith", tmp_path, 2)
    rows = rows.set_column(rows.schema.get_field_index("id"), "id", pa.array([None, *rows["id"].to_pylist()[1:]]))
    found = score_spans(rows, "langsmith", rules=rules).to_pylist()
    bad = [row for row in found if row["problem"] is not None]
    assert [(row["line"], row["pc"]) for row in bad] == [(1, None)]
    assert len(found) == 3


def test_traces_of_others_are_left_out_and_no_rows_give_no_scores(rules: Path, tmp_path: Path) -> None:
    _, rows, _ = span_rows("clickhouse", tmp_path, 2)
    other = rows.drop_columns("SpanAttributes")
    assert score_spans(other, "otel", rules=rules).num_rows == 0
    empty = score_spans(rows.slice(0, 0), "otel", rules=rules)
    assert (empty.schema, empty.num_rows) == (SCORES, 0)


def test_the_source_of_spans_must_be_known(rules: Path) -> None:
    with pytest.raises(TaskError, match="rows of spans come from openinference, otel"):
        score_spans(pa.table({"trace_id": ["a"]}), "openai", rules=rules)


def test_texts_may_be_stored_as_bytes(tasks: Path) -> None:
    """Some programs write Parquet without saying that its bytes are text."""
    call = pa.struct([("tool", pa.binary()), ("arguments", pa.large_binary())])
    calls = pa.array([[{"tool": b"check", "arguments": b'{"id": "A1"}'}]], pa.list_(call))
    as_bytes = pa.record_batch({"task": pa.array([b"plain"]), "calls": calls})
    as_text = as_bytes.cast(pa.schema([("task", pa.string()), ("calls", pa.list_(
        pa.struct([("tool", pa.string()), ("arguments", pa.string())])
    ))]))  # fmt: skip
    assert score_batch(as_bytes, tasks=tasks) == score_batch(as_text, tasks=tasks)
    assert score_batch(as_bytes, tasks=tasks).column("problem").to_pylist() == [None]
