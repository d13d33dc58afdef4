"""OpenInference spans: written by hand, written by its own instrumentation, and broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath import Call, Episode
from corepath.errors import RecordError
from corepath.importers.formats import openinference, otel
from corepath.importers.reading import Sample
from corepath.notation.call import UNANSWERED

from .damage import damaged, read, records_of, survives, write
from .spans_by_hand import TRACE, sent, span

USER = {"role": "user", "content": "Water A."}
LOOK = {
    "role": "assistant",
    "content": "I look.",
    "tool_calls": [("c1", "scan", '{"plant": "A"}'), ("c2", "scan", "{x")],
}
DRY = {"role": "tool", "tool_call_id": "c1", "content": '{"dry": true}'}


def messages(prefix: str, *given: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for number, message in enumerate(given):
        for name, value in message.items():
            if name != "tool_calls":
                made[f"{prefix}.{number}.message.{name}"] = value
                continue
            for place, (id_, tool, arguments) in enumerate(value):
                call = f"{prefix}.{number}.message.tool_calls.{place}.tool_call"
                made |= {f"{call}.id": id_, f"{call}.function.name": tool, f"{call}.function.arguments": arguments}
    return made


def llm(number: int, said: list[dict[str, Any]], history: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    told = messages("llm.input_messages", *history) | messages("llm.output_messages", *said)
    return span(number, {"openinference.span.kind": "LLM", "llm.model_name": "gpt-x", **told}, **more)


def tool(number: int, name: str, told: dict[str, Any], **more: Any) -> dict[str, Any]:
    return span(number, {"openinference.span.kind": "TOOL", "tool.name": name, **told}, **more)


def trace() -> list[dict[str, Any]]:
    return [
        span(1, {"openinference.span.kind": "AGENT", "session.id": "s7", "input.value": "Water A."}, name="run"),
        llm(2, [LOOK], [USER], parent=1),
        tool(3, "scan", {"tool_call.id": "c1", "output.value": '{"dry": true}'}, parent=1),
        tool(4, "scan", {"tool_call.id": "c2"}, parent=1, status={"code": "STATUS_CODE_ERROR", "message": "no JSON"}),
        llm(5, [{"role": "assistant", "content": "Done."}], [USER, LOOK, DRY], parent=1),
    ]


def only(*spans: dict[str, Any]) -> Episode:
    (episode,) = records_of(openinference.FORMAT)(sent(*spans))
    return episode


def test_a_trace_gives_its_episode(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, *(sent(one) for one in trace())), "openinference")
    assert episode.calls == (
        Call("scan", {"plant": "A"}, {"dry": True}, id="c1", turn=1),
        Call("scan", "{x", error="no JSON", id="c2", turn=1),
    )
    assert (episode.agent, episode.answer) == ("gpt-x", "Done.")
    told = episode.extra["metadata"]
    assert (told["trace_id"], told["session.id"], told["service.name"]) == (TRACE, "s7", "garden")
    assert "input.value" not in told


def test_results_come_from_the_next_input_where_there_is_no_tool_span() -> None:
    first, second = only(*(trace()[place] for place in (1, 4))).calls
    assert (first.result, second.result) == ({"dry": True}, UNANSWERED)


def test_more_than_ten_messages_stay_in_their_order() -> None:
    calls = [(f"c{number}", "note", json.dumps({"number": number})) for number in range(12)]
    episode = only(llm(1, [{"role": "assistant", "tool_calls": calls}], [USER]))
    assert [call.arguments["number"] for call in episode.calls] == list(range(12))
    spread = [{"role": "assistant", "tool_calls": [one]} for one in calls]
    assert [call.id for call in only(llm(1, spread, [USER])).calls] == [f"c{number}" for number in range(12)]


def test_tool_spans_alone_are_calls_and_a_tools_message_as_output_is_its_content() -> None:
    message = {"type": "tool", "content": "too dry", "tool_call_id": "c9", "status": "error"}
    good = {"type": "tool", "content": "[1]", "tool_call_id": "c8"}
    episode = only(
        tool(1, "scan", {"input.value": '{"plant": "A"}', "output.value": json.dumps(good)}),
        tool(2, "water", {"input.value": "all", "output.value": json.dumps(message)}),
    )
    assert episode.calls == (
        Call("scan", {"plant": "A"}, [1], id="c8"),
        Call("water", "all", error="too dry", id="c9"),
    )


def test_what_was_hidden_is_not_recorded() -> None:
    hidden = {"input.value": "__REDACTED__", "output.value": "__REDACTED__", "tool_call.id": "c1"}
    with pytest.raises(RecordError, match=r"the arguments of a call of 'scan' \(id 'c1'\) were not recorded: turn off"):
        only(tool(1, "scan", hidden))
    (first, _) = only(llm(1, [{**LOOK, "content": "__REDACTED__"}], [USER]), tool(2, "scan", hidden)).calls
    assert (first.arguments, first.result) == ({"plant": "A"}, UNANSWERED)
    unheard = {**DRY, "content": "__REDACTED__"}
    episode = only(llm(1, [{**LOOK, "content": "__REDACTED__"}], [USER]), llm(2, [], [USER, LOOK, unheard]))
    assert (episode.calls[0].result, [one.role for one in episode.messages]) == (UNANSWERED, ["user"])


def test_contents_of_several_parts_the_old_function_call_and_plain_output_are_read() -> None:
    parts = {
        "contents.0.message_content.type": "text", "contents.0.message_content.text": "One.",
        "contents.1.message_content.type": "image", "contents.2.message_content.type": "text",
        "contents.2.message_content.text": "Two.",
    }  # fmt: skip
    old = {"role": "assistant", "function_call_name": "scan", "function_call_arguments_json": '{"plant": "A"}'}
    first = llm(1, [old], [USER])
    second = llm(2, [{"role": "assistant", **parts}], [USER, {"role": "function", "content": "dry"}])
    episode = only(first, second)
    assert episode.calls == (Call("scan", {"plant": "A"}, "dry", turn=1),)
    assert episode.answer == "One.\nTwo."
    assert only(span(1, {"openinference.span.kind": "llm", "output.value": "Yes."})).answer == "Yes."


def test_an_llm_span_inside_another_tells_of_the_same_calls() -> None:
    assert len(only(llm(1, [LOOK], [USER]), llm(2, [LOOK], [USER], parent=1)).calls) == 2


def test_broken_attributes_are_named() -> None:
    bad = span(1, {"openinference.span.kind": "LLM", "llm.output_messages.0.message.tool_calls.0.tool_call": "x"})
    with pytest.raises(RecordError, match=r"span 0000000000000001: a tool call must have 'tool_call.function.name'"):
        only(bad)


@given(st.data())
def test_broken_spans_give_episodes_or_an_error(data: st.DataObject) -> None:
    survives(records_of(openinference.FORMAT), data.draw(damaged(sent(*trace()))))


@given(st.data())
def test_broken_names_of_attributes_give_episodes_or_an_error(data: st.DataObject) -> None:
    spans = [{**one, "attributes": [dict(pair) for pair in one["attributes"]]} for one in trace()]
    for _ in range(data.draw(st.integers(1, 4))):
        pair = data.draw(st.sampled_from(data.draw(st.sampled_from(spans))["attributes"]))
        parts = pair["key"].split(".")
        place = data.draw(st.integers(0, len(parts) - 1))
        parts[place : place + 1] = data.draw(st.sampled_from([[], ["0"], ["x"], ["message", "0"], ["²"]]))
        pair["key"] = ".".join(parts)
    survives(records_of(openinference.FORMAT), sent(*spans))


def test_spans_of_its_own_instrumentation_are_read(tmp_path: Path) -> None:
    """Import spans of openinference-instrumentation-openai, exported with opentelemetry-exporter-otlp-json-file."""
    from openinference.instrumentation.openai import OpenAIInstrumentor
    from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter

    from .vendors import talk_to_openai

    file = tmp_path / "spans.jsonl"
    talk_to_openai(OpenAIInstrumentor(), FileSpanExporter(file))
    (episode,) = read(file, "openinference")
    assert episode.calls == (
        Call("scan", {"plant": "A"}, {"dry": True}, id="c1", turn=1),
        Call("scan", {"plant": "B"}, {"dry": True}, id="c2", turn=1),
    )
    assert (episode.agent, episode.answer) == ("m", "Done."), "the name that the server gives itself"
    assert episode.extra["metadata"]["flow"] == "water"
    assert otel.FORMAT.recognise(Sample(file)) is not None
