"""Observations of Langfuse, by what its SDKs and its exports write."""

from __future__ import annotations

import copy
import json
import random
import subprocess
import sys
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
from corepath.errors import InputError, Problem
from corepath.importers import import_trace
from corepath.importers.formats import langfuse
from corepath.importers.registry import recognise_format
from corepath.notation.call import UNANSWERED
from tests.importers.damage import damaged, good, outcomes, read, records_of, survives, write

TRACE = "0af7651916cd43dd8448eb211c80319c"
SYSTEM = {"role": "system", "content": "Be careful."}
USER = {"role": "user", "content": "Water A."}
TOOLS = [{"type": "function", "function": {"name": "scan", "parameters": {}}}]


def called(id_: str, tool: str, arguments: str) -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": tool, "arguments": arguments}}


LOOK = {
    "role": "assistant",
    "content": "I look.",
    "tool_calls": [called("c1", "scan", '{"plant": "A"}'), called("c2", "scan", "{x")],
}


def observation(number: int, kind: str, name: str, given: Any, output: Any, **more: Any) -> dict[str, Any]:
    """An observation as the API returns it."""
    made = {
        "id": f"{number:016x}", "traceId": TRACE, "type": kind, "name": name, "parentObservationId": f"{1:016x}",
        "startTime": f"2026-08-01T10:00:{number:02}.000Z", "endTime": f"2026-08-01T10:00:{number:02}.500Z",
        "input": given, "output": output, "metadata": {}, "level": "DEFAULT", "statusMessage": None,
        "model": None, "usageDetails": {}, "costDetails": {}, "environment": "default",
    }  # fmt: skip
    return made | more


def generation(number: int, given: Any, output: Any, **more: Any) -> dict[str, Any]:
    usage = {"usageDetails": {"input": 10, "output": 5, "total": 15}, "costDetails": {"input": 0.01, "total": 0.02}}
    return observation(number, "GENERATION", "OpenAI-generation", given, output, **{"model": "gpt-x", **usage, **more})


def observations() -> list[dict[str, Any]]:
    history = [SYSTEM, USER, LOOK, {"role": "tool", "tool_call_id": "c1", "content": '{"dry": true}'}]
    failed = {"level": "ERROR", "statusMessage": "no JSON"}
    return [
        observation(1, "AGENT", "run", {"args": ["Water A."], "kwargs": {}}, "Done.", parentObservationId=None,
                    metadata={"flow": "water", "attributes": {"a": 1}, "scope": {"name": "langfuse-sdk"}}),
        generation(2, {"tools": TOOLS, "messages": [SYSTEM, USER]}, LOOK),
        observation(3, "TOOL", "scan", {"args": [], "kwargs": {"plant": "A"}}, {"dry": True}),
        observation(4, "TOOL", "scan", {"args": ["{x"], "kwargs": {}}, None, **failed),
        generation(5, {"tools": TOOLS, "messages": history}, {"role": "assistant", "content": "Done."}),
    ]  # fmt: skip


def score(name: str, value: Any, kind: str = "NUMERIC", **more: Any) -> dict[str, Any]:
    made = {
        "id": f"s-{name}-{value}",
        "traceId": TRACE,
        "name": name,
        "value": value,
        "dataType": kind,
        "source": "API",
    }
    return made | {"timestamp": "2026-08-01T10:01:00.000Z", "observationId": None, "comment": None} | more


def trace(**more: Any) -> dict[str, Any]:
    """A trace as the API returns it, without its observations."""
    made = {
        "id": TRACE, "timestamp": "2026-08-01T10:00:01.000Z", "name": "water-plants", "input": None, "output": None,
        "sessionId": "s7", "userId": "u1", "tags": ["a", "b"], "metadata": {"tier": "x"}, "htmlPath": "/p/traces/1",
        "release": None, "version": "3", "public": False, "environment": "production",
    }  # fmt: skip
    return made | more


FIELDS = {"model": "provided_model_name"}


def exported(row: dict[str, Any]) -> dict[str, Any]:
    """The row of the export to blob storage: snake case, texts for input and output, and "" for what is not known."""
    made = {FIELDS.get(name) or langfuse._snake_name(name): value for name, value in row.items()}
    for name in ("input", "output"):
        made[name] = "" if made[name] is None else made[name] if isinstance(made[name], str) else json.dumps(made[name])
    for name in ("start_time", "end_time"):
        made[name] = made[name] and made[name].replace("T", " ").replace("Z", "000")
    return {name: "" if value is None and name != "end_time" else value for name, value in made.items()}


def texts(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def write_parquet(file: Path, rows: list[dict[str, Any]]) -> Path:
    """Write exported rows with the types that ClickHouse writes: times, and maps of text to text or numbers."""
    rows = [exported(row) for row in rows]
    maps = {"metadata": pa.string(), "usage_details": pa.uint64(), "cost_details": pa.float64()}
    columns: dict[str, Any] = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        if name in ("start_time", "end_time"):
            times = [value and datetime.fromisoformat(value) for value in values]
            columns[name] = pa.array(times, pa.timestamp("ms", "UTC"))
        elif name in maps:
            pairs = [
                [(key, texts(one) if name == "metadata" else one) for key, one in value.items()] for value in values
            ]
            columns[name] = pa.array(pairs, pa.map_(pa.string(), maps[name]))
        else:
            columns[name] = pa.array(values, pa.string())
    parquet.write_table(pa.table(columns), file)
    return file


def check(episode: Episode) -> None:
    """The episode of `observations`, whatever file it comes from."""
    first, second = episode.calls
    assert (first.tool, first.arguments, first.id, first.turn, first.result) == (
        "scan", {"plant": "A"}, "c1", 1, {"dry": True},
    )  # fmt: skip
    assert (second.tool, second.arguments, second.id, second.turn) == ("scan", "{x", "c2", 1)
    assert (second.result, second.error) == (UNANSWERED, "no JSON")
    assert first.time == 1785578403.0
    assert first.extra["seconds"] == 0.5
    said = [(message.role, message.content, message.before_call) for message in episode.messages]
    assert said == [
        ("system", "Be careful.", 0), ("user", "Water A.", 0), ("assistant", "I look.", 0), ("assistant", "Done.", 2),
    ]  # fmt: skip
    assert (episode.agent, episode.answer) == ("gpt-x", "Done.")
    assert episode.extra["usage"] == {
        "requests": 2, "input_tokens": 20, "output_tokens": 10, "total_tokens": 30, "total_cost": 0.04,
    }  # fmt: skip
    assert episode.extra["metadata"]["trace_id"] == TRACE


def test_observations_of_the_api(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, {"data": observations(), "meta": {"page": 1, "limit": 50}}), "langfuse")
    check(episode)
    assert episode.extra["metadata"] == {
        "trace_id": TRACE, "name": "run", "environment": "default", "flow": "water",
    }  # fmt: skip


@pytest.mark.parametrize("indent", [None, 2])
def test_a_trace_with_its_observations_and_scores(tmp_path: Path, indent: int | None) -> None:
    scores = [score("helpful", 0.5), score("tone", 0, "CATEGORICAL", stringValue="kind")]
    for whole in (
        trace(observations=observations(), scores=scores),
        {"trace": trace(scores=scores), "observations": observations()},
    ):
        file = tmp_path / "trace.json"
        file.write_text(json.dumps(whole, indent=indent))
        (episode,) = read(file, "langfuse")
        check(episode)
        about = episode.extra["metadata"]
        assert (about["session_id"], about["user_id"], about["tags"], about["tier"]) == ("s7", "u1", ["a", "b"], "x")
        assert (about["name"], about["version"], about["flow"]) == ("water-plants", "3", "water")
        assert [(one["name"], one["value"]) for one in about["scores"]] == [("helpful", 0.5), ("tone", "kind")]
        assert episode.reward is None


def test_json_lines_in_any_order(tmp_path: Path) -> None:
    rows = [exported(row) for row in observations()]
    random.Random(3).shuffle(rows)
    (episode,) = read(write(tmp_path, *rows), "langfuse")
    check(episode)


def test_parquet(tmp_path: Path) -> None:
    (episode,) = read(write_parquet(tmp_path / "0.parquet", observations()), "langfuse")
    check(episode)
    assert episode.extra["metadata"]["flow"] == "water"


def test_a_trace_that_is_cut_by_a_file_boundary_is_joined(tmp_path: Path) -> None:
    rows = observations()
    files = [
        write_parquet(tmp_path / "1.parquet", rows[:3]),
        write(tmp_path, *map(exported, rows[2:]), name="2.jsonl"),
        write(tmp_path, trace(), name="traces.jsonl"),
        write(tmp_path, score("reward", 0.75), score("other", 1), name="scores.jsonl"),
    ]
    assert [recognise_format(file).name for file in files] == ["langfuse"] * 4
    together = langfuse.FORMAT.read_together
    assert together is not None
    (episode,) = good(together(files))
    check(episode)
    assert (episode.extra["metadata"]["session_id"], episode.reward) == ("s7", 0.75)


def test_only_a_single_number_named_reward_is_the_reward(tmp_path: Path) -> None:
    for scores in (
        [score("reward", 1), score("reward", 0)],
        [score("reward", 1, "CATEGORICAL", stringValue="good")],
        [score("quality", 1)],
    ):
        (episode,) = read(write(tmp_path, *observations(), *scores), "langfuse")
        assert episode.reward is None
        assert len(episode.extra["metadata"]["scores"]) == len(scores)


def test_of_several_versions_of_an_observation_the_one_that_ended_last_counts(tmp_path: Path) -> None:
    rows = observations()
    early = {**rows[2], "endTime": None, "output": None, "updatedAt": "2026-08-01T12:00:00.000Z"}
    older = {**rows[2], "output": {"dry": None}, "updatedAt": "2026-08-01T10:00:00.000Z"}
    newer = {**rows[2], "updatedAt": "2026-08-01T11:00:00.000Z"}
    for versions in ((early, older, newer), (newer, older, early), (newer, newer)):
        (episode,) = read(write(tmp_path, *rows[:2], *versions, *rows[3:]), "langfuse")
        check(episode)


def test_definitions_of_tools_are_no_results(tmp_path: Path) -> None:
    """The callback for LangChain appends them to the messages, with the role of a tool."""
    call = {"name": "scan", "args": {"plant": "A"}, "id": "c1", "type": "tool_call"}
    invalid = {"name": "scan", "args": "{x", "id": "c2", "error": "bad", "type": "invalid_tool_call"}
    said = {"role": "assistant", "content": "", "tool_calls": [call], "invalid_tool_calls": [invalid],
            "additional_kwargs": {"tool_calls": [{"id": "c2"}, {"id": "c1"}]}}  # fmt: skip
    given = [USER, *({"role": "tool", "content": one} for one in TOOLS)]
    (episode,) = read(write(tmp_path, generation(2, given, said)), "langfuse")
    assert [(one.id, one.arguments, one.result) for one in episode.calls] == [
        ("c2", "{x", UNANSWERED),
        ("c1", {"plant": "A"}, UNANSWERED),
    ]


def test_a_tool_message_is_the_result_of_its_call(tmp_path: Path) -> None:
    message = {"content": '{"dry": true}', "type": "tool", "name": "scan", "tool_call_id": "c1", "status": "success"}
    wrong = {**message, "content": "no plant B", "tool_call_id": "c2", "status": "error"}
    rows = [
        generation(2, [USER], {**LOOK, "content": None}),
        observation(3, "TOOL", "scan", "{'plant': 'B'}", wrong, level="ERROR", statusMessage="no plant B"),
        observation(4, "TOOL", "scan", "{'plant': 'A'}", message),
    ]
    (episode,) = read(write(tmp_path, *rows), "langfuse")
    assert [(one.id, one.result, one.error) for one in episode.calls] == [
        ("c1", {"dry": True}, None),
        ("c2", UNANSWERED, "no plant B"),
    ]


@pytest.mark.parametrize(
    "more",
    [
        {"metadata": {"color": "green", "inputs": {"plant": "A"}}, "input": "{'plant': 'A'}"},
        {"metadata": {"tool_call_id": "c9"}},
        {"metadata": {"attributes": {"gen_ai.tool.name": "scan"}}, "name": "running tool"},
        {"metadata": {"attributes": '{"ai.toolCall.name": "scan", "ai.toolCall.id": "c9"}'}, "name": "ai.toolCall"},
        {"name": "execute_tool scan", "type": "EVENT"},
        {"output": {"type": "tool", "content": "wet", "tool_call_id": "c9"}},
    ],
)
def test_spans_that_are_evidently_tools(tmp_path: Path, more: dict[str, Any]) -> None:
    """As version 2 of the SDK stores tools of LangChain, and as OpenTelemetry's spans are stored."""
    row = observation(3, "SPAN", "scan", {"plant": "A"}, "wet", parentObservationId=None) | more
    (episode,) = read(write(tmp_path, row), "langfuse")
    (call,) = episode.calls
    assert (call.tool, call.arguments, call.result) == ("scan", {"plant": "A"}, "wet")


def test_other_spans_are_no_calls(tmp_path: Path) -> None:
    rows = [observation(3, kind, "scan", {"plant": "A"}, "wet") for kind in ("SPAN", "EVENT", "CHAIN", "RETRIEVER")]
    said = generation(2, [USER], {"role": "assistant", "content": "Hm."})
    (episode,) = read(write(tmp_path, said, *({**row, "id": f"o{n}"} for n, row in enumerate(rows))), "langfuse")
    assert episode.calls == ()


@pytest.mark.parametrize("place", ["trace", "root"])
def test_without_generations_the_messages_of_the_whole_count(tmp_path: Path, place: str) -> None:
    """As in the state of a LangGraph, whose output repeats its input."""
    asked = {"messages": [["user", "Water A."]]}
    said = [
        {"type": "human", "content": "Water A."},
        {"type": "ai", "content": "", "tool_calls": [{"name": "scan", "args": {"plant": "A"}, "id": "c1"}]},
        {"type": "tool", "content": "wet", "tool_call_id": "c1", "status": "success"},
        {"type": "ai", "content": "Done."},
    ]
    held = {"input": asked, "output": {"messages": said}}
    root = observation(1, "CHAIN", "LangGraph", asked, held["output"], parentObservationId=None)
    file = write(tmp_path, trace(**held, observations=[root] if place == "root" else []))
    (episode,) = read(file, "langfuse")
    assert [(one.tool, one.result) for one in episode.calls] == [("scan", "wet")]
    assert [(one.role, one.content) for one in episode.messages] == [("user", "Water A."), ("assistant", "Done.")]


def test_a_model_call_that_failed_at_the_end_is_not_the_agents_fault(tmp_path: Path) -> None:
    rows = observations()
    failed = {**rows[-1], "output": None, "level": "ERROR", "statusMessage": "rate limit"}
    (episode,) = read(write(tmp_path, *rows[:-1], failed), "langfuse")
    assert (episode.outcome, episode.failure["message"]) == (FAILED_OUTSIDE, "rate limit")
    again = {**rows[-1], "id": "later", "startTime": "2026-08-01T10:00:09.000Z"}
    (episode,) = read(write(tmp_path, *rows[:-1], failed, again), "langfuse")
    assert episode.outcome is None


VERCEL = [
    {"type": "text", "text": "I look."},
    {"type": "tool-call", "toolCallId": "c1", "toolName": "scan", "input": {"plant": "A"}},
]
GEMINI = {"content": {"role": "model", "parts": [{"text": "Thus", "thought": True}, {"text": "I look."},
          {"function_call": {"name": "scan", "args": {"plant": "A"}}}]}}  # fmt: skip
RESPONSES = [
    {"type": "reasoning", "summary": []},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
    {"type": "function_call", "call_id": "c1", "name": "scan", "arguments": '{"plant": "A"}'},
]
ANTHROPIC = {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm"},
             {"type": "text", "text": "I look."},
             {"type": "tool_use", "id": "c1", "name": "scan", "input": {"plant": "A"}}]}  # fmt: skip
OTEL = [{"role": "assistant", "parts": [{"type": "text", "content": "I look."},
         {"type": "tool_call", "id": "c1", "name": "scan", "arguments": {"plant": "A"}}]}]  # fmt: skip
KOOG = [{"role": "assistant", "content": "I look."},
        {"role": "assistant", "content": json.dumps([called("c1", "scan", '{"plant": "A"}')])}]  # fmt: skip
AI_SDK = {"role": "assistant", "content": "I look.",
          "tool_calls": json.dumps([{"toolCallId": "c1", "toolName": "scan", "args": '{"plant": "A"}'}])}  # fmt: skip


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("output", [VERCEL, GEMINI, RESPONSES, ANTHROPIC, OTEL, KOOG, AI_SDK])
def test_outputs_in_the_forms_of_many_libraries(tmp_path: Path, output: Any, *, as_text: bool) -> None:
    row = generation(2, "Water A.", json.dumps(output) if as_text else output)
    (episode,) = read(write(tmp_path, row), "langfuse")
    (call,) = episode.calls
    assert (call.tool, call.arguments) == ("scan", {"plant": "A"})
    assert [(one.role, one.content) for one in episode.messages] == [("user", "Water A."), ("assistant", "I look.")]


@pytest.mark.parametrize(
    "given",
    [
        [USER, ANTHROPIC, {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "wet"}]}]}],
        {"instructions": "", "input": [USER, *RESPONSES,
            {"type": "function_call_output", "call_id": "c1", "output": "wet"}]},
        [USER, {"role": "assistant", "content": VERCEL}, {"role": "tool", "content": [
            {"type": "tool-result", "toolCallId": "c1", "output": {"type": "text", "value": "wet"}}]}],
        [USER, *OTEL, {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "wet"}]}],
    ],
)  # fmt: skip
def test_results_in_the_forms_of_many_libraries(tmp_path: Path, given: Any) -> None:
    rows = [generation(2, [USER], ANTHROPIC), generation(3, given, "Done.")]
    (episode,) = read(write(tmp_path, *rows), "langfuse")
    assert [(one.id, one.result) for one in episode.calls] == [("c1", "wet")]
    assert [one.content for one in episode.messages] == ["Water A.", "I look.", "Done."]


def test_tools_that_the_provider_ran_are_in_the_same_turn(tmp_path: Path) -> None:
    search = {"type": "web_search_call", "id": "w1", "status": "completed", "action": {"query": "A"}}
    (episode,) = read(write(tmp_path, generation(2, [USER], [search, *RESPONSES])), "langfuse")
    assert [(one.tool, one.arguments, one.turn, one.result) for one in episode.calls] == [
        ("web_search", {"query": "A"}, 1, None),
        ("scan", {"plant": "A"}, 1, UNANSWERED),
    ]


def test_what_was_not_exported_is_not_made_up(tmp_path: Path) -> None:
    row = observation(3, "TOOL", "scan", None, None)
    (problem,) = import_trace(write(tmp_path, row))
    assert isinstance(problem, Problem)
    assert "the arguments of a call of 'scan' were not recorded" in problem.message


def test_rows_of_other_kinds_are_reported(tmp_path: Path) -> None:
    found = outcomes(import_trace(write(tmp_path, *observations(), {"hello": 1}, [7])))
    assert found[-1] == 2
    assert "not one of the observations of Langfuse: it has hello" in str(found[0])
    assert "expected an object, not a number" in str(found[1])


def test_a_large_file_is_recognised_and_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corepath.importers.json_lines.LONGEST_LINE", 1000)
    file = tmp_path / "page.json"
    file.write_text(json.dumps({"meta": {"page": 1}, "data": observations()}))
    (episode,) = read(file, "langfuse")
    check(episode)


def test_only_the_start_of_a_file_is_read_to_recognise_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("corepath.importers.json_lines.LONGEST_LINE", 2000)
    monkeypatch.setattr("corepath.importers.row_files._START", 4000)
    page = json.dumps({"data": observations() * 20})
    for text in (page, page[:8000]):
        file = tmp_path / "page.json"
        file.write_text(text)
        assert recognise_format(file).name == "langfuse"


def test_without_pyarrow_the_message_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_parquet(tmp_path / "0.parquet", observations())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install 'corepath\[parquet\]'"):
        list(import_trace(file))


def test_broken_and_other_parquet_files(tmp_path: Path) -> None:
    whole = write_parquet(tmp_path / "0.parquet", observations())
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(whole.read_bytes()[:-40])
    (problem, *_) = langfuse.FORMAT.read(cut)
    assert isinstance(problem, Problem)
    assert "not a readable Parquet file" in problem.message
    other = tmp_path / "other.parquet"
    parquet.write_table(pa.table({"x": [1, 2]}), other)
    with pytest.raises(InputError, match="not a known format"):
        list(import_trace(other))


def test_pyarrow_is_imported_only_for_parquet(tmp_path: Path) -> None:
    file = write(tmp_path, *observations())
    code = "import sys; from corepath.importers import import_trace; [*import_trace(sys.argv[1])]; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True)
    assert "pyarrow" not in done.stdout.split()


ROWS = [*observations(), trace(), score("reward", 1)]


@given(st.data())
def test_damage_gives_an_episode_or_an_error_of_the_record(data: st.DataObject) -> None:
    survives(records_of(langfuse.FORMAT), data.draw(damaged(copy.deepcopy(ROWS))))


@pytest.mark.parametrize("output", [VERCEL, GEMINI, RESPONSES, ANTHROPIC, OTEL, KOOG, AI_SDK])
@given(st.data())
def test_damaged_messages_too(output: Any, data: st.DataObject) -> None:
    row = generation(2, data.draw(damaged([USER, output, LOOK])), data.draw(damaged(output)))
    survives(records_of(langfuse.FORMAT), row)
