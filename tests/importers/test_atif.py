"""Trajectories in ATIF, by the models of Harbor and what its agents write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath.errors import RecordError
from corepath.importers.formats import atif
from corepath.notation.call import UNANSWERED
from tests.importers.conversations import ALL
from tests.importers.damage import damaged, read, survives, write


def call(id_: str, tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool_call_id": id_, "function_name": tool, "arguments": arguments}


def agent_step(number: int, message: Any, *calls: dict[str, Any], results: Any = (), **more: Any) -> dict[str, Any]:
    step = {"step_id": number, "source": "agent", "message": message, "tool_calls": list(calls), **more}
    return {**step, "observation": {"results": list(results)}} if results else step


RECORD: dict[str, Any] = {
    "schema_version": "ATIF-v1.7", "session_id": "s1", "trajectory_id": "t1",
    "agent": {"name": "claude-code", "version": "2", "model_name": "m-1", "tool_definitions": [{"name": "Read"}]},
    "steps": [
        {"step_id": 1, "source": "system", "message": "You fix bugs.", "timestamp": "2026-01-01T00:00:00Z"},
        {"step_id": 2, "source": "user", "message": [{"type": "text", "text": "Fix it."},
                                                     {"type": "image", "source": {"path": "a.png"}}]},
        agent_step(3, "I look.", call("c1", "Read", path="x"), call("c2", "Read", path="y"),
                   timestamp="2026-01-01T00:00:01Z", reasoning_content="Hm.", model_name="m-1",
                   results=[{"source_call_id": "c2", "content": "no y", "extra": {"tool_result_is_error": True}},
                            {"source_call_id": "c1", "content": '{"n": 1}', "extra": {"is_error": False}}],
                   metrics={"prompt_tokens": 10, "completion_tokens": 2, "cached_tokens": 4, "cost_usd": 0.5}),
        agent_step(4, "", call("c3", "Bash", command="ls"), model_name="m-2",
                   metrics={"prompt_tokens": 20, "completion_tokens": 3, "cost_usd": 0.25}),
        {"step_id": 5, "source": "system", "message": "Context was compacted.",
         "observation": {"results": [{"subagent_trajectory_ref": [{"trajectory_id": "sub"}]}]}},
        agent_step(6, "Fixed.", results=[{"content": "bye"}]),
    ],
    "final_metrics": {"total_prompt_tokens": 30, "total_cost_usd": 9.0, "total_cached_tokens": 4},
    "subagent_trajectories": [
        {"schema_version": "ATIF-v1.7", "trajectory_id": "sub", "agent": {"name": "helper", "version": "1"},
         "steps": [agent_step(1, "", call("s1", "Grep"))]},
    ],
}  # fmt: skip


def test_calls_results_messages_and_usage(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, RECORD, name="trajectory.json"), "atif")
    assert [(one.tool, one.arguments, one.id, one.turn) for one in episode.calls] == [
        ("Read", {"path": "x"}, "c1", 1),
        ("Read", {"path": "y"}, "c2", 1),
        ("Bash", {"command": "ls"}, "c3", 2),
    ]
    assert episode.calls[0].result == {"n": 1}
    assert episode.calls[1].error == "no y"
    assert episode.calls[2].result is UNANSWERED
    assert episode.calls[0].time == 1767225601
    assert [(one.role, one.content, one.before_call) for one in episode.messages] == [
        ("system", "You fix bugs.", 0),
        ("user", "Fix it.\n[image]", 0),
        ("assistant", "I look.", 0),
        ("system", "Context was compacted.", 3),
        ("assistant", "Fixed.", 3),
        ("system", "bye", 3),
    ]
    assert (episode.agent, episode.answer) == ("claude-code", "Fixed.")
    assert episode.extra["models"] == ["m-1", "m-2"]
    assert episode.extra["usage"] == {
        "requests": 2, "input_tokens": 30, "output_tokens": 5, "input_tokens_cache_read": 4, "total_cost": 0.75,
    }  # fmt: skip


def test_sub_agents_are_described_but_their_calls_are_not_the_agents() -> None:
    (episode,) = atif.read_record(RECORD)
    assert episode.extra["metadata"]["subagents"] == [{"trajectory_id": "sub", "agent": "helper", "calls": 1}]
    assert "tool_definitions" not in episode.extra["metadata"]["agent"]


def test_commands_that_share_an_output() -> None:
    calls = [call("a", "bash_command", keystrokes="cd x\n"), call("b", "bash_command", keystrokes="ls\n")]
    done = call("d", "mark_task_complete")
    step = agent_step(1, "", *calls, done, results=[{"content": "New Terminal Output: x"}])
    (episode,) = atif.read_record({**RECORD, "steps": [step, agent_step(2, "", done, results=[{"content": "sure?"}])]})
    assert [one.result for one in episode.calls] == [
        UNANSWERED,
        "New Terminal Output: x",
        UNANSWERED,
        "sure?",
    ]


def test_copied_steps_keep_their_messages_only() -> None:
    copied = [{**one, "is_copied_context": True} for one in RECORD["steps"]]
    (episode,) = atif.read_record({**RECORD, "steps": [*copied, agent_step(7, "Go on.", call("n", "Bash"))]})
    assert [one.id for one in episode.calls] == ["n"]
    assert [one.content for one in episode.messages if one.extra.get("copied")][-1] == "Fixed."
    assert episode.messages[-1].content == "Go on."


def test_totals_count_where_steps_say_nothing() -> None:
    (episode,) = atif.read_record({**RECORD, "steps": [agent_step(1, "Hello.")]})
    assert episode.extra["usage"] == {"input_tokens": 30, "input_tokens_cache_read": 4, "total_cost": 9.0}


def test_a_step_must_say_whose_it_is() -> None:
    with pytest.raises(RecordError, match="must be user, agent or system"):
        list(atif.read_record({**RECORD, "steps": [{"source": "tool", "message": "x"}]}))


def test_records_of_other_formats_are_not_taken() -> None:
    assert not [name for name, (_, record, _) in ALL.items() if atif.mismatch(record) is None]


@given(st.data())
def test_damage_gives_an_episode_or_an_error_of_the_record(data: st.DataObject) -> None:
    survives(atif.read_record, data.draw(damaged(RECORD)))
