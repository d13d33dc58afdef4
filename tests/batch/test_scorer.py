"""A batch gives the same values as `score`, to the last bit, whatever the tasks and lines."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from corepath import Scoring, parse_rule
from corepath.batch import BatchScorer, score_batch
from corepath.batch.lines import place_lines
from corepath.episode import exclusion, reward_of, usage_of
from corepath.errors import CorepathError
from corepath.files.episodes import read_episodes
from corepath.files.lookup import Tasks
from tests.batch.cases import BAD_LINES, as_table, expected_row, names_in, random_record, write_tasks
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
        found = scorer.score_lines(place_lines(stream), str(file))
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
    for _ in range(2 * times):
        tasks = write_tasks(tmp_path, rng)
        lines = [json.dumps(random_record(rng, names_in(tasks))).encode() for _ in range(400)]
        for bad in BAD_LINES:
            lines.insert(rng.randrange(len(lines)), bad)
        scored, ordinary = check_lines(lines, tasks, scoring, (), tmp_path)
        assert 50 < ordinary < scored - 50, "some episodes are coded, and some are not"


def test_rules_beside_a_task_are_the_same(tmp_path: Path) -> None:
    rng = random.Random("rules")
    tasks, rules = write_tasks(tmp_path, rng), tuple(map(parse_rule, RULES))
    lines = [json.dumps(random_record(rng, ["plain", "open", "ignore"])).encode() for _ in range(200)]
    scored, ordinary = check_lines(lines, tasks, None, rules, tmp_path)
    assert ordinary == scored


def test_rows_of_arrow_get_the_scores_of_lines(tmp_path: Path, times: int) -> None:
    rng = random.Random("arrow")
    for _ in range(2 * times):
        tasks = write_tasks(tmp_path, rng)
        records = [random_record(rng, names_in(tasks)) for _ in range(400)]
        for record in records:
            record["calls"] = [
                {name: call[name] for name in ("tool", "arguments", "result", "error") if name in call}
                for call in record["calls"] if call["arguments"] is not None and "\ud800" not in str(call)
                and call.get("result", 0) is not None and call.get("error", 0) is not None
            ]  # fmt: skip
        lines = [json.dumps(record).encode() + b"\n" for record in records]
        by_line = BatchScorer(Tasks([str(tasks)])).score_lines(place_lines(lines), "f").scores.to_pylist()
        by_row = score_batch(as_table(records), [str(tasks)]).to_pylist()
        for one, other, record in zip(by_line, by_row, records, strict=True):
            same = [name for name in one if name not in ("file", "line", "offset")]
            assert {name: other[name] for name in same} == {name: one[name] for name in same}, record


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
        assert scorer.score_lines(place_lines(lines), "f").scores.num_rows == 80
        assert sum(len(coder.by_text) + len(coder.known) for coder in scorer._listed) < 400
