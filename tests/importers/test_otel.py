"""OpenTelemetry GenAI spans: written by hand, written by vendors' packages, and broken."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath import Call, Episode
from corepath.errors import InputError, Problem, RecordError
from corepath.importers import import_trace
from corepath.importers.formats import openinference, otel
from corepath.importers.registry import recognise_format
from corepath.notation.call import UNANSWERED

from .damage import damaged, good, mismatch_of, outcomes, read, records_of, survives, write
from .spans_by_hand import TRACE, answers, asks, chat, ran, says, sent, span

USER = says("Water A.", "user")
LOOK = asks(("c1", "scan", {"plant": "A"}), ("c2", "scan", {"plant": "B"}), text="I look.")
WATER = asks(("c3", "water", '{"plant": "A"}'))


def trace() -> list[dict[str, Any]]:
    """The spans of an agent that scans two plants in parallel, fails to water one, and reports it."""
    return [
        span(
            1, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "gardener", "flow": "water"}, name="run"
        ),
        chat(2, [LOOK], [USER], parent=1),
        ran(3, "scan", "c1", told={"arguments": '{"plant": "A"}', "result": '{"dry": true}'}, parent=1),
        ran(4, "scan", "c2", told={"result": "wet"}, parent=1),
        chat(5, [WATER], [USER, LOOK, answers("c1", '{"dry": true}'), answers("c2", "wet")], parent=1),
        ran(6, "water", "c3", parent=1, status={"code": 2, "message": "no water"}),
        chat(7, [says("I could not.")], [USER, LOOK, answers("c1", "{}"), WATER, answers("c3", "no water")], parent=1),
    ]


CALLS = (
    Call("scan", {"plant": "A"}, {"dry": True}, id="c1", turn=1),
    Call("scan", {"plant": "B"}, "wet", id="c2", turn=1),
    Call("water", {"plant": "A"}, error="no water", id="c3", turn=2),
)


def only(*spans: dict[str, Any]) -> Episode:
    (episode,) = records_of(otel.FORMAT)(sent(*spans))
    return episode


def test_a_trace_gives_its_episode() -> None:
    episode = only(*trace())
    assert episode.calls == CALLS
    assert (episode.agent, episode.answer, episode.task) == ("gpt-x", "I could not.", "")
    assert [(one.role, one.content, one.before_call) for one in episode.messages] == [
        ("user", "Water A.", 0), ("assistant", "I look.", 0), ("assistant", "I could not.", 3),
    ]  # fmt: skip
    told = episode.extra["metadata"]
    assert told["trace_id"] == TRACE
    assert (told["service.name"], told["flow"], told["gen_ai.agent.name"], told["name"]) == (
        "garden", "water", "gardener", "run",
    )  # fmt: skip
    assert not any(name.startswith(("gen_ai.input", "gen_ai.output")) for name in told)


def test_spans_in_any_order_of_the_file_give_the_same_episode() -> None:
    assert only(*reversed(trace())) == only(*trace())


def test_base64_ids_and_names_of_enumerations_are_read() -> None:
    spans = trace()
    for one in spans:
        for name in ("traceId", "spanId", "parentSpanId"):
            if name in one:
                one[name] = base64.b64encode(bytes.fromhex(one[name])).decode()
        one["kind"] = "SPAN_KIND_INTERNAL"
        if "status" in one:
            one["status"]["code"] = "STATUS_CODE_ERROR"
    assert only(*spans) == only(*trace())


def test_one_object_lines_a_list_and_bare_spans_are_all_read(tmp_path: Path) -> None:
    expected = [CALLS]
    forms: dict[str, list[Any]] = {
        "one.json": [sent(*trace())],
        "lines.jsonl": [sent(one) for one in trace()],
        "list.json": [[sent(*trace()[:3]), sent(*trace()[3:])]],
        "bare.jsonl": trace(),
        "bare_list.json": [trace()],
    }
    for name, records in forms.items():
        assert [one.calls for one in read(write(tmp_path, *records, name=name), "otel")] == expected, name
    spread = tmp_path / "spread.json"
    for value in (sent(*trace()), trace()):
        spread.write_text(json.dumps(value, indent=2), encoding="utf-8")
        assert [one.calls for one in read(spread, "otel")] == expected
    spread.write_text("\n".join(json.dumps(one, indent=1) for one in trace()), encoding="utf-8")
    assert [one.calls for one in read(spread, "otel")] == expected


def test_traces_that_are_mixed_up_in_a_file_are_told_apart(tmp_path: Path) -> None:
    traces = [[{**one, "traceId": f"{number:032x}"} for one in trace()] for number in range(3)]
    mixed_up = [sent(one, service=one["traceId"]) for together in zip(*traces, strict=True) for one in together]
    episodes = read(write(tmp_path, *mixed_up), "otel")
    assert [one.calls for one in episodes] == [CALLS] * 3
    assert [one.extra["metadata"]["service.name"] for one in episodes] == [f"{number:032x}" for number in range(3)]


def test_results_come_from_the_next_input_where_no_tool_span_tells_them() -> None:
    spans = trace()
    told = only(*(spans[place] for place in (0, 1, 4, 6)))
    assert [(call.id, call.result, call.error) for call in told.calls] == [
        ("c1", {"dry": True}, None), ("c2", "wet", None), ("c3", "no water", None),
    ]  # fmt: skip
    silent = [ran(3, "scan", "c1"), ran(4, "scan", "c2")]
    assert [call.result for call in only(spans[1], *silent, spans[4]).calls[:2]] == [{"dry": True}, "wet"]
    assert [call.result for call in only(spans[1], *silent).calls] == [UNANSWERED, UNANSWERED]


def test_a_call_that_is_never_answered_stays_so() -> None:
    (first, second) = only(chat(1, [LOOK], [USER]), ran(2, "scan", "c2", told={"result": "wet"})).calls
    assert (first.result, first.error, second.result) == (UNANSWERED, None, "wet")


def bare(*ids: str) -> dict[str, Any]:
    """A message with calls that record the tool but not the arguments."""
    return {"role": "assistant", "parts": [{"type": "tool_call", "id": id_, "name": "scan"} for id_ in ids]}


def test_a_call_whose_arguments_were_not_recorded_is_no_call_without_arguments() -> None:
    quiet = span(1, {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"})
    old = {"message": json.dumps({"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "scan"}}]})}
    event = {"name": "gen_ai.choice", "attributes": span(0, old)["attributes"]}
    unheard = {"role": "user", "parts": [{"type": "text"}]}
    for one in (quiet, {**quiet, "events": [event]}, chat(1, [bare("c1")], [unheard])):
        with pytest.raises(
            RecordError, match=r"the arguments of a call of 'scan' \(id 'c1'\) were not recorded: turn on"
        ):
            only(one, ran(2, "scan", "c1", told={"result": "dry"}))
        told = only(one, ran(2, "scan", "c1", told={"arguments": '{"plant": "A"}'}))
        assert told.calls == (Call("scan", {"plant": "A"}, id="c1", turn=1),)
    assert only(quiet, ran(2, "scan", "c1"), chat(3, [says("Dry.")], [USER, LOOK])).calls[0].arguments == {"plant": "A"}
    assert only(chat(1, [bare("c1")], [USER])).calls == (Call("scan", {}, id="c1", turn=1),), "other content is there"


def test_a_result_that_was_not_recorded_is_no_result() -> None:
    unheard = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1"}]}
    spans = [chat(1, [bare("c1")]), ran(2, "scan", "c1", told={"arguments": "{}"}), chat(3, [], [bare("c1"), unheard])]
    assert [call.result for call in only(*spans).calls] == [UNANSWERED]
    spans[2] = chat(3, [says("Done.")], [USER, bare("c1"), unheard])
    assert [call.result for call in only(*spans).calls] == [None], "other content is there"


def test_a_trace_of_which_nothing_was_recorded_is_no_agent_that_did_nothing() -> None:
    quiet = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    with pytest.raises(RecordError, match="no text or call of the agent was recorded: turn on content"):
        only(span(1, quiet), span(2, quiet))
    assert only(chat(1, [], [USER], status={"code": 2})).calls == ()


def test_tool_spans_alone_are_calls_by_the_time_of_their_start() -> None:
    spans = [
        ran(3, "water", start=9, told={"arguments": '{"plant": "A"}'}),
        ran(4, "scan", start=2, told={"arguments": "{}", "result": 5}),
        ran(5, "scan", "x", start=4, told={"arguments": "{plant"}),
    ]
    assert only(*spans).calls == (
        Call("scan", {}, 5),
        Call("scan", "{plant", id="x"),
        Call("water", {"plant": "A"}),
    )


def test_chat_spans_without_words_still_say_which_calls_are_of_one_turn() -> None:
    quiet = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    runs = [ran(number, tool, id_, told={"arguments": "{}"}) for number, tool, id_ in ((2, "a", "1"), (3, "b", "2"))]
    spans = [span(1, quiet), *runs, span(4, quiet), ran(5, "c", "1", told={"arguments": "{}"})]
    assert [(call.tool, call.turn) for call in only(*spans).calls] == [("a", 1), ("b", 1), ("c", 2)]


def test_tool_spans_without_an_id_answer_the_call_of_their_tool_and_arguments() -> None:
    spans = [
        chat(1, [LOOK], [USER]),
        ran(2, "scan", told={"arguments": '{"plant":"B"}', "result": "b"}),
        ran(3, "scan", told={"result": "a"}),
        ran(4, "scan", told={"arguments": "{}", "result": "another"}),
    ]
    assert [call.result for call in only(*spans).calls] == ["a", "b", "another"]
    filled_in = [
        chat(1, [LOOK], [USER]),
        ran(2, "scan", told={"arguments": '{"plant": "A", "deep": false}', "result": 7}),
    ]
    assert [call.result for call in only(*filled_in).calls] == [7, UNANSWERED]
    empty = [chat(1, [asks(("", "scan", {"n": 1}), ("", "scan", {"n": 2}))])]
    empty += [ran(n + 1, "scan", "", told={"arguments": json.dumps({"n": n}), "result": n}) for n in (2, 1)]
    assert [(call.id, call.result) for call in only(*empty).calls] == [(None, 1), (None, 2)]
    nameless = [chat(1, [asks((None, "scan", {}))]), ran(2, "scan", "generated", told={"result": 1})]
    assert [(call.id, call.result) for call in only(*nameless).calls] == [(None, 1)]


def test_results_without_ids_go_to_calls_without_ids_in_their_order() -> None:
    look = asks((None, "scan", {"plant": "A"}), (None, "scan", {"plant": "B"}))
    again = asks((None, "scan", {"plant": "C"}))
    history = [USER, look, answers(None, "a"), answers(None, "b")]
    spans = [
        chat(1, [look], [USER]),
        chat(2, [again], history),
        chat(3, [says("Done.")], [*history, again, answers(None, "c")]),
    ]
    assert [call.result for call in only(*spans).calls] == ["a", "b", "c"]
    inner = [says("Look.", "user"), asks((None, "look", {}))]
    within = [
        chat(1, [asks((None, "ask", {}))], [USER]),
        ran(2, "ask"),
        chat(3, inner[1:], inner[:1], parent=2),
        chat(4, [says("Seen.")], [*inner, answers(None, "seen")], parent=2),
    ]
    assert [(call.tool, call.result) for call in only(*within).calls] == [("ask", UNANSWERED), ("look", "seen")]


def test_repeated_history_adds_no_call_but_a_missing_span_is_made_good() -> None:
    spans = trace()
    without = only(*(spans[place] for place in (1, 2, 3, 5, 6)))
    assert [(call.id, call.turn, call.error) for call in without.calls] == [
        ("c1", 1, None), ("c2", 1, None), ("c3", 2, "no water"),
    ], "the span in which c3 was asked for is missing"  # fmt: skip
    nothing_of_it = only(*(spans[place] for place in (1, 2, 3, 6)))
    assert [(call.id, call.turn, call.result) for call in nothing_of_it.calls][2] == ("c3", 2, "no water")
    before = [USER, LOOK, answers("c1", "1"), answers("c2", "2"), says("Dry."), says("And C?", "user")]
    assert only(chat(1, [says("Wet.")], before)).calls == (), "calls before the user's last words are of another trace"
    assert [call.id for call in only(chat(1, [says("Dry.")], before[:4])).calls] == ["c1", "c2"]


def test_an_id_may_be_used_again_once_it_is_answered() -> None:
    spans = [chat(1, [asks(("0", "a", {}))]), ran(2, "a", "0"), chat(3, [asks(("0", "b", {}))]), ran(4, "b", "0")]
    assert [(call.tool, call.result) for call in only(*spans).calls] == [("a", UNANSWERED), ("b", UNANSWERED)]
    answered = chat(5, [says("Done.")], [USER, asks(("0", "b", {})), answers("0", "7")])
    assert [call.result for call in only(*spans, answered).calls] == [UNANSWERED, 7]
    with pytest.raises(RecordError, match="span 0000000000000001: the call id '0' is used twice"):
        only(chat(1, [asks(("0", "a", {}), ("0", "b", {}))]))


def test_a_chat_span_inside_another_tells_of_the_same_call() -> None:
    nested = [chat(1, [LOOK], [USER]), chat(2, [LOOK], [USER], parent=1), ran(3, "scan", "c1", told={"result": 1})]
    episode = only(*nested)
    assert [(call.id, call.turn) for call in episode.calls] == [("c1", 1), ("c2", 1)]
    assert [one.content for one in episode.messages] == ["Water A.", "I look."]


def test_a_tool_span_inside_another_of_the_same_tool_is_the_same_call_and_one_of_another_tool_is_not() -> None:
    spans = [
        chat(1, [asks(("c", "ask", {}))], [USER]),
        ran(2, "ask", "c", told={"result": "outer"}),
        ran(3, "ask", parent=2),
        ran(4, "search", parent=2, told={"arguments": "{}", "result": "inner"}),
    ]
    assert [(call.tool, call.result) for call in only(*spans).calls] == [("ask", "outer"), ("search", "inner")]


def test_a_tool_that_starts_before_its_chat_span_by_another_clock_is_joined() -> None:
    spans = [chat(5, [LOOK], [USER]), ran(2, "scan", "c1", start=1, told={"result": "dry"})]
    assert {call.id: call.result for call in only(*spans).calls} == {"c1": "dry", "c2": UNANSWERED}
    assert only(*spans).calls[0].arguments == {"plant": "A"}


def test_a_chat_span_that_starts_after_what_followed_it_by_another_clock_tells_of_no_other_call() -> None:
    look, water = asks(("c1", "f", {}), text="I look."), asks(("c2", "g", {}))
    swapped = [chat(1, [water], [USER, look, answers("c1", "1")]), chat(2, [look], [USER])]
    episode = only(*swapped, chat(3, [says("Done.")], [USER, look, answers("c1", "1"), water, answers("c2", "2")]))
    assert [(call.id, call.result) for call in episode.calls] == [("c1", 1), ("c2", 2)]
    assert [one.content for one in episode.messages] == ["Water A.", "I look.", "Done."]
    assert episode.answer == "Done."
    again = only(chat(1, [says("Yes.")], [USER, look, answers("c1", "1")]), chat(2, [look], [USER, look]))
    assert [call.id for call in again.calls] == ["c1", "c1"], "the id is used again, as its own history shows"


@pytest.mark.parametrize("parts", [{}, {"text": "I look."}])
def test_calls_stand_as_the_chat_span_told_them_though_their_tools_started_otherwise(parts: dict[str, Any]) -> None:
    look = asks(("c1", "f", {}), ("c2", "g", {}), ("c3", "h", {}), **parts)
    water = asks(("c4", "f", {}), ("c5", "g", {}))
    history = [USER, look, answers("c3", "3")]
    runs = [ran(1, "g", "c5"), ran(2, "g", "c2"), ran(3, "f", "c4"), ran(4, "f", "c1", told={"arguments": "{}"})]
    episode = only(*runs, chat(5, [look], [USER]), chat(6, [water], history))
    assert [(call.tool, call.id, call.turn) for call in episode.calls] == [
        ("f", "c1", 1), ("g", "c2", 1), ("h", "c3", 1), ("f", "c4", 2), ("g", "c5", 2),
    ], "before their own chat span, or even before another one"  # fmt: skip
    said = [(one.content, one.before_call) for one in episode.messages]
    assert said == [("Water A.", 0), *((one, 0) for one in parts.values())]
    assert episode.answer is None
    missing = only(*runs[:2], runs[3], chat(6, [water], history))
    assert [call.id for call in missing.calls] == ["c1", "c2", "c3", "c4", "c5"], "only a later span tells of them"
    nameless = asks((None, "f", {"n": 1}), (None, "g", {}))
    skewed = [ran(1, "g", told={"result": 2}), ran(2, "f", told={"arguments": '{"n": 1}', "result": 1})]
    assert [(call.tool, call.result) for call in only(*skewed, chat(3, [nameless])).calls] == [("f", 1), ("g", 2)]


def test_a_span_that_was_sent_twice_counts_once_and_two_spans_with_one_id_are_an_error() -> None:
    assert only(*trace(), *trace()) == only(*trace())
    with pytest.raises(RecordError, match="two spans have the id 0000000000000002"):
        only(*trace(), chat(2, [says("No.")]))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def test_the_events_of_older_conventions_are_read() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "scan", "arguments": '{"plant": "A"}'}}
    choice = {"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [call]}}
    history: list[dict[str, Any]] = [
        {"content": "Water A."},
        {"role": "assistant", "tool_calls": [call]},
        {"id": "c1", "content": "dry"},
    ]
    names = ("gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message")
    done = {"index": 0, "message": {"content": "Done."}}

    def old(number: int, told: list[tuple[str, dict[str, Any]]], form: str) -> dict[str, Any]:
        attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
        if form == "attribute":
            attributes["events"] = json.dumps([{"event.name": name, **body} for name, body in told])
            return span(number, attributes)
        if form == "content":
            told = [(name, {"gen_ai.event.content": json.dumps(body)}) for name, body in told]
        elif form == "texts":
            told = [(name, {key: _as_text(one) for key, one in body.items()}) for name, body in told]
        events = [{"name": name, "attributes": span(0, body)["attributes"]} for name, body in told]
        return span(number, attributes, events=events)

    for form in ("attribute", "content", "nested", "texts"):
        first = old(1, [(names[0], history[0]), ("gen_ai.choice", choice)], form)
        second = old(2, [*zip(names, history, strict=True), ("gen_ai.choice", done)], form)
        episode = only(first, second)
        assert episode.calls == (Call("scan", {"plant": "A"}, "dry", id="c1", turn=1),), form
        assert episode.answer == "Done.", form


def test_attributes_with_numbers_in_their_names_are_read() -> None:
    first = {
        "gen_ai.request.model": "m", "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Hi",
        "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.tool_calls.0.name": "a",
        "gen_ai.completion.0.tool_calls.0.id": "1", "gen_ai.completion.0.tool_calls.0.arguments": '{"x": 1}',
        "gen_ai.completion.0.tool_calls.1.name": "b", "gen_ai.completion.0.tool_calls.1.id": "2",
    }  # fmt: skip
    second = {
        "gen_ai.request.model": "m", "gen_ai.prompt.2.role": "tool", "gen_ai.prompt.2.content": "7",
        "gen_ai.prompt.2.tool_call_id": "1", "gen_ai.completion.0.content": "Done.",
    }  # fmt: skip
    episode = only(span(1, first), span(2, second))
    assert episode.calls == (Call("a", {"x": 1}, 7, id="1", turn=1), Call("b", {}, id="2", turn=1))
    assert episode.answer == "Done."


def test_an_agents_span_tells_the_conversation_where_no_chat_span_does() -> None:
    whole = [USER, LOOK, answers("c1", "1"), answers("c2", "2"), WATER, answers("c3", "3"), says("Done.")]
    attributes = {"gen_ai.operation.name": "invoke_agent", "pydantic_ai.all_messages": json.dumps(whole)}
    episode = only(span(1, attributes))
    assert [(call.id, call.result, call.turn) for call in episode.calls] == [("c1", 1, 1), ("c2", 2, 1), ("c3", 3, 2)]
    assert episode.answer == "Done."


def test_only_the_first_of_several_choices_counts_and_tools_of_the_provider_do() -> None:
    several = chat(1, [LOOK, WATER])
    several["attributes"].append({"key": "gen_ai.request.choice.count", "value": {"intValue": 2}})
    assert [call.id for call in only(several).calls] == ["c1", "c2"]
    parts = [
        {"type": "server_tool_call", "id": "s", "name": "search", "server_tool_call": {"query": "rain"}},
        {"type": "server_tool_call_response", "id": "s", "server_tool_call_response": ["none"]},
    ]
    said = [{"role": "assistant", "parts": parts[:1]}, {"role": "tool", "parts": parts[1:]}, says("None.")]
    episode = only(chat(1, said))
    assert episode.calls == (Call("search", {"query": "rain"}, ["none"], id="s", turn=1),)
    assert episode.answer == "None."


def test_an_error_is_a_status_or_a_type_and_says_what_the_exception_said() -> None:
    raised = [{"name": "exception", "attributes": span(0, {"exception.message": "no water"})["attributes"]}]
    none = {"arguments": "{}"}
    typed = {"gen_ai.tool.name": "water", "gen_ai.tool.call.arguments": "{}", "error.type": "Timeout"}
    spans = [
        ran(1, "water", told={**none, "result": "half"}, status={"code": 2, "message": "bad"}, events=raised),
        span(2, typed),
        ran(3, "water", told=none, status={"code": "STATUS_CODE_ERROR"}),
        ran(4, "water", told={**none, "result": "ok"}, status={"code": 1}),
    ]
    calls = only(*spans).calls
    assert [call.error for call in calls] == ["no water", "Timeout", "error", None]
    assert calls[0].extra == {"output": "half"}


def test_messages_that_were_cut_are_an_error_where_they_were_said_and_are_listed_where_they_were_sent() -> None:
    cut = chat(2, [LOOK])
    cut["attributes"][2]["value"]["stringValue"] = json.dumps([LOOK])[:-9]
    with pytest.raises(RecordError, match=f"trace {TRACE}: span 0000000000000002: 'gen_ai.output.messages' is no JSON"):
        only(cut)
    cut = chat(2, [LOOK], [USER])
    cut["attributes"][3]["value"]["stringValue"] = '[{"role": "us'
    episode = only(cut)
    assert [call.id for call in episode.calls] == ["c1", "c2"]
    assert episode.extra["unread"] == ["span 0000000000000002: 'gen_ai.input.messages' is no JSON; was it cut?"]


def test_arguments_that_are_a_text_of_a_text_stay_as_they_were_sent() -> None:
    twice = json.dumps(json.dumps({"plant": "A"}))
    (call,) = only(chat(1, [asks(("c", "scan", twice))])).calls
    assert (call.arguments, call.malformed) == (twice, True)


def test_bad_lines_and_bad_spans_are_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    bad = {"spanId": "00000000000000aa", "attributes": []}
    file = write(tmp_path, *(sent(one) for one in trace()), sent(bad), {"resourceLogs": []}, [5])
    file.write_text(file.read_text(encoding="utf-8") + json.dumps(sent(*trace()))[:300], encoding="utf-8")
    made = outcomes(import_trace(file))
    assert made[-1] == 3
    assert [str(one).removeprefix(f"{file}:")[:60] for one in made[:-1]] == [
        "8:1: span 00000000000000aa: a span has no 'traceId', which i",
        "9:1: 'resourceLogs' has no spans and is not read",
        "10:1: expected a span or an object with 'resourceSpans', not",
        "11:1: not JSON: Unterminated string",
    ]


def test_a_truncated_object_keeps_the_spans_before_the_end(tmp_path: Path) -> None:
    file = tmp_path / "cut.json"
    file.write_text(json.dumps(sent(*trace(), *trace()), indent=1)[:-300], encoding="utf-8")
    problem, episode = import_trace(file)
    assert isinstance(problem, Problem)
    assert "not JSON: it ends early" in problem.message
    assert problem.line > 300
    assert isinstance(episode, Episode)
    assert episode.calls == CALLS


def test_other_traces_are_left_out_and_a_file_of_them_alone_is_none_of_this_format(tmp_path: Path) -> None:
    web = span(1, {"http.method": "GET"}, trace="ff" * 16)
    assert len(read(write(tmp_path, sent(web), sent(*trace())), "otel")) == 1
    file = write(tmp_path, sent(web))
    with pytest.raises(InputError, match="nearest to otel, but: no span with gen_ai attributes among the first 1"):
        recognise_format(file)
    assert outcomes(import_trace(file, "otel")) == [f"{file}:1:1: no trace has a span with gen_ai attributes"]
    assert mismatch_of(otel.FORMAT, []) == "no spans in it"
    assert mismatch_of(otel.FORMAT, "x") is not None


@given(st.data())
def test_broken_spans_give_episodes_or_an_error(data: st.DataObject) -> None:
    survives(records_of(otel.FORMAT), data.draw(damaged(sent(*trace()))))


@given(st.data())
def test_broken_messages_give_episodes_or_an_error(data: st.DataObject) -> None:
    said = data.draw(damaged([LOOK]))
    history = data.draw(damaged([USER, LOOK, answers("c1", "1"), WATER]))
    survives(records_of(otel.FORMAT), sent(chat(1, said, history), *trace()[2:4], chat(9, [WATER], history)))


@given(data=st.data())
def test_a_broken_file_gives_episodes_and_problems(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = json.dumps(sent(*trace()), indent=data.draw(st.sampled_from([None, 1])))
    cut = data.draw(st.integers(1, len(text)))
    file = tmp_path_factory.mktemp("cut") / "spans.json"
    file.write_text(text[:cut] + data.draw(st.sampled_from(["", "}", "]", '"', "\n{}", "\x00"])), encoding="utf-8")
    assert all(isinstance(one, (Episode, Problem)) for one in import_trace(file, "otel"))


def test_spans_of_openais_instrumentation_written_by_the_sdk_are_read(tmp_path: Path, monkeypatch: Any) -> None:
    """Import spans of opentelemetry-instrumentation-genai-openai from opentelemetry-exporter-otlp-json-file."""
    from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
    from opentelemetry.instrumentation.genai.openai import OpenAIInstrumentor

    from .vendors import talk_to_openai

    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental")
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY")
    file = tmp_path / "spans.jsonl"
    talk_to_openai(OpenAIInstrumentor(), FileSpanExporter(file))
    (episode,) = read(file, "otel")
    assert episode.calls == (
        Call("scan", {"plant": "A"}, {"dry": True}, id="c1", turn=1),
        Call("scan", {"plant": "B"}, {"dry": True}, id="c2", turn=1),
    )
    assert (episode.agent, episode.answer) == ("gpt-4o", "Done.")
    assert episode.extra["metadata"]["flow"] == "water"


@pytest.mark.parametrize("form", ["hexadecimal", "base64"])
def test_spans_of_pydantic_ai_are_read(tmp_path: Path, form: str) -> None:
    from .vendors import talk_to_pydantic_ai

    file = tmp_path / "spans.json"
    talk_to_pydantic_ai(file, form)
    (episode,) = read(file, "otel")
    assert [(call.tool, call.arguments, call.result, call.error, call.id, call.turn) for call in episode.calls] == [
        ("scan", {"plant": "A"}, {"dry": True}, None, "c1", 1),
        ("scan", {"plant": "B"}, {"dry": False}, None, "c2", 1),
        ("water", {"plant": "A"}, UNANSWERED, "no water", "c3", 2),
        ("nope", {"plant": "A"}, "Unknown tool name: 'nope'. Available tools: 'scan', 'water'", None, "c4", 2),
    ]
    assert episode.answer == "Done."


def test_the_two_conventions_for_spans_are_not_mistaken_for_each_other() -> None:
    other = span(1, {"openinference.span.kind": "LLM", "llm.model_name": "m"})
    assert mismatch_of(otel.FORMAT, sent(other)) is not None
    assert mismatch_of(openinference.FORMAT, sent(*trace())) is not None


def test_a_large_file_takes_little_memory(tmp_path: Path) -> None:
    from benchmarks.imports import MOST, TURNS, import_in_a_process, write_spans

    file = tmp_path / "spans.jsonl"
    traces = write_spans(file, 10**8)
    episodes, calls, answered, problems, peak, _ = import_in_a_process(file)
    assert (episodes, calls, answered, problems) == (traces, traces * (TURNS - 1), traces * (TURNS - 1), 0)
    assert peak < MOST


def test_one_long_line_is_read_part_by_part(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("corepath.importers.json_lines.LONGEST_LINE", 1000)
    file = write(tmp_path, sent(*trace()), sent(chat(1, [LOOK], trace="ab" * 16)), sent(*trace()))
    text = file.read_text(encoding="utf-8").splitlines()
    assert [one.calls[:1] for one in good(import_trace(file))] == [
        CALLS[:1],
        (Call("scan", {"plant": "A"}, id="c1", turn=1),),
    ]
    file.write_text("\n".join([text[0][:-100], text[1], text[2]]), encoding="utf-8")
    assert [len(one.calls) if isinstance(one, Episode) else one.line for one in import_trace(file)] == [1, 3, 2]


def test_a_span_around_all_turns_and_an_agent_in_a_tool_are_told_apart() -> None:
    done = says("Done.")
    spans = [
        chat(1, [done], [USER]),
        chat(2, [LOOK], [USER], parent=1),
        ran(3, "scan", "c1", told={"result": 1}, parent=1),
        chat(4, [asks(("i1", "look", {}))], [says("Look.", "user")], parent=3),
        ran(5, "scan", "c2", told={"result": 2}, parent=1),
        chat(6, [done], [USER, LOOK, answers("c1", "1"), answers("c2", "2")], parent=1),
    ]
    episode = only(*spans)
    assert [(call.id, call.turn) for call in episode.calls] == [("c1", 1), ("c2", 1), ("i1", 2)]
    assert episode.answer == "Done."


def test_a_span_that_only_announces_another_is_left_out() -> None:
    pending = chat(8, [])
    pending["attributes"].append({"key": "logfire.span_type", "value": {"stringValue": "pending_span"}})
    assert only(*trace(), pending).calls == only(*trace()).calls
    assert mismatch_of(otel.FORMAT, sent(pending)) is not None


def test_a_span_that_sums_up_others_is_no_call() -> None:
    assert only(*trace(), ran(8, "(merged tools)", "e1", told={"result": "{}"}, parent=1)).calls == CALLS


def test_what_stands_beside_the_groups_of_spans_does_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "spread.json"
    for value in ({"more": 1, **sent(*trace())}, {**sent(*trace()), "more": [2]}, [{**sent(*trace()), "more": [2]}]):
        for indent in (None, 1):
            file.write_text(json.dumps(value, indent=indent), encoding="utf-8")
            assert [one.calls for one in read(file, "otel")] == [CALLS]
    late = sent(*trace())
    late["resourceSpans"] = [dict(reversed(late["resourceSpans"][0].items()))]
    file.write_text(json.dumps(late, indent=1), encoding="utf-8")
    (episode,) = read(file, "otel")
    assert episode.extra["metadata"]["service.name"] == "garden", "the resource may stand after its spans"
    file.write_text(
        json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [*trace(), 5]}]}, 6]}, indent=1), encoding="utf-8"
    )
    assert [one if isinstance(one, int) else one.partition(": ")[2] for one in outcomes(import_trace(file))] == [
        "not OTLP: a number instead of an object or a list of spans",
        "not OTLP: a number instead of an object or a list of spans",
        3,
    ]


def test_spans_as_the_sdk_prints_them_are_read(tmp_path: Path) -> None:
    """Import the output of opentelemetry-sdk's console exporter: indented objects in a row."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
    from opentelemetry.trace import Status, StatusCode

    file = tmp_path / "spans.json"
    with file.open("w", encoding="utf-8") as to:
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=to)))
        tracer = provider.get_tracer("tests")
        with tracer.start_as_current_span("run"):
            with tracer.start_as_current_span("chat") as one:
                one.set_attributes({"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps([LOOK])})
            for id_ in ("c1", "c2"):
                with tracer.start_as_current_span("execute_tool scan") as one:
                    one.set_attributes({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": id_})
                    one.set_status(Status(StatusCode.ERROR, f"{id_} is locked"))
        provider.shutdown()
    (episode,) = read(file, "otel")
    assert [(call.id, call.error) for call in episode.calls] == [("c1", "c1 is locked"), ("c2", "c2 is locked")]
    assert episode.extra["metadata"]["telemetry.sdk.name"] == "opentelemetry"
