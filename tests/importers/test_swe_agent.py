"""Trajectories of SWE-agent, by what its versions 0.x and 1.x write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from corepath.episode import CONTEXT_LIMIT, FAILED_OUTSIDE
from corepath.importers.formats import swe_agent
from corepath.importers.registry import recognise_format
from tests.importers.conversations import ALL
from tests.importers.damage import damaged, read, survives

STATS = {"instance_cost": 0.5, "tokens_sent": 70, "tokens_received": 7, "api_calls": 4}
CONFIG = {"agent": {"model": {"name": "gpt-x"}}, "problem_statement": {"id": "django__django-1", "type": "text"}}


def step(action: str, observation: Any, thought: str = "", **more: Any) -> dict[str, Any]:
    """A step of a model with function calls. Its query ends with what the model was told last."""
    said = {"action": action, "observation": observation, "response": thought, "thought": thought}
    return {**said, "execution_time": 0.5, "state": {}, "query": [{"role": "user", "content": "…"}], **more}


def said(action: str, thought: str, id_: str, name: str, arguments: str) -> dict[str, Any]:
    call = {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}
    return {"role": "assistant", "content": thought, "thought": thought, "action": action, "agent": "main",
            "tool_calls": [call], "message_type": "action"}  # fmt: skip


def told(text: str, role: str = "user", **more: Any) -> dict[str, Any]:
    return {"role": role, "content": text, "agent": "main", "message_type": "observation", **more}


def asked_again(thought: str, why: str) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": thought}, {"role": "user", "content": why, "message_type": "user"}]


CALLS: dict[str, Any] = {
    "trajectory": [
        step("open 'x'", '{"open": 1}', "I look."),
        step("vim x", "", "I edit.", execution_time=0.0),
        step("", "", "No command.", query=asked_again("I edit.", "'vim' is blocked."), execution_time=0.0),
        step("ls", "x", "I list.", query=asked_again("No command.", "Give a command.")),
        step("submit", "diff", "I submit."),
        step("", "Exited (autosubmitted)", "Exit due to cost limit", query=[{}], execution_time=0.0),
    ],
    "history": [
        told("You fix bugs.", "system"),
        told("See here.", is_demo=True),
        {**said("rm x", "I demonstrate.", "d1", "bash", "{}"), "is_demo": True},
        told("Fix it."),
        said("open 'x'", "I look.", "c1", "open", '{"path": "x"}'),
        told("OBSERVATION: …", "tool", tool_call_ids=["c1"]),
        said("ls", "I list.", "c2", "bash", '{"command": "ls"}'),
        told("OBSERVATION: x", "tool", tool_call_ids=["c2"]),
        said("submit", "I submit.", "c3", "submit", "{}"),
        told("Exit due to cost limit", "assistant", action="", thought="Exit due to cost limit", tool_calls=None),
    ],
    "info": {"exit_status": "submitted (exit_cost)", "submission": "diff", "model_stats": STATS,
             "edited_files30": "long", "swe_agent_version": "1.1.0"},
    "replay_config": json.dumps(CONFIG), "environment": "main",
}  # fmt: skip

TEXT: dict[str, Any] = {
    "environment": "swe_main",
    "trajectory": [
        {"action": "ls -F\n", "observation": "AUTHORS\n", "response": "I look.\n```\nls -F\n```", "state": "{}",
         "thought": "I look.\n"},
        {"action": "edit 1:2\nx\nend_of_edit\n", "observation": "", "response": "I edit.", "thought": "", "state": ""},
        {"action": "exit_context", "observation": "Exited", "response": "Exit due to context window",
         "thought": "Exit due to context window", "state": "{}"},
    ],
    "history": [
        {"role": "system", "content": "You fix bugs.", "agent": "primary"},
        {"role": "user", "content": "Fix it.", "agent": "primary"},
        {"role": "assistant", "content": "I look.", "action": "ls -F\n", "thought": "I look.\n", "agent": "primary"},
        {"role": "assistant", "content": "Sub.", "action": "grep", "thought": "Sub.", "agent": "subroutine"},
    ],
    "info": {"exit_status": "exit_context", "model_stats": {"total_cost": 3, "instance_cost": 1, "api_calls": 2}},
}  # fmt: skip


def test_calls_are_those_of_the_history_and_refused_commands_failed(tmp_path: Path) -> None:
    path = tmp_path / "other.traj"
    path.write_text(json.dumps(CALLS, indent=2))
    (episode,) = read(path, "swe-agent")
    assert [(one.tool, one.arguments, one.id, one.turn) for one in episode.calls] == [
        ("open", {"path": "x"}, "c1", 1),
        ("bash", {"command": "vim x"}, None, 2),
        ("bash", {"command": "ls"}, "c2", 4),
        ("submit", {}, "c3", 5),
    ]
    assert [one.result for one in (episode.calls[0], *episode.calls[2:])] == [{"open": 1}, "x", "diff"]
    assert episode.calls[1].error == "'vim' is blocked."
    assert episode.calls[0].extra["seconds"] == 0.5
    assert (episode.task, episode.agent) == ("swe-agent/django__django-1", "gpt-x")


def test_messages_are_whole_and_in_order() -> None:
    (episode,) = swe_agent.read_record(CALLS)
    assert [(one.role, one.content, one.before_call) for one in episode.messages] == [
        ("system", "You fix bugs.", 0),
        ("user", "See here.", 0),
        ("user", "Fix it.", 0),
        ("assistant", "I look.", 0),
        ("assistant", "I edit.", 1),
        ("assistant", "No command.", 2),
        ("user", "Give a command.", 2),
        ("assistant", "I list.", 2),
        ("assistant", "I submit.", 3),
        ("system", "Exit due to cost limit", 4),
        ("system", "Exited (autosubmitted)", 4),
    ]
    assert episode.messages[1].extra == {"demonstration": True}
    usage = {"requests": 4, "input_tokens": 70, "output_tokens": 7, "total_cost": 0.5}
    assert episode.extra["usage"] == usage
    assert episode.extra["metadata"]["info"]["submission"] == "diff"
    assert "edited_files30" not in episode.extra["metadata"]["info"]


def test_commands_of_old_versions_are_calls_to_bash(tmp_path: Path) -> None:
    path = tmp_path / "pydicom__pydicom-1458.traj"
    path.write_text(json.dumps(TEXT))
    (episode,) = read(path, "swe-agent")
    assert [(one.tool, one.arguments["command"], one.result) for one in episode.calls] == [
        ("bash", "ls -F\n", "AUTHORS\n"),
        ("bash", "edit 1:2\nx\nend_of_edit\n", ""),
    ]
    assert (episode.task, episode.outcome) == ("swe-agent/pydicom__pydicom-1458", CONTEXT_LIMIT)


def test_a_file_with_only_a_history() -> None:
    (episode,) = swe_agent.read_record({"history": CALLS["history"]})
    assert [(one.tool, one.id, one.result) for one in episode.calls][:2] == [
        ("open", "c1", "OBSERVATION: …"),
        ("bash", "c2", "OBSERVATION: x"),
    ]


def test_each_attempt_is_an_episode() -> None:
    failed = {**TEXT, "info": {"exit_status": "exit_api"}}
    record = {**CALLS, "attempts": [CALLS, failed], "info": {**CALLS["info"], "best_attempt_idx": 0}}
    first, second = swe_agent.read_record(record)
    assert [(one.epoch, len(one.calls)) for one in (first, second)] == [(0, 4), (1, 2)]
    assert first.extra["metadata"]["best_attempt_idx"] == 0
    assert (second.outcome, second.failure["message"]) == (FAILED_OUTSIDE, "exit_api")


def test_records_of_other_formats_are_not_taken(tmp_path: Path) -> None:
    assert not [name for name, (_, record, _) in ALL.items() if swe_agent.mismatch(record) is None]
    path = tmp_path / "x.traj"
    path.write_text(json.dumps({"history": CALLS["history"]}))
    assert recognise_format(path).name == "swe-agent"


@given(st.data())
def test_damage_gives_an_episode_or_an_error_of_the_record(data: st.DataObject) -> None:
    record = data.draw(st.sampled_from([CALLS, TEXT, {"attempts": [CALLS]}, {"history": CALLS["history"]}]))
    survives(swe_agent.read_record, data.draw(damaged(record)))
