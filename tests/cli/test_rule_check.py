"""`corepath check` on rule files: witnesses, findings, exit codes, and questions about faulty variants."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_rule_scores import call, episode

RULES = """\
rules:
  - refund(order=$o, ...) requires verify(...)
  - never delete_*(...)
  - after open(file=$f) eventually close(file=$f)
"""
GOOD = [
    episode(call("verify", id=1), call("refund", order=1)),
    episode(call("open", file="x"), call("close", file="x")),
]
BAD = [episode(call("delete_user")), episode(call("verify", id=1), call("refund", order=9))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.yaml").write_text(RULES)
    (tmp_path / "good.jsonl").write_text("\n".join(map(json.dumps, GOOD)))
    (tmp_path / "bad.jsonl").write_text("\n".join(map(json.dumps, BAD)))
    return tmp_path


def check(corepath: Any, folder: Path, rules: str, *options: str) -> Any:
    (folder / "mine.yaml").write_text("rules:\n" + "".join(f"  - {rule}\n" for rule in rules.splitlines()))
    return corepath("check", "mine.yaml", *options, cwd=folder)


def test_each_rule_has_a_trace_that_keeps_it_and_one_that_breaks_it(folder: Path, corepath: Any) -> None:
    done = corepath("check", "rules.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "1. refund(order=$o, ...) requires verify(...)",
        '   kept by:   verify() → refund(order="A")',
        '   broken by: refund(order="A")',
        "2. never delete_*(...)",
        "   kept by:   any trace without it",
        "   broken by: delete_x()",
        "3. after open(file=$f) eventually close(file=$f)",
        '   kept by:   open(file="A") → close(file="A")',
        '   broken by: open(file="A")',
    ]


def test_runs_show_where_rules_apply_and_which_bad_runs_nobody_notices(folder: Path, corepath: Any) -> None:
    done = corepath("check", "rules.yaml", "--good", "good.jsonl", "--bad", "bad.jsonl", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "   in 4 runs: kept in 2" in done.stdout
    assert "note: bad run bad.jsonl:2: no rule notices it" in done.stdout
    assert "bad.jsonl:1: no rule" not in done.stdout


def test_a_rule_that_applies_nowhere_is_named(folder: Path, corepath: Any) -> None:
    done = check(
        corepath, folder, "close(...) requires login(...)\npay(...) requires login(...)", "--bad", "good.jsonl"
    )
    assert "rule 2, 'pay(...) requires login(...)', applies in none of 2 runs" in done.stdout
    assert "rule 1, " not in done.stdout


def test_a_good_run_that_breaks_a_rule_is_an_error(folder: Path, corepath: Any) -> None:
    done = check(corepath, folder, "at most 0 refund(...)", "--good", "good.jsonl")
    assert done.returncode == 1
    assert (
        "error: rule 1, 'at most 0 refund(...)', is broken in a good run, good.jsonl:1: refund(order=1)" in done.stdout
    )


@pytest.mark.parametrize(
    ("rules", "code", "says"),
    [
        ("a(...) requires b(...)\nnever b(...)", 1,
         "rule 1 applies and all are kept; b() → a() keeps rule 1 and breaks rule 2"),
        ("never call after a(...)\nnever call after b(...)", 0, "note: rules 1 and 2 never both apply in one trace"),
        ("after a(...) eventually a(...)", 1, "error: rule 1, 'after a(...) eventually a(...)', cannot be kept"),
        ("at least 1 a(x=$v)", 1, "error: rule 1, 'at least 1 a(x=$v)', cannot be broken: no trace of sample events"),
        ("never a(...)\nnever a(x=1)", 0, "note: rule 2 is implied by rule 1: no trace of sample events breaks it"),
        ("at most 1 a(...)\nat most 1 a(...)", 0, "note: rules 1 and 2 say the same"),
        ("at most 1 call per turn", 0, "broken by: other() ×2 in one turn"),
        ("never b(...) after a(...) within 1h\nafter a(...) eventually b(...)", 0, "kept by:   a()\n"),
        ("a(...) requires b(...) -> {ok: true}", 0, 'kept by:   b() -> {"ok": true} → a()\n'),
    ],
)  # fmt: skip
def test_findings_and_exit_codes(rules: str, code: int, says: str, folder: Path, corepath: Any) -> None:
    done = check(corepath, folder, rules)
    assert says in done.stdout
    assert done.returncode == code


def test_what_is_not_decided_is_said_and_is_no_error(folder: Path, corepath: Any) -> None:
    done = check(corepath, folder, "at least 3 a(x=$v)\nat most 2 a(x=$v)", "--traces", "25")
    assert "note: whether rules 1 and 2 contradict each other: not decided within 25 traces" in done.stdout
    done = check(corepath, folder, "a(...) requires b(...)", "--traces", "3")
    assert "kept by:   not found within 3 traces" in done.stdout
    assert done.returncode == 0


def test_variants_that_no_rule_notices_are_questions(folder: Path, corepath: Any) -> None:
    done = corepath("check", "rules.yaml", "--good", "good.jsonl", "--mutants", cwd=folder)
    assert done.returncode == 0, done.stderr
    questions = [line.partition(" (")[0] for line in done.stdout.splitlines() if line.startswith("? ")]
    assert "? refund called twice: intended?" in questions
    assert "? refund left out: intended?" in questions
    assert "? verify with another id: intended?" in questions
    assert "? verify left out: intended?" not in questions  # rule 1 notices
    assert "? close left out: intended?" not in questions  # rule 3 notices
    assert "? refund before verify: intended?" not in questions  # rule 1 notices
    assert "(1 of 1 not noticed, as in good.jsonl:1: refund(order=1) twice)" in done.stdout


def test_the_most_frequent_questions_come_first_and_not_more_than_twenty(folder: Path, corepath: Any) -> None:
    many = [episode(*(call(f"tool_{letter}") for letter in "abcdefghijklmnopqrstuvwxyz"), call("refund", order=1))]
    (folder / "many.jsonl").write_text("\n".join(map(json.dumps, [*many, *GOOD[:1] * 3])))
    done = corepath("check", "rules.yaml", "--good", "many.jsonl", "--mutants", "--json", cwd=folder)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    questions = [row for row in rows if "question" in row]
    assert len(questions) == 20
    assert [row["missed"] for row in questions] == sorted((row["missed"] for row in questions), reverse=True)
    assert questions[0]["missed"] > 1


def test_json_has_an_object_for_each_rule_finding_and_question(folder: Path, corepath: Any) -> None:
    done = corepath(
        "check", "rules.yaml", "--good", "good.jsonl", "--bad", "bad.jsonl", "--mutants", "--json", cwd=folder
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["line"] for row in rows if "rule" in row] == [2, 3, 4]
    assert [one["tool"] for one in rows[0]["kept_by"]] == ["verify", "refund"]
    assert rows[0]["runs"] == {"kept": 2, "not applied": 2}
    assert {row["finding"] for row in rows if "finding" in row} == {"bad run not noticed"}
    assert {row["kind"] for row in rows if "question" in row} == {"left out", "repeated", "other argument"}


def test_traces_are_for_rules_alone_and_mutants_need_good_runs(folder: Path, corepath: Any) -> None:
    done = corepath("check", "farm", "--traces", "5", cwd=folder)
    assert (done.returncode, "--traces is for rule files" in done.stderr) == (2, True)
    done = corepath("check", "rules.yaml", "--mutants", cwd=folder)
    assert (done.returncode, "name them with --good RUNS" in done.stderr) == (2, True)
    done = corepath("check", "rules.yaml", "farm", cwd=folder)
    assert (done.returncode, "name one rule file" in done.stderr) == (2, True)
    done = check(corepath, folder, "a(...) reqires b(...)")
    assert (done.returncode, "mine.yaml:2:12: expected 'requires'" in done.stderr) == (1, True)
