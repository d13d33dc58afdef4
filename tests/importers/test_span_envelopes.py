"""Spans as tracing backends return them: Tempo, Jaeger, Phoenix and Zipkin, whole, in parts and broken."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath import Call, Episode
from corepath.errors import Problem
from corepath.importers import import_trace
from corepath.importers.formats import openinference, otel
from corepath.importers.otlp import attributes_of

from .damage import damaged, outcomes, read, records_of, survives
from .spans_by_hand import TRACE, answers, asks, chat, ran, says, sent, span

USER = says("Water A.", "user")
LOOK = asks(("c1", "scan", {"plant": "A"}), text="I look.")
START = 1_700_000_000_000_000_000


def spans() -> list[dict[str, Any]]:
    """An agent that scans a plant, fails to water it and reports it. Each span takes a millisecond."""
    raised = [{"name": "exception", "attributes": span(0, {"exception.message": "no water"})["attributes"]}]
    failed: dict[str, Any] = {"status": {"code": 2, "message": "ValueError: no water"}, "events": raised}
    water = asks(("c2", "water", {"plant": "A"}))
    made = [
        span(1, {"flow": "water"}, name="run"),
        chat(2, [LOOK], [USER], parent=1),
        ran(3, "scan", "c1", told={"result": '{"dry": true}'}, parent=1),
        chat(4, [water], [USER, LOOK, answers("c1", "{}")], parent=1),
        ran(5, "water", "c2", parent=1, **failed),
        chat(6, [says("I could not.")], [USER, LOOK, answers("c1", "{}"), water], parent=1),
    ]
    return [
        {**one, "startTimeUnixNano": str(START + n * 10**9), "endTimeUnixNano": str(START + n * 10**9 + 10**6)}
        for n, one in enumerate(made)
    ]


def openinference_spans() -> list[dict[str, Any]]:
    """The same agent, recorded with OpenInference."""
    texts = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Water A."}
    calls = [("c1", "scan"), ("c2", "water")]
    made = [spans()[0]]
    for number, (id_, tool) in enumerate(calls):
        call = "llm.output_messages.0.message.tool_calls.0.tool_call"
        said = {f"{call}.id": id_, f"{call}.function.name": tool, f"{call}.function.arguments": '{"plant": "A"}'}
        said |= {"llm.output_messages.0.message.role": "assistant"}
        said |= {} if number else {"llm.output_messages.0.message.content": "I look."}
        asked = span(0, {"openinference.span.kind": "LLM", "llm.model_name": "gpt-x", **texts, **said})
        made.append({**spans()[1 + 2 * number], "attributes": asked["attributes"]})
        told = {"openinference.span.kind": "TOOL", "tool.name": tool, "tool_call.id": id_}
        told |= {} if number else {"output.value": '{"dry": true}'}
        made.append({**spans()[2 + 2 * number], "attributes": span(0, told)["attributes"]})
    last = {"llm.output_messages.0.message.content": "I could not."}
    done = span(0, {"openinference.span.kind": "LLM", "llm.model_name": "gpt-x", **texts, **last})
    return [*made, {**spans()[5], "attributes": done["attributes"]}]


def check(episode: Episode) -> None:
    assert [(call.tool, call.arguments, call.result, call.error, call.id, call.turn) for call in episode.calls] == [
        ("scan", {"plant": "A"}, {"dry": True}, None, "c1", 1),
        ("water", {"plant": "A"}, Call("water", {}).result, "no water", "c2", 2),
    ]
    assert [(call.time, call.extra["seconds"]) for call in episode.calls] == [
        (START / 10**9 + 2, 0.001), (START / 10**9 + 4, 0.001),
    ]  # fmt: skip
    assert [(one.role, one.content, one.before_call) for one in episode.messages] == [
        ("user", "Water A.", 0), ("assistant", "I look.", 0), ("assistant", "I could not.", 2),
    ]  # fmt: skip
    assert (episode.agent, episode.answer) == ("gpt-x", "I could not.")
    assert (episode.extra["metadata"]["trace_id"], episode.extra["metadata"]["flow"]) == (TRACE, "water")


def tempo(given: list[dict[str, Any]], scopes: str = "scopeSpans") -> list[dict[str, Any]]:
    """Batches of Tempo, with ids in base64 and names of enumerations."""
    coded = []
    for one in given:
        ids = {name: base64.b64encode(bytes.fromhex(one[name])).decode() for name in one if name.endswith("Id")}
        code = "STATUS_CODE_ERROR" if one.get("status") else "STATUS_CODE_UNSET"
        coded.append({**one, **ids, "status": {**one.get("status", {}), "code": code}})
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "garden"}}]}
    return [{"resource": resource, scopes: [{"spans": [one]}]} for one in coded]


def tags(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    types = {str: "string", bool: "bool", int: "int64"}
    return [{"key": key, "type": types[type(one)], "value": one} for key, one in attributes.items()]


def jaeger(given: list[dict[str, Any]]) -> dict[str, Any]:
    """A trace as Jaeger's API returns it, with times in microseconds."""
    made = []
    for one in given:
        failed = {"otel.status_code": "ERROR", "otel.status_description": "ValueError: no water", "error": True}
        logs = [
            {"timestamp": 1, "fields": tags({"event": event["name"], **attributes_of(event["attributes"])})}
            for event in one.get("events", [])
        ]
        above = {"refType": "CHILD_OF", "traceID": TRACE, "spanID": one.get("parentSpanId")}
        made.append({
            "traceID": TRACE, "spanID": one["spanId"], "operationName": one["name"], "processID": "p1",
            "references": [above] if "parentSpanId" in one else [], "startTime": int(one["startTimeUnixNano"]) // 1000,
            "duration": 1000, "tags": tags(attributes_of(one["attributes"]) | (failed if "status" in one else {})),
            "logs": logs, "warnings": None,
        })  # fmt: skip
    processes = {"p1": {"serviceName": "garden", "tags": tags({"host.name": "h"})}}
    trace = {"traceID": TRACE, "spans": made, "processes": processes, "warnings": None}
    return {"data": [trace], "total": 0, "limit": 0, "offset": 0, "errors": None}


def zipkin(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {
            "traceId": TRACE, "id": one["spanId"], "parentId": one.get("parentSpanId"), "name": one["name"],
            "timestamp": int(one["startTimeUnixNano"]) // 1000, "duration": 1000,
            "localEndpoint": {"serviceName": "garden"},
            "tags": attributes_of(one["attributes"]) | ({"error": "no water"} if "status" in one else {}),
        }
        for one in given
    ]  # fmt: skip


BACKENDS: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "tempo": lambda given: {"batches": tempo(given)},
    "tempo, older": lambda given: {"batches": tempo(given, "instrumentationLibrarySpans")},
    "tempo, by trace": lambda given: {"trace": {"batches": tempo(given)}},
    "tempo, version 2": lambda given: {"trace": {"resourceSpans": tempo(given)}, "metrics": {"bytes": "1"}},
    "jaeger": jaeger,
    "jaeger, one trace": lambda given: jaeger(given)["data"][0],
    "jaeger, version 3": lambda given: {"result": {"resourceSpans": tempo(given)}},
    "zipkin": zipkin,
    "zipkin, traces": lambda given: [zipkin(given)],
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", ["one line", "many lines", "in parts", "list"])
def test_a_backend_returns_the_same_episode(backend: str, form: str, tmp_path: Path, monkeypatch: Any) -> None:
    if form == "in parts":
        monkeypatch.setattr("corepath.importers.json_lines.LONGEST_LINE", 500)
    value = BACKENDS[backend](spans())
    file = tmp_path / "trace.json"
    text = json.dumps([value] if form == "list" else value, indent=1 if form == "many lines" else None)
    file.write_text(text, encoding="utf-8")
    (episode,) = read(file, "otel")
    check(episode)
    assert episode.extra["metadata"]["service.name"] == "garden"


def test_jaeger_marks_errors_by_a_tag_and_may_name_the_parent_itself() -> None:
    trace = jaeger(spans())
    for one in trace["data"][0]["spans"]:
        one["tags"] = [tag for tag in one["tags"] if not tag["key"].startswith("otel.status")]
        if one["references"]:
            one["parentSpanID"] = one.pop("references")[0]["spanID"]
    (episode,) = records_of(otel.FORMAT)(trace)
    check(episode)


def flat(one: dict[str, Any]) -> dict[str, Any]:
    """A span as the client and the API of Phoenix return it."""
    attributes = attributes_of(one["attributes"])
    return {
        "id": "U3Bhbjox", "name": one["name"], "context": {"trace_id": TRACE, "span_id": one["spanId"]},
        "span_kind": attributes.pop("openinference.span.kind", "UNKNOWN"), "parent_id": one.get("parentSpanId"),
        "start_time": f"2023-11-14T22:13:{20 + (int(one['startTimeUnixNano']) - START) // 10**9}+00:00",
        "end_time": f"2023-11-14T22:13:{20 + (int(one['startTimeUnixNano']) - START) // 10**9}.001000+00:00",
        "status_code": "ERROR" if "status" in one else "OK",
        "status_message": one.get("status", {}).get("message", ""), "attributes": attributes,
        "events": [
            {"name": event["name"], "timestamp": "x", "attributes": attributes_of(event["attributes"])}
            for event in one.get("events", [])
        ],
    }  # fmt: skip


def nested(one: dict[str, Any]) -> dict[str, Any]:
    """A span of Phoenix with nested attributes, as its database has them."""
    made: dict[str, Any] = {}
    for name, value in flat(one)["attributes"].items():
        inner, parts = made, name.split(".")
        for part in parts[:-1]:
            inner = inner.setdefault(part, {})
        inner[parts[-1]] = value

    def listed(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        inner = {key: listed(item) for key, item in value.items()}
        return list(inner.values()) if inner and all(key.isdecimal() for key in inner) else inner

    return {**flat(one), "attributes": listed(made)}


def row(one: dict[str, Any]) -> dict[str, Any]:
    """A row of the data frame of Phoenix, with times in milliseconds and null where another row has a value."""
    given = flat(one)
    attributes = nested(one)["attributes"]
    messages = attributes.get("llm", {})
    columns = {f"attributes.{name}": value for name, value in given["attributes"].items() if "messages" not in name}
    columns |= {f"attributes.llm.{name}": messages.get(name) for name in ("input_messages", "output_messages")}
    start = int(one["startTimeUnixNano"]) // 10**6
    kept = {name: given[name] for name in ("name", "span_kind", "parent_id", "status_code", "status_message", "events")}
    times = {"start_time": start, "end_time": start + 1}
    return {**kept, **times, "context.trace_id": TRACE, "context.span_id": one["spanId"], **columns}


def rows() -> list[dict[str, Any]]:
    made = [row(one) for one in openinference_spans()]
    names = dict.fromkeys(name for one in made for name in one)
    return [{name: one.get(name) for name in names} for one in made]


def by_columns() -> dict[str, dict[str, Any]]:
    """A data frame as `to_json` writes it. The index, which has the ids of the spans, is no column."""
    made = rows()
    ids = [one.pop("context.span_id") for one in made]
    return {name: dict(zip(ids, (one[name] for one in made), strict=True)) for name in made[0]}


PHOENIX: dict[str, Callable[[], Any]] = {
    "API": lambda: {"data": [flat(one) for one in openinference_spans()], "next_cursor": None},
    "client": lambda: [flat(one) for one in openinference_spans()],
    "nested": lambda: {"data": [nested(one) for one in openinference_spans()]},
    "rows": rows,
    "columns": by_columns,
    "OTLP": lambda: {"data": openinference_spans(), "next_cursor": "U3Bhbjox"},
}


@pytest.mark.parametrize("source", PHOENIX)
@pytest.mark.parametrize("form", ["one line", "many lines", "in parts"])
def test_phoenix_returns_the_same_episode(source: str, form: str, tmp_path: Path, monkeypatch: Any) -> None:
    if form == "in parts":
        monkeypatch.setattr("corepath.importers.json_lines.LONGEST_LINE", 500)
    file = tmp_path / "trace.json"
    indent = 1 if form == "many lines" and source != "columns" else None
    file.write_text(json.dumps(PHOENIX[source](), indent=indent), encoding="utf-8")
    (episode,) = read(file, "openinference")
    check(episode)


@pytest.mark.parametrize("source", ["client", "nested", "rows"])
def test_phoenix_may_write_lines(source: str, tmp_path: Path) -> None:
    made = PHOENIX[source]()
    made = made["data"] if isinstance(made, dict) else made
    file = tmp_path / "spans.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in made), encoding="utf-8")
    (episode,) = read(file, "openinference")
    check(episode)


def test_phoenix_also_returns_other_conventions() -> None:
    (episode,) = records_of(otel.FORMAT)({"data": [nested(one) for one in spans()]})
    check(episode)


def test_a_table_that_is_cut_is_reported(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("corepath.importers.json_lines.LONGEST_LINE", 500)
    file = tmp_path / "trace.json"
    file.write_text(json.dumps(by_columns())[:-30], encoding="utf-8")
    cut, nothing = outcomes(import_trace(file, "openinference"))
    assert "not JSON" in str(cut)
    assert "no trace has a span with openinference.span.kind" in str(nothing)


def test_other_objects_with_the_same_fields_have_no_spans(tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    others: list[Any] = [{"data": [{"a": 1}]}, {"trace": "x"}, {"result": {"b": [1]}}, {"spans": 5}, {"data": []}]
    for value in others:
        for indent in (None, 1):
            file.write_text(json.dumps(value, indent=indent), encoding="utf-8")
            made = list(import_trace(file, "otel"))
            assert made
            assert all(isinstance(one, Problem) for one in made), value


@given(st.data())
def test_broken_envelopes_give_episodes_or_an_error(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["tempo", "jaeger", "zipkin", "tempo, version 2"]))
    survives(records_of(otel.FORMAT), data.draw(damaged(BACKENDS[kind](spans()))))


@given(st.data())
def test_broken_spans_of_phoenix_give_episodes_or_an_error(data: st.DataObject) -> None:
    made = PHOENIX[data.draw(st.sampled_from(sorted(PHOENIX)))]()
    survives(records_of(openinference.FORMAT), data.draw(damaged(made)))


@given(data=st.data())
def test_a_broken_file_gives_episodes_and_problems(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    value: Any = data.draw(st.sampled_from([jaeger(spans()), {"trace": {"batches": tempo(spans())}}, by_columns()]))
    text = json.dumps(value, indent=data.draw(st.sampled_from([None, 1])))
    file = tmp_path_factory.mktemp("cut") / "spans.json"
    file.write_text(text[: data.draw(st.integers(1, len(text)))], encoding="utf-8")
    assert all(isinstance(one, (Episode, Problem)) for one in import_trace(file, "otel"))


def test_spans_in_groups_still_have_their_own_form() -> None:
    (episode,) = records_of(otel.FORMAT)(sent(*spans()))
    check(episode)
