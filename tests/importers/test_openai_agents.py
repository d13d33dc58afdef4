"""Traces, run states and sessions of the OpenAI Agents SDK, by what its exporters write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath.episode import FAILED_OUTSIDE, TURN_LIMIT
from corepath.importers.formats import openai, openai_agents, openai_responses
from corepath.notation.call import UNANSWERED
from tests.importers.damage import damaged, mismatch_of, outcomes, read, records_of, survives, write

TRACE: dict[str, Any] = {
    "object": "trace", "id": "trace_1", "workflow_name": "Shop", "group_id": "g1", "metadata": {"case": "c7"},
}  # fmt: skip
USAGE = {"requests": 1, "input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
FAILED = {"message": "Error running tool (non-fatal)", "data": {"tool_name": "pay", "error": "no money"}}


def span(id_: str, parent: str | None, second: int, error: Any = None, **data: Any) -> dict[str, Any]:
    return {
        "object": "trace.span", "id": id_, "trace_id": "trace_1", "parent_id": parent,
        "started_at": f"2025-01-01T00:00:{second:02}+00:00", "ended_at": f"2025-01-01T00:00:{second + 1:02}+00:00",
        "span_data": data, "error": error,
    }  # fmt: skip


def said(text: str | None, *calls: tuple[str, str, str]) -> dict[str, Any]:
    made = [{"id": id_, "type": "function", "function": {"name": name, "arguments": a}} for id_, name, a in calls]
    return {"role": "assistant", "content": text, "refusal": None, "tool_calls": made or None}


def function(id_: str, parent: str, second: int, name: str, given: str | None, output: Any, error: Any = None) -> Any:
    data = {"type": "function", "name": name, "input": given, "output": output, "mcp_data": None}
    return span(id_, parent, second, error, **data)


WEATHER, PAY, EXPERT, HANDOFF, REFUND = (
    ("c1", "get_weather", '{"city": "Oslo"}'), ("c2", "pay", '{"amount": 3}'), ("c3", "ask_expert", '{"input": "?"}'),
    ("c4", "hand_to_billing", "{}"), ("c5", "refund", '{"amount": 7}'),
)  # fmt: skip
ASKED: list[Any] = [{"role": "system", "content": "You help."}, {"role": "user", "content": "Refund me."}]
BILLING: list[Any] = [{"role": "system", "content": "You bill."}, *ASKED[1:], {"role": "user", "content": "Now."}]


def trace(kind: str) -> list[Any]:
    """A run with a hand-over and an agent as a tool. Only spans of the type `generation` have messages."""

    def model(id_: str, parent: str, second: int, given: Any, *output: Any) -> Any:
        if kind == "response":
            return span(id_, parent, second, type="response", response_id="r", usage=USAGE)
        return span(
            id_, parent, second, type="generation", input=given, output=list(output), model="gpt-x", usage=USAGE
        )

    return [
        TRACE,
        model("g1", "a1", 1, ASKED, said("I look.", WEATHER, PAY)),
        function("f2", "a1", 3, "pay", PAY[2], "Error: no money", FAILED),
        function("f1", "a1", 2, "get_weather", WEATHER[2], '{"sunny": true}'),
        model("g2", "a1", 5, ASKED, said(None, EXPERT)),
        model("g3", "a2", 8, [{"role": "user", "content": "?"}], said("inner")),
        function("f4", "a2", 9, "inner_tool", "{}", "x"),
        span("a2", "f3", 7, type="agent", name="Expert", handoffs=[], tools=[], output_type="str"),
        function("f3", "a1", 6, "ask_expert", EXPERT[2], "expert says"),
        model("g4", "a1", 12, ASKED, said(None, HANDOFF)),
        span("h1", "a1", 13, type="handoff", from_agent="Triage", to_agent="Billing agent"),
        span("t1", "a1", 1, type="custom", name="turn", data={"sdk_span_type": "turn", "usage": USAGE}),
        span("a1", None, 0, type="agent", name="Triage", handoffs=["Billing agent"], tools=[], output_type="str"),
        span("gr", "a3", 14, type="guardrail", name="no_secrets", triggered=False),
        model("g5", "a3", 15, BILLING, said(None, REFUND)),
        function("f5", "a3", 16, "refund", REFUND[2], "{'refunded': 7}"),
        model("g6", "a3", 18, BILLING, said("Refunded.")),
        span("a3", None, 14, type="agent", name="Billing agent", handoffs=[], tools=[], output_type="str"),
    ]


GENERATIONS, RESPONSES = trace("generation"), trace("response")


@pytest.mark.parametrize("records", [GENERATIONS, RESPONSES], ids=["generations", "responses"])
def test_calls_in_order_with_results_and_errors(tmp_path: Path, records: list[Any]) -> None:
    (episode,) = read(write(tmp_path, *records), "openai-agents")
    has_messages = records is GENERATIONS
    assert [(one.tool, one.arguments, one.turn, one.extra.get("agent")) for one in episode.calls] == [
        ("get_weather", {"city": "Oslo"}, 1, None), ("pay", {"amount": 3}, 1, None),
        ("ask_expert", {"input": "?"}, 2, None),
        ("hand_to_billing" if has_messages else "transfer_to_billing_agent", {}, 3, None),
        ("refund", {"amount": 7}, 4, "Billing agent"),
    ]  # fmt: skip
    assert [one.id for one in episode.calls] == (["c1", "c2", "c3", "c4", "c5"] if has_messages else [None] * 5)
    assert [one.result for one in episode.calls] == [
        {"sunny": True}, UNANSWERED, "expert says", {"assistant": "Billing agent"}, "{'refunded': 7}",
    ]  # fmt: skip
    assert [one.error for one in episode.calls] == [None, "Error: no money", None, None, None]
    assert [one.extra["seconds"] for one in episode.calls] == [1.0] * 5
    assert episode.extra["usage"] == {**USAGE, "requests": 5, "input_tokens": 50, "output_tokens": 25,
                                      "total_tokens": 75}  # fmt: skip
    assert (episode.agent, episode.outcome) == ("Triage", None)
    assert episode.extra["metadata"] == {"id": "trace_1", "workflow_name": "Shop", "group_id": "g1", "case": "c7"}


def test_messages_are_read_once_although_every_request_repeats_them(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, *GENERATIONS), "openai-agents")
    assert [(one.role, one.content, one.before_call) for one in episode.messages] == [
        ("system", "You help.", 0), ("user", "Refund me.", 0), ("assistant", "I look.", 0),
        ("system", "You bill.", 4), ("user", "Now.", 4), ("assistant", "Refunded.", 5),
    ]  # fmt: skip
    assert episode.answer == "Refunded."


def test_batches_of_the_exporter_and_spans_that_were_written_twice(tmp_path: Path) -> None:
    (expected,) = read(write(tmp_path, *GENERATIONS), "openai-agents")
    began = [{**one, "ended_at": None} for one in GENERATIONS if one["object"] == "trace.span"]
    batches = [{"data": GENERATIONS[:5]}, {"data": [*began[:2], *GENERATIONS[5:]]}]
    for records in (batches, [{"data": GENERATIONS}], [GENERATIONS], [TRACE, *began, *GENERATIONS]):
        (episode,) = read(write(tmp_path, *records), "openai-agents")
        assert (episode.calls, episode.messages) == (expected.calls, expected.messages)


def test_traces_in_one_file_are_kept_apart(tmp_path: Path) -> None:
    other = [{**one, "trace_id": "trace_2"} if "trace_id" in one else {**one, "id": "trace_2"} for one in RESPONSES[:5]]
    mixed = [one for pair in zip(RESPONSES[:5], other, strict=True) for one in pair]
    assert [len(one.calls) for one in read(write(tmp_path, *mixed), "openai-agents")] == [2, 2]


def test_calls_that_were_not_executed_are_unanswered(tmp_path: Path) -> None:
    records = [one for one in GENERATIONS if one["id"] != "f5"]
    (episode,) = read(write(tmp_path, *records), "openai-agents")
    assert episode.calls[-1].tool == "refund"
    assert episode.calls[-1].result is UNANSWERED


def test_how_a_run_ended(tmp_path: Path) -> None:
    late = span("a1", None, 0, {"message": "Max turns exceeded", "data": {"max_turns": 3}}, type="agent", name="T")
    (episode,) = read(write(tmp_path, *RESPONSES[:4], late), "openai-agents")
    assert episode.outcome == TURN_LIMIT
    error = {"message": "Error getting response", "data": {"error": "429"}}
    broken = span("g9", "a1", 20, error, type="response", response_id=None, usage=None)
    (episode,) = read(write(tmp_path, *RESPONSES[:4], broken), "openai-agents")
    assert (episode.outcome, episode.failure) == (
        FAILED_OUTSIDE,
        {"kind": "Error getting response", "message": "429"},
    )
    guardrail = span("g9", "a1", 20, type="guardrail", name="no_secrets", triggered=True)
    (episode,) = read(write(tmp_path, *RESPONSES[:4], guardrail), "openai-agents")
    assert episode.extra["metadata"]["guardrails"] == ["no_secrets"]


def test_arguments_that_were_not_captured_are_a_problem(tmp_path: Path) -> None:
    (problem,) = outcomes(openai_agents.FORMAT.read(write(tmp_path, TRACE, function("f1", "a1", 1, "pay", None, None))))
    assert "set trace_include_sensitive_data to True" in str(problem)


# States and sessions


ITEMS: list[Any] = [
    {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": WEATHER[2], "id": "fc_1"},
    {"type": "function_call_output", "call_id": "c1", "output": '{"sunny": true}'},
    {"type": "message", "id": "m1", "role": "assistant", "status": "completed",
     "content": [{"type": "output_text", "text": "Sunny.", "annotations": []}]},
]  # fmt: skip
STATE: dict[str, Any] = {
    "$schemaVersion": "1.4", "current_turn": 2, "current_agent": {"name": "Helper"}, "original_input": "Weather?",
    "model_responses": [{"usage": USAGE, "output": ITEMS[:1]}, {"usage": USAGE, "output": ITEMS[2:]}],
    "generated_items": [
        {"type": "tool_call_item", "raw_item": ITEMS[0], "agent": {"name": "Helper"}},
        {"type": "tool_approval_item", "raw_item": ITEMS[0], "agent": {"name": "Helper"}},
        {"type": "tool_call_output_item", "raw_item": ITEMS[1], "agent": {"name": "Helper"}},
        {"type": "message_output_item", "raw_item": ITEMS[2], "agent": {"name": "Helper"}},
    ],
    "max_turns": 10,
}  # fmt: skip


def test_the_state_of_a_run(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, STATE, name="state.json"), "openai-agents")
    assert [(one.tool, one.arguments, one.result, one.id) for one in episode.calls] == [
        ("get_weather", {"city": "Oslo"}, {"sunny": True}, "c1")
    ]
    assert (episode.agent, episode.answer) == ("Helper", "Sunny.")
    assert episode.extra["usage"]["input_tokens"] == 20
    assert episode.extra["metadata"]["max_turns"] == 10


def test_rows_of_sessions(tmp_path: Path) -> None:
    rows = [
        {"id": number, "session_id": id_, "message_data": json.dumps(item), "created_at": "2025-01-01 00:00:00"}
        for number, item in enumerate([{"role": "user", "content": "Weather?"}, *ITEMS])
        for id_ in ("s1", "s2")
    ]
    first, second = read(write(tmp_path, *rows), "openai-agents")
    assert first.calls == second.calls
    assert (len(first.calls), first.answer, first.extra["metadata"]) == (1, "Sunny.", {"session_id": "s1"})


def test_other_formats_do_not_take_it() -> None:
    for format_ in (openai_responses.FORMAT, openai.FORMAT):
        for value in (GENERATIONS, {"data": GENERATIONS}, STATE):
            assert mismatch_of(format_, value) is not None
    assert mismatch_of(openai_agents.FORMAT, ITEMS) is not None


@given(st.data())
def test_damage_gives_an_episode_or_an_error_of_the_record(data: st.DataObject) -> None:
    record = data.draw(st.sampled_from([GENERATIONS, RESPONSES, {"data": GENERATIONS}, STATE]))
    survives(records_of(openai_agents.FORMAT), data.draw(damaged(record)))
