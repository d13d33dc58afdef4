"""The worlds as tasks of Inspect: its own command and its own solvers, against a server on loopback."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from corepath import installed_worlds
from tests.bad_server import BadServer, Reply, Request, calls, echo_oracle, says, status
from tests.test_models import plans

SHELL = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def inspected(folder: Path, url: str, *options: str) -> Any:
    """The log that `inspect eval` leaves, as JSON."""
    command = ["inspect", "eval", "--model", "openai-api/server/m", "-M", "max_retries=0", "--max-retries", "0"]
    command += ["--display", "none", "--log-dir", "logs", "--log-format", "json", *options]
    env = {**os.environ, **SHELL, "SERVER_API_KEY": "none", "SERVER_BASE_URL": url}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False, timeout=180)
    logs = sorted((folder / "logs").glob("*.json"))
    assert logs, done.stdout + done.stderr
    return json.loads(logs[-1].read_text())


def test_inspect_eval_runs_a_world_and_scores_it(tmp_path):
    with BadServer(echo_oracle(plans("farm"))) as server:
        log = inspected(tmp_path, server.url, "corepath/farm", "-T", "tasks=dry_plants,threshold", "--epochs", "2")
    assert log["status"] == "success"
    assert log["eval"]["task"] == "corepath/farm"
    assert [sample["id"] for sample in log["samples"]] == ["farm/dry_plants", "farm/threshold"] * 2
    for sample in log["samples"]:
        value = sample["scores"]["core"]["value"]
        assert (value["pc"], value["accepted"], value["harm_count"]) == (1.0, 1.0, 0.0)
        assert sample["scores"]["core"]["metadata"]["scores"]["profile"] == "paper"
    means = {score["name"]: score["metrics"]["mean"]["value"] for score in log["results"]["scores"]}
    assert means["pc"] == 1.0
    assert {"pc_ktc", "prefix_criticality", "harm_rate", "efficiency", "pc_hlr", "state_match"} <= means.keys()


def wrong(request: Request) -> Reply:
    first = calls(
        ("unlock_safety", {}), ("move_to", '{"place": '), ("nothing", {"a": 1}), ("move_to", {"place": 5}),
        ("move_to", {"place": "A", "x": 1}),
    )  # fmt: skip
    return [first, calls(("move_to", {"place": "A"})), says("Done.")][min(request.number, 2)]


def test_another_solver_is_scored_the_same_from_its_tool_events(tmp_path):
    found = []
    for options in ([], ["--solver", "inspect_ai/generate"]):
        with BadServer(wrong) as server:
            log = inspected(tmp_path, server.url, "corepath/farm", "-T", "tasks=dry_plants", *options)
        (sample,) = log["samples"]
        found.append(sample["scores"]["core"])
    ours, theirs = found
    assert ours["value"] == theirs["value"]
    kinds = [harm["kind"] for harm in theirs["metadata"]["scores"]["harms"]]
    assert {"malformed", "unknown_tool"} <= set(kinds)
    assert [call.partition("(")[0] for call in theirs["metadata"]["calls"]] == [
        "unlock_safety", "move_to", "nothing", "move_to", "move_to", "move_to"
    ]  # fmt: skip


def test_an_undefined_score_is_nan_there(tmp_path):
    with BadServer(lambda _: says("Done.")) as server:
        log = inspected(tmp_path, server.url, "corepath/farm", "-T", "tasks=dry_plants")
    value = log["samples"][0]["scores"]["core"]["value"]
    assert math.isnan(float(value["efficiency"] if value["efficiency"] is not None else "nan"))
    assert value["pc"] == 0.0


def test_a_service_that_fails_is_an_error_of_the_sample_and_no_score(tmp_path):
    with BadServer(lambda _: status(500)) as server:
        log = inspected(tmp_path, server.url, "corepath/farm", "-T", "tasks=threshold", "--no-fail-on-error")
    (sample,) = log["samples"]
    assert sample["error"]
    assert not sample.get("scores")


def test_every_world_is_a_task_of_inspect():
    code = "from corepath.runs import inspect_tasks as t; print([n for n in dir(t) if callable(getattr(t, n))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(repr(name) in done.stdout for name in installed_worlds())


@pytest.mark.parametrize("tasks", ["threshold,nowhere"])
def test_a_task_that_there_is_not_is_told(tmp_path, tasks):
    env = {**os.environ, **SHELL, "SERVER_API_KEY": "none", "SERVER_BASE_URL": "http://127.0.0.1:9"}
    command = ["inspect", "eval", "corepath/farm", "--model", "openai-api/server/m", "-T", f"tasks={tasks}"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode != 0
    assert "no task 'nowhere' in world 'farm'" in " ".join((done.stdout + done.stderr).split())
