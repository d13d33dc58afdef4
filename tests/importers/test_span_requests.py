"""Several instrumentations, agents and turns in one trace: each call and each message counts once, in order."""

from __future__ import annotations

from typing import Any

import pytest

from corepath import Episode
from corepath.importers.formats import openinference, otel
from corepath.notation.call import UNANSWERED

from .damage import records_of
from .spans_by_hand import answers, asks, chat, ran, says, sent, span

SYSTEM, USER = says("You look.", "system"), says("Water A.", "user")
LOOK = asks(("call_1", "scan", {"plant": "A"}), ("call_2", "scan", {"plant": "B"}), text="I look.")
DRY, WET = answers("call_1", "dry"), answers("call_2", "wet")
DONE = says("Done.")


def only(*spans: dict[str, Any]) -> Episode:
    (episode,) = records_of(otel.FORMAT)(sent(*spans))
    return episode


def calls(episode: Episode) -> list[tuple[Any, ...]]:
    return [(call.id, call.result, call.turn) for call in episode.calls]


def messages(episode: Episode) -> list[tuple[Any, ...]]:
    return [(one.role, one.content, one.before_call) for one in episode.messages]


def counted(one: dict[str, Any], tokens: int) -> dict[str, Any]:
    used = {"key": "gen_ai.usage.input_tokens", "value": {"intValue": tokens}}
    return {**one, "attributes": [*one["attributes"], used]}


def renamed(message: dict[str, Any]) -> dict[str, Any]:
    """A message with the ids of the items of a response, as some instrumentations repeat it."""
    parts = [{**one, "id": one["id"].replace("call", "fc")} if "id" in one else one for one in message["parts"]]
    return {**message, "parts": parts}


def test_history_with_ids_of_another_kind_adds_no_call() -> None:
    """OpenLLMetry records the outputs of the Agents SDK with `call_` ids, and its inputs with `fc_` ids."""
    again = asks(("call_3", "scan", {"plant": "A"}))
    history = [USER, renamed(LOOK), DRY, WET]
    spans = [
        chat(1, [LOOK], [USER]),
        ran(2, "scan", told={"arguments": '{"plant": "B"}', "result": "wet"}),
        chat(3, [again], history),
        chat(4, [DONE], [*history, renamed(again), answers("call_3", "dry still")]),
    ]
    assert calls(only(*spans)) == [("call_1", "dry", 1), ("call_2", "wet", 1), ("call_3", "dry still", 2)]
    by_other_id = chat(4, [DONE], [*history, renamed(again), answers("fc_3", "dry still")])
    assert calls(only(*spans[:3], by_other_id))[2] == ("call_3", "dry still", 2)
    missing = only(spans[0], chat(4, [DONE], [*history, asks(("fc_3", "scan", {"plant": "C"}))]))
    assert [call.id for call in missing.calls] == ["call_1", "call_2", "fc_3"], "a call of its own"


def test_a_request_inside_another_counts_once_even_with_other_ids() -> None:
    spans = [
        chat(1, [LOOK], [USER]),
        counted(chat(2, [renamed(LOOK)], [SYSTEM, USER], parent=1), 10),
        ran(3, "scan", "call_1", told={"result": "dry"}),
    ]
    episode = only(*spans)
    assert calls(episode) == [("call_1", "dry", 1), ("call_2", UNANSWERED, 1)]
    assert messages(episode) == [("system", "You look.", 0), ("user", "Water A.", 0), ("assistant", "I look.", 0)]
    assert episode.extra["usage"] == {"requests": 1, "input_tokens": 10}
    both = only(counted(spans[0], 10), spans[1])
    assert both.extra["usage"] == {"requests": 1, "input_tokens": 10}


def test_a_request_at_the_same_time_with_the_same_content_counts_once() -> None:
    """OpenInference over LangChain and OpenAI: the span of OpenAI is not inside the span of LangChain."""

    def during(one: dict[str, Any], start: int, end: int) -> dict[str, Any]:
        return {**one, "startTimeUnixNano": str(start), "endTimeUnixNano": str(end)}

    outer, inner = during(chat(1, [LOOK], [USER]), 10, 90), during(chat(2, [LOOK], [USER]), 20, 80)
    last = [during(chat(3, [DONE], [USER, LOOK, DRY]), 100, 190), during(chat(4, [DONE], [USER, LOOK, DRY]), 110, 180)]
    episode = only(counted(outer, 5), counted(inner, 5), *(counted(one, 7) for one in last))
    assert calls(episode) == [("call_1", "dry", 1), ("call_2", UNANSWERED, 1)]
    assert [one[1] for one in messages(episode)] == ["Water A.", "I look.", "Done."]
    assert episode.extra["usage"] == {"requests": 2, "input_tokens": 12}
    same_start = only(during(chat(2, [LOOK], [USER], parent=1), 10, 90), during(chat(1, [LOOK], [USER]), 10, 90))
    assert len(same_start.calls) == 2, "the outer span comes later in the file"
    other = during(chat(2, [asks(("call_7", "scan", {"plant": "A"}))], [USER]), 20, 80)
    assert len(only(outer, other).calls) == 3, "another request that runs at the same time"


def test_a_span_around_several_requests_adds_nothing() -> None:
    around = [chat(1, [DONE], [USER]), chat(2, [DONE], [USER], parent=1)]
    inner = [chat(3, [LOOK], [USER], parent=2), chat(4, [DONE], [USER, LOOK, DRY], parent=2)]
    episode = only(*(counted(one, 5) for one in (*around, *inner)))
    assert [one[1] for one in messages(episode)] == ["Water A.", "I look.", "Done."]
    assert (len(episode.calls), episode.extra["usage"]["requests"]) == (2, 2)


def test_calls_that_only_tool_spans_and_the_history_have_count_once() -> None:
    """OpenLLMetry records no outputs of the Agents SDK with chat completions, and no ids of calls in tool spans."""
    silent = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    quiet = chat(1, [], [SYSTEM, USER])
    again = asks(("call_3", "water", {}))
    history = [SYSTEM, USER, LOOK, DRY, WET]
    spans = [
        quiet,
        ran(2, "scan", told={"arguments": '{"plant": "B"}', "result": "wet"}),
        ran(3, "scan", told={"arguments": '{"plant": "A"}', "result": "dry"}),
        chat(4, [], history),
        ran(5, "water", told={"arguments": "{}"}),
        chat(6, [], [*history, again, answers("call_3", "ok"), DONE, says("And C?", "user")]),
        span(7, silent),
    ]
    episode = only(*spans)
    assert calls(episode) == [("call_1", "dry", 1), ("call_2", "wet", 1), ("call_3", "ok", 2)]
    assert messages(episode) == [
        ("system", "You look.", 0), ("user", "Water A.", 0), ("assistant", "I look.", 0),
        ("assistant", "Done.", 3), ("user", "And C?", 3),
    ]  # fmt: skip


def test_a_tool_span_of_a_sub_agent_stays_inside_the_call_that_asked_for_it() -> None:
    ask = asks(("call_1", "ask", {"input": "Look."}), text="I ask.")
    spans = [
        chat(1, [], [USER]),
        ran(2, "ask", told={"arguments": '{"input": "Look."}', "result": "dry"}),
        chat(3, [], [says("Look.", "user")], parent=2),
        ran(4, "scan", parent=2, told={"arguments": "{}", "result": 1}),
        chat(5, [], [USER, ask, answers("call_1", "dry")]),
    ]
    episode = only(*spans)
    assert [call.tool for call in episode.calls] == ["ask", "scan"]
    assert messages(episode) == [("user", "Water A.", 0), ("assistant", "I ask.", 0), ("system", "Look.", 1)]


def handed_over(name: str) -> list[dict[str, Any]]:
    move = asks(("call_3", "transfer_to_waterer", {}))
    history = [USER, LOOK, DRY, WET, move, answers("call_3", '{"assistant": "waterer"}')]
    report = span(4, {"gen_ai.operation.name": "handoff", "traceloop.span.kind": "handoff"}, name=name)
    return [
        chat(1, [LOOK], [SYSTEM, USER]),
        chat(3, [move], [SYSTEM, *history[:4]]),
        report,
        chat(5, [DONE], [says("You water.", "system"), *history]),
        chat(6, [says("Wet.")], [says("You water.", "system"), *history, DONE, says("And C?", "user")]),
    ]


def test_a_hand_over_is_the_call_that_the_model_made_and_no_other() -> None:
    episode = only(*handed_over("looker → waterer.handoff"))
    assert [(call.tool, call.result, call.error) for call in episode.calls][2:] == [
        ("transfer_to_waterer", {"assistant": "waterer"}, None)
    ]
    assert messages(episode) == [
        ("system", "You look.", 0), ("user", "Water A.", 0), ("assistant", "I look.", 0), ("system", "You water.", 3),
        ("assistant", "Done.", 3), ("user", "And C?", 3), ("assistant", "Wet.", 3),
    ], "the second agent talks with the same user"  # fmt: skip


def test_openinference_reports_a_hand_over_as_a_tool_that_is_no_call() -> None:
    kind = {"openinference.span.kind": "TOOL"}
    report = span(1, {**kind, "input.value": "looker", "output.value": "waterer"}, name="handoff to waterer")
    tool = span(2, {**kind, "tool.name": "scan", "input.value": "{}"}, name="scan")
    (episode,) = records_of(openinference.FORMAT)(sent(report, tool))
    assert [call.tool for call in episode.calls] == ["scan"]


@pytest.mark.parametrize("history", [True, False])
def test_the_user_speaks_again_with_or_without_the_history(history: bool) -> None:
    before = [SYSTEM, USER, DONE] if history else [SYSTEM]
    episode = only(chat(1, [DONE], [SYSTEM, USER]), chat(2, [says("Wet.")], [*before, says("And C?", "user")]))
    assert messages(episode) == [
        ("system", "You look.", 0), ("user", "Water A.", 0), ("assistant", "Done.", 0),
        ("user", "And C?", 0), ("assistant", "Wet.", 0),
    ]  # fmt: skip


def test_the_same_words_count_as_often_as_one_input_has_them() -> None:
    yes = says("Yes.", "user")
    episode = only(chat(1, [LOOK], [yes]), chat(2, [DONE], [yes, LOOK, DRY, WET, yes]), chat(3, [DONE], [yes, yes]))
    assert [one[:2] for one in messages(episode) if one[0] == "user"] == [("user", "Yes.")] * 2


def test_what_sub_agents_are_asked_is_the_systems() -> None:
    inside = chat(3, [says("It is dry.")], [says("Look at A.", "user")], parent=2)
    beside = {**chat(3, [says("It is dry.")], [says("Look at A.", "user")]), "endTimeUnixNano": "8"}
    for inner in (inside, beside):
        spans = [
            chat(1, [asks(("call_1", "ask", {}))], [USER]),
            {**ran(2, "ask", "call_1", told={"result": "dry"}), "endTimeUnixNano": "9"},
            inner,
            chat(10, [DONE], [USER, asks(("call_1", "ask", {})), answers("call_1", "dry")]),
        ]
        assert messages(only(*spans)) == [
            ("user", "Water A.", 0), ("system", "Look at A.", 1), ("assistant", "It is dry.", 1),
            ("assistant", "Done.", 1),
        ]  # fmt: skip
    other = chat(2, [says("Good.")], [says("You judge.", "system"), says("Judge: Done.", "user")])
    assert [one[0] for one in messages(only(chat(1, [DONE], [SYSTEM, USER]), other))][3:5] == ["system", "system"]


def test_messages_before_this_trace_are_kept_but_not_what_the_agent_did() -> None:
    before = [USER, LOOK, DRY, WET, DONE, says("And C?", "user")]
    episode = only(chat(1, [says("Wet.")], before))
    assert messages(episode) == [("user", "Water A.", 0), ("user", "And C?", 0), ("assistant", "Wet.", 0)]
    assert episode.calls == ()


def test_times_are_those_of_the_spans_and_a_text_is_not_later_than_its_calls() -> None:
    """The chat spans of Google's ADK end only when the tools have run."""
    late = {**chat(1, [LOOK], [USER], start=10**9), "endTimeUnixNano": str(5 * 10**9)}
    tool = {**ran(2, "scan", "call_1", parent=1, start=2 * 10**9), "endTimeUnixNano": str(4 * 10**9)}
    unknown = ran(3, "scan", "call_2", parent=1, start=3 * 10**9)
    episode = only(late, tool, unknown)
    assert [one.time for one in episode.messages] == [1.0, 2.0]
    assert [(call.time, call.extra) for call in episode.calls] == [(2.0, {"seconds": 2.0}), (3.0, {})]
