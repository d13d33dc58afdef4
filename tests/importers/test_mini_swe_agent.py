"""Trajectories of mini-swe-agent, by what its agent writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath.errors import RecordError
from corepath.importers.formats import mini_swe_agent, openai
from corepath.importers.registry import recognise_format
from corepath.notation.call import UNANSWERED
from tests.importers.damage import damaged, read, survives

INFO = {"exit_status": "Submitted", "submission": "diff", "config": {"model": {"model_name": "gpt-x"}}}


def observed(output: str, code: int, **extra: Any) -> dict[str, Any]:
    content = f"<returncode>{code}</returncode>\n<output>\n{output}\n</output>"
    return {"content": content, "extra": {"raw_output": output, "returncode": code, "exception_info": None, **extra}}


CALLS: dict[str, Any] = {
    "trajectory_format": "mini-swe-agent-1.1", "info": INFO,
    "messages": [
        {"role": "system", "content": "You fix bugs."},
        {"role": "user", "content": "Fix it.\n```bash\nrm -rf /\n```"},
        {"role": "assistant", "content": "I look.", "tool_calls": [],
         "extra": {"actions": [{"command": "ls", "tool_call_id": "c1"}, {"command": "cat x", "tool_call_id": "c2"}]}},
        {"role": "tool", "tool_call_id": "c1", **observed("x", 0)},
        {"role": "tool", "tool_call_id": "c2", **observed("no x", 1)},
        {"role": "assistant", "content": "", "extra": {"actions": [{"command": "sleep 99", "tool_call_id": "c3"}]}},
        {"role": "tool", "tool_call_id": "c3", **observed("", -1, exception_info="timed out")},
        {"role": "exit", "content": "diff", "extra": {"exit_status": "Submitted", "submission": "diff"}},
    ],
}  # fmt: skip

TEXT: dict[str, Any] = {
    "trajectory_format": "mini-swe-agent-1", "info": {"exit_status": "LimitsExceeded"},
    "messages": [
        {"role": "user", "content": "Fix it."},
        {"role": "assistant", "content": "THOUGHT: I look.\n\n```bash\nls -a\ncat x\n```"},
        {"role": "user", "content": "<returncode>0</returncode>\n<output>\nx\ny\n</output>"},
        {"role": "assistant", "content": "Two at once:\n```bash\na\n```\n```bash\nb\n```"},
        {"role": "user", "content": "Please always provide EXACTLY ONE action"},
        {"role": "assistant", "content": "```bash\nmake\n```"},
    ],
}  # fmt: skip


def test_commands_with_their_outputs(tmp_path: Path) -> None:
    path = tmp_path / "django__django-1.traj.json"
    path.write_text(json.dumps(CALLS, indent=2))
    assert recognise_format(path).name == "mini-swe-agent"
    (episode,) = read(path, "mini-swe-agent")
    assert [(call.tool, call.arguments["command"], call.turn) for call in episode.calls] == [
        ("bash", "ls", 1),
        ("bash", "cat x", 1),
        ("bash", "sleep 99", 2),
    ]
    assert [call.result for call in episode.calls[:2]] == [
        {"returncode": 0, "output": "x"},
        {"returncode": 1, "output": "no x"},
    ]
    assert episode.calls[2].error == "timed out"
    assert episode.agent == "gpt-x"
    assert episode.extra["metadata"]["info"]["exit_status"] == "Submitted"


def test_commands_in_text_are_read_where_there_is_one() -> None:
    (episode,) = mini_swe_agent.read_record(TEXT)
    assert [call.arguments["command"] for call in episode.calls] == ["ls -a\ncat x", "make"]
    assert episode.calls[0].result == {"returncode": 0, "output": "x\ny"}
    assert episode.calls[1].result is UNANSWERED, "the trajectory ends before its output"


def test_the_file_is_not_taken_for_a_chat() -> None:
    assert mini_swe_agent.mismatch({"messages": TEXT["messages"]}) is not None
    with pytest.raises(RecordError):
        list(openai.read_record(CALLS))


@given(st.data())
def test_damage_gives_an_episode_or_an_error_of_the_record(data: st.DataObject) -> None:
    survives(mini_swe_agent.read_record, data.draw(damaged(data.draw(st.sampled_from([CALLS, TEXT])))))
