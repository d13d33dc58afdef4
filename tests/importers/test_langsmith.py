"""Runs of LangSmith: written by its own SDK, and by hand as its API and its bulk export write them."""

from __future__ import annotations

import json
import random
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from corepath import Episode
from corepath.episode import FAILED_OUTSIDE
from corepath.importers.formats import langsmith
from corepath.importers.registry import recognise_format
from corepath.notation.call import UNANSWERED
from tests.importers.damage import damaged, good, read, records_of, survives, write
from tests.importers.langsmith_runs import run_graph, talk_to_openai

TRACE = "497f6eca-6276-4993-bfeb-53cbbbba6f08"
USER = {"role": "user", "content": "Water A."}


def run(number: int, kind: str, name: str, given: Any, output: Any, **more: Any) -> dict[str, Any]:
    """A run as the API returns it."""
    made = {
        "id": TRACE if number == 1 else f"{number:08x}-0000-0000-0000-000000000000", "trace_id": TRACE,
        "parent_run_id": None if number == 1 else TRACE, "run_type": kind, "name": name, "inputs": given,
        "outputs": output, "error": None, "start_time": f"2026-08-01T10:00:{number:02}",
        "end_time": f"2026-08-01T10:00:{number:02}.500000", "extra": {}, "tags": [], "status": "success",
        "session_id": "p1", "feedback_stats": {}, "total_tokens": 0, "total_cost": None,
    }  # fmt: skip
    return made | more


def message(kind: str, **fields: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": fields}


HUMAN = message("HumanMessage", content="Water A.", type="human")
LOOK = message("AIMessage", content="I look.", type="ai", tool_calls=[
    {"name": "scan", "args": {"plant": "A"}, "id": "c1", "type": "tool_call"},
    {"name": "scan", "args": {"plant": "B"}, "id": "c2", "type": "tool_call"},
])  # fmt: skip
DONE = message("AIMessage", content="Done.", type="ai")
MODEL = {"extra": {"metadata": {"ls_model_name": "gpt-x"}}, "prompt_tokens": 5, "completion_tokens": 6,
         "total_tokens": 11, "total_cost": "0.25"}  # fmt: skip


def runs() -> list[dict[str, Any]]:
    result = {"type": "tool", "content": '{"dry": true}', "tool_call_id": "c1", "status": "success", "name": "scan"}
    history = [[message("SystemMessage", content="Be careful."), HUMAN]]
    return [
        run(1, "chain", "LangGraph", {"messages": [["user", "Water A."]]}, {"messages": []}, tags=["a"],
            extra={"metadata": {"flow": "water", "thread_id": "t7"}}, feedback_stats={"helpful": {"n": 2, "avg": 0.5}}),
        run(2, "llm", "ChatOpenAI", {"messages": history}, {"generations": [[{"text": "I look.", "message": LOOK}]]},
            **MODEL),
        run(3, "tool", "scan", {"input": "{'plant': 'A'}"}, {"output": result}),
        run(4, "tool", "scan", {"plant": "B"}, None, error="ValueError('no plant B')", status="error",
            extra={"tool_call_id": "c2"}),
        run(5, "llm", "ChatOpenAI", {"messages": history}, {"generations": [[{"text": "Done.", "message": DONE}]]},
            **MODEL),
    ]  # fmt: skip


def write_parquet(file: Path, rows: list[dict[str, Any]]) -> Path:
    """Write runs as a bulk export does: objects are JSON strings."""
    columns: dict[str, Any] = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        values = [row.get(name) for row in rows]
        if name in ("start_time", "end_time"):
            columns[name] = pa.array([value and datetime.fromisoformat(value) for value in values], pa.timestamp("us"))
        elif name in ("inputs", "outputs", "extra", "feedback_stats"):
            columns[name] = pa.array([None if value is None else json.dumps(value) for value in values], pa.string())
        else:
            columns[name] = pa.array(values)
    parquet.write_table(pa.table(columns), file)
    return file


def check(episode: Episode, error: str = "ValueError('no plant B')") -> None:
    """The episode of all runs in this file: two calls at once, of which the second fails."""
    first, second = episode.calls
    assert (first.tool, first.arguments, first.id, first.turn, first.result) == (
        "scan", {"plant": "A"}, "c1", 1, {"dry": True},
    )  # fmt: skip
    assert (second.tool, second.arguments, second.id, second.turn) == ("scan", {"plant": "B"}, "c2", 1)
    assert second.result is UNANSWERED
    assert str(second.error).startswith(error)
    said = [(message.role, message.content, message.before_call) for message in episode.messages]
    assert said == [
        ("system", "Be careful.", 0), ("user", "Water A.", 0), ("assistant", "I look.", 0), ("assistant", "Done.", 2),
    ]  # fmt: skip
    assert episode.answer == "Done."


def check_by_hand(episode: Episode) -> None:
    check(episode)
    assert episode.agent == "gpt-x"
    assert (episode.calls[0].time, episode.calls[0].extra["seconds"]) == (1785578403.0, 0.5)
    assert episode.extra["usage"] == {
        "requests": 2, "input_tokens": 10, "output_tokens": 12, "total_tokens": 22, "total_cost": 0.5,
    }  # fmt: skip
    about = episode.extra["metadata"]
    assert (about["flow"], about["thread_id"], about["tags"], about["project_id"]) == ("water", "t7", ["a"], "p1")
    assert about["scores"] == [{"name": "helpful", "n": 2, "avg": 0.5}]
    assert (about["name"], episode.reward) == ("LangGraph", None)


def test_runs_of_a_langgraph_agent(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, run_graph()), "langsmith")
    check(episode)
    assert episode.extra["usage"] == {"requests": 2, "input_tokens": 10, "output_tokens": 12, "total_tokens": 22}
    assert (episode.extra["metadata"]["flow"], episode.extra["metadata"]["thread_id"]) == ("water", "t7")


def test_root_runs_alone_have_the_messages_of_the_whole_agent(tmp_path: Path) -> None:
    roots = [one for one in run_graph() if not one.get("parent_run_id")]
    (episode,) = read(write(tmp_path, *roots), "langsmith")
    check(episode, "Error: ValueError('no plant B')")


def test_runs_of_a_wrapped_client_and_traced_functions(tmp_path: Path) -> None:
    made = talk_to_openai()
    (episode,) = read(write(tmp_path, {"runs": made, "cursors": {"next": None}}), "langsmith")
    check(episode)
    assert episode.agent == "gpt-x"


def test_runs_of_the_api(tmp_path: Path) -> None:
    rows = runs()
    for records in (rows, [{"runs": rows, "cursors": {"next": "x"}}], [rows], random.Random(5).sample(rows, len(rows))):
        (episode,) = read(write(tmp_path, *records), "langsmith")
        check_by_hand(episode)


def test_nested_runs_need_no_trace_id(tmp_path: Path) -> None:
    """As `Client.read_run(load_child_runs=True)` returns them, and as older versions of LangChain wrote them."""
    root, *children = runs()
    bare = [{name: one for name, one in row.items() if name not in ("trace_id", "parent_run_id")} for row in children]
    file = tmp_path / "run.json"
    file.write_text(json.dumps({**root, "trace_id": None, "child_runs": bare}, indent=1))
    (episode,) = read(file, "langsmith")
    check_by_hand(episode)


def test_a_bulk_export_in_several_files(tmp_path: Path) -> None:
    rows = runs()
    (episode,) = read(write_parquet(tmp_path / "all.parquet", rows), "langsmith")
    check_by_hand(episode)
    early = {**rows[2], "outputs": None, "end_time": None}
    files = [
        write_parquet(tmp_path / "1.parquet", [*rows[:2], early]),
        write_parquet(tmp_path / "2.parquet", rows[1:]),
    ]
    assert [recognise_format(file).name for file in files] == ["langsmith"] * 2
    together = langsmith.FORMAT.read_together
    assert together is not None
    for order in (files, files[::-1]):
        (episode,) = good(together(order))
        check_by_hand(episode)


@pytest.mark.parametrize(
    ("stats", "reward"),
    [({"reward": {"n": 1, "avg": 0.25}}, 0.25), ({"reward": {"n": 3, "avg": 0.25}}, None), ({"reward": None}, None)],
)
def test_feedback_is_the_reward_only_if_it_is_one_number_named_so(
    tmp_path: Path, stats: Any, reward: float | None
) -> None:
    root, *others = runs()
    (episode,) = read(write(tmp_path, {**root, "feedback_stats": stats}, *others), "langsmith")
    assert episode.reward == reward


ANTHROPIC = {"role": "assistant", "content": "I look.", "usage_metadata": {"input_tokens": 4, "output_tokens": 5,
             "input_token_details": {"cache_read": 2}}, "model": "claude-x", "tool_calls": [None,
             {"id": "c1", "type": "function", "function": {"name": "scan", "arguments": '{"plant":"A"}'}}]}  # fmt: skip
AGENTS = {"output": [
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
    {"type": "function_call", "call_id": "c1", "name": "scan", "arguments": '{"plant": "A"}'}]}  # fmt: skip
GEMINI = {"role": "assistant", "content": [
    {"type": "text", "text": "I look."},
    {"type": "function_call", "function_call": {"id": "c1", "name": "scan", "arguments": {"plant": "A"}}}]}  # fmt: skip
CLAUDE = {"role": "assistant", "content": [
    {"type": "thinking", "thinking": "Hm"}, {"type": "text", "text": "I look."},
    {"type": "tool_use", "id": "c1", "name": "scan", "input": {"plant": "A"}}]}  # fmt: skip


@pytest.mark.parametrize("output", [ANTHROPIC, AGENTS, GEMINI, CLAUDE])
def test_outputs_of_other_wrappers(tmp_path: Path, output: dict[str, Any]) -> None:
    """Of Anthropic's client, the OpenAI Agents SDK, Gemini's client and the Claude Agent SDK."""
    rows = [run(2, "llm", "model", {"messages": [USER]}, output), run(3, "tool", "scan", {"input": {"plant": "A"}}, {})]
    (episode,) = read(write(tmp_path, *rows), "langsmith")
    (call,) = episode.calls
    assert (call.tool, call.arguments, call.id, call.result) == ("scan", {"plant": "A"}, "c1", UNANSWERED)
    assert [one.content for one in episode.messages] == ["Water A.", "I look."]


def test_tokens_that_only_the_sdk_recorded(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, run(2, "llm", "model", {"messages": [USER]}, ANTHROPIC)), "langsmith")
    assert episode.agent == "claude-x"
    assert episode.extra["usage"] == {
        "requests": 1, "input_tokens": 4, "output_tokens": 5, "input_tokens_cache_read": 2,
    }  # fmt: skip


def test_runs_that_are_no_calls(tmp_path: Path) -> None:
    """A guardrail is recorded as a tool, and a loop of the Vercel AI SDK as a model call."""
    guardrail = run(6, "tool", "guardrail", {}, {}, extra={"metadata": {"triggered": False}})
    loop = run(7, "llm", "ai.generateText", {"prompt": "Water A."}, {"content": "Done."})
    (episode,) = read(write(tmp_path, *runs(), guardrail, loop), "langsmith")
    check_by_hand(episode)


def test_a_tool_that_waits_for_somebody_has_no_result(tmp_path: Path) -> None:
    rows = runs()
    waiting = {**rows[3], "error": "GraphInterrupt((Interrupt(value='sure?'),))Traceback"}
    (episode,) = read(write(tmp_path, *rows[:3], waiting), "langsmith")
    assert (episode.calls[1].result, episode.calls[1].error) == (UNANSWERED, None)


def test_a_model_call_that_failed_at_the_end_is_not_the_agents_fault(tmp_path: Path) -> None:
    *rows, last = runs()
    failed = {**last, "outputs": None, "error": "RateLimitError('slow down')", "status": "error"}
    (episode,) = read(write(tmp_path, *rows, failed), "langsmith")
    assert (episode.outcome, episode.failure["message"]) == (FAILED_OUTSIDE, "RateLimitError('slow down')")


@given(st.data())
def test_damage_gives_an_episode_or_an_error_of_the_record(data: st.DataObject) -> None:
    survives(records_of(langsmith.FORMAT), data.draw(damaged(runs())))


@pytest.mark.parametrize("output", [ANTHROPIC, AGENTS, GEMINI, CLAUDE])
@given(st.data())
def test_damaged_messages_too(output: Any, data: st.DataObject) -> None:
    row = run(2, "llm", "model", data.draw(damaged({"messages": [USER, output]})), data.draw(damaged(output)))
    survives(records_of(langsmith.FORMAT), row)
