"""Exit codes: missing files, bad records and missing extras."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from corepath.cli import make_app

ROOT = Path(__file__).parents[2]


def commands() -> Iterator[str]:
    yield from typer.main.get_command(make_app()).commands  # type: ignore[attr-defined]


MISSING = {
    "score": ["score", "gone.jsonl"],
    "explain": ["explain", "gone.jsonl"],
    "table": ["table", "gone"],
    "report": ["report", "gone"],
    "view": ["view", "gone"],
    "fix": ["fix", "gone"],
    "compare": ["compare", "gone", "e.jsonl"],
    "sensitivity": ["sensitivity", "gone"],
    "run": ["run", "--resume", "gone"],
    "rescore": ["rescore", "gone"],
    "tasks": ["tasks", "--items", "gone"],
    "check": ["check", "gone.yaml"],
    "show": ["show", "gone.yaml"],
    "verify": ["verify", "gone.py"],
    "import": ["import", "gone.json"],
    "export": ["export", "gone.jsonl"],
    "formats": ["formats", "gone.json"],
    "benchmark": ["benchmark", "gone"],
    "derive": ["derive", "gone.json"],
    "draft": ["draft", "gone.md", "--tools", "e.jsonl", "--model", "openai/x"],
    "serve": ["serve", "gone.yaml"],
    "learn": ["learn", "gone.jsonl"],
    "tools": ["tools", "gone.jsonl"],
}
NO_FILE = {"worlds", "new", "schema"}


def test_every_command_has_a_line_in_the_table_of_missing_files() -> None:
    assert set(commands()) == MISSING.keys() | NO_FILE


@pytest.mark.parametrize("command", MISSING)
def test_a_missing_file_is_wrong_use(command, bank, run) -> None:
    code, out, err = run(*MISSING[command])
    assert (code, out) == (2, ""), err
    assert "no such file or folder: gone" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("arguments", [
    ["import", "e.jsonl", "--map", "gone.yaml", "--task-by", "x"], ["derive", "e.jsonl", "--tools", "gone.yaml"],
    ["score", "e.jsonl", "--tasks", "gone.yaml"], ["compare", "e.jsonl", "gone"], ["compare", "e.jsonl", "gone@ann"],
    ["show", "gone.yaml", "--as", "dogwood"], ["draft", "e.jsonl", "--tools", "gone.json", "--model", "openai/x"],
])  # fmt: skip
def test_a_missing_file_of_an_option_is_wrong_use_too(arguments, bank, run) -> None:
    code, _, err = run(*arguments)
    assert (code, "no such file or folder: gone" in err) == (2, True), err


@pytest.mark.parametrize("command", ["score", "explain", "table", "report", "view", "sensitivity", "export"])
def test_a_folder_without_a_run_is_wrong_use(command, bank, run) -> None:
    code, out, err = run(command, "suite")
    assert (code, out) == (2, "")
    assert "suite holds no run" in err


@pytest.mark.parametrize("command", ["score", "explain", "table", "report"])
def test_a_bad_record_is_reported_and_the_good_ones_are_used(command, bank, run) -> None:
    code, out, err = run(command, "e.jsonl", "-t", "bank.yaml")
    assert code == 1
    assert "e.jsonl:5:1: not JSON" in err
    assert out


def test_a_report_over_nothing_but_bad_input_is_not_written(bank, run) -> None:
    (bank / "bad.jsonl").write_text("x\ny\n")
    code, out, err = run("report", "bad.jsonl", "--out", "page")
    assert (code, out, (bank / "page").exists()) == (1, "", False)
    assert "no report was written" in err
    assert run("view", "bad.jsonl")[0] == 1


def test_a_missing_extra_says_which_and_exits_3(tmp_path, corepath) -> None:
    for name in ("inspect_ai", "mcp"):
        (tmp_path / f"{name}.py").write_text("raise ImportError('not here')\n")
    (tmp_path / "policy.md").write_text("Be kind.")
    (tmp_path / "tools.json").write_text('[{"name": "pay"}]')
    for command, extra in (
        (["serve", "farm/dry_plants"], "mcp"),
        (["run", "--model", "openai/x", "--limit", 1], "run"),
        (["draft", "policy.md", "--tools", "tools.json", "--model", "openai/x"], "run"),
    ):
        done = corepath(*command, env={"PYTHONPATH": str(tmp_path)}, cwd=tmp_path)
        assert (done.returncode, f"pip install 'corepath[{extra}]'" in done.stderr) == (3, True), done.stderr


def test_the_table_of_exit_codes_is_in_the_docs() -> None:
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    section = text[text.index("## Exit codes") :]
    assert re.findall(r"^\| (\d+) \|", section, re.MULTILINE) == ["0", "1", "2", "3", "130"]
    for command in commands():
        assert f"`{command}" in text or f" {command}" in text, command


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_shells_complete_worlds_and_tasks(shell, corepath) -> None:
    variables = {"_COREPATH_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": "corepath verify farm/dry",
                 "COMP_WORDS": "corepath verify farm/dry", "COMP_CWORD": "2"}  # fmt: skip
    assert "farm/dry_plants" in corepath(env=variables).stdout
    assert "install-completion" in corepath("--help").stdout
