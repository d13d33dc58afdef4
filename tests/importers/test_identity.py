"""Identity: an episode is judged only by the task that its source judged it by."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from corepath import Episode, score
from corepath.authoring.derive import Expected, ExpectedCall, derive
from corepath.errors import InputError, Problem, TaskError
from corepath.files.tasks import load_task
from corepath.files.tool_file import load_tools
from corepath.importers import import_trace
from corepath.importers.formats.tau_bench import TOOL_FILE
from tests.importers.tau_runs import REAL, real

TOOLS = load_tools(TOOL_FILE)


def action(name: str, **arguments: Any) -> dict[str, Any]:
    return {"action_id": name, "requestor": "assistant", "name": name, "arguments": arguments}


TASKS: list[dict[str, Any]] = [
    {
        "id": number,
        "user_scenario": {"instructions": {"domain": "airline", "reason_for_call": "Cancel it."}},
        "evaluation_criteria": {"actions": [action("cancel_reservation", reservation_id=id_)]},
    }
    for number, id_ in (("0", "AAA"), ("1", "BBB"))
]


def simulation(task: str, checked: str | None) -> dict[str, Any]:
    call = {"id": "c", "name": "cancel_reservation", "arguments": {"reservation_id": "AAA"}, "requestor": "assistant"}
    checks = None if checked is None else [{"action": action("cancel_reservation", reservation_id=checked)}]
    messages = [
        {"role": "user", "content": "Cancel AAA."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "id": "c", "content": "ok", "requestor": "assistant"},
        {"role": "assistant", "content": "Done."},
    ]
    return {"id": "s", "task_id": task, "messages": messages, "reward_info": {"reward": 1.0, "action_checks": checks}}


def results(*simulations: dict[str, Any]) -> dict[str, Any]:
    info = {"environment_info": {"domain_name": "airline"}, "agent_info": {"llm": "m"}}
    return {"info": info, "tasks": TASKS, "simulations": list(simulations)}


def put(folder: Path, value: Any, name: str = "results.json") -> Path:
    file = folder / name
    file.write_text(json.dumps(value))
    return file


def test_a_simulation_under_the_wrong_id_is_refused_and_the_right_one_named(tmp_path: Path) -> None:
    file = put(tmp_path, results(simulation("0", "AAA"), simulation("1", "AAA"), simulation("0", None)))
    right, wrong, unchecked = import_trace(file)
    assert isinstance(right, Episode)
    assert isinstance(unchecked, Episode)
    assert isinstance(wrong, Problem)
    assert "under task 1, but was judged by other calls" in wrong.message
    assert wrong.message.endswith("they are those of task 0")
    assert right.fingerprint == unchecked.fingerprint


def test_an_episode_is_scored_only_on_the_version_of_its_task(tmp_path: Path) -> None:
    (episode,) = import_trace(put(tmp_path, results(simulation("0", "AAA"))))
    assert isinstance(episode, Episode)
    same, other = (
        derive(Expected("tau2/airline/0", (ExpectedCall("cancel_reservation", {"reservation_id": id_}),)), TOOLS)
        for id_ in ("AAA", "CCC")
    )
    assert score(same.task, episode).pc == 1.0
    with pytest.raises(TaskError, match="judged at its source by other expected calls"):
        score(other.task, episode)
    file = tmp_path / "task.yaml"
    file.write_text(other.text)
    with pytest.raises(TaskError, match="other expected calls"):
        score(load_task(file), episode)
    file.write_text("\n".join(line for line in other.text.splitlines() if not line.startswith("source:")))
    assert score(load_task(file), episode).pc < 1, "a task that a person wrote is theirs to use"


def test_one_task_from_two_files_is_one_and_two_versions_are_an_error(tmp_path: Path, corepath: Any) -> None:
    one = put(tmp_path, results(simulation("0", "AAA")), "one.json")
    again = put(tmp_path, results(simulation("1", "BBB")), "again.json")
    changed = results()
    changed["tasks"] = [{**TASKS[0], "evaluation_criteria": {"actions": []}}, TASKS[1]]
    other = put(tmp_path, changed, "other.json")
    assert corepath("derive", one, again, "--out", tmp_path / "t.yaml").returncode == 0
    assert (tmp_path / "t.yaml").read_text().count("\nid: ") == 2
    done = corepath("derive", one, other, "--out", tmp_path / "t.yaml")
    assert done.returncode == 1
    assert f"task 'tau2/airline/0' has other expected calls in {one}" in done.stderr


@pytest.mark.parametrize("alone", [True, False])
def test_simulations_without_their_tasks_are_read_if_the_tasks_are_given(
    alone: bool, tmp_path: Path, corepath: Any
) -> None:
    listed = [simulation("0", "AAA"), simulation("1", "AAA")]
    file = put(tmp_path, listed if alone else {"simulations": listed, "timestamp": "x"}, "runs.json")
    refused = corepath("import", file)
    assert refused.returncode == 1
    assert "--tasks-from" in refused.stderr
    for tasks in (TASKS, results()):
        given = put(tmp_path, tasks, "tasks.json")
        done = corepath("import", file, "--tasks-from", given, "--agent", "m")
        (record,) = map(json.loads, done.stdout.splitlines())
        assert (record["task"], record["agent"], len(record["calls"])) == ("tau2/airline/0", "m", 1)
        assert "simulation 2: it stands under task 1" in done.stderr
    with pytest.raises(InputError, match="no tasks of"):
        list(import_trace(file, f"tau2:{file}"))


@pytest.mark.parametrize("name", REAL)
def test_no_public_run_contradicts_its_task(name: str) -> None:
    found = list(import_trace(real(name)))
    assert len(found) == REAL[name]
    assert all(isinstance(one, Episode) and one.fingerprint is not None for one in found)
