"""Traces in rows of spans, which are spread over files."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from corepath.batch.spans import TraceShard, find_span_format, read_traces
from corepath.episode import Episode
from corepath.errors import InputError, Problem
from corepath.files.episodes import episode_json
from corepath.importers import import_trace, spans
from corepath.importers.spans import Traced
from tests.batch.cases import SYSTEM_MEMORY
from tests.batch.span_tables import FAMILIES, TRACE_FIELD, Made, Row, make_table, write_rows
from tests.importers.spans_by_hand import sent, span

ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")
FORMATS = {"otel": "otel", "clickhouse": "otel", "logfire": "otel", "phoenix": "openinference"}


def good(found: Iterable[Traced | Problem]) -> list[Traced]:
    made = list(found)
    assert not [one for one in made if isinstance(one, Problem)]
    return [one for one in made if isinstance(one, Traced)]


def texts(found: Iterable[Traced | Problem]) -> dict[str, str]:
    """Each episode by its trace. No trace may be there twice."""
    made = good(found)
    assert len({one.trace for one in made}) == len(made)
    assert all(one.episode.extra["metadata"]["trace_id"] == one.trace for one in made)
    return {one.trace: episode_json(one.episode) for one in made}


def imported(file: Path) -> dict[str, str]:
    """Each episode by its trace, as import makes it from a single file."""
    found = list(import_trace(file))
    assert all(isinstance(one, Episode) for one in found)
    return {one.extra["metadata"]["trace_id"]: episode_json(one) for one in found if isinstance(one, Episode)}


def spread(rows: list[Row], folder: Path, ending: str, chance: random.Random) -> list[Path]:
    """Write rows into up to five files that overlap, each in any order, and return the files in any order."""
    cuts = sorted({0, len(rows), *(chance.randrange(len(rows) + 1) for _ in range(4))})
    files = []
    for number, (begin, end) in enumerate(pairwise(cuts)):
        part = rows[max(0, begin - chance.randrange(9)) : end]
        chance.shuffle(part)
        files.append(write_rows(folder / f"{number}{ending}", part))
    chance.shuffle(files)
    return files


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("family", FAMILIES)
def test_files_that_overlap_give_the_episodes_of_a_single_file(family: str, ending: str, tmp_path: Path) -> None:
    chance = random.Random(f"{family}{ending}")
    table = make_table(7, chance)
    rows = [FAMILIES[family](one) for one in table]
    whole = write_rows(tmp_path / f"whole{'.parquet' if ending == '.parquet' else '.jsonl'}", rows)
    expected = imported(whole)
    assert {trace: [json.loads(text)["calls"][n]["arguments"] for n in range(len(json.loads(text)["calls"]))]
            for trace, text in expected.items()} == {
        one.trace: [other.arguments for other in table if other.trace == one.trace and other.tool] for one in table
    }  # fmt: skip
    files = spread(rows, tmp_path, ending, chance)
    assert texts(read_traces(files)) == expected
    parts = [texts(read_traces(files, number, 3)) for number in range(3)]
    assert sum(map(len, parts)) == len(expected)
    assert parts[0] | parts[1] | parts[2] == expected
    assert find_span_format(files[0]).name == FORMATS.get(family, family)  # type: ignore[union-attr]


def test_a_trace_begins_where_its_first_row_is(tmp_path: Path) -> None:
    rows = [FAMILIES["langfuse"](one) for one in make_table(1, random.Random(3))]
    other = [{**row, "trace_id": "other", "id": f"o{row['id']}"} for row in rows]
    first = write_rows(tmp_path / "a.jsonl", [other[0], *rows[:2]])
    second = write_rows(tmp_path / "b.jsonl", [*rows[1:], *other[1:]])
    found = good(read_traces([first, second]))
    assert [(one.trace, one.file, one.line) for one in found] == [
        ("other", first, 1), (rows[0]["trace_id"], first, 2),
    ]  # fmt: skip
    assert [one.line for one in good(read_traces([second, first]))] == [1, len(rows)]


@pytest.mark.parametrize("family", FAMILIES)
def test_of_two_rows_for_a_span_the_one_that_ended_counts(family: str, tmp_path: Path) -> None:
    table = make_table(3, random.Random(5))
    ran = next(one for one in table if one.tool)
    early = FAMILIES[family](replace(ran, result=None))
    early = {name: None if name.lower().startswith(("end_", "duration")) else one for name, one in early.items()}
    late = [FAMILIES[family](one) for one in table]
    whole = imported(write_rows(tmp_path / "whole.jsonl", late))
    before = write_rows(tmp_path / "before.jsonl", [early])
    after = write_rows(tmp_path / "after.jsonl", late)
    assert texts(read_traces([before, after])) == whole
    assert texts(read_traces([after, before])) == whole


def test_of_two_rows_that_ended_the_fuller_one_counts_and_then_the_later_one(tmp_path: Path) -> None:
    table = [FAMILIES["otel"](one) for one in make_table(1, random.Random(6))]
    root = table[0]
    for attributes, flow in (({}, "water"), ({"flow": "x", "more": 1}, "x"), ({"flow": "y"}, "y")):
        again = {**root, "attributes": {"gen_ai.operation.name": "invoke_agent", **attributes}}
        files = [write_rows(tmp_path / "0.jsonl", table), write_rows(tmp_path / "1.jsonl", [again])]
        (found,) = good(read_traces(files))
        assert found.episode.extra["metadata"]["flow"] == flow


def test_two_spans_with_one_id_that_start_apart_are_a_problem(tmp_path: Path) -> None:
    rows = [FAMILIES["otel"](one) for one in make_table(2, random.Random(1))]
    other = {**rows[1], "start_time_unix_nano": 7, "name": "other"}
    files = [write_rows(tmp_path / "0.jsonl", rows), write_rows(tmp_path / "1.jsonl", [other])]
    found = list(read_traces(files))
    (problem,) = [one for one in found if isinstance(one, Problem)]
    assert f"two spans have the id {rows[1]['span_id']}" in problem.message
    assert (problem.file, len(found)) == (str(files[0]), 2)


def test_spans_that_start_and_end_together_keep_their_order_if_one_is_exported_again(tmp_path: Path) -> None:
    table = make_table(1, random.Random(1))
    both = [replace(table[0], id=f"{n:016x}", parent=table[0].id, tool=f"t{n}", arguments={"n": n}) for n in (2, 1)]
    rows = [FAMILIES["langfuse"](one) for one in (table[0], *both)]
    files = [write_rows(tmp_path / "0.jsonl", rows), write_rows(tmp_path / "1.jsonl", rows[1:2])]
    (found,) = good(read_traces(files))
    assert [call.tool for call in found.episode.calls] == ["t2", "t1"]


def test_ids_may_be_bytes(tmp_path: Path) -> None:
    chance = random.Random(1)
    table = make_table(6, chance)
    traces = {one.trace: one.trace if n % 2 else chance.randbytes(16).hex() for n, one in enumerate(table)}
    rows = [FAMILIES["otel"](replace(one, trace=traces[one.trace])) for one in table]
    expected = imported(write_rows(tmp_path / "0.jsonl", rows))
    for row in rows:
        row |= {name: row[name] and bytes.fromhex(row[name]) for name in ("trace_id", "span_id", "parent_span_id")}
    found = texts(read_traces([write_rows(tmp_path / "0.parquet", rows)]))
    assert set(found) == set(traces.values())
    calls = {trace: json.loads(text)["calls"] for trace, text in found.items()}
    assert calls == {trace: json.loads(text)["calls"] for trace, text in expected.items()}


def test_a_malformed_row_with_a_trace_id_is_reported_by_the_shard_of_its_trace(tmp_path: Path) -> None:
    rows = [FAMILIES["otel"](one) for one in make_table(12, random.Random(1))]
    file = write_rows(tmp_path / "0.jsonl", [*rows, *({**row, "span_id": "b" * 16, "attributes": 5} for row in rows)])
    parts = [list(read_traces([file], number, 3)) for number in range(3)]
    bad = [{one.line for one in part if isinstance(one, Problem)} for part in parts]
    assert all(bad)
    assert sum(map(len, bad)) == len(rows)
    assert set.union(*bad) == {len(rows) + 1 + n for n in range(len(rows))}


def test_a_trace_with_two_conventions_is_read_once_however_it_is_cut(tmp_path: Path) -> None:
    table = make_table(4, random.Random(8))
    mixed = [FAMILIES["phoenix" if one.trace == table[0].trace else "otel"](one) for one in table]
    mixed.append(FAMILIES["otel"](next(one for one in table if one.said)))
    assert len({one.trace for one in table}) == 4
    whole = texts(read_traces([write_rows(tmp_path / "whole.jsonl", mixed)]))
    files = [write_rows(tmp_path / f"{n}.jsonl", [row]) for n, row in enumerate(mixed)]
    assert texts(read_traces(files)) == texts(read_traces(files[::-1]))
    assert set(texts(read_traces(files))) == {one.trace for one in table}
    assert whole[table[0].trace] == texts(read_traces(files))[table[0].trace]


def test_a_file_that_shows_no_format_belongs_to_the_others(tmp_path: Path) -> None:
    table = make_table(2, random.Random(2))
    plain = {**FAMILIES["otel"](table[0]), "span_id": "ff" * 8, "attributes": {"http.route": "/"}}
    files = [write_rows(tmp_path / "0.jsonl", [plain])]
    files.append(write_rows(tmp_path / "1.jsonl", [FAMILIES["otel"](one) for one in table]))
    found = good(read_traces(files))
    assert [one.file for one in found if one.trace == table[0].trace] == [files[0]]
    (alone,) = read_traces(files[:1])
    assert isinstance(alone, Problem)


def test_rows_in_envelopes_are_read_for_every_shard(tmp_path: Path) -> None:
    table = make_table(9, random.Random(4))
    made = [span(n, otel["attributes"], trace=one.trace, start=one.start * 1000)
            for n, one in enumerate(table, start=1) for otel in [FAMILIES["otel"](one)]]  # fmt: skip
    file = tmp_path / "0.jsonl"
    file.write_text("".join(json.dumps(sent(*made[n : n + 5])) + "\n" for n in range(0, len(made), 5)))
    whole = texts(read_traces([file]))
    parts = [texts(read_traces([file], number, 4)) for number in range(4)]
    assert len(whole) == sum(map(len, parts)) == 9
    assert {trace: text for part in parts for trace, text in part.items()} == whole == imported(file)


SESSION = {"otel": "attributes", "phoenix": "attributes.session.id", "langfuse": "session_id", "langsmith": "extra"}


def in_session(family: str, row: Row, session: str) -> Row:
    """A row that names its session, where its family does so."""
    name = SESSION[family]
    told: dict[str, Any] = {
        "otel": {**(row.get(name) or {}), "gen_ai.conversation.id": session} if family == "otel" else None,
        "langsmith": json.dumps({"metadata": {"thread_id": session, "ls_model_name": "m"}}),
    }
    return {**row, name: told.get(family) or session}


@pytest.mark.parametrize("family", SESSION)
def test_the_traces_of_a_session_are_one_episode(family: str, tmp_path: Path) -> None:
    table = make_table(6, random.Random(7))
    roots = {one.trace: n for n, one in enumerate(one for one in table if one.parent is None)}
    rows = [FAMILIES[family](one) for one in table]
    for place, one in enumerate(table):
        if one.parent is None:
            rows[place] = in_session(family, rows[place], f"s{roots[one.trace] // 2}")
    files = spread(rows, tmp_path, ".jsonl", random.Random(2))
    found = sorted(good(read_traces(files, by="session")), key=lambda one: one.trace)
    assert [one.trace for one in found] == ["s0", "s1", "s2"]
    asked = [[other.arguments for other in table if other.tool and roots[other.trace] // 2 == n] for n in range(3)]
    assert [[call.arguments for call in one.episode.calls] for one in found] == asked
    assert [one.episode.extra["metadata"]["trace_id"] for one in found] == ["s0", "s1", "s2"]
    parts = [one for number in range(4) for one in read_traces(files, number, 4, by="session")]
    assert outcome(parts) == outcome(found)


def test_sessions_do_not_depend_on_the_order_of_rows_nor_on_ids_that_traces_share(tmp_path: Path) -> None:
    table = make_table(2, random.Random(7))
    same: list[Made] = []
    for trace in sorted({one.trace for one in table}):
        own = [one for one in table if one.trace == trace]
        ids = {one.id: f"{n:016x}" for n, one in enumerate(own, start=1)}
        same += [replace(one, id=ids[one.id], parent=ids.get(one.parent or "")) for one in own]
    rows = [FAMILIES["otel"](one) for one in same]
    named = [in_session("otel", row, f"s{2 - n % 2}") for n, row in enumerate(rows)]
    found = good(read_traces([write_rows(tmp_path / "0.jsonl", named)], by="session"))
    again = good(read_traces([write_rows(tmp_path / "1.jsonl", named[::-1])], by="session"))
    assert [one.trace for one in found] == [one.trace for one in again] == ["s1"]
    assert found[0].episode == again[0].episode
    assert len(found[0].episode.calls) == sum(bool(one.tool) for one in table)


def test_a_trace_without_a_session_is_an_episode_of_its_own(tmp_path: Path) -> None:
    rows = [FAMILIES["otel"](one) for one in make_table(3, random.Random(7))]
    file = write_rows(tmp_path / "0.jsonl", rows)
    assert {one.trace for one in good(read_traces([file], by="session"))} == {row["trace_id"] for row in rows}


HOSTILE: list[Any] = [None, "", 0, 7, 7.5, True, [], {}, ["x"], {"a": 1}, "x" * 300, "\ud800", "\x00", "é", " ",
                      "0xAB" * 8, "QUJDREVGR0hJSktMTU5PUA==", "4142434445464748494A4B4C4D4E4F50"]  # fmt: skip
IDS = ("trace_id", "traceId", "traceID", "TraceId", "context.trace_id", "id", "span_id", "dotted_order", "child_runs")


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
@pytest.mark.parametrize("family", FAMILIES)
def test_hostile_ids_give_problems_and_the_rest_goes_on(family: str, ending: str, tmp_path: Path) -> None:
    table = make_table(2, random.Random(9))
    rows = [FAMILIES[family](one) for one in table]
    name = TRACE_FIELD.get(family, "trace_id")
    values = [one for one in HOSTILE if ending == ".jsonl" or (isinstance(one, str) and one != "\ud800") or one is None]
    bad = [{**rows[n % len(rows)], name: value} for n, value in enumerate([*values, "y" * 100_000])]
    for number, row in enumerate(bad):
        row |= {one: f"{number:016x}" for one in ("id", "span_id", "SpanId", "context.span_id") if one in row}
    expected = texts(read_traces([write_rows(tmp_path / f"good{ending}", rows)]))
    files = [write_rows(tmp_path / f"0{ending}", rows[:3] + bad), write_rows(tmp_path / f"1{ending}", rows[2:])]
    found = list(read_traces(files))
    assert (
        expected.items() <= {one.trace: episode_json(one.episode) for one in found if isinstance(one, Traced)}.items()
    )
    assert all(one.file == str(files[0]) and one.line > 3 for one in found if isinstance(one, Problem))
    assert outcome(found) == outcome([one for number in range(5) for one in read_traces(files, number, 5)])


def outcome(found: Iterable[Traced | Problem]) -> list[str]:
    return sorted(str(one) if isinstance(one, Problem) else f"{one.trace!r} {episode_json(one.episode)} {one.file} "
                  f"{one.line}" for one in found)  # fmt: skip


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_shards_together_are_the_whole_whatever_the_rows_say(data: st.DataObject, tmp_path: Path) -> None:
    family = data.draw(st.sampled_from(sorted(FAMILIES)))
    rows = [FAMILIES[family](one) for one in make_table(2, random.Random(data.draw(st.integers(0, 9))))]
    for _ in range(data.draw(st.integers(1, 6))):
        row = data.draw(st.sampled_from(rows))
        row[data.draw(st.sampled_from(IDS))] = data.draw(st.sampled_from(HOSTILE))
        if data.draw(st.booleans()):
            row["context"] = {data.draw(st.sampled_from(IDS)): data.draw(st.sampled_from(HOSTILE))}
    file = write_rows(tmp_path / "0.jsonl", rows)
    lines = file.read_bytes().splitlines(keepends=True)
    lines.insert(data.draw(st.integers(1, len(lines))), data.draw(st.sampled_from([b"{x\n", b"5\n", b"\n", b"[]\n"])))
    file.write_bytes(b"".join(lines))
    shards = data.draw(st.integers(2, 4))
    parts = [one for number in range(shards) for one in read_traces([file], number, shards)]
    assert outcome(read_traces([file])) == outcome(parts)


def test_damage_is_reported_with_its_place_and_the_rest_goes_on(tmp_path: Path) -> None:
    rows = [FAMILIES["langsmith"](one) for one in make_table(6, random.Random(1))]
    lines = [json.dumps(row).encode() + b"\n" for row in rows]
    whole = write_rows(tmp_path / "whole.jsonl", rows)
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(b"".join([*lines[:3], b'{"id": 1\n', b"\xff\n", *lines[3:]]))
    chance = random.Random(1)
    text = b"".join(chance.randbytes(200).hex().encode() + b"\n" for _ in range(2000))
    cut = {".gz": gzip.compress(b"".join(lines) + text), ".zst": zstandard.compress(b"".join(lines) + text)}
    for ending, raw in cut.items():
        (tmp_path / f"cut{ending}").write_bytes(raw[: len(raw) * 2 // 3])
    table = write_rows(tmp_path / "cut.parquet", rows).read_bytes()
    (tmp_path / "cut.parquet").write_bytes(table[:-20])
    (tmp_path / "empty.jsonl").write_bytes(b"")
    parquet.write_table(pa.table({"id": pa.array([], pa.string())}), tmp_path / "none.parquet")
    names = ("bad.jsonl", "cut.gz", "cut.zst", "cut.parquet", "empty.jsonl", "none.parquet", "missing.jsonl")
    found = list(read_traces([whole, *(tmp_path / name for name in names)]))
    assert {one.trace for one in found if isinstance(one, Traced)} == {row["trace_id"] for row in rows}
    bad_rows = [one for one in found if isinstance(one, Problem) and Path(one.file).stem != "cut"]
    told = {(Path(one.file).name, one.line, re.sub(r"[:;] .*", "", one.message)) for one in bad_rows}
    assert told == {
        ("bad.jsonl", 4, "not JSON"), ("bad.jsonl", 5, "not JSON"), ("empty.jsonl", 1, "the file is empty"),
        ("missing.jsonl", 1, "cannot be read"),
    }  # fmt: skip
    for name, message in (("cut.gz", "the data of gzip are cut"), ("cut.zst", "the data of Zstandard are cut")):
        last = [one for one in found if isinstance(one, Problem) and Path(one.file).name == name][-1]
        assert message in last.message
        assert last.line > len(lines)
    assert any(isinstance(one, Problem) and Path(one.file).name == "cut.parquet" for one in found)


@pytest.mark.parametrize("number", [0, 100])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_text_of_parquet_that_is_not_utf8_costs_one_row(family: str, number: int, tmp_path: Path) -> None:
    """Some programs, e.g. ClickHouse, write any bytes as text, and Arrow does not check them when it reads them."""
    rows = [FAMILIES[family](one) for one in make_table(40, random.Random(1))]
    table = pa.Table.from_pylist(rows)
    place = next(place for place, name in enumerate(table.column_names) if "name" in name.lower())
    texts_of = [None if text is None else text.encode() for text in table[place].to_pylist()]
    texts_of[number] = b"sca\xffn"
    stored = pa.array(texts_of, pa.binary())
    column = pa.Array.from_buffers(pa.string(), len(stored), stored.buffers(), stored.null_count)
    file, rest = tmp_path / "bad.parquet", tmp_path / "rest.parquet"
    parquet.write_table(table.set_column(place, table.column_names[place], column), file)
    parquet.write_table(pa.concat_tables([table[:number], table[number + 1 :]]), rest)
    problem, *found = read_traces([file])
    assert str(problem) == f"{file}:{number + 1}:1: not UTF-8: the byte 0xff"
    assert texts(found) == texts(read_traces([rest]))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_first_row_that_was_cut_does_not_hide_the_others(family: str, tmp_path: Path) -> None:
    rows = [FAMILIES[family](one) for one in make_table(5, random.Random(1))]
    whole = write_rows(tmp_path / "whole.jsonl", rows)
    expected = texts(read_traces([whole]))
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(whole.read_bytes()[:40] + b"\n" + whole.read_bytes())
    assert find_span_format(cut) is not None
    problem, *found = read_traces([cut])
    assert isinstance(problem, Problem)
    assert (problem.line, problem.message[:8]) == (1, "not JSON")
    assert texts(found) == expected


def test_zstandard_frames_may_follow_each_other(tmp_path: Path) -> None:
    rows = [FAMILIES["otel"](one) for one in make_table(5, random.Random(1))]
    expected = texts(read_traces([write_rows(tmp_path / "0.jsonl", rows)]))
    half = len(rows) // 2
    frames = [write_rows(tmp_path / f"{n}.zst", part).read_bytes() for n, part in enumerate((rows[:half], rows[half:]))]
    both = tmp_path / "both.jsonl.zst"
    both.write_bytes(b"".join(frames))
    assert texts(read_traces([both])) == expected
    both.write_bytes(b"\x50\x2a\x4d\x18\x04\0\0\0size" + b"".join(frames))  # a frame without data comes first
    assert texts(read_traces([both])) == expected


def test_zstandard_is_only_needed_for_its_own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [FAMILIES["otel"](one) for one in make_table(2, random.Random(1))]
    files = [write_rows(tmp_path / f"0{ending}", rows) for ending in (".jsonl", ".zst")]
    monkeypatch.setitem(sys.modules, "zstandard", None)
    found = list(read_traces(files))
    (problem,) = [one for one in found if isinstance(one, Problem)]
    assert (problem.file, len(found)) == (str(files[1]), 3)
    assert "pip install 'corepath[batch]'" in problem.message
    with pytest.raises(InputError):
        find_span_format(files[1])


def test_a_full_disk_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_rows(tmp_path / "0.jsonl", [FAMILIES["otel"](one) for one in make_table(40, random.Random(1))])
    monkeypatch.setattr(spans, "_TABLES", spans._TABLES + "PRAGMA max_page_count = 4;")
    (problem,) = read_traces([file])
    assert isinstance(problem, Problem)
    assert "database or disk is full" in problem.message


def test_other_files_have_no_spans(tmp_path: Path) -> None:
    episodes = tmp_path / "episodes.jsonl"
    episodes.write_text('{"task": "a/b", "calls": []}\n' * 3)
    chats = tmp_path / "chats.jsonl"
    chats.write_text('{"messages": [{"role": "user", "content": "x"}]}\n' * 3)
    table = write_rows(tmp_path / "table.parquet", [{"task": "a/b", "calls": "[]"}])
    for file in (episodes, chats, table):
        assert find_span_format(file) is None
        (problem,) = read_traces([file])
        assert isinstance(problem, Problem)
        assert "no spans of" in problem.message
        assert list(read_traces([file], 1, 2)) == []


@pytest.mark.parametrize("wrong", [(-1, 2), (2, 2), (0, 0)])
def test_there_is_no_such_shard(wrong: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="no shard"):
        TraceShard(*wrong)


def test_the_shard_of_a_trace_is_the_same_in_every_process_and_for_every_form_of_its_id() -> None:
    assert [TraceShard(n, 7).has("4142434445464748494a4b4c4d4e4f50") for n in range(7)].index(True) == 4
    for form in HOSTILE[-2:]:
        assert TraceShard(4, 7).has(form)


_PEAK = """
import re, sys
from pathlib import Path
from corepath.batch.spans import Traced, read_traces
list(read_traces([Path(sys.argv[1])]))
found = sum(isinstance(one, Traced) for one in read_traces([Path(sys.argv[2])]))
print(found, re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_memory_does_not_grow_with_the_number_of_rows(ending: str, tmp_path: Path) -> None:
    def measure(traces: int) -> tuple[int, int]:
        chance = random.Random(1)
        rows = [FAMILIES["langfuse"](one) for one in make_table(traces, chance, words=6000)]
        chance.shuffle(rows)
        small, file = tmp_path / f"small{ending}", tmp_path / f"large{ending}"
        write_rows(small, rows[:20], group=100)
        write_rows(file, rows, group=100)
        ran = [sys.executable, "-c", _PEAK, str(small), str(file)]
        env = {**os.environ, **SYSTEM_MEMORY}
        found, peak = map(int, subprocess.run(ran, capture_output=True, text=True, check=True, env=env).stdout.split())
        assert found == traces
        return peak, sum(len(row["input"]) for row in rows) // 1024

    (few, some), (many, all_) = measure(60), measure(800)
    assert many - few < 40_000 < (all_ - some) // 2


def test_made_spans_are_unlike(tmp_path: Path) -> None:
    table: list[Made] = make_table(30, random.Random(0))
    assert len({one.id for one in table}) == len({one.start for one in table}) == len(table)
