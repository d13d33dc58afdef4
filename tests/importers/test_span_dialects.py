"""Spans of the Vercel AI SDK, Google's ADK, OpenLLMetry, and frameworks recorded by OpenInference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath import Episode
from corepath.errors import RecordError
from corepath.importers.formats import openinference, otel
from corepath.notation.call import UNANSWERED

from .damage import damaged, mismatch_of, read, records_of, survives, write
from .spans_by_hand import asks, chat, says, sent, span

MESSAGES = [
    ("system", "You water.", 0), ("user", "Water A.", 0), ("assistant", "I look.", 0), ("assistant", "I could not.", 2),
]  # fmt: skip
CALLS = [
    ("scan", {"plant": "A"}, {"dry": True}, None, "c1", 1),
    ("water", {"plant": "A"}, UNANSWERED, "no water", "c2", 2),
]


def only(*spans: dict[str, Any]) -> Episode:
    (episode,) = records_of(otel.FORMAT)(sent(*spans))
    return episode


def only_openinference(*spans: dict[str, Any]) -> Episode:
    (episode,) = records_of(openinference.FORMAT)(sent(*spans))
    return episode


def calls(episode: Episode) -> list[tuple[Any, ...]]:
    return [(call.tool, call.arguments, call.result, call.error, call.id, call.turn) for call in episode.calls]


def messages(episode: Episode) -> list[tuple[Any, ...]]:
    return [(one.role, one.content, one.before_call) for one in episode.messages]


# Vercel AI SDK


def vercel(number: int, operation: str, attributes: dict[str, Any], **more: Any) -> dict[str, Any]:
    told = {name: one if isinstance(one, (str, int)) else json.dumps(one) for name, one in attributes.items()}
    names = {"operation.name": f"{operation} garden", "ai.operationId": operation, "ai.telemetry.metadata.flow": "f"}
    return span(number, names | told, name=operation, **more)


def vercel_trace(form: str) -> list[dict[str, Any]]:
    """An agent as version 5 records it, or an older version with other names of the same things."""
    old = form == "old"
    given, result = ("args", "result") if old else ("input", "output")
    answer = "result" if old else "response"
    look = {"type": "tool-call", "toolCallId": "c1", "toolName": "scan", given: {"plant": "A"}}
    said = {"type": "text", "text": "I look."}
    dry = {"dry": True} if old else {"type": "json", "value": {"dry": True}}
    history = [
        {"role": "system", "content": "You water."},
        {"role": "user", "content": [{"type": "text", "text": "Water A."}]},
        {"role": "assistant", "content": [{"type": "reasoning", "text": "Hm."}, said, look]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c1", "toolName": "scan", result: dry}]},
    ]  # fmt: skip
    asked = [{"toolCallId": "c1", "toolName": "scan", given: '{"plant":"A"}'}]
    water = [{"toolCallId": "c2", "toolName": "water", given: '{"plant":"A"}'}]
    request = {"gen_ai.request.model": "gpt-x", "ai.usage.promptTokens": 10, "ai.usage.completionTokens": 5}
    kind = "ai.streamText" if form == "stream" else "ai.generateText"
    inner = f"{kind}.doStream" if form == "stream" else f"{kind}.doGenerate"
    tool = {"ai.toolCall.name": "water", "ai.toolCall.id": "c2", "ai.toolCall.args": {"plant": "A"}}
    scan = {**tool, "ai.toolCall.name": "scan", "ai.toolCall.id": "c1", "ai.toolCall.result": {"dry": True}}
    prompt = {"system": "You water.", "prompt": "Water A."}
    return [
        vercel(1, kind, {"ai.prompt": prompt, f"ai.{answer}.text": "I could not.", "ai.usage.promptTokens": 30}),
        vercel(2, inner, {
            **request, "ai.prompt.messages": history[:2], f"ai.{answer}.text": "I look.",
            f"ai.{answer}.toolCalls": asked,
        }, parent=1),
        vercel(3, "ai.toolCall", scan, parent=1),
        vercel(4, inner, {**request, "ai.prompt.messages": history, f"ai.{answer}.toolCalls": water}, parent=1),
        vercel(5, "ai.toolCall", tool, parent=1, status={"code": 2, "message": "no water"}),
        vercel(6, inner, {**request, "ai.prompt.messages": history, f"ai.{answer}.text": "I could not."}, parent=1),
    ]  # fmt: skip


@pytest.mark.parametrize("form", ["new", "old", "stream"])
def test_spans_of_the_vercel_ai_sdk_are_read(form: str, tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, sent(*vercel_trace(form))), "otel")
    assert (calls(episode), messages(episode), episode.answer) == (CALLS, MESSAGES, "I could not.")
    assert episode.extra["usage"] == {"requests": 3, "input_tokens": 30, "output_tokens": 15}
    told = episode.extra["metadata"]
    assert told["ai.telemetry.metadata.flow"] == "f"
    assert not any(name.startswith(("ai.prompt", "ai.response", "ai.toolCall")) for name in told)


def test_without_tool_spans_the_next_request_tells_results_and_errors() -> None:
    spans = vercel_trace("new")
    failed = {"type": "tool-result", "toolCallId": "c2", "output": {"type": "error-text", "value": "no water"}}
    history = json.loads(spans[5]["attributes"][6]["value"]["stringValue"])
    more = [*history, {"role": "assistant", "content": []}, {"role": "tool", "content": [failed]}]
    last = vercel(6, "ai.generateText.doGenerate", {"ai.prompt.messages": more, "ai.response.text": "I could not."})
    assert calls(only(spans[1], spans[3], last)) == CALLS


def test_what_an_agent_of_the_vercel_ai_sdk_said_is_read_where_no_request_tells_it() -> None:
    episode = only(vercel_trace("new")[0])
    assert messages(episode) == [("system", "You water.", 0), ("user", "Water A.", 0), ("assistant", "I could not.", 0)]
    made = vercel(1, "ai.generateObject.doGenerate", {"ai.response.object": {"dry": True}})
    assert only(made).answer == '{"dry": true}'
    assert mismatch_of(otel.FORMAT, sent(vercel(1, "ai.embed.doEmbed", {"ai.values": ["x"]}))) is not None


# Google's ADK


def adk(number: int, request: list[dict[str, Any]], parts: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    config = {"system_instruction": "You water."}
    attributes = {
        "gen_ai.system": "gcp.vertex.agent", "gen_ai.request.model": "gemini-x", "gen_ai.usage.input_tokens": 10,
        "gcp.vertex.agent.llm_request": json.dumps({"model": "gemini-x", "config": config, "contents": request}),
        "gcp.vertex.agent.llm_response": json.dumps({"content": {"role": "model", "parts": parts}}),
    }  # fmt: skip
    return span(number, attributes, name="call_llm", **more)


def adk_tool(number: int, tool: str, id_: str, result: str, **more: Any) -> dict[str, Any]:
    attributes = {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, "gen_ai.tool.call.id": id_,
        "gcp.vertex.agent.tool_call_args": '{"plant": "A"}', "gcp.vertex.agent.tool_response": result,
        "gcp.vertex.agent.llm_request": "{}", "gcp.vertex.agent.llm_response": "{}",
    }  # fmt: skip
    return span(number, attributes, name=f"execute_tool {tool}", **more)


def adk_call(tool: str, id_: str | None = None) -> dict[str, Any]:
    return {"function_call": {"name": tool, "args": {"plant": "A"}} | ({} if id_ is None else {"id": id_})}


def adk_trace() -> list[dict[str, Any]]:
    """An agent that scans a plant and hands over to a second one, which fails to water it."""
    asked = {"role": "user", "parts": [{"text": "Water A."}]}
    quoted = {"role": "user", "parts": [{"text": "For context:"}, {"text": "[looker] said: I look."}]}
    raised = [{"name": "exception", "attributes": span(0, {"exception.message": "no water"})["attributes"]}]
    return [
        span(1, {}, name="invocation"),
        span(2, {}, name="agent_run [looker]", parent=1),
        adk(3, [asked], [{"text": "Hm.", "thought": True}, {"text": "I look."}, adk_call("scan", "c1")], parent=2),
        adk_tool(4, "scan", "c1", '{"dry": true}', parent=3),
        adk_tool(5, "(merged tools)", "e1", "<not serializable>", parent=3),
        span(6, {}, name="agent_run [waterer]", parent=3),
        adk(7, [asked, quoted], [adk_call("water", "c2")], parent=6),
        span(8, {}, name="execute_tool water", parent=7, status={"code": 2}, events=raised),
        adk(9, [asked, quoted], [{"text": "I could not."}], parent=6),
    ]


def test_spans_of_googles_adk_are_read(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, sent(*adk_trace())), "otel")
    assert calls(episode) == CALLS
    quoted = ("system", "For context:\n[looker] said: I look.", 1)
    assert messages(episode) == [*MESSAGES[:3], quoted, MESSAGES[3]]
    assert episode.extra["usage"] == {"requests": 3, "input_tokens": 30}
    assert not any("llm_" in name or "tool_" in name for name in episode.extra["metadata"])


def test_calls_of_adk_without_ids_are_joined_with_their_tools() -> None:
    asked = {"role": "user", "parts": [{"text": "Water A."}]}
    spans = [adk(1, [asked], [adk_call("scan")]), adk_tool(2, "scan", "adk-1", '{"dry": true}', parent=1)]
    assert [(call.tool, call.result) for call in only(*spans).calls] == [("scan", {"dry": True})]


def test_content_that_adk_did_not_capture_is_no_content() -> None:
    attributes = {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "scan", "gen_ai.tool.call.id": "<not specified>",
        "gcp.vertex.agent.tool_call_args": "{}", "gcp.vertex.agent.tool_response": "{}",
    }  # fmt: skip
    with pytest.raises(RecordError, match=r"the arguments of a call of 'scan' were not recorded"):
        only(span(1, attributes))
    (call,) = only(span(1, {**attributes, "gcp.vertex.agent.tool_response": '{"result": null}'})).calls
    assert (call.arguments, call.result, call.id) == ({}, {"result": None}, None)
    quiet = span(1, {"gen_ai.request.model": "m", "gcp.vertex.agent.llm_response": "<not serializable>"})
    assert calls(only(quiet, adk_tool(2, "scan", "c1", '{"dry": true}'))) == CALLS[:1]


# OpenLLMetry


def test_tools_of_openllmetry_have_their_arguments_in_the_entity() -> None:
    def entity(number: int, name: str, **told: Any) -> dict[str, Any]:
        values = {f"traceloop.entity.{key}": json.dumps(one) for key, one in told.items()}
        return span(number, {"traceloop.span.kind": "tool", "traceloop.entity.name": name, **values})

    message = {"content": '{"dry": true}', "tool_call_id": "c1", "status": "success"}
    lc = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "ToolMessage"], "kwargs": message}
    inputs = {"input_str": "{'plant': 'A'}", "inputs": {"plant": "A"}, "kwargs": {"tool_call_id": "c1"}}
    workflow = span(1, {"traceloop.span.kind": "workflow", "traceloop.entity.name": "flow"})
    task = span(6, {"traceloop.span.kind": "task", "traceloop.entity.name": "plan"})
    spans = [
        entity(2, "scan", input={"args": [], "kwargs": {"plant": "A"}}, output={"dry": True}),
        entity(3, "scan", input=inputs, output={"output": lc, "kwargs": {"color": "green"}}),
        entity(4, "scan", input={"args": ["A"], "kwargs": {}}),
        entity(5, "scan", input=inputs, output={"output": "dry", "kwargs": {}}),
    ]
    assert [(call.arguments, call.result, call.id) for call in only(workflow, *spans, task).calls] == [
        ({"plant": "A"}, {"dry": True}, None),
        ({"plant": "A"}, {"dry": True}, "c1"),
        ({"args": ["A"], "kwargs": {}}, UNANSWERED, None),
        ({"plant": "A"}, "dry", "c1"),
    ]


def test_embeddings_of_openllmetry_are_no_requests() -> None:
    embedded = span(2, {"llm.request.type": "embedding", "gen_ai.request.model": "e", "gen_ai.usage.input_tokens": 9})
    episode = only(chat(1, [asks(("c1", "scan", {}))]), embedded, chat(3, [says("Done.")]))
    assert (episode.agent, "usage" in episode.extra) == ("gpt-x", False)


# Frameworks recorded by OpenInference


def oi_tool(number: int, given: Any, output: Any, **more: Any) -> dict[str, Any]:
    told = {"input.value": json.dumps(given), "output.value": json.dumps(output)}
    return span(number, {"openinference.span.kind": "TOOL", "tool.name": "scan", **told, **more})


def test_wrapped_results_and_arguments_of_frameworks_are_unwrapped() -> None:
    langchain = {"type": "tool", "data": {"content": "[1]", "tool_call_id": "c1", "status": "success"}}
    failed = {"type": "tool", "data": {"content": "no", "tool_call_id": "c2", "status": "error"}}
    by_place = {"args": ["A"], "sanitize_inputs_outputs": False, "kwargs": {"deep": True}}
    parameters = {"tool.parameters": json.dumps({"plant": {"type": "string"}, "deep": {"type": "boolean"}})}
    episode = only_openinference(
        oi_tool(1, {"plant": "A"}, langchain),
        oi_tool(2, {"plant": "A"}, failed),
        oi_tool(3, by_place, {"dry": True}, **parameters),
        oi_tool(4, {"plant": "A"}, {"id": "adk-1", "name": "scan", "response": {"dry": True}}),
    )
    assert [(call.arguments, call.result, call.error, call.id) for call in episode.calls] == [
        ({"plant": "A"}, [1], None, "c1"),
        ({"plant": "A"}, UNANSWERED, "no", "c2"),
        ({"plant": "A", "deep": True}, {"dry": True}, None, None),
        ({"plant": "A"}, {"dry": True}, None, None),
    ]


def test_a_span_with_both_conventions_is_read_once() -> None:
    both = {"openinference.span.kind": "TOOL", "tool.name": "scan", "gen_ai.operation.name": "execute_tool"}
    both |= {"gen_ai.tool.name": "scan", "gen_ai.tool.call.id": "c1", "gen_ai.tool.call.arguments": '{"plant": "A"}'}
    one = span(1, {**both, "output.value": '{"dry": true}'})
    two = span(1, {**both, "gen_ai.tool.call.result": '{"dry": true}'})
    for made in (only_openinference(one), only_openinference(two), only(two)):
        assert [one[:5] for one in calls(made)] == [one[:5] for one in CALLS[:1]]


def test_spans_to_which_phoenix_gave_a_kind_are_read_by_their_own_convention(tmp_path: Path) -> None:
    for spans in (vercel_trace("new"), adk_trace()):
        for one in spans:
            names = {pair["key"] for pair in one["attributes"]}
            kind = "LLM" if "gen_ai.request.model" in names else "TOOL" if "gen_ai.tool.name" in names else None
            if kind is not None:
                one["attributes"].append({"key": "openinference.span.kind", "value": {"stringValue": kind}})
        (episode,) = read(write(tmp_path, sent(*spans)), "otel")
        assert calls(episode) == CALLS


@given(st.data())
def test_broken_spans_give_episodes_or_an_error(data: st.DataObject) -> None:
    spans = data.draw(st.sampled_from([vercel_trace("new"), vercel_trace("old"), adk_trace()]))
    survives(records_of(otel.FORMAT), data.draw(damaged(sent(*spans))))


@given(st.data())
def test_broken_content_gives_episodes_or_an_error(data: st.DataObject) -> None:
    spans = data.draw(st.sampled_from([vercel_trace("new"), adk_trace()]))
    for one in spans:
        for pair in one["attributes"]:
            text = pair["value"].get("stringValue", "")
            if text[:1] in ("[", "{"):
                pair["value"]["stringValue"] = json.dumps(data.draw(damaged(json.loads(text))))
    survives(records_of(otel.FORMAT), sent(*spans))
