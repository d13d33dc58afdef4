"""The commands about worlds: verify, worlds, tasks, new; scoring episodes in a world."""

from __future__ import annotations

import json
import re

import pytest

import corepath as package
from corepath import Episode, episode_json, replay
from corepath.authoring.templates import WORLD_STARTER


def rows(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_verify_prints_a_table_and_ends_with_0_where_all_is_proven(corepath):
    done = corepath("verify", "farm/threshold", "--nodes", "500", "--seeds", "2")
    assert done.returncode == 0
    assert done.stdout.splitlines()[1].split()[0] == "task"
    assert "farm/threshold" in done.stdout
    assert "1 task, 0 with failures" in done.stdout


def test_verify_as_json_is_one_object_a_task(corepath):
    done = corepath("verify", "farm/threshold", "farm/bring_it_home", "--json", "--nodes", "300", "--seeds", "2")
    found = rows(done.stdout)
    assert [row["task"] for row in found] == ["farm/threshold", "farm/bring_it_home"]
    assert all(row["world"] == "farm" and row["ok"] is True and row["failures"] == [] for row in found)
    assert all(0 < row["nodes"] <= 300 and row["seeds"] == 2 for row in found)  # type: ignore[operator]


def test_verify_ends_with_1_and_tells_every_failure(corepath, tmp_path):
    spoiled = tmp_path / "spoiled.py"
    spoiled.write_text(WORLD_STARTER.replace("NAME", "x").replace("lamp.on is on and", "lamp.on is not on and"))
    done = corepath("verify", spoiled, "--jobs", "1")
    assert done.returncode == 1
    assert "x/switch_it: the goal does not hold after the golden path" in done.stderr
    assert "1 task, 1 with failures" in done.stdout
    as_json = rows(corepath("verify", spoiled, "--json").stdout)[0]
    assert as_json["ok"] is False
    assert "the goal does not hold" in as_json["failures"][0]  # type: ignore[index]


def test_a_task_that_cannot_be_made_is_told_in_a_sentence(corepath, tmp_path):
    spoiled = tmp_path / "spoiled.py"
    spoiled.write_text(WORLD_STARTER.replace("NAME", "x").replace("switch(on=on)),", "switch()),"))
    done = corepath("verify", spoiled)
    assert done.returncode == 1
    assert "x/switch_it: task 'x/switch_it', seed 0: 'switch()' lacks the argument 'on' of tool 'switch'" in done.stderr
    assert "Traceback" not in done.stderr
    mutants = corepath("verify", spoiled, "--mutants")
    assert (mutants.returncode, "lacks the argument 'on'" in mutants.stderr) == (1, True)


STRANGE_FILES = {
    "no world": ("x = 1", 'no World in it; write one as world = World("name", State)'),
    "a missing module": ("import nothing_of_the_sort", "cannot be imported: ModuleNotFoundError"),
    "a syntax error": ("def", "cannot be imported: SyntaxError"),
    "an end of the program": ("import sys; sys.exit()", "cannot be imported: SystemExit"),
    "no tasks": (WORLD_STARTER.partition("@world.task")[0].replace("NAME", "x"), "world 'x' has no tasks"),
    "no name": (WORLD_STARTER.replace("NAME", "a/b"), "'a/b' is no name for a world"),
    "two of one name": (
        WORLD_STARTER.replace("NAME", "x") + "\n\nother = World('x', Lamp)\n",
        "two worlds have the name 'x'",
    ),
}


@pytest.mark.parametrize(("text", "message"), STRANGE_FILES.values(), ids=STRANGE_FILES)
def test_verify_of_a_strange_file_says_what_is_wrong_with_it(corepath, tmp_path, text, message):
    (tmp_path / "strange.py").write_text(text)
    done = corepath("verify", "strange.py", cwd=tmp_path)
    assert done.returncode == 1
    assert re.match(rf"strange\.py:\d+:1: {re.escape(message)}", done.stderr)
    assert "Traceback" not in done.stderr


WRONG = {
    "another world": (["verify", "fram"], "no world or file 'fram'; did you mean 'farm'?"),
    "another task": (["verify", "farm/treshold"], "no task 'treshold' in world 'farm'; did you mean 'threshold'?"),
    "a missing file": (["verify", "gone.py"], "no such file or folder: gone.py"),
    "tasks of another world": (["tasks", "fram"], "no world or file 'fram'; did you mean 'farm'?"),
    "no seeds": (
        ["verify", "farm", "--seeds", "0"],
        "greater than or equal to 1 | in the range x>=1",
    ),  # new typer | old
    "a name that is none": (["new", "world", "my world"], "'my world' is no name"),
    "a new thing of another kind": (["new", "agent", "x"], "'agent' is not one of"),
    "a task to show": (["show", "farm/treshold"], "did you mean 'threshold'?"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_wrong_use_ends_with_2_and_says_what_would_be_right(corepath, tmp_path, arguments, message):
    done = corepath(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert any(one in said for one in message.split(" | "))


@pytest.mark.parametrize(("kind", "file", "task"), [("world", "x.py", "x/switch_it"), ("task", "x.yaml", "farm/x")])
def test_a_new_file_is_proven_as_it_is_and_is_not_written_twice(corepath, tmp_path, kind, file, task):
    assert corepath("new", kind, "x", cwd=tmp_path).stdout == f"wrote {file}; now run: corepath verify {file}\n"
    done = corepath("verify", file, "--json", "--nodes", "2000", cwd=tmp_path)
    assert (done.returncode, rows(done.stdout)[0]["task"]) == (0, task)
    before = (tmp_path / file).read_text()
    again = corepath("new", kind, "x", cwd=tmp_path)
    assert (again.returncode, again.stderr) == (2, f"corepath: {file} is already there; nothing was written\n")
    assert (tmp_path / file).read_text() == before


def test_a_file_of_tasks_without_a_world_cannot_be_proven(corepath, tmp_path):
    (tmp_path / "t.yaml").write_text("id: t\nprocedure: a()\n")
    done = corepath("verify", "t.yaml", cwd=tmp_path)
    assert (done.returncode, "names no world to be played in" in done.stderr) == (2, True)


def test_mutants_are_counted_for_every_mode(corepath):
    done = corepath("verify", "farm/threshold", "farm/weigh_and_log", "--mutants", "--json")
    assert done.returncode == 0
    found = {row["mode"]: row for row in rows(done.stdout)}
    assert len(found) == 12
    assert all(row["mutants"] == row["killed"] and row["valid_punished"] == 0 for row in found.values())
    assert all(row["valid_variants"] for row in found.values())
    assert found["done and undone"]["state_killed"] == 0 < found["done and undone"]["mutants"]  # type: ignore[operator]
    shown = corepath("verify", "farm/threshold", "--mutants")
    assert "done and undone" in shown.stdout


def test_worlds_and_tasks_are_listed(corepath):
    worlds = rows(corepath("worlds", "--json").stdout)
    assert {row["world"] for row in worlds} == set(package.installed_worlds())
    farm = next(row for row in worlds if row["world"] == "farm")
    assert "move_to" in farm["tools"]  # type: ignore[operator]
    tasks = rows(corepath("tasks", "farm", "--json").stdout)
    assert [row["task"] for row in tasks] == [f"farm/{name}" for name in farm["tasks"]]  # type: ignore[attr-defined]
    long = next(row for row in tasks if row["task"] == "farm/three_loads")
    assert (long["golden_paths"], long["lengths"], long["tags"]) == (6, [15], ["many ways", "long"])
    table = corepath("tasks", "farm").stdout
    assert "farm/inspection_round" in table
    assert "restores, many ways" in table
    assert "A farm rover" in corepath("worlds").stdout
    variant = rows(corepath("tasks", "farm", "--json", "--seed", "1").stdout)
    assert [row["prompt"] for row in variant] != [row["prompt"] for row in tasks]


def test_episodes_in_a_world_are_scored_by_both_baselines_too(corepath, tmp_path):
    task = package.task("farm/bring_it_home", seed=2)
    calls = replay(task, task.decoys["driven with the valve open"].calls).calls
    (tmp_path / "e.jsonl").write_text(episode_json(Episode(task.id, calls, agent="a", seed=2)) + "\n")
    row = rows(corepath("score", tmp_path / "e.jsonl", "--json").stdout)[0]
    assert (row["state_match"], row["response_match"], row["accepted"]) == (True, True, False)
    table = corepath("score", tmp_path / "e.jsonl", "--wide").stdout
    assert table.split()[:13][-3:] == ["State", "Resp.", "accepted"]


BAD_FILES = {
    "an unknown world": ("world: fram", "no world 'fram'; did you mean 'farm'?"),
    "a field the state has not": ("world: farm\nsetup: {tnak: 1}", "has no field 'tnak'; did you mean 'tank'?"),
    "a field of another type": ("world: farm\nsetup: {tank: full}", "'tank' must be like 20.0, not \"full\""),
    "a goal that does not read": ("world: farm\ngoal: '{at: '", "t.yaml:4:12: expected a value, not the end"),
    "a policy of two kinds": (
        "world: farm\npolicies: [{needed: 'refill_tank()', never: 'refill_tank()', because: x}]",
        "a policy is one of before, after, needed, never and rule",
    ),
    "a policy about no tool's argument": (
        "world: farm\npolicies: [{needed: 'refill_tank(x=1)', because: x}]",
        "has no argument 'x'",
    ),
    "an unknown kind of harm": (
        "world: farm\ndecoys: {d: {calls: [], harm: repeatd}}",
        "no kind of harm 'repeatd'; did you mean 'repeated'?",
    ),
    "a goal without a world": ("goal: '{}'", "'goal' belongs to a task of a world; name it in 'world'"),
    "a tool the world has not": ("world: farm\nreads: ['look()']", "no tool fits 'look()'"),
}


@pytest.mark.parametrize(("more", "message"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_wrong_file_of_a_world_is_told_with_its_place(corepath, tmp_path, more, message):
    (tmp_path / "t.yaml").write_text(f"id: t\nprocedure: refill_tank()\n{more}\n")
    done = corepath("check", "t.yaml", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("t.yaml:")
    assert message in done.stderr
