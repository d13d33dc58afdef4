"""Run folders: killing and resuming, one process or several, rescoring, redaction."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corepath import Call, Episode, InputError
from corepath.files.lookup import Source
from corepath.runs.folder import EPISODES, MANIFEST, RunFolder, key_of
from corepath.runs.plan import Plan
from corepath.runs.redaction import Redaction
from tests.conftest import INTERRUPTIBLE, PATIENCE

COMMAND = Path(sys.executable).with_name("corepath")
PAPERS_TABLE = (
    "(total)  (avg.) (avg.) (avg.)    PC PC-KTC PrefixCrit HarmRate Direct. State % Resp. % PC+HLR        %      %"
)


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / EPISODES).read_text().splitlines()]


def keys(folder: Path) -> list[tuple[str, str, int]]:
    return [(row["agent"], row["task"], row["epoch"]) for row in lines(folder)]


@pytest.fixture(scope="module")
def run_of_two_worlds(corepath, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "one"
    done = corepath("run", "--world", "farm", "--world", "legal", "--out", folder, "--jobs", "1", "--wide")
    assert done.returncode == 0, done.stderr
    return folder, done


# What is run, and what is written


def test_a_run_prints_the_papers_table_per_agent_and_where_it_is(run_of_two_worlds):
    folder, done = run_of_two_worlds
    title, _, head, *rows = done.stdout.splitlines()
    assert title == "Scores by agent"
    assert head.endswith(PAPERS_TABLE)
    assert [row.split()[0] for row in rows[:4]] == ["oracle", "do_nothing", "reads_only", "random"]
    assert rows[0].split()[-1] == "100.0"
    assert f"run: {folder}" in done.stdout
    assert "330 of 330 episodes" in done.stderr


def test_the_folder_is_plain_a_manifest_and_a_line_an_episode(run_of_two_worlds):
    folder, _ = run_of_two_worlds
    manifest = json.loads((folder / MANIFEST).read_text())
    assert (manifest["format"], manifest["version"], manifest["seed"], manifest["epochs"]) == ("corepath-run", 1, 0, 1)
    assert len(manifest["tasks"]) == 22
    assert all(len(one["hash"]) == 16 for one in manifest["tasks"].values())
    assert manifest["profile"] == "paper"
    found = lines(folder)
    assert len(found) == len(set(keys(folder))) == 22 * 15
    row = found[0]
    assert {"task", "agent", "epoch", "seed", "calls", "answer", "ended", "state", "scores"} <= row.keys()
    assert row["scores"]["pc"] == 1.0
    assert all("result" in call for call in row["calls"])


def test_the_same_seed_gives_the_same_bytes_on_one_process_and_on_several(corepath, run_of_two_worlds, tmp_path):
    folder, _ = run_of_two_worlds
    for jobs in (2, 3):
        again = tmp_path / str(jobs)
        assert corepath("run", "--world", "farm", "--world", "legal", "--out", again, "--jobs", jobs).returncode == 0
        assert (again / EPISODES).read_bytes() == (folder / EPISODES).read_bytes()
        assert (again / MANIFEST).read_bytes() == (folder / MANIFEST).read_bytes()
    other = tmp_path / "other"
    assert corepath("run", "--world", "farm", "--world", "legal", "--out", other, "--seed", 7).returncode == 0
    assert (other / EPISODES).read_bytes() != (folder / EPISODES).read_bytes()


def test_episodes_of_a_run_score_the_same_with_the_score_command(corepath, run_of_two_worlds):
    folder, _ = run_of_two_worlds
    done = corepath("score", folder / EPISODES, "--json")
    assert done.returncode == 0
    for scored, row in zip(map(json.loads, done.stdout.splitlines()), lines(folder), strict=True):
        assert {name: scored[name] for name in row["scores"]} == row["scores"]


def test_only_what_is_asked_for_is_run(corepath, tmp_path):
    options = ("--agent", "oracle", "--agent", "swapped:0.5", "--epochs", 3, "--limit", 2, "--world", "farm")
    done = corepath("run", *options, "--world", "arm", "--out", tmp_path / "x", "--json")
    assert done.returncode == 0
    assert [json.loads(line)["episodes"] for line in done.stdout.splitlines()] == [12, 12]
    assert {row["agent"] for row in lines(tmp_path / "x")} == {"oracle", "swapped:0.5"}


def test_a_world_and_a_task_in_files_of_ones_own_can_be_run(corepath, tmp_path):
    assert corepath("new", "world", "lamp", cwd=tmp_path).returncode == 0
    done = corepath("run", "--world", "lamp.py", "--agent", "oracle", "--out", "a", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert lines(tmp_path / "a")[0]["scores"]["accepted"] is True
    assert corepath("new", "task", "errand", cwd=tmp_path).returncode == 0
    done = corepath("run", "--task", "errand.yaml", "--agent", "oracle", "--out", "b", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert lines(tmp_path / "b")[0]["scores"]["accepted"] is True


def test_a_folder_called_as_a_world_is_not_taken_for_it(corepath, tmp_path):
    (tmp_path / "farm").mkdir()
    done = corepath("run", "--world", "farm", "--agent", "oracle", "--limit", 1, "--out", "legal", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = corepath("run", "--world", "legal", "--agent", "oracle", "--limit", 1, "--out", "x", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert corepath("new", "task", "errand", cwd=tmp_path).returncode == 0
    (tmp_path / "errand.yaml").rename(tmp_path / "farm" / "errand.yaml")
    done = corepath("run", "--task", "./farm", "--agent", "oracle", "--out", "y", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    again = corepath("run", "--resume", "y", cwd=tmp_path)
    assert again.returncode == 0
    assert again.stdout == done.stdout
    assert len(lines(tmp_path / "y")) == 1


def test_the_table_of_a_run_fits_80_columns_unless_it_is_to_be_wide(corepath, tmp_path):
    done = corepath("run", "farm/threshold", "--agent", "oracle", "--out", "y", cwd=tmp_path)
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "more columns with --wide" in done.stdout


def test_a_dry_run_says_what_would_be_run_and_writes_nothing(corepath, tmp_path):
    done = corepath("run", "--model", "openai/gpt-4o", "--world", "farm", "--epochs", 2, "--dry-run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = "66 episodes: 11 tasks × 3 agents × 2 epochs (do_nothing, reads_only, openai/gpt-4o) about "
    assert said in " ".join(done.stdout.split())
    assert "tokens in and" in done.stdout
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--agent", "orcale"], "no agent 'orcale'; did you mean 'oracle'?"),
        (["--world", "frm"], "no world or file 'frm'; did you mean 'farm'?"),
        (["--task", "farm/dry_plant"], "no task 'dry_plant' in world 'farm'; did you mean 'dry_plants'?"),
        (["--world", "no.py"], "no such file or folder: no.py"),
        (["--retry"], "--retry belongs to --resume"),
        (["--redact", " "], "--redact names no field"),
        (["--base-url", "http://127.0.0.1:9/v1"], "say which with --model"),
        (["--model", "m", "--base-url", "http://me:secret@127.0.0.1/v1"], "give the key in OPENAI_API_KEY"),
        (["--model", "oracle", "--agent", "oracle", "--base-url", "http://x/v1"], "run them separately"),
    ],
)
def test_a_wrong_option_is_told_and_what_would_be_right(corepath, tmp_path, options, message):
    done = corepath("run", *options, cwd=tmp_path)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_something_is_left_alone(corepath, run_of_two_worlds, tmp_path):
    folder, _ = run_of_two_worlds
    before = (folder / EPISODES).read_bytes()
    done = corepath("run", "--task", "farm/threshold", "--out", folder)
    assert done.returncode == 2
    assert f"holds a run; go on with it: corepath run --resume {folder}" in done.stderr
    assert (folder / EPISODES).read_bytes() == before
    (tmp_path / "mine.txt").write_text("mine")
    done = corepath("run", "--task", "farm/threshold", "--out", tmp_path)
    assert (done.returncode, "is not empty" in done.stderr) == (2, True)


# Going on


MANY = ("run", "--world", "transactions", "--world", "farm", "--epochs", "6")


@pytest.fixture(scope="module")
def uninterrupted(corepath, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert corepath(*MANY, "--out", folder, "--jobs", "2").returncode == 0
    return folder


def test_a_run_killed_at_any_moment_goes_on_without_losing_or_doubling(uninterrupted, tmp_path, request):
    """Processes are killed with SIGKILL; in the end the file has exactly the same bytes."""
    kills = 20 if request.config.getoption("--long") else 5
    chance = random.Random(4)
    folder = tmp_path / "run"
    begun = False
    killed = 0
    while killed < kills:
        options = ["run", "--resume", str(folder)] if begun else [*MANY, "--out", str(folder)]
        process = subprocess.Popen(
            [COMMAND, *options, "--jobs", str(1 + killed % 2)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        _wait_for_news(folder, process, chance.uniform(0, 0.8))
        if process.poll() is not None:
            assert process.returncode == 0
            shutil.rmtree(folder)  # it was faster than the kill: begin anew
            begun = False
            continue
        process.kill()
        process.wait()
        begun = (folder / MANIFEST).exists()
        killed += 1
    done = subprocess.run([COMMAND, "run", "--resume", folder], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (folder / EPISODES).read_bytes() == (uninterrupted / EPISODES).read_bytes()
    until = time.monotonic() + PATIENCE
    while _of_run(folder) and time.monotonic() < until:
        time.sleep(0.2)
    assert not _of_run(folder), "what a killed run started ends too"


def _of_run(folder: Path) -> list[str]:
    """The processes with the folder in their command line."""
    found = []
    for one in Path("/proc").glob("[0-9]*"):
        try:
            command = (one / "cmdline").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in command:
            found.append(command.decode())
    return found


def _wait_for_news(folder: Path, process: subprocess.Popen[Any], more: float) -> None:
    """Wait until a started run has written something, and a little longer."""
    file = folder / EPISODES
    before = file.stat().st_size if file.exists() else 0
    until = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < until:
        if file.exists() and file.stat().st_size != before:
            break
        time.sleep(0.01)
    time.sleep(more)


def test_a_line_cut_short_is_no_episode_and_is_played_again(corepath, uninterrupted, tmp_path):
    whole = (uninterrupted / EPISODES).read_bytes()
    for cut in (1, 100, len(whole) // 2, len(whole) - 1, len(whole)):
        folder = tmp_path / str(cut)
        shutil.copytree(uninterrupted, folder)
        (folder / EPISODES).write_bytes(whole[:cut])
        if cut == len(whole) // 2:
            assert corepath("run", "--resume", folder).returncode == 0
            assert (folder / EPISODES).read_bytes() == whole
        else:
            opened = RunFolder.open(folder)
            assert len(list(opened.episodes())) == whole[:cut].count(b"\n")
            with opened.writing():
                assert (folder / EPISODES).read_bytes() == whole[: whole.rfind(b"\n", 0, cut) + 1]


def test_a_finished_run_goes_on_with_nothing(corepath, run_of_two_worlds):
    folder, _ = run_of_two_worlds
    before = (folder / EPISODES).read_bytes()
    done = corepath("run", "--resume", folder)
    assert (done.returncode, (folder / EPISODES).read_bytes() == before) == (0, True)


def test_ctrl_c_ends_cleanly_and_says_how_to_go_on(uninterrupted, tmp_path):
    folder = tmp_path / "run"
    said = _stopped(uninterrupted, folder, lambda process: process.send_signal(signal.SIGINT), 130)
    assert f"Go on with: corepath run --resume {folder}" in said
    assert "Traceback" not in said
    done = subprocess.run([COMMAND, "run", "--resume", folder], capture_output=True, check=False)
    assert done.returncode == 0
    assert (folder / EPISODES).read_bytes() == (uninterrupted / EPISODES).read_bytes()


def test_a_changed_task_is_noticed_and_refused_with_the_command_that_helps(corepath, tmp_path):
    assert corepath("new", "world", "lamp", cwd=tmp_path).returncode == 0
    options = ("run", "--world", "lamp.py", "--agent", "oracle", "--agent", "left_out", "--epochs", 2)
    assert corepath(*options, "--out", "run", cwd=tmp_path).returncode == 0
    _shorten(tmp_path / "run", 3)
    source = (tmp_path / "lamp.py").read_text()
    (tmp_path / "lamp.py").write_text(source + "\n# a remark changes nothing\n")
    assert corepath("run", "--resume", "run", cwd=tmp_path).returncode == 0
    _shorten(tmp_path / "run", 3)
    (tmp_path / "lamp.py").write_text(source.replace('prompt=f"', 'prompt=f"Please. '))
    assert (tmp_path / "lamp.py").read_text() != source
    done = corepath("run", "--resume", "run", cwd=tmp_path)
    assert done.returncode == 1
    assert "changed since this run began" in done.stderr
    assert "corepath rescore run" in done.stderr
    done = corepath("rescore", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "0 of 3 episodes have other scores" in done.stderr
    again = corepath("run", "--resume", "run", cwd=tmp_path)
    assert (again.returncode, "changed since this run began" in again.stderr) == (1, True), "what was played counts"
    (tmp_path / "lamp.py").write_text("import nothing_of_the_kind\n")
    broken = corepath("run", "--resume", "run", cwd=tmp_path)
    assert (broken.returncode, "nothing_of_the_kind" in broken.stderr) == (1, True)
    (tmp_path / "lamp.py").unlink()
    gone = corepath("run", "--resume", "run", cwd=tmp_path)
    assert (gone.returncode, "no such file: lamp.py" in gone.stderr) == (2, True)


def _shorten(folder: Path, count: int) -> None:
    """Keep only the first episodes of a run."""
    kept = (folder / EPISODES).read_bytes().splitlines(keepends=True)[:count]
    (folder / EPISODES).write_bytes(b"".join(kept))


def test_a_run_goes_on_with_its_own_options_and_others_are_refused(corepath, run_of_two_worlds, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(run_of_two_worlds[0], copy)
    _shorten(copy, 300)
    for option in (("--agent", "random"), ("--epochs", 5), ("--seed", 4), ("--redact", "plant"), ("--out", "zzz")):
        done = corepath("run", "--resume", copy, *option)
        assert (done.returncode, f"{option[0]} is for a new run" in done.stderr) == (2, True)
    done = corepath("run", "--resume", copy, "--dry-run")
    assert (done.returncode, "30 of 330 episodes are missing" in done.stdout) == (0, True)
    assert len(lines(copy)) == 300


def _stopped(
    uninterrupted: Path, folder: Path, stop: Callable[[subprocess.Popen[str]], None], code: int | None = None
) -> str:
    """The output of a run that was stopped midway; starts over if it finished before."""
    whole = (uninterrupted / EPISODES).stat().st_size
    for _ in range(10):
        shutil.rmtree(folder, ignore_errors=True)
        command = [*INTERRUPTIBLE, str(COMMAND), *MANY, "--out", str(folder), "--jobs", "2"]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        _wait_for_news(folder, process, 0.1)
        stop(process)
        _, said = process.communicate(timeout=PATIENCE)
        if (folder / EPISODES).stat().st_size < whole:
            assert process.returncode == code if code else process.returncode != 0
            return said
    pytest.fail("it was never stopped")


def test_a_second_ctrl_c_ends_it_too_and_before_it_is_finished(uninterrupted, tmp_path):
    def twice(process: subprocess.Popen[str]) -> None:
        for _ in range(2):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGINT)
            time.sleep(0.05)

    _stopped(uninterrupted, tmp_path / "run", twice)


def test_a_worker_that_is_killed_is_told_with_how_to_go_on(corepath, uninterrupted, tmp_path):
    folder = tmp_path / "run"

    def kill_one(process: subprocess.Popen[str]) -> None:
        with suppress(OSError, IndexError):
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            os.kill(int(children[-1]), signal.SIGKILL)

    said = _stopped(uninterrupted, folder, kill_one, 1)
    assert f"Go on with: corepath run --resume {folder}" in said
    assert "Traceback" not in said
    assert corepath("run", "--resume", folder).returncode == 0
    assert (folder / EPISODES).read_bytes() == (uninterrupted / EPISODES).read_bytes()


def test_two_processes_do_not_write_to_the_same_run(run_of_two_worlds, corepath):
    folder, _ = run_of_two_worlds
    with RunFolder.open(folder).writing():
        done = corepath("run", "--resume", folder)
    assert (done.returncode, "another process is writing to this run" in done.stderr) == (1, True)


def test_what_is_no_run_is_told(corepath, tmp_path):
    done = corepath("run", "--resume", tmp_path / "nowhere")
    assert (done.returncode, "no such file or folder" in done.stderr) == (2, True)
    (tmp_path / MANIFEST).write_text("{")
    assert f"{MANIFEST}:1:2: not JSON" in corepath("rescore", tmp_path).stderr
    (tmp_path / MANIFEST).write_text('{"format": "corepath-run", "version": 9}')
    assert "version 9" in corepath("rescore", tmp_path).stderr
    (tmp_path / MANIFEST).write_text('{"format": "corepath-run", "version": 1}')
    assert "'tasks' is missing" in corepath("rescore", tmp_path).stderr


def test_a_damaged_line_is_told_and_set_aside_and_its_episode_played_again(tmp_path, run_of_two_worlds, corepath):
    folder, _ = run_of_two_worlds
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    all_lines = (copy / EPISODES).read_bytes().splitlines(keepends=True)
    damaged = [*all_lines[:3], b"{broken\r\xff\n", *all_lines[4:]]
    (copy / EPISODES).write_bytes(b"".join(damaged))
    tried = corepath("run", "--resume", copy, "--dry-run")
    assert (tried.returncode, "1 damaged line would be set aside" in tried.stderr) == (1, True)
    assert (copy / EPISODES).read_bytes() == b"".join(damaged)
    done = corepath("run", "--resume", copy)
    assert (done.returncode, f"{EPISODES}:4:" in done.stderr) == (1, True)
    assert f"1 damaged line set aside in {copy / 'set-aside.jsonl'}" in done.stderr
    assert (copy / "set-aside.jsonl").read_bytes() == damaged[3]
    assert sorted((copy / EPISODES).read_bytes().splitlines(keepends=True)) == sorted(all_lines)
    assert corepath("run", "--resume", copy).returncode == 0


# Scoring again


def test_rescoring_with_another_profile_changes_scores_and_nothing_else(corepath, run_of_two_worlds, tmp_path):
    folder, _ = run_of_two_worlds
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    before = lines(copy)
    done = corepath("rescore", copy, "--profile", "recommended", "--dry-run")
    assert (done.returncode, "would have other scores" in done.stderr) == (0, True)
    assert lines(copy) == before
    done = corepath("rescore", copy, "--profile", "recommended")
    assert done.returncode == 0, done.stderr
    after = lines(copy)
    assert {row["scores"]["profile"] for row in after} == {"recommended"}
    assert json.loads((copy / MANIFEST).read_text())["profile"] == "recommended"
    strip = [{name: value for name, value in row.items() if name not in ("scores", "scoring")} for row in before]
    assert strip == [{name: row[name] for name in row if name not in ("scores", "scoring")} for row in after]
    assert {row["scoring"] for row in after} == {"recommended"}
    assert corepath("rescore", copy, "--profile", "paper").returncode == 0
    assert (copy / EPISODES).read_bytes() == (folder / EPISODES).read_bytes()


def test_runs_that_were_scored_in_different_ways_are_not_mixed(corepath, run_of_two_worlds, tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    for copy in (one, other):
        shutil.copytree(run_of_two_worlds[0], copy)
    assert corepath("rescore", one, "--profile", "recommended").returncode == 0
    done = corepath("rescore", one, other)
    assert (done.returncode, "scored in different ways" in done.stderr) == (1, True)
    (other / MANIFEST).write_bytes((one / MANIFEST).read_bytes())  # as a kill between the two files leaves it
    _shorten(other, 300)
    done = corepath("run", "--resume", other)
    assert (done.returncode, f"Score them alike with: corepath rescore {other}" in done.stderr) == (1, True)
    assert corepath("rescore", one, other, one).returncode == 0
    assert corepath("run", "--resume", other).returncode == 0
    assert (other / EPISODES).read_bytes() == (one / EPISODES).read_bytes()


# Redaction


def test_a_redacted_run_keeps_its_scores(corepath, tmp_path):
    plain, hidden = tmp_path / "plain", tmp_path / "hidden"
    options = ("run", "--world", "farm", "--world", "transactions", "--agent", "oracle", "--agent", "random")
    assert corepath(*options, "--out", plain).returncode == 0
    done = corepath(*options, "--out", hidden, "--redact", "litres,moisture,balance,amount,nosuchfield")
    assert done.returncode == 0, done.stderr
    assert "--redact nosuchfield: no field of that name was met" in done.stderr
    for before, after in zip(lines(plain), lines(hidden), strict=True):
        numbers = {name: value for name, value in before["scores"].items() if isinstance(value, (int, float))}
        assert {name: after["scores"][name] for name in numbers} == numbers
    assert "approx(redacted" not in (hidden / EPISODES).read_text()


def test_the_salt_of_a_run_stays_the_same(corepath, tmp_path, monkeypatch):
    folder = tmp_path / "run"
    assert corepath("run", "--world", "crud", "--agent", "oracle", "--redact", "email", "--out", folder).returncode == 0
    _shorten(folder, 5)
    monkeypatch.setenv("COREPATH_SALT", "another")
    done = corepath("run", "--resume", folder)
    assert (done.returncode, "begun with another salt" in done.stderr) == (1, True)
    monkeypatch.delenv("COREPATH_SALT")
    (folder / "salt").write_bytes(b"")
    done = corepath("run", "--resume", folder)
    assert (done.returncode, "the salt is empty" in done.stderr) == (1, True)
    (folder / "salt").unlink()
    done = corepath("run", "--resume", folder)
    assert (done.returncode, "the salt of this run is gone" in done.stderr) == (1, True)


def test_redacted_values_stand_nowhere_in_the_folder_and_equal_ones_stay_equal(corepath, tmp_path):
    plain, hidden = tmp_path / "plain", tmp_path / "hidden"
    options = ("run", "--world", "crud", "--agent", "oracle", "--agent", "wrong_argument")
    assert corepath(*options, "--out", plain).returncode == 0
    assert corepath(*options, "--out", hidden, "--redact", "email, name").returncode == 0
    text = (hidden / EPISODES).read_text()
    given = {call["arguments"].get("email", "") for row in lines(plain) for call in row["calls"]}
    secrets = {email for email in given if "@" in email}
    assert len(secrets) > 3
    assert not [secret for secret in secrets if secret in text]
    assert [row["scores"]["pc"] for row in lines(hidden)] == [row["scores"]["pc"] for row in lines(plain)]
    pairs = {
        (before["arguments"]["email"], after["arguments"]["email"])
        for one, other in zip(lines(plain), lines(hidden), strict=True)
        for before, after in zip(one["calls"], other["calls"], strict=True)
        if "email" in before["arguments"]
    }
    assert len({new for _, new in pairs}) == len({old for old, _ in pairs}) == len(pairs)
    assert all(new.startswith("redacted:") for _, new in pairs)
    assert (hidden / "salt").stat().st_mode & 0o077 == 0
    done = corepath("rescore", hidden)
    assert (done.returncode, "cannot be scored again" in done.stderr) == (1, True)


def test_a_redacted_value_is_found_in_texts_labels_json_and_keys():
    redaction = Redaction(frozenset({"email", "amount"}), b"salt")
    record = {
        "task": "x/y",
        "calls": [
            {
                "tool": "send",
                "arguments": {"email": "ann@example.com", "amount": 2500},
                "error": "no ann@example.com here",
            },
            {"tool": "send", "arguments": '{"email": "ann@exam'},
            {"tool": "look", "arguments": {}, "result": '{"email": "ann@example.com", "age": 41}'},
        ],
        "answer": "I wrote to ann@example.com about 2500 euros, 25000 in all.",
        "state": {"ann@example.com": {"email": "ann@example.com"}},
        "scores": {"condensed": ['?send(email="ann@example.com", amount=2500)']},
    }
    text = json.dumps(redaction(record))
    assert "ann@" not in text
    assert "2500 " not in text
    assert "25000 in all" in text
    assert '"age' in text
    assert redaction(record)["task"] == "x/y"
    odd = {
        "answer": 'Here is the call: {"name": "send", "arguments": {"email": "bob@example.com", "n": 1',
        "calls": [{"tool": "t", "arguments": {"email": ["Zoë@example.com", {"home": "eve@example.com"}]}, "error":
                   "no: ZOË@EXAMPLE.COM, eve@example.com, zo\\u00eb@example.com; email='Joe Doe', email: x"}],
        "scores": {"condensed": ["move(x=1, amount=approx(2500), y=2)"], "pc": 0.5},
        "usage": {"amount": 3},
        "state": {"amount": 0.5},
    }  # fmt: skip
    text = json.dumps(redaction(odd), ensure_ascii=False)
    for secret in ("bob@", "zoë", "ZOË", "eve@", "Joe", "Doe", "00eb", "approx(2500)"):
        assert secret not in text
    assert '"pc": 0.5' in text
    assert '"usage": {"amount": 3}' in text
    assert '"redacted:' in json.dumps(Redaction({"state"}, b"s")({"state": {"a": 1}, "calls": []})["state"])
    assert redaction(record) == redaction(record)
    assert Redaction(frozenset({"email"}), b"pepper").hash_value("a") != redaction.hash_value("a")


# The folder itself


def test_a_line_that_cannot_be_written_leaves_no_half_of_it(tmp_path):
    folder = RunFolder.create(tmp_path / "run", {"tasks": {}})
    small, large = Episode("a/b", ()), Episode("a/b", (), answer="x" * 100_000)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with folder.writing() as writing:
        writing.append(small)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
        try:
            with pytest.raises(OSError, match="too large"):
                writing.append(large)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, ignored)
        writing.append(small)
    assert (folder.path / EPISODES).read_bytes() == 2 * folder.line(small)


def test_a_folder_reads_back_what_was_appended(tmp_path):
    plan = Plan((Source("farm", "farm/dry_plants"),), agents=("me",), epochs=4)
    folder = RunFolder.create(tmp_path / "run", plan.manifest())
    calls = (Call("\ud800", {"x": "é\u2028"}, result=[1.5, None]), Call("t", "{raw"))
    odd = Episode("farm/dry_plants", calls, "me", 3, answer="✓", outcome="answered")
    with folder.writing() as writing:
        writing.append(odd, replace(odd, epoch=2))
    found = list(RunFolder.open(tmp_path / "run").episodes())
    assert found == [odd, replace(odd, epoch=2)]
    assert key_of(found[0]) == ("me", "farm/dry_plants", 3)
    with pytest.raises(InputError, match="holds a run"):
        RunFolder.create(tmp_path / "run", {})
