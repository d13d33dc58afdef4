"""τ-bench and τ²-bench results: written by hand, real, and broken."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath import UNANSWERED, Call, Episode
from corepath.authoring.derive import Expected, ExpectedCall
from corepath.episode import FAILED_OUTSIDE
from corepath.errors import Problem
from corepath.importers import import_trace
from corepath.importers.expected_calls import read_expected_calls
from corepath.importers.formats import tau2, tau_bench
from corepath.importers.reading import read_records, recover_json
from corepath.importers.registry import recognise_format

from .conversations import ALL
from .damage import damaged, good, outcomes, read, records_of, survives, write
from .tau_runs import BROKEN_OFF, REACT, REAL, TAU, TAU2, read_json, real


def all_of(call: Call) -> tuple[Any, ...]:
    return call.tool, call.arguments, call.result, call.error, call.id, call.turn


# By hand


def test_a_run_of_tau_bench(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, [TAU], name="runs.json"), "tau-bench")
    assert [all_of(call) for call in episode.calls] == [
        ("get_user_details", {"user_id": "mia_1"}, {"membership": "gold"}, None, "c1", 2),
        ("think", {"thought": "hm"}, "", None, "c1", 3),
        ("cancel_it", {"id": 1}, UNANSWERED, "Unknown action cancel_it", "c2", 4),
        ("cancel_reservation", '{"reservation', UNANSWERED, "Error: no reservation_id", "c3", 5),
    ]
    assert (episode.task, episode.epoch, episode.agent) == ("tau-bench/airline/7", 2, None)
    assert episode.answer == "I could not; it costs 100."
    assert episode.reward == 1.0
    assert episode.extra["metadata"] == {
        "task_id": 7, "trial": 2, "domain": "airline", "user_id": "mia_1", "outputs": ["100"], "user_cost": 0.01,
    }  # fmt: skip
    assert episode.extra["reward_info"] == TAU["info"]["reward_info"]


def test_what_tau_bench_expects_is_its_actions_but_for_what_is_said() -> None:
    (expected,) = tau_bench.read_expected(TAU)
    calls = (
        ExpectedCall("get_user_details", {"user_id": "mia_1"}),
        ExpectedCall("cancel_reservation", {"reservation_id": "X1"}),
    )
    assert expected == Expected("tau-bench/airline/7", calls, "You are mia_1 and want to cancel X1.")


def test_calls_that_are_written_as_text_are_read(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, [REACT], name="runs.json"), "tau-bench")
    assert [all_of(call) for call in episode.calls] == [
        ("get_order", {"id": "#W1"}, {"status": "sent"}, None, None, 1),
        ("find", {"zip": "1"}, UNANSWERED, "Error: user not found", None, 2),
    ]
    assert episode.task == "tau-bench/retail/7"
    assert episode.answer == "It is sent."
    assert [one.content for one in episode.messages if one.role == "assistant"] == ["I look.", "It is sent."]
    assert [(one.role, one.content[:8]) for one in episode.messages if one.role != "assistant"] == [
        ("system", "# Retail"), ("user", "Where is"), ("user", "###STOP#")
    ]  # fmt: skip


def test_a_run_that_broke_off_failed_outside_and_is_of_the_domain_of_the_others(tmp_path: Path) -> None:
    episode, _ = read(write(tmp_path, [BROKEN_OFF, TAU], name="runs.json"), "tau-bench")
    assert (episode.task, episode.calls) == ("tau-bench/airline/8", ())
    assert episode.outcome == FAILED_OUTSIDE
    assert episode.failure["message"] == "timeout"
    assert [one.id for one in read_expected_calls(tmp_path / "runs.json") if isinstance(one, Expected)] == [
        "tau-bench/airline/7"
    ]


def test_a_simulation_of_tau2(tmp_path: Path) -> None:
    episode, other = read(write(tmp_path, TAU2, name="results.json"), "tau2")
    assert [all_of(call) for call in episode.calls] == [
        ("get_customer", {"id": 1}, {"name": "John"}, None, "a1", 2),
        ("get_line", {"id": 2}, UNANSWERED, "Error: no such line", "a2", 2),
        ("enable_roaming", {"line_id": "L1"}, "ok", None, "a3", 4),
    ]
    assert [all_of(call) for call in episode.other_calls] == [("toggle_roaming", {}, "Roaming is on", None, "a1", 2)]
    assert (episode.task, episode.epoch, episode.agent) == ("tau2/telecom/roaming", 1, "gpt-x")
    assert episode.answer == "Bye."
    assert episode.reward == 1.0
    assert not episode.unasked
    assert episode.extra["metadata"] == {
        "id": "s1", "task_id": "roaming", "trial": 1, "seed": 5, "termination_reason": "user_stop",
        "domain": "telecom", "user": "gpt-4.1", "git_commit": "b02b509",
    }  # fmt: skip
    assert other.unasked is True
    assert other.outcome == FAILED_OUTSIDE
    assert not other.reward


def test_trajectories_of_tau2_without_error_and_requestor_are_read_by_their_text_and_order(tmp_path: Path) -> None:
    trimmed = copy.deepcopy(TAU2)
    messages = trimmed["simulations"][0]["messages"]
    messages[3], messages[4] = messages[4], messages[3]  # answers without an id are in the order of the calls
    trim(trimmed)
    episode, _ = read(write(tmp_path, trimmed, name="results.json"), "tau2")
    assert [(call.tool, call.result, call.error) for call in episode.calls] == [
        ("get_customer", {"name": "John"}, None),
        ("get_line", UNANSWERED, "Error: no such line"),
        ("enable_roaming", "ok", None),
    ]
    assert [(call.tool, call.result) for call in episode.other_calls] == [("toggle_roaming", "Roaming is on")]
    kept = copy.deepcopy(TAU2)
    kept["simulations"][0]["messages"][3]["error"] = False
    episode, _ = read(write(tmp_path, kept, name="kept.json"), "tau2")
    assert episode.calls[1].result == "Error: no such line", "the field decides where there is one"


def trim(results: dict[str, Any]) -> None:
    """Remove what the benchmark's script for the leaderboard removes from answers."""
    for message in (one for simulation in results["simulations"] for one in simulation["messages"]):
        for answer in (message, *message.get("tool_messages", ())):
            for name in ("id", "requestor", "error"):
                answer.pop(name, None)


@pytest.mark.parametrize("file", [file for file in REAL if file.startswith("tau2")])
def test_real_runs_of_tau2_are_the_same_when_trimmed(file: str, tmp_path: Path) -> None:
    results = read_json(real(file))
    trim(results)
    trimmed = good(import_trace(write(tmp_path, results, name="results.json")))
    whole = good(import_trace(real(file)))
    assert [(one.calls, one.other_calls) for one in trimmed] == [(one.calls, one.other_calls) for one in whole]


@pytest.mark.parametrize("text", ["Error: user not found", "Error", "Error in the tool", "Unknown action fly"])
def test_an_answer_of_tau_bench_that_begins_with_error_is_one(text: str, tmp_path: Path) -> None:
    run = copy.deepcopy(REACT)
    run["traj"][3]["content"] = f"API output: {text}"
    (episode,) = read(write(tmp_path, [run], name="runs.json"), "tau-bench")
    assert (episode.calls[0].error, episode.calls[0].result) == (text, UNANSWERED)


def test_what_tau2_expects_of_the_user_is_left_out_and_flagged_where_nothing_remains(tmp_path: Path) -> None:
    file = write(tmp_path, TAU2, name="results.json")
    roaming, airplane, nothing = read_expected_calls(file)
    calls = (
        ExpectedCall("enable_roaming", {"line_id": "L1"}),
        ExpectedCall("transfer_to_human_agents", {"summary": "…"}, compared=[]),
    )
    assert roaming == Expected("tau2/telecom/roaming", calls, "No data abroad.\nYou are John.")
    assert airplane == Expected("tau2/telecom/airplane", (), "Be John.", ("no_agent_actions",))
    assert nothing == Expected("tau2/telecom/nothing", ())


def test_an_agent_that_is_alone_is_asked_for_what_else_the_user_does(tmp_path: Path) -> None:
    alone = copy.deepcopy(TAU2)
    alone["info"]["user_info"]["implementation"] = "dummy_user"
    file = write(tmp_path, alone, name="results.json")
    expected = [one for one in read_expected_calls(file) if isinstance(one, Expected)]
    assert [[call.tool for call in one.calls] for one in expected] == [
        ["toggle_roaming", "enable_roaming", "transfer_to_human_agents"], ["toggle_airplane_mode"], [],
    ]  # fmt: skip
    assert not any(one.unasked for one in good(import_trace(file)))


def test_the_folder_form_of_tau2_is_read_from_the_files_beside_it(tmp_path: Path) -> None:
    results = {**TAU2, "simulation_index": [{"id": "s1"}]}
    del results["simulations"]
    file = write(tmp_path, results, name="results.json")
    (problem,) = import_trace(file)
    assert "'simulations' next to the file, which is missing" in str(problem)
    (tmp_path / "simulations").mkdir()
    write(tmp_path / "simulations", TAU2["simulations"][0], name="s1.json")
    (tmp_path / "simulations" / "s2.json").write_text('{"id": ')
    first, second = import_trace(file)
    assert isinstance(first, Episode)
    assert len(first.calls) == 3
    assert isinstance(second, Problem)
    assert second.file.endswith("s2.json")


# The real runs


def counted(file: Path) -> list[tuple[list[tuple[str, Any]], int]]:
    """The agent's calls and the number of the user's calls in each run, taken directly from the JSON."""
    data = read_json(file)
    found = []
    for run in data["simulations"] if isinstance(data, dict) else data:
        mine: list[tuple[str, Any]] = []
        theirs = 0
        for message in run.get("messages") or run.get("traj"):
            for call in message.get("tool_calls") or []:
                if message["role"] != "assistant":
                    theirs += 1
                elif "function" in call:
                    mine.append((call["function"]["name"], json.loads(call["function"]["arguments"])))
                else:
                    mine.append((call["name"], call["arguments"]))
        found.append((mine, theirs))
    return found


@pytest.mark.parametrize("file", REAL)
def test_every_real_run_is_imported_with_all_of_the_agents_calls(file: str) -> None:
    path = real(file)
    episodes = read(path, "tau-bench" if file.startswith("tau-bench") else "tau2")
    assert len(episodes) == REAL[file]
    assert [([(call.tool, call.arguments) for call in one.calls], len(one.other_calls)) for one in episodes] == counted(
        path
    )
    data = read_json(path)
    runs = data["simulations"] if isinstance(data, dict) else data
    rewards = [run["reward"] if "reward" in run else run["reward_info"]["reward"] for run in runs]
    assert [one.reward for one in episodes] == rewards
    assert [one.epoch for one in episodes] == [run["trial"] for run in runs]
    answers = sum(message["role"] == "tool" for run in runs for message in run.get("messages") or run.get("traj"))
    answered = [call for one in episodes for call in (*one.calls, *one.other_calls) if call.result is not UNANSWERED]
    failed = [call for one in episodes for call in (*one.calls, *one.other_calls) if call.failed]
    assert len(answered) + len(failed) == answers


@pytest.mark.parametrize("file", REAL)
def test_the_tasks_of_real_runs_are_those_of_their_episodes(file: str) -> None:
    path = real(file)
    expected = {one.id: one for one in read_expected_calls(path) if isinstance(one, Expected)}
    episodes = good(import_trace(path))
    assert {one.task for one in episodes} == set(expected)
    for one in episodes:
        assert one.unasked is ("no_agent_actions" in expected[one.task].tags)


# What is wrong


def test_a_truncated_file_keeps_the_runs_before_the_cut(tmp_path: Path) -> None:
    file = tmp_path / "cut.json"
    text = json.dumps([TAU, TAU, TAU], indent=1)
    file.write_text(text[: text.rindex("###STOP###")])
    first, second, problem = import_trace(file)
    assert isinstance(first, Episode)
    assert isinstance(second, Episode)
    assert isinstance(problem, Problem)
    assert "not JSON" in problem.message
    assert problem.line == text[: text.rindex("###STOP###")].count("\n") + 1
    assert recognise_format(file).name == "tau-bench"


def test_truncated_results_keep_the_simulations_before_the_cut(tmp_path: Path) -> None:
    file = tmp_path / "cut.json"
    file.write_text(json.dumps(TAU2)[:-20])
    assert recognise_format(file).name == "tau2"
    episode, problem = import_trace(file)
    assert isinstance(episode, Episode)
    assert episode.task == "tau2/telecom/roaming"
    assert isinstance(problem, Problem)
    assert "not JSON" in problem.message


def test_a_bad_simulation_is_named_and_the_others_are_kept(tmp_path: Path) -> None:
    bad = copy.deepcopy(TAU2)
    bad["simulations"].insert(0, copy.deepcopy(bad["simulations"][0]))
    bad["simulations"][0]["messages"][3]["id"] = "a9"
    bad["simulations"].append({**bad["simulations"][1], "messages": None, "ticks": [{}]})
    bad["simulations"].append(5)
    file = write(tmp_path, bad, name="results.json")
    name = f"{file}:1:1"
    assert outcomes(import_trace(file)) == [
        f"{name}: simulation 1: a result for the call id 'a9', but no call waits for it",
        3,
        0,
        f"{name}: simulation 4: the simulation has no 'messages'; voice simulations, which have 'ticks', are not read",
        f"{name}: simulation 5: a simulation must be an object with a 'task_id' and 'messages'",
    ]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda run: run["traj"].pop(4), "a result for the call id 'c1', but no call waits for it"),
        (lambda run: run["traj"].pop(5), "the call id 'c1' is used twice before the first call was answered"),
        (lambda run: run.update(trial="two"), "'trial' must be an integer"),
        (lambda run: run["traj"].insert(0, 5), "the messages of 'traj' must be objects; number 1 is a number"),
        (lambda run: run.pop("traj"), "a run of τ-bench has task_id, reward, info, traj; 'traj' is missing"),
    ],
)  # fmt: skip
def test_a_bad_run_is_named_and_the_others_are_kept(change: Any, why: str, tmp_path: Path) -> None:
    bad = copy.deepcopy(TAU)
    change(bad)
    file = write(tmp_path, [TAU, bad, TAU], name="runs.json")
    assert outcomes(import_trace(file)) == [4, f"{file}:1:1: record 2: {why}", 4]


def test_odd_runs_at_the_start_do_not_hide_what_a_file_is(tmp_path: Path) -> None:
    bare = {name: value for name, value in TAU.items() if name != "trial"}
    file = write(tmp_path, [{**TAU, "info": None}, bare, TAU], name="runs.json")
    assert recognise_format(file).name == "tau-bench"
    assert outcomes(import_trace(file))[1:] == [4, 4]
    assert [one.epoch for one in import_trace(file) if isinstance(one, Episode)] == [0, 2]


def test_a_number_that_is_none_does_not_cost_the_file(tmp_path: Path) -> None:
    runs = write(tmp_path, [{**TAU, "reward": float("nan")}, TAU], name="runs.json")
    assert [one.reward for one in read(runs, "tau-bench")] == ["NaN", 1.0]
    results = copy.deepcopy(TAU2)
    results["simulations"][0]["agent_cost"] = float("inf")
    first, *_ = read(write(tmp_path, results, name="results.json"), "tau2")
    assert first.extra["metadata"]["agent_cost"] == "Infinity"


def test_arguments_that_are_json_in_json_stay_as_they_were_sent(tmp_path: Path) -> None:
    run = copy.deepcopy(TAU)
    twice = json.dumps(json.dumps({"user_id": "mia_1"}))
    run["traj"][4]["tool_calls"][0]["function"]["arguments"] = twice
    (episode,) = read(write(tmp_path, [run], name="runs.json"), "tau-bench")
    assert episode.calls[0].arguments == twice
    assert episode.calls[0].malformed


def test_a_call_without_an_answer_stays_unanswered(tmp_path: Path) -> None:
    run = copy.deepcopy(TAU)
    del run["traj"][11]
    (episode,) = read(write(tmp_path, [run], name="runs.json"), "tau-bench")
    assert episode.calls[3].result is UNANSWERED
    assert not episode.calls[3].failed


def test_other_formats_are_not_taken_for_these() -> None:
    for _, record, _ in ALL.values():
        for shape in (record, [record]):
            assert tau_bench.mismatch(shape) is not None
            assert tau2.mismatch(shape) is not None
    assert tau_bench.mismatch(TAU2) is not None
    assert tau2.mismatch(TAU) is not None


@given(st.data())
def test_damage_to_a_run_gives_an_episode_or_an_error_of_the_record(data: st.DataObject) -> None:
    record = data.draw(damaged(data.draw(st.sampled_from([TAU, REACT, BROKEN_OFF]))))
    survives(tau_bench.read_record, record)
    survives(lambda one: (Episode(found.id, ()) for found in tau_bench.read_expected(one)), record)


@given(st.data())
def test_damage_to_results_gives_episodes_or_an_error_of_the_record(data: st.DataObject) -> None:
    survives(records_of(tau2.FORMAT), data.draw(damaged(TAU2)))


@given(record=damaged(TAU2))
def test_damage_to_results_in_a_file_gives_episodes_tasks_and_problems(
    record: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = write(tmp_path_factory.mktemp("damaged"), record, name="results.json")
    assert all(isinstance(one, (Episode, Problem)) for one in import_trace(file, "tau2"))
    assert all(isinstance(one, (Expected, Problem)) for one in read_expected_calls(file, "tau2"))


@given(st.integers(0, len(json.dumps(TAU2))))
def test_what_stands_before_a_cut_is_what_stands_in_the_whole(length: int) -> None:
    text = json.dumps(TAU2)
    kept = recover_json(text[:length].encode())
    if kept is not None:
        for name, value in kept.items():
            whole = TAU2[name]
            assert value == (whole[: len(value)] if isinstance(value, list) else whole)


def test_a_conversation_that_is_cut_is_no_record(tmp_path: Path) -> None:
    file = tmp_path / "cut.json"
    file.write_text('[{"role": "user", "content": "Hi"}, {"role": "assist')
    ((_, value),) = read_records(file, lambda one: isinstance(one, list))
    assert isinstance(value, Problem)


def test_episodes_and_tasks_come_from_one_command_and_the_reward_stands_beside(tmp_path: Path, corepath: Any) -> None:
    file = write(tmp_path, TAU2, name="results.json")
    done = corepath("import", file, "--out", tmp_path / "e.jsonl", "--tasks-out", tmp_path / "t.yaml")
    assert done.returncode == 0, done.stderr
    scored = corepath("score", "--tasks", tmp_path / "t.yaml", tmp_path / "e.jsonl", "--json")
    rows = list(map(json.loads, scored.stdout.splitlines()))
    given = [(one.get("reward_info") or {}).get("reward") for one in TAU2["simulations"]]
    assert ([row.get("reward") for row in rows], None in given) == (given, True)
    assert "reward" in corepath("score", "--tasks", tmp_path / "t.yaml", tmp_path / "e.jsonl").stdout
    for option, value in (("--tools", tmp_path / "t.yaml"), ("--writes", "sequence"), ("--reads", "progress")):
        alone = corepath("import", file, option, value)
        assert (alone.returncode, f"{option} belongs to --tasks-out" in alone.stderr) == (2, True)


@pytest.mark.parametrize("options", [(), ("--writes", "sequence"), ("--reads", "progress")])
def test_import_writes_the_tasks_that_derive_writes(tmp_path: Path, corepath: Any, options: tuple[str, ...]) -> None:
    file = write(tmp_path, TAU2, name="results.json")
    done = corepath("import", file, "--out", tmp_path / "e.jsonl", "--tasks-out", tmp_path / "t.yaml", *options)
    assert done.returncode == 0, done.stderr
    assert corepath("derive", file, *options).stdout == (tmp_path / "t.yaml").read_text(encoding="utf-8")


def test_an_episode_that_asks_nothing_of_the_agent_is_in_no_mean_and_in_no_gate(tmp_path: Path, corepath: Any) -> None:
    (tmp_path / "t.yaml").write_text("id: a/b\nprocedure: go()\n")
    right = {"task": "a/b", "calls": [{"tool": "go", "arguments": {}}]}
    unasked = {"task": "a/b", "calls": [], "no_agent_actions": True}
    (tmp_path / "e.jsonl").write_text(f"{json.dumps(right)}\n{json.dumps(unasked)}\n")
    done = corepath("score", "--tasks", tmp_path / "t.yaml", tmp_path / "e.jsonl", "--fail-under", "pc=1")
    assert done.returncode == 0, done.stderr
    assert "mean of 1" in done.stdout
    assert "1 episode left out of the means: nothing was asked of the agent" in done.stderr
