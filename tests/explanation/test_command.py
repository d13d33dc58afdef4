"""The command `corepath explain`."""

from __future__ import annotations

import json

import pytest

from corepath import (
    Call,
    Episode,
    episode_json,
    play,
)
from corepath.cli.explain import MOST_PRINTED
from corepath.files.lookup import all_sources
from corepath.play.built_in import built_in
from corepath.runs.folder import RunFolder
from corepath.runs.plan import Plan


@pytest.fixture
def run(tmp_path):
    """A run of two agents on two tasks."""
    plan = Plan(tuple(all_sources(["farm/threshold", "legal/enforce_if_listed"])), ("oracle", "early_stop"))
    folder = RunFolder.create(tmp_path / "run", plan.manifest())
    with folder.writing():
        for agent in plan.agents:
            folder.append(*(play(built_in(agent), source.make(), name=agent) for source in plan.sources))
    return folder.path


def test_the_command_explains_every_episode_of_a_run(run, corepath):
    done = corepath("explain", run)
    assert done.returncode == 0
    assert [line for line in done.stdout.splitlines() if line.startswith("episode")] == [
        "episode 1: farm/threshold, oracle", "episode 2: legal/enforce_if_listed, oracle",
        "episode 3: farm/threshold, early_stop", "episode 4: legal/enforce_if_listed, early_stop",
    ]  # fmt: skip
    assert done.stdout.count("Followed the procedure") == 2


def test_the_command_explains_one_episode_or_says_how_many_there_are(run, corepath):
    done = corepath("explain", run / "episodes.jsonl", "--episode", 3)
    assert done.stdout.startswith(
        "episode 3: farm/threshold, early_stop\nMade no call; one step was expected: read_sensor"
    )
    none = corepath("explain", run, "--episode", 5)
    assert none.returncode == 2
    assert "no episode 5: there are 4" in none.stderr


def test_the_command_as_json_is_one_object_an_episode(run, corepath):
    rows = [json.loads(line) for line in corepath("explain", run, "--json").stdout.splitlines()]
    assert [(row["episode"], row["task"], row["agent"]) for row in rows][2] == (3, "farm/threshold", "early_stop")
    assert rows[2]["headline"] == 'Made no call; one step was expected: read_sensor(plant="B").'


def test_the_command_takes_tasks_from_files_and_tells_of_those_that_are_gone(tmp_path, corepath):
    tasks, episodes = tmp_path / "tasks.yaml", tmp_path / "episodes.jsonl"
    tasks.write_text('version: 1\nid: bank/open\nactions: {open: "open(id=1)"}\nprocedure: open\n')
    lines = [Episode("bank/open", (Call("open", {"id": 2}),)), Episode("bank/gone", ())] + [
        Episode("bank/open", ())
    ] * 30
    episodes.write_text("".join(episode_json(one) + "\n" for one in lines) + "{broken\n")
    done = corepath("explain", episodes, "--tasks", tasks)
    assert done.returncode == 1
    assert "Wrong argument in call 1, open: id was 2, expected 1." in done.stdout
    assert f"{episodes}:2:1: no task 'bank/gone'; did you mean 'bank/open'?" in done.stderr
    assert f"{len(lines) - MOST_PRINTED} more; choose with --worst N" in done.stderr
    assert len(corepath("explain", episodes, "--tasks", tasks, "--json").stdout.splitlines()) == len(lines) - 1


def test_the_command_refuses_what_it_cannot_read(tmp_path, run, corepath):
    assert "no such file or folder" in corepath("explain", tmp_path / "none.jsonl").stderr
    assert "holds no run" in corepath("explain", tmp_path).stderr
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps({**manifest, "redact": ["email"]}))
    refused = corepath("explain", run)
    assert refused.returncode == 1
    assert "values were redacted (email)" in refused.stderr
