"""A batch gives the same values as `score`, to the last bit, whatever the tasks and lines."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from corepath import ANY, Scoring, Task, parse_rule, seq
from corepath.batch import BatchScorer, score_batch
from corepath.batch.lines import join_lines
from corepath.episode import exclusion, reward_of, usage_of
from corepath.errors import CorepathError
from corepath.files.episodes import read_episodes
from corepath.files.lookup import Tasks
from corepath.files.task_writer import as_json
from tests.batch.cases import BAD_LINES, as_table, check, expected_row, names_in, random_record, send, write_tasks
from tests.kernels import leave_uncompiled

SCORINGS = (None, Scoring(lam=0.3, beta=0.7, order_fallback="pc", errors="harmful"), Scoring(errors="as_called"))
RULES = ("pay(...) requires check(...)", "at most 1 send(...)")


def check_lines(lines: list[bytes], tasks: Path, scoring: Scoring | None, rules: Any, folder: Path) -> tuple[int, int]:
    """Compare each row with `score`, and return how many were scored and how many one by one."""
    file = folder / "episodes.jsonl"
    file.write_bytes(b"".join(line + b"\n" for line in lines))
    known = Tasks([str(tasks)])
    scorer = BatchScorer(Tasks([str(tasks)]), scoring, rules)
    with file.open("rb") as stream:
        found = scorer.score_lines(join_lines(stream), str(file))
    rows = found.scores.to_pylist()
    wanted = list(read_episodes(file))
    assert [row["line"] for row in rows] == [line.line for line in wanted]
    problems = {problem.line: problem.message for problem in found.problems}
    for row, line in zip(rows, wanted, strict=True):
        if line.problem is not None:
            assert row["problem"] == line.problem.message == problems[line.line]
            continue
        assert line.episode is not None
        assert row["offset"] == line.offset
        try:
            expected = expected_row(line.episode, known, scoring, rules)
        except CorepathError as error:
            expected = {"problem": str(error), "pc": None}
        assert {name: row[name] for name in expected} == expected, lines[line.line - 1]
        if row["problem"] is not None:
            continue
        assert row["task"] == line.episode.task
        assert (row["agent"], row["epoch"], row["seed"]) == (line.episode.agent, line.episode.epoch, line.episode.seed)
        assert (row["reward"], row["excluded"]) == (reward_of(line.episode), exclusion(line.episode))
        assert row["cost"] == usage_of(line.episode, "cost")
        assert row["trace"] == line.episode.extra.get("trace")
    return len(rows) - len(problems), found.ordinary


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("scoring", SCORINGS)
def test_lines_get_the_scores_of_score(
    scoring: Scoring | None, compiled: bool, tmp_path: Path, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not compiled:
        leave_uncompiled(monkeypatch)
    rng = random.Random(f"lines {scoring}")
    for _ in range(2 * times - 1):
        tasks = write_tasks(tmp_path, rng)
        lines = [json.dumps(random_record(rng, names_in(tasks))).encode() for _ in range(400)]
        for bad in BAD_LINES:
            lines.insert(rng.randrange(len(lines)), bad)
        scored, ordinary = check_lines(lines, tasks, scoring, (), tmp_path)
        assert 50 < ordinary < scored - 50, "some episodes are coded, and some are not"


@pytest.mark.parametrize("trace", [None, 5, "t-1"])
@pytest.mark.parametrize("odd", [{}, {"odd": 1}])
def test_a_trace_without_an_id_of_its_own_has_that_of_its_metadata(
    trace: Any, odd: dict[str, int], tmp_path: Path
) -> None:
    """Whether the line is read in the usual way or, because of an odd key, by itself."""
    tasks = write_tasks(tmp_path, random.Random("trace"))
    record = {"task": "plain", "calls": [], "trace": trace, "metadata": {"trace_id": "m-1"}, **odd}
    scorer = BatchScorer(Tasks([str(tasks)]))
    found = scorer.score_lines(join_lines([json.dumps(record).encode()]), "f").scores.to_pylist()
    assert found[0]["trace"] == {None: "m-1", 5: None, "t-1": "t-1"}[trace]


def test_rules_beside_a_task_are_the_same(tmp_path: Path) -> None:
    rng = random.Random("rules")
    tasks, rules = write_tasks(tmp_path, rng), tuple(map(parse_rule, RULES))
    lines = [json.dumps(random_record(rng, ["plain", "open", "ignore"])).encode() for _ in range(200)]
    scored, ordinary = check_lines(lines, tasks, None, rules, tmp_path)
    assert ordinary == scored


def test_rows_of_arrow_get_the_scores_of_lines(tmp_path: Path, times: int) -> None:
    rng = random.Random("arrow")
    for _ in range(2 * times - 1):
        tasks = write_tasks(tmp_path, rng)
        records = [random_record(rng, names_in(tasks)) for _ in range(400)]
        for record in records:
            record["calls"] = [
                {name: call[name] for name in ("tool", "arguments", "result", "error") if name in call}
                for call in record["calls"] if call["arguments"] is not None and "\ud800" not in str(call)
                and call.get("result", 0) is not None and call.get("error", 0) is not None
            ]  # fmt: skip
        lines = [json.dumps(record).encode() + b"\n" for record in records]
        by_line = BatchScorer(Tasks([str(tasks)])).score_lines(join_lines(lines), "f").scores.to_pylist()
        by_row = score_batch(as_table(records), [str(tasks)]).to_pylist()
        for one, other, record in zip(by_line, by_row, records, strict=True):
            same = [name for name in one if name not in ("file", "line", "offset")]
            assert {name: other[name] for name in same} == {name: one[name] for name in same}, record


CALL = b'{"tool": "check", "arguments": {"id": "A1"}}'
PAID = b'{"tool": "pay", "arguments": {"amount": 5}}'
HARD_TO_CUT = (
    b'{"task": "plain", "calls": [%b, %b]}' % (CALL, PAID),
    b'{"task":"plain","calls":[%b,%b]}' % (CALL.replace(b": ", b":"), PAID.replace(b": ", b":")),
    b'{"task": "plain", "calls": [{"tool": "check", "arguments": {"id": "A1}, {"}}, %b]}' % PAID,
    b'{"task": "plain", "calls": [{"tool": "check", "arguments": {"id": "A1"}, "result": "}]}"}, %b]}' % PAID,
    b'{"task": "plain", "calls": [{"tool": "check", "arguments": {"id": [{"a": 1}, {"b": 2}]}}, %b]}' % PAID,
    b'{"task": "plain", "calls": [%b], "calls": []}' % CALL,
    b'{"task": "plain", "calls": [], "calls": [%b]}' % CALL,
    b'{"task": "plain", "calls": [%b], "\\u0063alls": [%b, %b]}' % (CALL, CALL, PAID),
    b'{"task": "plain", "metadata": {"calls": [%b]}, "calls": [%b]}' % (PAID, CALL),
    b'{"task": "plain", "metadata": {"calls": [%b]}, "calls": 0}' % PAID,
    b'{"task": "plain", "calls": [%b], "calls": 0}' % CALL,
    b'{"task": "plain", "metadata": "\\"calls\\": [{", "calls": [%b]}' % CALL,
    b'{"task": "plain", "calls": [%b, 5]}' % CALL, b'{"task": "plain", "calls": [%b}]}' % CALL,
    b'{"task": "plain", "calls": [%b, %b], "messages": [{"role": "user", "content": "}, {"}]}' % (CALL, PAID),
    b'{"task": "plain", "calls": [{}, %b]}' % CALL, b'{"task": "plain", "calls": [{}]}',
    b'{"task": "plain", "calls": []}',
    b'{"task": "plain", "calls": [{"tool": "check", "arguments": ' + b'{"a": ' * 197 + b"1" + b"}" * 197 + b"}]}",
    b'{"task": "plain", "calls": [{"tool": "check", "arguments": ' + b'{"a": ' * 198 + b"1" + b"}" * 198 + b"}]}",
    b'{"task": "plain", "calls": [%b]} {"task": "plain", "calls": [%b]}' % (CALL, PAID),
)  # fmt: skip


@pytest.mark.parametrize("style", [0, 1])
def test_lines_that_are_hard_to_cut_into_calls_are_scored_as_always(tmp_path: Path, style: int) -> None:
    tasks = write_tasks(tmp_path, random.Random("cut"))
    lines = [HARD_TO_CUT[style], *HARD_TO_CUT]
    check_lines(lines, tasks, None, (), tmp_path)
    for line in lines:
        check_lines([line], tasks, None, (), tmp_path)


def test_values_that_no_pattern_looks_at_are_left_out(tmp_path: Path) -> None:
    """A free text that never repeats is matched only once, and calls with different texts do not repeat each other."""
    tasks = tmp_path / "tasks.json"
    tasks.write_text(as_json(Task("free", procedure=seq(send(to="Bob", text=ANY), check(id="A1")))))
    notes: list[Any] = [*(f"note {number}" for number in range(300)), 1, 1.0, True, None, ["a"], {"b": "\u00e9"}]
    calls = [{"tool": "send", "arguments": {"to": "Bob", "text": note}, "result": "ok"} for note in notes]
    records = [{"task": "free", "calls": [one, other]} for one in calls[::7] for other in (one, calls[5], calls[-6])]
    lines = [json.dumps(record).encode() for record in records]
    assert check_lines(lines, tasks, None, (), tmp_path) == (len(lines), 0)
    scorer = BatchScorer(Tasks([str(tasks)]))
    scorer.score_lines(join_lines(lines), "f")
    assert len(scorer._listed[0].known) == 1


def test_memory_of_distinct_calls_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corepath.batch.scorer.MOST_CALLS", 100)
    rng = random.Random("bounded")
    tasks = write_tasks(tmp_path, rng)
    scorer = BatchScorer(Tasks([str(tasks)]))
    for batch in range(10):
        records = [
            {"task": "plain", "calls": [{"tool": "check", "arguments": {"id": f"{batch} {number}"}}]}
            for number in range(80)
        ]
        lines = [json.dumps(record).encode() + b"\n" for record in records]
        assert scorer.score_lines(join_lines(lines), "f").scores.num_rows == 80
        assert sum(len(coder.by_text) + len(coder.known) for coder in scorer._listed) < 400
