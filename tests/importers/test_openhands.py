"""OpenHands: exported trajectories, results of evaluations, and events that its SDK writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath.episode import CONTEXT_LIMIT, FAILED_OUTSIDE, TURN_LIMIT
from corepath.importers import import_trace
from corepath.importers.formats import openhands
from corepath.notation.call import UNANSWERED
from tests.importers.conversations import ALL
from tests.importers.damage import damaged, outcomes, read, survives, write

FAILED = '{"isError": true}'
AT = "2026-01-01T00:00:0{}.000000"


def metadata(id_: str, response: str, text: str | None, *calls: tuple[str, str, str]) -> dict[str, Any]:
    """The metadata that an action and its observation share: the call's id and the model's response."""
    sent = [{"id": one, "type": "function", "function": {"name": tool, "arguments": raw}} for one, tool, raw in calls]
    message = {"role": "assistant", "content": text, "tool_calls": sent}
    answer = {"id": response, "model": "m-1", "choices": [{"index": 0, "message": message}],
              "usage": {"prompt_tokens": 10, "completion_tokens": 2}}  # fmt: skip
    tool = next(tool for one, tool, _ in calls if one == id_)
    return {"function_name": tool, "tool_call_id": id_, "model_response": answer, "total_calls_in_response": len(calls)}


def acted(number: int, action: str, args: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"id": number, "timestamp": AT.format(number % 10), "source": "agent", "message": "…", "action": action,
            "args": args, **more}  # fmt: skip


def observed(number: int, cause: int, kind: str, content: str, extras: Any = None, **more: Any) -> dict[str, Any]:
    return {"id": number, "timestamp": AT.format(number % 10), "source": "agent", "message": "…", "cause": cause,
            "observation": kind, "content": content, "extras": extras or {}, **more}  # fmt: skip


TWO = (("c1", "execute_bash", '{"command": "ls"}'), ("c2", "str_replace_editor", '{"command": "view", "path": "/x"}'))
BASH = metadata("c1", "r1", "I look.", *TWO)
VIEW = metadata("c2", "r1", "I look.", *TWO)
THINK = metadata("c3", "r2", None, ("c3", "think", '{"thought": "Hm."}'))
FINISH = metadata("c4", "r3", "That was it.", ("c4", "finish", '{"message": "Fixed."}'))
METRICS = {
    "accumulated_cost": 0.5, "accumulated_token_usage": {"prompt_tokens": 30, "completion_tokens": 6},
}  # fmt: skip

EVENTS: list[dict[str, Any]] = [
    acted(0, "system", {"content": "You fix bugs.", "tools": []}),
    {**acted(1, "message", {"content": "Fix it.", "image_urls": None}), "source": "user"},
    {**acted(2, "recall", {"query": "Fix it."}), "source": "user"},
    {**observed(3, 2, "recall", "Added workspace context"), "source": "environment"},
    acted(4, "run", {"command": "ls", "thought": "I look.", "hidden": False}, tool_call_metadata=BASH),
    acted(5, "read", {"path": "/x"}, tool_call_metadata=VIEW),
    observed(6, 4, "run", '{"n": 1}', {"metadata": {"exit_code": 2}}, tool_call_metadata=BASH, success=False),
    observed(7, 5, "error", "no /x", tool_call_metadata=VIEW),
    acted(8, "think", {"thought": "Hm."}, tool_call_metadata=THINK, llm_metrics=METRICS),
    observed(9, 8, "think", "Your thought has been logged.", tool_call_metadata=THINK),
    observed(10, 8, "agent_state_changed", ""),
    observed(11, 99, "error", "The agent must call a known tool."),
    acted(12, "finish", {"final_thought": "Fixed.", "thought": "That was it."}, tool_call_metadata=FINISH),
]


def sdk(number: int, kind: str, source: str = "agent", **more: Any) -> dict[str, Any]:
    return {"id": f"e{number}", "timestamp": AT.format(number % 10), "source": source, "kind": kind, **more}


def texts(*given: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": one, "cache_prompt": False} for one in given]


def sdk_call(number: int, response: str, id_: str, tool: str, raw: str, text: str = "", **more: Any) -> dict[str, Any]:
    call = {"id": id_, "name": tool, "arguments": raw, "origin": "completion"}
    return sdk(number, "ActionEvent", thought=texts(text) if text else [], reasoning_content="Hm.", tool_name=tool,
               tool_call_id=id_, tool_call=call, llm_response_id=response, **more)  # fmt: skip


def sdk_result(number: int, id_: str, text: str, **more: Any) -> dict[str, Any]:
    seen = {"kind": "TerminalObservation", "content": texts(text), "is_error": False, **more}
    return sdk(number, "ObservationEvent", "environment", tool_name="terminal", tool_call_id=id_, observation=seen)


SDK: list[dict[str, Any]] = [
    sdk(0, "SystemPromptEvent", system_prompt=texts("You fix bugs.")[0], dynamic_context=texts("Today.")[0], tools=[]),
    sdk(1, "MessageEvent", "user", llm_message={"role": "user", "content": texts("Fix it.")},
        extended_content=texts("A skill.")),
    sdk_call(2, "r1", "c1", "terminal", '{"command": "ls"}', "I look.", action={"kind": "TerminalAction"}),
    sdk_call(3, "r1", "c2", "terminal", '{"command": "rm x"}', action={"kind": "TerminalAction"}),
    sdk_result(4, "c1", "[1]", exit_code=1),
    sdk(5, "UserRejectObservation", "environment", tool_name="terminal", tool_call_id="c2", rejection_reason="No!"),
    sdk_call(6, "r2", "c3", "nosuch", '{"a": ', action=None),
    sdk(7, "AgentErrorEvent", tool_name="nosuch", tool_call_id="c3", error="Tool 'nosuch' not found."),
    sdk_call(8, "r3", "c5", "file_editor", "{}", action={"kind": "FileEditorAction"}),
    sdk_result(9, "c5", "no file", is_error=True),
    sdk_call(10, "r4", "c4", "finish", '{"message": "Fixed."}', "So.",
             action={"kind": "FinishAction", "message": "Fixed."}),
    sdk_result(11, "c4", "Fixed."),
]  # fmt: skip

RESULT: dict[str, Any] = {
    "instance_id": "django__django-1", "test_result": {"git_patch": "diff", "report": {"resolved": True}},
    "instruction": "Fix it.", "metadata": {"agent_class": "CodeActAgent", "llm_config": {"model": "openai/m-1"}},
    "history": EVENTS, "metrics": {**METRICS, "token_usages": [{}, {}, {}]}, "error": None,
}  # fmt: skip


def test_an_exported_trajectory(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, EVENTS, name="trajectory.json"), "openhands")
    assert [(one.tool, one.arguments, one.id, one.turn) for one in episode.calls] == [
        ("execute_bash", {"command": "ls"}, "c1", 1),
        ("str_replace_editor", {"command": "view", "path": "/x"}, "c2", 1),
        ("think", {"thought": "Hm."}, "c3", 2),
    ]
    assert (episode.calls[0].result, episode.calls[0].extra) == ({"n": 1}, {"seconds": 2.0, "exit_code": 2})
    assert episode.calls[1].error == "no /x"
    assert [(one.role, one.content, one.before_call) for one in episode.messages] == [
        ("system", "You fix bugs.", 0),
        ("user", "Fix it.", 0),
        ("assistant", "I look.", 0),
        ("system", "The agent must call a known tool.", 3),
        ("assistant", "That was it.", 3),
        ("assistant", "Fixed.", 3),
    ]
    assert (episode.agent, episode.answer) == ("m-1", "Fixed.")
    assert episode.extra["usage"] == {"requests": 3, "input_tokens": 30, "output_tokens": 6, "total_cost": 0.5}


def test_an_evaluation_names_its_task_and_gives_the_reward(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, RESULT, name="output.jsonl"), "openhands")
    assert (episode.task, episode.agent, episode.reward) == ("openhands/django__django-1", "openai/m-1", 1.0)
    assert len(episode.calls) == 3
    assert "history" not in episode.extra["metadata"]


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ("RuntimeError: Agent reached maximum iteration in headless mode.", TURN_LIMIT),
        ("LLMContextWindowExceedError: too long", CONTEXT_LIMIT),
        ("ContextWindowExceededError: too long", CONTEXT_LIMIT),
        ("AgentStuckInLoopError: Agent got stuck in a loop", None),
        ("AgentRuntimeDisconnectedError: gone", FAILED_OUTSIDE),
    ],
)
def test_how_an_evaluation_ended(error: str, outcome: str | None) -> None:
    (episode,) = openhands.read_record({**RESULT, "error": error, "test_result": {"resolved": False}})
    assert episode.outcome == outcome
    assert episode.reward == 0.0


def test_pairs_of_old_histories_without_function_calls() -> None:
    run = acted(0, "run", {"command": "ls", "thought": "I look.", "confirmation_state": "confirmed", "hidden": False})
    pairs = [
        [{**acted(0, "message", {"content": "Fix it."}), "source": "user"}, observed(0, 0, "null", "")],
        [run, observed(0, 7, "run", "x", {"exit_code": 0})],
        [run, observed(0, 7, "run", "y")],
        [
            acted(0, "call_tool_mcp", {"name": "find", "arguments": {"a": 1}}),
            observed(0, 1, "mcp", FAILED),
        ],
        [acted(0, "finish", {"outputs": {}, "thought": "Fixed."}), observed(0, 0, "null", "")],
    ]
    (episode,) = openhands.read_record({"instance_id": "x", "history": pairs})
    assert [(one.tool, one.arguments, one.turn) for one in episode.calls] == [
        ("run", {"command": "ls"}, 1),
        ("run", {"command": "ls"}, 2),
        ("find", {"a": 1}, 3),
    ]
    assert [one.result for one in episode.calls[:2]] == ["x", "y"]
    assert episode.calls[2].error == FAILED
    assert episode.answer == "Fixed."


def test_a_delegate_in_the_same_stream_and_commands_of_the_user() -> None:
    events = [
        acted(1, "delegate", {"agent": "BrowsingAgent", "inputs": {"task": "look"}}),
        acted(2, "browse", {"url": "http://x"}),
        observed(3, 2, "browse", "page", {"error": True}),
        observed(4, 1, "delegate", "seen"),
        acted(5, "run", {"command": "ls"}),
        {**acted(6, "run", {"command": "pwd"}), "source": "user"},
        observed(7, 6, "run", "/"),
        acted(5, "run", {"command": "ls"}),
    ]
    (episode,) = openhands.read_record({"trajectory": events})
    assert [(one.tool, one.extra.get("agent")) for one in episode.calls] == [
        ("delegate", None),
        ("browse", "BrowsingAgent"),
        ("run", None),
    ]
    assert (episode.calls[0].result, episode.calls[1].error) == ("seen", "page")
    assert episode.calls[2].result is UNANSWERED
    assert [one.role for one in episode.messages] == ["user", "system"]


@pytest.mark.parametrize("form", ["list", "lines", "object", "history"])
def test_events_of_the_sdk(form: str, tmp_path: Path) -> None:
    forms: dict[str, list[Any]] = {"list": [SDK], "lines": SDK, "object": [{"items": SDK}]}
    forms["history"] = [{**RESULT, "history": SDK}]
    (episode,) = read(write(tmp_path, *forms[form]), "openhands")
    assert [(one.tool, one.arguments, one.id, one.turn) for one in episode.calls] == [
        ("terminal", {"command": "ls"}, "c1", 1),
        ("terminal", {"command": "rm x"}, "c2", 1),
        ("nosuch", '{"a": ', "c3", 2),
        ("file_editor", {}, "c5", 3),
    ]
    assert (episode.calls[0].result, episode.calls[0].extra["exit_code"]) == ([1], 1)
    assert [one.error for one in episode.calls[1:]] == ["No!", "Tool 'nosuch' not found.", "no file"]
    assert [(one.role, one.content, one.before_call) for one in episode.messages] == [
        ("system", "You fix bugs.\nToday.", 0),
        ("user", "Fix it.\nA skill.", 0),
        ("assistant", "I look.", 0),
        ("assistant", "So.", 4),
        ("assistant", "Fixed.", 4),
    ]
    assert episode.answer == "Fixed."


def test_errors_states_and_calls_of_another_agent_in_the_sdk() -> None:
    call: dict[str, Any] = {"tool_call_id": "a1", "title": "Read x", "tool_kind": "read", "raw_input": {"path": "x"}}
    stats = {"usage_to_metrics": {"agent": METRICS}}
    events = [
        sdk(1, "ACPToolCallEvent", **call, status="in_progress"),
        sdk(2, "ACPToolCallEvent", **call, status="completed", raw_output="text"),
        sdk(3, "ConversationStateUpdateEvent", "environment", key="stats", value=stats),
        sdk(4, "ConversationErrorEvent", "environment", code="LLMAuthenticationError", detail="no key"),
    ]
    (episode,) = openhands.read_record(events)
    assert [(one.tool, one.arguments, one.result) for one in episode.calls] == [("read", {"path": "x"}, "text")]
    assert (episode.outcome, episode.failure["message"]) == (FAILED_OUTSIDE, "no key")
    assert episode.extra["usage"] == {"input_tokens": 30, "output_tokens": 6, "total_cost": 0.5}


def test_records_of_other_formats_are_not_taken() -> None:
    assert not [name for name, (_, record, _) in ALL.items() if openhands.mismatch(record) is None]


def test_a_broken_line_does_not_split_the_conversation(tmp_path: Path) -> None:
    path = write(tmp_path, *SDK)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:3], '{"id": "e', *lines[3:]]))
    broken, calls = outcomes(import_trace(path))
    assert "not JSON" in str(broken)
    assert calls == 4


@given(st.data())
def test_damage_gives_an_episode_or_an_error_of_the_record(data: st.DataObject) -> None:
    survives(openhands.read_record, data.draw(damaged(data.draw(st.sampled_from([EVENTS, SDK, RESULT])))))
