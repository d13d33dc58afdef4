"""`corepath check` on tasks with runs: findings, questions, exit codes, and which runs are of which task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_rule_scores import call, episode

TASK = """\
id: shop/refund
procedure: find(order=7) >> refund(order=7, amount=20) >> send(to="Ann", text=ANY)?
reads: ['get_*(...)']
"""
FIND, REFUND, SEND = call("find", order=7), call("refund", order=7, amount=20), call("send", to="Ann", text="Hi")
GOOD = [episode(FIND, REFUND, SEND), episode(FIND, call("get_user", id=1), REFUND, SEND)]
PUNISHED = [episode(REFUND, SEND), episode(REFUND)]
BAD = [episode(FIND), episode(FIND, REFUND)]
SKIPPED = "Skipped find(order=7): refund (call 1) was made without it; call 2 is harmful only because of that."
NO_SUCH_WAY = (
    "No good run does the same steps: if this way is wrong, take it out of the procedure. "
    "If it is right, it is no bad run."
)


def write(folder: Path, name: str, *episodes: dict[str, Any]) -> str:
    (folder / name).write_text("".join(f"{json.dumps(one)}\n" for one in episodes))
    return name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "task.yaml").write_text(TASK)
    write(tmp_path, "good.jsonl", *GOOD)
    write(tmp_path, "bad.jsonl", *BAD)
    return tmp_path


def test_good_runs_alone_are_accepted(folder: Path, corepath: Any) -> None:
    done = corepath("check", "task.yaml", "--good", "good.jsonl", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "shop/refund: good: 2 of 2 accepted\n"


def test_findings_and_questions_are_printed_and_a_finding_fails(folder: Path, corepath: Any) -> None:
    write(folder, "good.jsonl", *GOOD, *PUNISHED)
    done = corepath("check", "task.yaml", "--good", "good.jsonl", "--bad", "bad.jsonl", "--mutants", cwd=folder)
    assert done.returncode == 1, done.stderr
    first, *lines = done.stdout.splitlines()
    assert first.startswith("shop/refund: good: 2 of 4 accepted; bad: 1 of 2 rejected; variants: ")
    assert lines == [
        "error: 2 good runs are punished: skipped a step: find",
        f"  good.jsonl:3: {SKIPPED}",
        "  To accept it, make the step optional, as in find(…)?.",
        "error: bad run bad.jsonl:2 passes: Followed the procedure: 2 steps, no harm.",
        f"  {NO_SUCH_WAY}",
        '? send left out: intended? (accepted in 2 of 2 runs, as in good.jsonl:1: without send(to="Ann", text="Hi"))',
    ]  # fmt: skip


def test_questions_alone_do_not_fail(folder: Path, corepath: Any) -> None:
    done = corepath("check", "task.yaml", "--good", "good.jsonl", "--mutants", cwd=folder)
    assert done.returncode == 0
    assert "? send left out: intended?" in done.stdout


def test_json_is_one_object(folder: Path, corepath: Any) -> None:
    done = corepath(
        "check", "task.yaml", "--good", "good.jsonl", "--bad", "bad.jsonl", "--mutants", "--json", cwd=folder
    )
    found = json.loads(done.stdout)
    assert (done.returncode, found["ok"], found["task"]) == (1, False, "shop/refund")
    assert (found["good"]["accepted"], found["bad"]["rejected"]) == (2, 1)
    assert [one["run"] for one in found["passing"]] == ["bad.jsonl:2"]
    assert [one["question"] for one in found["questions"]] == ["send left out: intended?"]


def test_runs_of_other_tasks_are_left_out_and_named(folder: Path, corepath: Any) -> None:
    others = [{**one, "task": name} for one, name in zip(GOOD * 2, ("shop/return", "a", "b", "c"), strict=True)]
    write(folder, "mixed.jsonl", *GOOD, *others)
    done = corepath("check", "task.yaml", "--good", "mixed.jsonl", cwd=folder)
    assert done.stdout == "shop/refund: good: 2 of 2 accepted\n"
    assert done.stderr == "4 runs left out: of shop/return, a, b, c\n"
    write(folder, "mixed.jsonl", *others)
    done = corepath("check", "task.yaml", "--good", "mixed.jsonl", cwd=folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert "no run is of shop/refund, so nothing was checked: 4 runs of shop/return, a, b, c" in done.stderr


def test_a_trace_that_names_no_task_is_of_the_only_one(folder: Path, corepath: Any) -> None:
    function = {"name": "find", "arguments": '{"order": 7}'}
    message = {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": function}]}
    answer = {"role": "tool", "tool_call_id": "c", "content": "ok"}
    (folder / "trace.json").write_text(json.dumps({"messages": [{"role": "user", "content": "?"}, message, answer]}))
    done = corepath("check", "task.yaml", "--bad", "trace.json", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "shop/refund: bad: 1 of 1 rejected\n")
    (folder / "two.yaml").write_text(f"{TASK}---\n{TASK.replace('shop/refund', 'shop/other')}")
    done = corepath("check", "two.yaml", "--bad", "trace.json", cwd=folder)
    assert (done.returncode, "1 run without a task" in done.stderr) == (1, True)


def test_several_tasks_each_have_their_runs_and_the_last_line_adds_them_up(folder: Path, corepath: Any) -> None:
    (folder / "two.yaml").write_text(
        f"{TASK}---\n{TASK.replace('shop/refund', 'shop/other')}---\n{TASK.replace('shop/refund', 'shop/idle')}"
    )
    write(folder, "both.jsonl", *GOOD, {**PUNISHED[0], "task": "shop/other"})
    done = corepath("check", "two.yaml", "--good", "both.jsonl", cwd=folder)
    lines = done.stdout.splitlines()
    assert done.returncode == 1
    assert lines[:2] == ["shop/refund: good: 2 of 2 accepted", "shop/other: good: 0 of 1 accepted"]
    assert lines[-1] == "2 tasks: good: 2 of 3 accepted"
    assert "1 task without runs: shop/idle" in done.stderr
    done = corepath("check", "two.yaml", "--good", "both.jsonl", "--json", cwd=folder)
    assert [json.loads(line)["task"] for line in done.stdout.splitlines()] == ["shop/refund", "shop/other"]


def test_runs_that_count_in_no_mean_are_left_out(folder: Path, corepath: Any) -> None:
    outside = {**PUNISHED[0], "ended": "failed outside", "failure": {"kind": "x", "message": "y"}}
    write(folder, "good.jsonl", *GOOD, outside)
    done = corepath("check", "task.yaml", "--good", "good.jsonl", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "1 run left out: failed outside the agent\n")


def test_run_folders_are_read_with_their_seed(folder: Path, corepath: Any) -> None:
    corepath("run", "farm/threshold", "--agent", "oracle", "--seed", "3", "--out", "runs", cwd=folder)
    done = corepath("check", "farm/threshold", "--good", "runs", cwd=folder)
    assert (done.returncode, done.stdout) == (0, "farm/threshold (seed 3): good: 1 of 1 accepted\n")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("task.yaml", "--mutants"), 2, "name them with --good RUNS"),
        (("task.yaml", "--bad", "bad.jsonl", "--mutants"), 2, "name them with --good RUNS"),
        (("task.yaml", "--good", "missing.jsonl"), 2, "no such file or folder: missing.jsonl"),
        (("missing.yaml", "--good", "good.jsonl"), 2, "missing.yaml"),
        (("task.yaml", "--good", "empty.jsonl"), 1, "there is no run that can be read, so nothing was checked"),
        (("task.yaml", "--good", "broken.jsonl"), 1, "there is no run that can be read, so nothing was checked"),
        (("wrong.yaml", "--good", "good.jsonl"), 1, "wrong.yaml:2:"),
        (("task.yaml", "--good", "seed.jsonl"), 1, "a task file has no variants"),
        (("task.yaml", "--good", "good.jsonl", "--bad", "broken.jsonl"), 1, "broken.jsonl:1:1: "),
        (("task.yaml", "--good", "good.jsonl", "--bad", "notes"), 1, "notes:1:1: no files of traces in this folder"),
        (("task.yaml", "--good", "good.jsonl", "--bad", "none.json"), 1, "none.json:1:1: no episodes in this file"),
    ],
)
def test_wrong_uses_and_broken_files(
    folder: Path, corepath: Any, arguments: tuple[str, ...], code: int, says: str
) -> None:
    (folder / "empty.jsonl").write_text("")
    (folder / "notes").mkdir(exist_ok=True)
    (folder / "none.json").write_text("[]")
    (folder / "broken.jsonl").write_text('{"task": ')
    (folder / "wrong.yaml").write_text(TASK.replace(">> refund", ">> >> refund"))
    write(folder, "seed.jsonl", {**GOOD[0], "seed": 5})
    done = corepath("check", *arguments, cwd=folder)
    assert (done.returncode, says in done.stderr) == (code, True), done.stderr
