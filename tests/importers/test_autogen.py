"""AutoGen: what AgentChat, its event logger and version 0.2 write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath.importers import import_trace
from corepath.importers.formats import autogen
from tests.importers.conversations import ALL
from tests.importers.damage import damaged, outcomes, read, survives, write

USED = {"prompt_tokens": 10, "completion_tokens": 5}


def message(number: int, kind: str, source: str, content: Any, usage: Any = None, **more: Any) -> dict[str, Any]:
    return {"id": f"m{number}", "source": source, "models_usage": usage, "metadata": {}, "type": kind,
            "created_at": f"2026-01-01T00:00:{number:02}Z", "content": content, **more}  # fmt: skip


def call(id_: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": id_, "name": name, "arguments": arguments}


def result(id_: str, name: str, content: str, error: bool = False) -> dict[str, Any]:
    return {"content": content, "name": name, "call_id": id_, "is_error": error}


SCAN, WATER, BAD = call("c1", "scan", '{"plant": "A"}'), call("c2", "water", "{}"), call("c3", "nosuch", "{bad")
SCANNED, WATERED = result("c1", "scan", '{"dry": true}'), result("c2", "water", "pump broken", error=True)

MESSAGES: list[dict[str, Any]] = [
    message(0, "TextMessage", "user", "Water the plants."),
    message(1, "ThoughtEvent", "gardener", "I look."),
    message(2, "ToolCallRequestEvent", "gardener", [SCAN, WATER], USED),
    message(3, "ToolCallExecutionEvent", "gardener", [SCANNED, WATERED]),
    message(4, "ToolCallSummaryMessage", "gardener", "…", tool_calls=[SCAN, WATER], results=[SCANNED, WATERED]),
    message(5, "ToolCallRequestEvent", "gardener", [BAD], USED),
    message(6, "ThoughtEvent", "gardener", "Only reasoning."),
    message(7, "TextMessage", "gardener", "Done.", USED),
]
RESULT: dict[str, Any] = {"messages": MESSAGES, "stop_reason": "Text 'Done.' mentioned"}

TEAM: list[dict[str, Any]] = [
    message(0, "MultiModalMessage", "user", ["Go.", {"data": "iVBOR"}]),
    message(1, "ToolCallRequestEvent", "alice", [SCAN], USED),
    message(2, "ToolCallExecutionEvent", "alice", [SCANNED]),
    message(3, "HandoffMessage", "alice", "Transferred to bob.", target="bob", context=[]),
    message(4, "ToolCallSummaryMessage", "bob", "…", tool_calls=[SCAN], results=[SCANNED]),
    message(5, "CodeGenerationEvent", "coder", "I compute.", USED, retry_attempt=0,
            code_blocks=[{"code": "1+1", "language": "python"}]),
    {**message(6, "CodeExecutionEvent", "coder", None), "result": {"exit_code": 0, "output": "2"}},
    message(7, "StructuredMessage[Answer]", "bob", {"plants": 2}, USED),
]  # fmt: skip
del TEAM[6]["content"]

CONTEXT: list[dict[str, Any]] = [
    {"content": "You garden.", "type": "SystemMessage"},
    {"content": "Water the plants.", "source": "user", "type": "UserMessage"},
    {"content": [SCAN, WATER], "thought": "I look.", "source": "gardener", "type": "AssistantMessage"},
    {"content": [SCANNED, WATERED], "type": "FunctionExecutionResultMessage"},
    {"content": "Done.", "thought": "Only reasoning.", "source": "gardener", "type": "AssistantMessage"},
]
STATE: dict[str, Any] = {"type": "AssistantAgentState", "version": "1.0.0", "llm_context": {"messages": CONTEXT}}


def asked(*calls: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"id": one["id"], "type": "function", "function": {"name": one["name"], "arguments": one["arguments"]}}
        for one in calls
    ]


PROMPT: list[dict[str, Any]] = [
    {"role": "system", "content": "You garden."},
    {"role": "user", "name": "user", "content": "Water the plants."},
]
LOOKED: dict[str, Any] = {"role": "assistant", "content": "I look.", "tool_calls": asked(SCAN, WATER)}
LOG: list[dict[str, Any]] = [
    {"type": "LLMCall", "messages": PROMPT, "agent_id": None, **USED,
     "response": {"model": "m-1", "choices": [{"message": LOOKED}]}},
    {"type": "ToolCall", "tool_name": "scan", "arguments": {"plant": "A"}, "result": '{"dry": true}', "agent_id": None},
    {"type": "Message", "payload": "{}", "sender": None, "receiver": None, "kind": "…", "delivery_stage": "…"},
    {"type": "LLMCall", "agent_id": None, **USED,
     "messages": [*PROMPT, LOOKED, {"role": "tool", "tool_call_id": "c1", "content": '{"dry": true}'},
                  {"role": "tool", "tool_call_id": "c2", "content": "pump broken"}, PROMPT[1]],
     "response": {"model": "m-1", "choices": [{"message": {"role": "assistant", "content": "Done."}}]}},
]  # fmt: skip

CHAT: dict[str, Any] = {
    "chat_id": None, "summary": "Done.", "human_input": [],
    "chat_history": [
        {"content": "Water the plants.", "role": "assistant", "name": "user_proxy"},
        {"content": "I look.", "tool_calls": asked(SCAN, WATER), "role": "assistant"},
        {"content": "…", "role": "tool", "name": "user_proxy", "tool_responses": [
            {"tool_call_id": "c1", "role": "tool", "content": '{"dry": true}'},
            {"tool_call_id": "c2", "role": "tool", "content": "Error: pump"},
        ]},
        {"content": "Done.", "role": "user", "name": "bot"},
    ],
    "cost": {"usage_including_cached_inference": {
        "total_cost": 0.5, "m-1": {"cost": 0.5, "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }},
}  # fmt: skip


@pytest.mark.parametrize("form", ["result", "list", "stream", "streamed result"])
def test_messages_of_agent_chat(form: str, tmp_path: Path) -> None:
    chunk = message(8, "ModelClientStreamingChunkEvent", "gardener", "Do", full_message_id="m7")
    streamed = [*MESSAGES[:7], chunk, MESSAGES[7]]
    records: dict[str, list[Any]] = {
        "result": [RESULT],
        "list": [MESSAGES],
        "stream": [*streamed, MESSAGES[7]],
        "streamed result": [*streamed, RESULT],
    }
    (episode,) = read(write(tmp_path, *records[form]), "autogen")
    assert [(one.tool, one.arguments, one.id, one.turn) for one in episode.calls] == [
        ("scan", {"plant": "A"}, "c1", 1),
        ("water", {}, "c2", 1),
        ("nosuch", "{bad", "c3", 2),
    ]
    assert (episode.calls[0].result, episode.calls[1].error) == ({"dry": True}, "pump broken")
    assert episode.calls[0].extra == {"agent": "gardener", "seconds": 1.0}
    assert [(one.role, one.content, one.before_call) for one in episode.messages] == [
        ("user", "Water the plants.", 0),
        ("assistant", "I look.", 0),
        ("assistant", "Done.", 3),
    ]
    assert (episode.agent, episode.answer) == ("gardener", "Done.")
    assert episode.extra["usage"] == {"requests": 3, "input_tokens": 30, "output_tokens": 15}


def test_two_runs_in_one_file_are_two_episodes(tmp_path: Path) -> None:
    assert outcomes(import_trace(write(tmp_path, RESULT, {**RESULT, "messages": TEAM}))) == [3, 3]
    assert outcomes(import_trace(write(tmp_path, *TEAM, RESULT))) == [3, 3]


def test_a_team_in_which_everyone_acts() -> None:
    (episode,) = autogen.read_record(TEAM)
    assert [(one.tool, one.extra.get("agent"), one.result) for one in episode.calls] == [
        ("scan", "alice", {"dry": True}),
        ("scan", "bob", {"dry": True}),
        ("code_executor", "coder", {"exit_code": 0, "output": "2"}),
    ]
    assert episode.calls[2].arguments == {"code_blocks": [{"code": "1+1", "language": "python"}]}
    assert [one.content for one in episode.messages] == ["Go.", "I compute.", {"plants": 2}]
    assert episode.agent == "alice+bob+coder"


def test_the_state_of_an_agent(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, STATE, name="state.json"), "autogen")
    assert [(one.tool, one.id, one.turn) for one in episode.calls] == [("scan", "c1", 1), ("water", "c2", 1)]
    assert (episode.calls[0].result, episode.calls[1].error) == ({"dry": True}, "pump broken")
    assert [one.content for one in episode.messages] == ["You garden.", "Water the plants.", "I look.", "Done."]


def test_the_state_of_a_team_is_its_messages_if_they_have_the_calls() -> None:
    agents = {"alice/x": {"agent_state": STATE, "message_buffer": []}, "bob/x": {"agent_state": STATE}}
    manager = {"type": "RoundRobinManagerState", "message_thread": TEAM}
    (episode,) = autogen.read_record({"type": "TeamState", "agent_states": {**agents, "manager": manager}})
    assert len(episode.calls) == 3
    plain = {**manager, "message_thread": [MESSAGES[0], MESSAGES[7]]}
    episodes = list(autogen.read_record({"type": "TeamState", "agent_states": {**agents, "manager": plain}}))
    assert [(one.agent, len(one.calls)) for one in episodes] == [("alice", 2), ("bob", 2)]


def test_lines_of_the_event_logger(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, *LOG), "autogen")
    assert [(one.tool, one.arguments, one.id, one.turn, one.result) for one in episode.calls] == [
        ("scan", {"plant": "A"}, "c1", 1, {"dry": True}),
        ("water", {}, "c2", 1, "pump broken"),
    ]
    assert [(one.role, one.content, one.before_call) for one in episode.messages] == [
        ("system", "You garden.", 0),
        ("user", "Water the plants.", 0),
        ("assistant", "I look.", 0),
        ("user", "Water the plants.", 2),
        ("assistant", "Done.", 2),
    ]
    assert (episode.agent, episode.answer) == ("m-1", "Done.")
    assert episode.extra["usage"] == {"requests": 2, "input_tokens": 20, "output_tokens": 10}


def test_a_log_of_tools_only_and_one_of_streamed_responses_of_anthropic() -> None:
    (tools,) = autogen.read_record([LOG[1], LOG[1]])
    assert [(one.tool, one.turn) for one in tools.calls] == [("scan", 1), ("scan", 2)]
    used = {"type": "tool_use", "id": "c1", "name": "scan", "input": {"plant": "A"}}
    failed = {"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True}
    lines = [
        {"type": "LLMStreamStart", "messages": PROMPT, "agent_id": "a/1"},
        {"type": "LLMStreamEnd", "agent_id": "a/1", **USED, "response": {"content": [used], "model": "claude"}},
        {"type": "LLMStreamStart", "messages": [{"role": "user", "content": [failed]}], "agent_id": "a/1"},
    ]
    (episode,) = autogen.read_record(lines)
    assert [(one.tool, one.arguments, one.error) for one in episode.calls] == [("scan", {"plant": "A"}, "no")]


@pytest.mark.parametrize("form", ["result", "history"])
def test_chats_of_version_0_2(form: str, tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, CHAT if form == "result" else CHAT["chat_history"], name="chat.json"), "autogen")
    assert [(one.tool, one.arguments, one.id, one.turn, one.result) for one in episode.calls] == [
        ("scan", {"plant": "A"}, "c1", 1, {"dry": True}),
        ("water", {}, "c2", 1, "Error: pump"),
    ]
    assert [(one.role, one.content) for one in episode.messages] == [
        ("user", "Water the plants."),
        ("assistant", "I look."),
        ("assistant", "Done."),
    ]
    assert (episode.agent, episode.answer) == ("bot", "Done.")
    if form == "result":
        assert episode.extra["usage"]["total_cost"] == 0.5
        assert episode.extra["models"] == ["m-1"]


def test_functions_of_version_0_2() -> None:
    history = [
        {"content": "Go.", "role": "assistant"},
        {"content": None, "role": "assistant", "function_call": {"name": "scan", "arguments": '{"plant": "A"}'}},
        {"content": "dry", "role": "function", "name": "scan"},
        {"content": "Done.", "role": "user"},
    ]
    (episode,) = autogen.read_record({"chat_history": history})
    assert [(one.tool, one.arguments, one.result) for one in episode.calls] == [("scan", {"plant": "A"}, "dry")]
    assert [(one.role, one.content) for one in episode.messages] == [("user", "Go."), ("assistant", "Done.")]


def test_records_of_other_formats_are_not_taken() -> None:
    assert not [name for name, (_, record, _) in ALL.items() if autogen.mismatch(record) is None]
    assert autogen.mismatch([{"type": "SystemMessage"}, {"type": "message", "content": ""}]) is not None


@given(st.data())
def test_damage_gives_an_episode_or_an_error_of_the_record(data: st.DataObject) -> None:
    team = {"agent_states": {"a": {"agent_state": STATE}, "m": {"message_thread": TEAM}}}
    record = json.loads(json.dumps(data.draw(st.sampled_from([RESULT, TEAM, STATE, team, LOG, CHAT]))))
    survives(autogen.read_record, data.draw(damaged(record)))
