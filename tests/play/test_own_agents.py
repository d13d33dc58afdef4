"""Users' own agents, on the command line and in Python."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import corepath as package
from corepath import Session
from corepath.errors import CorepathError, OptionError, RunError
from corepath.play.own_agents import find_agent

AGENT = """\
import json

from values import DONE


def act(session):
    print("I am at work")
    session.call("rover_status")
    return DONE


def fails_at_times(session):
    session.call("rover_status")
    if "sensor" in session.prompt:
        json.loads("{")
    return DONE


def fails(session):
    raise SystemExit("no")


def object_as_answer(session):
    session.say({1, 2})
    return object()


def two(session, more):
    return None


async def later(session):
    return None


class Agent:
    def __call__(self, session):
        return None


made, number = Agent(), 3
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(AGENT)
    (tmp_path / "values.py").write_text('DONE = "Done."\n')
    (tmp_path / "unclosed.py").write_text("\nx = (\n")
    (tmp_path / "raises.py").write_text("def act(session): ...\n\n1 / 0\n")
    (tmp_path / "lacks.py").write_text("import not_there\n")
    return tmp_path


def rows(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "episodes.jsonl").read_text().splitlines()]


def test_an_agent_from_a_file_or_module_runs_beside_built_in_ones_in_one_or_several_processes(corepath, folder):
    agents = ("--agent", "mine.py:act", "--agent", "mine:act", "--agent", "swapped:0.3", "--world", "farm")
    one = corepath("run", *agents, "--jobs", 1, "--out", "one", "--json", cwd=folder)
    two = corepath("run", *agents, "--jobs", 2, "--out", "two", cwd=folder)
    assert (one.returncode, two.returncode) == (0, 0), one.stderr + two.stderr
    assert [json.loads(line)["agent"] for line in one.stdout.splitlines()] == ["mine.py:act", "mine:act", "swapped:0.3"]
    assert "I am at work" in one.stderr, "the agent's output goes to stderr"
    assert rows(folder / "one") == rows(folder / "two")
    assert len(rows(folder / "one")) == 33
    assert all(row["answer"] == "Done." for row in rows(folder / "one") if row["agent"] == "mine.py:act")


def test_an_exception_of_an_agent_is_recorded_with_its_line_and_fails_the_run(corepath, folder):
    run = corepath("run", "--agent", "mine.py:fails_at_times", "--world", "farm", "--out", "run", cwd=folder)
    found = rows(folder / "run")
    failed = [row for row in found if row["ended"] == "failed outside"]
    assert (run.returncode, len(found)) == (1, 11)
    assert 0 < len(failed) < 11
    assert all(len(row["calls"]) == 1 for row in failed), "the calls before it are kept"
    assert {(row["failure"]["kind"], row["failure"]["at"]) for row in failed} == {("raised in the agent", "mine.py:15")}
    told = f"mine.py:fails_at_times raised in {len(failed)} of 11 episodes, which are in no mean; first at mine.py:15: "
    assert f"{told}JSONDecodeError: " in run.stderr
    assert f"{len(failed)} failed outside" in run.stderr


def test_a_run_whose_agents_always_raise_exits_with_1(corepath, folder):
    agents = ("--agent", "mine.py:fails", "--agent", "mine.py:object_as_answer", "--task", "farm/threshold")
    run = corepath("run", *agents, "--out", "run", cwd=folder)
    assert run.returncode == 1
    assert "2 of 2 episodes; 2 failed outside" in run.stderr
    assert (
        "mine.py:fails raised in every episode, which are in no mean; first at mine.py:20: SystemExit: no" in run.stderr
    )
    assert re.search(r"mine.py:object_as_answer raised in every .* is text or other JSON", run.stderr)
    assert "--retry" not in run.stderr


def test_a_run_can_be_resumed_unless_the_agents_file_changed_or_is_gone(corepath, folder):
    run, options = folder / "run", ("run", "--resume", "run")
    assert corepath("run", "--agent", "mine.py:act", "--world", "farm", "--out", "run", cwd=folder).returncode == 0
    whole = (run / "episodes.jsonl").read_text()
    (run / "episodes.jsonl").write_text("".join(whole.splitlines(keepends=True)[:4]))
    assert corepath(*options, cwd=folder).returncode == 0
    assert (run / "episodes.jsonl").read_text() == whole
    (run / "episodes.jsonl").write_text("")
    (folder / "mine.py").write_text(AGENT + "\n")
    changed = corepath(*options, cwd=folder)
    assert (changed.returncode, "the file of agent 'mine.py:act' changed since this run began" in changed.stderr) == (
        1,
        True,
    )
    (folder / "mine.py").unlink()
    gone = corepath(*options, cwd=folder)
    assert (gone.returncode, "no such file or folder: mine.py; it is an agent of this run" in gone.stderr) == (2, True)


WRONG = {
    "nowhere.py:act": "no such file or folder: nowhere.py",
    "mine.py:akt": "no function 'akt' in mine.py; did you mean 'act'?",
    "mine.py": "which function of mine.py is the agent? Write it as FILE.py:FUNCTION",
    "mine.py:": "which function of mine.py is the agent? Write it as FILE.py:FUNCTION",
    "mine.py:two": "'two' in mine.py takes (session, more), and an agent takes one argument, the session",
    "mine.py:number": "'number' in mine.py is an int, and an agent is a function of a session",
    "mine.py:Agent": "'Agent' in mine.py is a class, and an agent is a function of a session; make an object of it",
    "mine.py:later": "'later' in mine.py is async; write a function around it",
    "unclosed.py:x": "unclosed.py:2:1: cannot be imported: SyntaxError: '(' was never closed",
    "raises.py:act": "raises.py:3:1: cannot be imported: ZeroDivisionError: division by zero",
    "lacks.py:act": "lacks.py:1:1: cannot be imported: ModuleNotFoundError: No module named 'not_there'",
    "not_there:act": "no module 'not_there'; an agent is a built-in one, FILE.py:FUNCTION or MODULE:FUNCTION",
    "swaped:0.3": "no agent 'swaped'; did you mean 'swapped'?",
    "swapped:x": "the rate of agent 'swapped:x' is no number from 0 to 1; write it as swapped:0.3",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_agent_is_an_error_that_says_why(folder, monkeypatch, name):
    monkeypatch.chdir(folder)
    with pytest.raises(CorepathError, match=re.escape(WRONG[name])):
        find_agent(name)


@pytest.mark.parametrize(("name", "code"), [("nowhere.py:act", 2), ("mine.py:akt", 2), ("raises.py:act", 1)])
def test_a_wrong_agent_exits_with_2_and_a_broken_file_with_1(corepath, folder, name, code):
    done = corepath("run", "--agent", name, "--world", "farm", "--out", "run", cwd=folder)
    assert (done.returncode, done.stderr.strip().removeprefix("corepath: ")) == (code, WRONG[name])
    assert not (folder / "run").exists()


def test_a_callable_object_is_an_agent(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert find_agent("mine.py:made")(Session(package.task("farm/threshold"))) is None


# In Python


def careful(session: Session) -> str:
    session.call("read_sensor", {"plant": "B"})
    return "Plant B needs no water."


def faulty(session: Session) -> str:
    if session.task.id == "farm/threshold":
        raise ValueError("not this one")
    return careful(session)


def test_run_takes_a_function_and_task_names():
    results = package.run(careful, ["farm", "farm/threshold"], epochs=2)
    assert list(results.by_agent) == ["careful"]
    assert len(results.episodes) == 2 * len(package.world("farm").makers)
    assert results.results[0].task is not None
    played = package.play(careful, package.task("farm/threshold"))
    assert played in results.episodes


def test_run_takes_several_agents_and_task_objects(tmp_path):
    task = package.task("farm/threshold", 3)
    by_name = package.run({"mine": careful, "best": "oracle"}, task, seed=3, scoring=package.RECOMMENDED)
    assert (list(by_name.by_agent), by_name.scoring) == (["mine", "best"], package.RECOMMENDED)
    assert by_name.by_agent["best"].mean("pc") == 1
    written = package.run([careful, "oracle", "swapped:0.5"], task, seed=3, out=tmp_path / "run")
    assert written == package.load_results(tmp_path / "run")
    assert list(written.by_agent) == ["careful", "oracle", "swapped:0.5"]
    assert {one.seed for one in written.episodes} == {3}


def test_an_exception_in_some_episodes_is_a_warning_and_in_all_episodes_an_error():
    with pytest.warns(
        UserWarning, match=r"faulty raised in 1 of 11 episodes, first at .*test_own_agents.py:\d+: ValueErr"
    ):
        results = package.run(faulty, "farm")
    assert results.by_agent["faulty"].outside == 1
    with pytest.raises(RunError, match="faulty raised in 1 of 1 episodes"):
        package.run([faulty, careful], "farm/threshold")


def test_wrong_agents_and_tasks_in_python_are_errors_that_say_why(tmp_path):
    wrong: list[tuple[Any, Any, str]] = [
        ([careful, careful], "farm", "two agents are called 'careful'; give them names"),
        ({"oracle": careful}, "farm", "'oracle' is a built-in agent; give yours another name"),
        ([], "farm", "there is no agent"),
        (3, "farm", "'int' is an int, and an agent is a function of a session"),
        ("orakle", "farm", "no agent 'orakle'; did you mean 'oracle'?"),
        (careful, "fram", "did you mean 'farm'?"),
        (careful, [], "there is no task"),
        (careful, package.Task("a/b", procedure=package.action("f()")), "task 'a/b' has no world"),
        (careful, [package.task("farm/threshold"), package.task("farm/threshold", 1)], "two tasks are called"),
    ]  # fmt: skip
    for agent, tasks, message in wrong:
        with pytest.raises(CorepathError, match=re.escape(message)):
            package.run(agent, tasks)
    with pytest.raises(OptionError, match="a run folder names the files of its tasks"):
        package.run(careful, package.task("farm/threshold", 1), out=tmp_path / "run")


def test_a_run_written_in_python_cannot_be_resumed_on_the_command_line(corepath, tmp_path):
    package.run([careful, "oracle"], "farm/threshold", out=tmp_path / "run")
    assert corepath("run", "--resume", tmp_path / "run").returncode == 0, "there is nothing left to run"
    (tmp_path / "run" / "episodes.jsonl").write_text("")
    done = corepath("run", "--resume", tmp_path / "run")
    assert (done.returncode, "agent 'careful' of this run is a Python function" in done.stderr) == (2, True)
