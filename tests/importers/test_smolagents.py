"""Runs of smolagents, by what its `RunResult` and its memory write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath.episode import FAILED_OUTSIDE, TURN_LIMIT
from corepath.importers.formats import smolagents
from corepath.notation.call import UNANSWERED
from tests.importers.conversations import ALL
from tests.importers.damage import damaged, read, survives, write

USED = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}


def call(id_: str, name: str, arguments: Any) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments}}


def action(number: int, text: str | None, *calls: dict[str, Any], sent: Any = None, **more: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": text, "tool_calls": sent, "raw": {"model": "m-1"}}
    empty = {"error": None, "code_action": None, "observations": None, "action_output": None, "is_final_answer": False}
    return {"step_number": number, "timing": {"start_time": 1e9 + number, "end_time": 1e9 + number + 0.5},
            "model_input_messages": [{"role": "system", "content": [{"type": "text", "text": "You garden."}]}],
            "tool_calls": list(calls), "model_output_message": said, "model_output": text, "token_usage": USED,
            **empty, **more}  # fmt: skip


def error(kind: str, text: str) -> dict[str, str]:
    return {"type": kind, "message": text}


A, B = call("c2", "scan", {"plant": "A"}), call("c1", "scan", {"plant": "B"})
WATER, DONE = call("c3", "water", {}), call("c4", "final_answer", {"answer": "Done."})

TOOLS: dict[str, Any] = {
    "output": "Done.", "state": "success", "token_usage": USED,
    "timing": {"start_time": 1e9, "end_time": 1e9 + 9, "duration": 9},
    "steps": [
        {"task": "Water.", "task_images": None},
        action(1, "I look.", B, A, sent=[A, B], observations='{"b": 1}\n{"a": 1}'),
        action(2, "", sent=[A, WATER], error=error("AgentToolExecutionError", "Error executing tool 'water': pump")),
        action(3, "Nothing.", error=error("AgentParsingError", "no JSON blob")),
        action(4, "", DONE, sent=[DONE], observations="Done.", is_final_answer=True),
    ],
}  # fmt: skip


def code(number: int, source: str, **more: Any) -> dict[str, Any]:
    text = f"Thought: x\n<code>\n{source}\n</code>"
    return action(number, text, call(f"call_{number}", "python_interpreter", source), code_action=source, **more)


CODE: list[dict[str, Any]] = [
    {"task": "Scan.", "task_images": None},
    {"plan": "Here is my plan: look", "model_output_message": {"role": "assistant", "content": "look"},
     "model_input_messages": [{"role": "user", "content": "Plan."}], "timing": {"start_time": 1e9},
     "token_usage": USED},
    code(1, 'print(scan("A"))', observations="Execution logs:\ndry\nLast output from code snippet:\nNone"),
    code(2, "1/0", error=error("AgentExecutionError", "division by zero")),
    code(3, "final_answer(7)", observations="Last output from code snippet:\n7", action_output=7, is_final_answer=True),
]  # fmt: skip


def test_calls_of_an_agent_that_calls_tools(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, TOOLS, name="run.json"), "smolagents")
    assert [(one.tool, one.arguments, one.id, one.turn) for one in episode.calls] == [
        ("scan", {"plant": "A"}, "c2", 1),
        ("scan", {"plant": "B"}, "c1", 1),
        ("scan", {"plant": "A"}, "c2", 2),
        ("water", {}, "c3", 2),
    ]
    assert [one.result for one in episode.calls[:3]] == [{"a": 1}, {"b": 1}, UNANSWERED]
    assert episode.calls[3].error == "Error executing tool 'water': pump"
    assert (episode.calls[0].time, episode.calls[0].extra["seconds"]) == (1e9 + 1, 0.5)
    assert [(one.role, one.content, one.before_call) for one in episode.messages] == [
        ("system", "You garden.", 0),
        ("user", "Water.", 0),
        ("assistant", "I look.", 0),
        ("assistant", "Nothing.", 4),
        ("system", "no JSON blob", 4),
        ("assistant", "Done.", 4),
    ]
    assert (episode.agent, episode.answer, episode.outcome) == ("m-1", "Done.", None)
    assert episode.extra["usage"] == {"requests": 4, "input_tokens": 40, "output_tokens": 20, "total_tokens": 60}


@pytest.mark.parametrize("form", ["list", "lines", "object"])
def test_snippets_of_a_code_agent(form: str, tmp_path: Path) -> None:
    forms: dict[str, list[Any]] = {
        "list": [CODE],
        "lines": CODE,
        "object": [{"steps": CODE, "output": 7, "state": "success"}],
    }
    (episode,) = read(write(tmp_path, *forms[form]), "smolagents")
    assert [(one.tool, one.arguments, one.turn) for one in episode.calls] == [
        ("python_interpreter", {"code": 'print(scan("A"))'}, 2),
        ("python_interpreter", {"code": "1/0"}, 3),
        ("python_interpreter", {"code": "final_answer(7)"}, 4),
    ]
    assert episode.calls[0].result == "Execution logs:\ndry\nLast output from code snippet:\nNone"
    assert episode.calls[1].error == "division by zero"
    assert episode.answer == 7
    assert [one.content for one in episode.messages][:3] == ["You garden.", "Scan.", "look"]


def test_a_stream_repeats_calls_and_the_answer(tmp_path: Path) -> None:
    steps = TOOLS["steps"]
    path = write(tmp_path, steps[0], A, B, steps[1], DONE, steps[4], {"output": "Done."})
    (episode,) = read(path, "smolagents")
    assert [one.id for one in episode.calls] == ["c2", "c1"]
    assert [one.content for one in episode.messages].count("Done.") == 1


def test_results_that_cannot_be_told_apart_go_to_the_last_call() -> None:
    (episode,) = smolagents.read_record([action(1, "", B, A, sent=[A, B], observations="b\nb\na")])
    assert [one.result for one in episode.calls] == [UNANSWERED, "b\nb\na"]


def test_how_a_run_ended() -> None:
    limited = action(3, None, error=error("AgentMaxStepsError", "Reached max steps."), action_output="I give up.")
    (episode,) = smolagents.read_record({"steps": [*CODE[:3], limited], "state": "max_steps_error"})
    assert (episode.outcome, episode.answer) == (TURN_LIMIT, "I give up.")
    broken = action(2, None, error=error("AgentGenerationError", "no connection"))
    (episode,) = smolagents.read_record([*CODE[:3], broken])
    assert (episode.outcome, episode.failure["message"]) == (FAILED_OUTSIDE, "no connection")


def test_steps_of_early_versions() -> None:
    step = {"step": 0, "start_time": 1e9, "end_time": 1e9 + 2, "tool_calls": [A["function"] | {"id": "c1"}],
            "model_output": "I look.", "observations": "dry", "action_output": "dry", "error": None}  # fmt: skip
    (episode,) = smolagents.read_record([{"system_prompt": "You garden."}, {"task": "Scan."}, step])
    assert [(one.tool, one.arguments, one.result) for one in episode.calls] == [("scan", {"plant": "A"}, "dry")]
    assert (episode.answer, episode.messages[0].content) == ("dry", "You garden.")


def test_records_of_other_formats_are_not_taken() -> None:
    assert not [name for name, (_, record, _) in ALL.items() if smolagents.mismatch(record) is None]


@given(st.data())
def test_damage_gives_an_episode_or_an_error_of_the_record(data: st.DataObject) -> None:
    survives(smolagents.read_record, data.draw(damaged(data.draw(st.sampled_from([TOOLS, CODE])))))
