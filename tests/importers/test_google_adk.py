"""Sessions, results and eval sets of the Agent Development Kit, by what its models write."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath.authoring.derive import Expected
from corepath.episode import FAILED_OUTSIDE
from corepath.errors import Problem
from corepath.importers.expected_calls import read_expected_calls
from corepath.importers.formats import gemini, google_adk, openai
from corepath.importers.registry import recognise_format, recognise_source
from corepath.notation.call import UNANSWERED
from tests.importers.damage import damaged, mismatch_of, outcomes, read, records_of, survives, write


def event(author: str, *parts: Any, **fields: Any) -> dict[str, Any]:
    number = next(NUMBERS)
    role = "user" if author == "user" else "model"
    content = {"content": {"parts": list(parts), "role": role}} if parts else {}
    actions: dict[str, Any] = {"state_delta": {}, "artifact_delta": {}, "requested_auth_configs": {}}
    given = {"invocation_id": "e-1", "author": author, "actions": actions, "id": f"ev{number}"}
    return {**content, **given, "timestamp": 1700000000.5 + number, **fields}


NUMBERS = iter(range(1000))


def call(id_: str, name: str, **args: Any) -> dict[str, Any]:
    return {"function_call": {"id": id_, "name": name, "args": args}}


def answer(id_: str, name: str, **response: Any) -> dict[str, Any]:
    return {"function_response": {"id": id_, "name": name, "response": response}}


USAGE = {"prompt_token_count": 11, "candidates_token_count": 5, "total_token_count": 16, "thoughts_token_count": 1}
EVENTS: list[Any] = [
    event("user", {"text": "Weather?"}, {"inline_data": {"mime_type": "image/png", "data": "AA=="}}),
    event("root", {"text": "I l"}, partial=True),
    event(
        "root", {"text": "Hm.", "thought": True}, {"text": "I look. "}, {"text": "Twice."},
        call("c1", "get_weather", city="Oslo"), call("c2", "roll", sides=6),
        usage_metadata=USAGE, model_version="gemini-2.5-pro",
    ),
    event("root", answer("c2", "roll", result=4), answer("c1", "get_weather", status="success", report="sunny")),
    event("root", call("c3", "roll"), usage_metadata=USAGE, model_version="gemini-2.5-pro"),
    event("root", answer("c3", "roll", error="'sides' is missing")),
    event("root", call("c4", "find", city="Nowhere")),
    event("root", answer("c4", "find", status="error", error_message="no such city")),
    event("root", call("c5", "ask_boss", what="refund")),
    event("root", answer("c5", "ask_boss", status="pending")),
    event("root", {"text": "I wait."}),
    event("user", answer("c5", "ask_boss", status="approved")),
    event("root", call("c6", "transfer_to_agent", agent_name="billing")),
    event("root", answer("c6", "transfer_to_agent", result=None), actions={"transfer_to_agent": "billing"}),
    event("billing", call("c7", "refund", amount=7)),
    event("billing", call("a1", "adk_request_confirmation", originalFunctionCall={"id": "c7"})),
    event("billing", answer("c7", "refund", error="This tool call requires confirmation.")),
    event("user", answer("a1", "adk_request_confirmation", confirmed=True)),
    event("billing", answer("c7", "refund", done=True)),
    event("billing", {"executable_code": {"code": "1/0", "language": "PYTHON"}}),
    event("billing", {"code_execution_result": {"outcome": "OUTCOME_FAILED", "output": "ZeroDivisionError"}}),
    event("billing", {"text": "Refunded."}),
]  # fmt: skip
SESSION: dict[str, Any] = {
    "id": "s1", "app_name": "shop", "user_id": "u1", "state": {"tier": "gold"}, "events": EVENTS,
    "last_update_time": 1700000100.0,
}  # fmt: skip


def camel(value: Any) -> Any:
    """The same value with its keys in camelCase, as the web interface exports it."""
    if isinstance(value, dict):
        return {
            re.sub(r"_(\w)", lambda found: found[1].upper(), name): one if name in ("args", "response") else camel(one)
            for name, one in value.items()
        }
    return [camel(one) for one in value] if isinstance(value, list) else value


def test_calls_results_errors_messages_and_usage(tmp_path: Path) -> None:
    path = tmp_path / "s1.session.json"
    path.write_text(json.dumps(SESSION, indent=2))
    (episode,) = read(path, "google-adk")
    assert [(one.id, one.tool, one.arguments, one.turn) for one in episode.calls] == [
        ("c1", "get_weather", {"city": "Oslo"}, 1), ("c2", "roll", {"sides": 6}, 1), ("c3", "roll", {}, 2),
        ("c4", "find", {"city": "Nowhere"}, 3), ("c5", "ask_boss", {"what": "refund"}, 4),
        ("c6", "transfer_to_agent", {"agent_name": "billing"}, 6), ("c7", "refund", {"amount": 7}, 7),
        (None, "code_execution", {"code": "1/0", "language": "PYTHON"}, 9),
    ]  # fmt: skip
    assert [one.error for one in episode.calls] == [
        None, None, "'sides' is missing", {"status": "error", "error_message": "no such city"}, None, None, None,
        "ZeroDivisionError",
    ]  # fmt: skip
    assert episode.calls[0].result == {"status": "success", "report": "sunny"}
    assert episode.calls[1].result == 4
    assert episode.calls[4].result == {"status": "approved"}, "the later answer counts"
    assert episode.calls[6].result == {"done": True}, "not the request to confirm it"
    assert [(one.role, one.content, one.before_call) for one in episode.messages] == [
        ("user", "Weather?", 0), ("user", "[image/png]", 0), ("assistant", "I look. Twice.", 0),
        ("assistant", "I wait.", 5), ("assistant", "Refunded.", 8),
    ]  # fmt: skip
    assert episode.messages[0].time == EVENTS[0]["timestamp"]
    assert episode.calls[0].extra["seconds"] == 1.0
    assert [one.extra.get("agent") for one in episode.calls] == [None] * 6 + ["billing"] * 2
    assert (episode.agent, episode.answer, episode.outcome) == ("root", "Refunded.", None)
    assert episode.extra["usage"] == {
        "requests": 2, "input_tokens": 22, "output_tokens": 10, "total_tokens": 32, "reasoning_tokens": 2,
    }  # fmt: skip
    assert episode.extra["models"] == ["gemini-2.5-pro"]
    assert episode.extra["metadata"]["state"] == {"tier": "gold"}


def test_camel_case_lines_of_events_and_rows_of_the_table_are_the_same_episode(tmp_path: Path) -> None:
    (whole,) = read(write(tmp_path, SESSION, name="whole.json"), "google-adk")
    rows = [
        {"id": one["id"], "app_name": "shop", "user_id": "u1", "session_id": "s1", "invocation_id": "e-1",
         "timestamp": "2023-11-14 22:13:20", "event_data": json.dumps(one)}
        for one in EVENTS
    ]  # fmt: skip
    for records in ([camel(SESSION)], EVENTS, [EVENTS], rows, [{**SESSION, "events": EVENTS[:9]}, SESSION]):
        (episode,) = read(write(tmp_path, *records), "google-adk")
        assert (episode.calls, episode.messages) == (whole.calls, whole.messages)


def test_rows_of_several_sessions_are_kept_apart(tmp_path: Path) -> None:
    rows = [{**one, "app_name": "a", "user_id": "u", "session_id": id_} for one in EVENTS[:4] for id_ in ("s1", "s2")]
    assert [len(one.calls) for one in read(write(tmp_path, *rows), "google-adk")] == [2, 2]


@pytest.mark.parametrize(("code", "ended"), [("RESOURCE_EXHAUSTED", FAILED_OUTSIDE), ("MAX_TOKENS", None)])
def test_an_error_of_the_service_at_the_end_is_not_the_agents(tmp_path: Path, code: str, ended: str | None) -> None:
    last = event("root", error_code=code, error_message="429")
    (episode,) = read(write(tmp_path, {**SESSION, "events": [*EVENTS[:4], last]}, name="a.json"), "google-adk")
    assert episode.outcome == ended
    assert episode.failure == ({"kind": code, "message": "429"} if ended else {})
    (episode,) = read(write(tmp_path, {**SESSION, "events": [last, *EVENTS]}, name="b.json"), "google-adk")
    assert episode.outcome is None, "it was tried again"


def test_calls_without_ids_are_answered_by_name(tmp_path: Path) -> None:
    events = [
        event("root", {"function_call": {"name": "a", "args": {}}}, {"function_call": {"name": "b", "args": {}}}),
        event("root", {"function_response": {"name": "b", "response": {"result": 2}}}),
    ]
    (episode,) = read(write(tmp_path, {**SESSION, "events": events}, name="a.json"), "google-adk")
    assert [one.result for one in episode.calls] == [UNANSWERED, 2]


# Results


def invocation(text: str, final: str, data: Any) -> dict[str, Any]:
    return {
        "invocation_id": "e-1", "user_content": {"parts": [{"text": text}], "role": "user"},
        "final_response": {"parts": [{"text": final}], "role": "model"}, "intermediate_data": data,
        "creation_timestamp": 0.0,
    }  # fmt: skip


USES = {
    "tool_uses": [{"id": None, "name": "roll", "args": {"sides": 6}}],
    "tool_responses": [{"id": None, "name": "roll", "response": {"result": 4}}],
    "intermediate_responses": [["root", [{"text": "It is 4."}]]],
}
STEPS = {"invocation_events": [{"author": "root", "content": EVENTS[2]["content"]}]}


def metric(name: str, score: float) -> dict[str, Any]:
    return {"metric_name": name, "threshold": 0.8, "score": score, "eval_status": 2}


def case(session: Any = None, *metrics: Any, **fields: Any) -> dict[str, Any]:
    actual = {
        **invocation("Roll.", "Four.", USES),
        "app_details": {"agent_details": {"root": {"instructions": "You help."}}},
    }
    return {
        "eval_set_file": "dice", "eval_set_id": "dice", "eval_id": "one", "final_eval_status": 2,
        "eval_metric_results": None, "overall_eval_metric_results": list(metrics),
        "eval_metric_result_per_invocation": [{"actual_invocation": actual, "expected_invocation": None}],
        "session_id": "s1", "session_details": session, "user_id": "u1", **fields,
    }  # fmt: skip


RESULTS: dict[str, Any] = {
    "eval_set_result_id": "shop_dice_1", "eval_set_id": "dice", "creation_timestamp": 1.0,
    "eval_case_results": [
        case(SESSION, metric("tool_trajectory_avg_score", 0.5)),
        case(None, metric("a", 1.0), metric("b", 1.0), final_eval_status=1),
        case(None, eval_id="two", final_eval_status=3),
    ],
}  # fmt: skip


def test_results_hold_an_episode_for_each_run_with_its_reward(tmp_path: Path) -> None:
    first, second, third = read(write(tmp_path, RESULTS, name="a.evalset_result.json"), "google-adk")
    assert [(one.task, one.epoch, one.reward) for one in (first, second, third)] == [
        ("google-adk/dice/one", 0, 0.5), ("google-adk/dice/one", 1, 1.0), ("google-adk/dice/two", 0, None),
    ]  # fmt: skip
    assert len(first.calls) == 8
    assert [(one.tool, one.arguments, one.result) for one in second.calls] == [("roll", {"sides": 6}, 4)]
    assert [(one.role, one.content) for one in second.messages] == [
        ("system", "You help."), ("user", "Roll."), ("assistant", "It is 4."), ("assistant", "Four."),
    ]  # fmt: skip
    assert second.extra["reward_info"] == {"a": 1.0, "b": 1.0}


def test_results_may_be_json_text_inside_json_or_in_camel_case(tmp_path: Path) -> None:
    expected = read(write(tmp_path, RESULTS, name="a.json"), "google-adk")
    for form in (json.dumps(RESULTS), camel(RESULTS)):
        found = read(write(tmp_path, form, name="b.json"), "google-adk")
        assert [(one.task, one.calls, one.messages) for one in found] == [
            (one.task, one.calls, one.messages) for one in expected
        ]


def test_a_case_that_was_never_run_is_a_problem_and_the_others_are_kept(tmp_path: Path) -> None:
    bad = case(None, eval_id="one", eval_metric_result_per_invocation=[])
    results = {**RESULTS, "eval_case_results": [bad, *RESULTS["eval_case_results"]]}
    found = outcomes(google_adk.FORMAT.read(write(tmp_path, results, name="a.json")))
    assert [one for one in found if isinstance(one, int)] == [8, 1, 1]
    assert [one for one in found if isinstance(one, str) and "has neither a session nor an invocation" in one]


# Eval sets


EVAL_SET: dict[str, Any] = {
    "eval_set_id": "dice", "name": "dice", "eval_cases": [
        {"eval_id": "one", "conversation": [invocation("Roll.", "Four.", USES), invocation("Look.", "Ok.", STEPS)]},
        {"eval_id": "none", "conversation": [invocation("Hi.", "Hi.", None)]},
    ],
}  # fmt: skip
OLD: list[Any] = [
    {"query": "Roll.", "expected_tool_use": [{"tool_name": "roll", "tool_input": {"sides": 6}}], "reference": "4"},
    {"query": "Bye.", "expected_tool_use": [], "reference": "Bye."},
]


def expected(path: Path) -> list[Expected]:
    assert recognise_source(path).name == "google-adk"
    found = list(read_expected_calls(path))
    assert not [one for one in found if isinstance(one, Problem)]
    return [one for one in found if isinstance(one, Expected)]


def test_eval_sets_hold_expected_calls(tmp_path: Path) -> None:
    one, none = expected(write(tmp_path, EVAL_SET, name="x.evalset.json"))
    assert (one.id, one.prompt) == ("google-adk/dice/one", "Roll.\nLook.")
    assert [(call.tool, call.arguments) for call in one.calls] == [
        ("roll", {"sides": 6}), ("get_weather", {"city": "Oslo"}), ("roll", {"sides": 6}),
    ]  # fmt: skip
    assert (none.id, none.calls) == ("google-adk/dice/none", ())
    assert "corepath derive" in str(google_adk.mismatch(EVAL_SET))


def test_older_eval_sets_are_named_after_their_file(tmp_path: Path) -> None:
    (one,) = expected(write(tmp_path, OLD, name="roll.test.json"))
    assert (one.id, one.prompt) == ("google-adk/roll", "Roll.\nBye.")
    assert [(call.tool, call.arguments) for call in one.calls] == [("roll", {"sides": 6})]
    (named,) = expected(write(tmp_path, [{"name": "twice", "data": OLD}], name="dice.evalset.json"))
    assert (named.id, named.calls) == ("google-adk/dice/twice", one.calls)


def test_a_case_with_a_scenario_expects_nothing(tmp_path: Path) -> None:
    cases = [{"eval_id": "x", "conversation_scenario": {"starting_prompt": "Hi"}}, EVAL_SET["eval_cases"][0]]
    problem, one = read_expected_calls(write(tmp_path, {**EVAL_SET, "eval_cases": cases}, name="a.json"))
    assert "eval case 'x' has no 'conversation'" in str(problem)
    assert isinstance(one, Expected)


# Other formats and damage


def test_other_formats_do_not_take_it(tmp_path: Path) -> None:
    for format_ in (gemini.FORMAT, openai.FORMAT):
        assert mismatch_of(format_, SESSION) is not None
    assert google_adk.mismatch([one["content"] for one in EVENTS if "content" in one]) is not None
    assert recognise_format(write(tmp_path, {**SESSION, "events": []}, name="a.json")).name == "google-adk"


@given(st.data())
def test_damage_gives_an_episode_or_an_error_of_the_record(data: st.DataObject) -> None:
    survives(records_of(google_adk.FORMAT), data.draw(damaged(data.draw(st.sampled_from([SESSION, RESULTS, EVENTS])))))


@given(data=st.data())
def test_damage_to_an_eval_set_gives_expected_calls_or_a_problem(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    value = data.draw(damaged(data.draw(st.sampled_from([EVAL_SET, OLD, [{"name": "a", "data": OLD}]]))))
    path = write(tmp_path_factory.mktemp("sets"), value, name="a.evalset.json")
    assert all(isinstance(one, (Expected, Problem)) for one in google_adk.SOURCE.read(path))
