"""Import and export of OpenAI chat completions."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath import Call, Episode
from corepath.errors import RecordError
from corepath.importers.export import openai_messages, openai_record
from corepath.importers.formats.openai import mismatch, read_record
from corepath.notation.call import UNANSWERED
from corepath.values import arguments_of
from tests.strategies import json_objects, json_values, texts, tool_names

from .conversations import CALLS, MESSAGES, OPENAI
from .damage import read, write


def completion(message: dict[str, Any]) -> dict[str, Any]:
    """An assistant message as OpenAI's SDK parses and dumps it."""
    from openai.types.chat import ChatCompletion  # slow to import

    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", **message}}
    whole = {"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-x", "choices": [choice]}
    return dict(ChatCompletion.model_validate(whole).choices[0].message.model_dump())


def test_messages_that_the_package_of_openai_dumps(tmp_path: Path) -> None:
    calls = [
        {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"plant": "A"}'}},
        {"id": "2", "type": "custom", "custom": {"name": "run", "input": "print(1)"}},
    ]
    messages = [
        {"role": "user", "content": "Look."},
        completion({"content": None, "tool_calls": calls}),
        {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "[1, 2]"}]},
        {"role": "tool", "tool_call_id": "2", "content": "1"},
        completion({"content": None, "refusal": "I will not say."}),
    ]
    (episode,) = read(write(tmp_path, {"messages": messages, "session": "s-1"}), "openai")
    assert episode.calls == (
        Call("look", {"plant": "A"}, [1, 2], id="1", turn=1),
        Call("run", {"input": "print(1)"}, 1, id="2", turn=1),
    )
    assert episode.answer == "I will not say."
    assert episode.extra == {"metadata": {"session": "s-1"}}


def test_functions_of_the_old_form_are_joined_by_name() -> None:
    messages = [
        {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}},
        {"role": "function", "name": "look", "content": "seen"},
        {"role": "assistant", "function_call": {"name": "look", "arguments": ""}},
    ]
    (episode,) = read_record(messages)
    assert episode.calls == (Call("look", {}, "seen", turn=1), Call("look", {}, turn=2))
    assert episode.answer is None


def test_calls_without_ids_are_answered_in_their_order() -> None:
    calls = [{"function": {"name": "look", "arguments": {"n": n}}} for n in (1, 2)]
    answers = [{"role": "tool", "tool_name": "look", "content": text} for text in ("a", "b")]
    (episode,) = read_record([{"role": "assistant", "content": "", "tool_calls": calls}, *answers])
    assert episode.calls == (Call("look", {"n": 1}, "a", turn=1), Call("look", {"n": 2}, "b", turn=1))


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "tool_use", "id": "1", "name": "look", "input": {}}],
        [{"type": "tool-call", "toolCallId": "1", "toolName": "look", "input": {}}],
        [{"functionCall": {"name": "look"}}],
    ],
)
def test_calls_that_stand_where_this_format_has_none_are_refused_rather_than_lost(content: Any) -> None:
    messages = [{"role": "user", "content": "Look."}, {"role": "assistant", "content": content}]
    assert mismatch({"messages": messages}) == "tool calls are among the parts of a message's content"
    with pytest.raises(RecordError, match="tool calls are among the parts"):
        list(read_record({"messages": messages}))
    with pytest.raises(RecordError, match="tool calls are among the parts"):
        list(read_record([{"role": "assistant", "parts": content}]))


def test_words_that_a_call_follows_are_no_answer() -> None:
    (episode,) = read_record(OPENAI["messages"][:3])
    assert episode.answer is None
    assert [call.result for call in episode.calls] == [UNANSWERED, UNANSWERED]


@pytest.mark.parametrize("failed", [True, False])
def test_requests_and_responses_of_one_run_are_one_episode(tmp_path: Path, failed: bool) -> None:
    def exchange(messages: list[Any], **response: Any) -> dict[str, Any]:
        return {"request": {"model": "gpt-x", "messages": messages, "tools": []}, "response": response, "session": "s"}

    asked = [{"role": "user", "content": "Look."}]
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    first = completion({"content": None, "tool_calls": [call]})
    sent = {"role": "assistant", "content": "", "tool_calls": [call]}
    later = [*asked, sent, {"role": "tool", "tool_call_id": "1", "content": "seen"}]
    log = [
        exchange(asked, choices=[{"message": first, "finish_reason": "tool_calls"}]),
        exchange(later, choices=[{"message": completion({"content": "Seen."})}], model="gpt-x-1"),
    ]
    if failed:
        log.insert(1, exchange(later, error={"message": "busy"}))
    (episode,) = read(write(tmp_path, *log), "openai")
    assert episode.calls == (Call("look", {}, "seen", id="1", turn=1),)
    assert (episode.answer, episode.agent) == ("Seen.", "gpt-x-1")
    assert episode.extra == {"metadata": {"session": "s"}}


def test_a_response_that_stands_beside_its_messages_is_the_last_message() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    record = {"messages": OPENAI["messages"][:2], "choices": [{"message": {"content": "x", "tool_calls": [call]}}]}
    (episode,) = read_record(record)
    assert episode.calls == (Call("look", {}, id="1", turn=1),)


CALL = {"id": "1", "type": "function", "function": {"name": "look", "arguments": '{"a":1}'}}
LOOKS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
WHOLE = {"id": "c", "object": "chat.completion", "model": "gpt-x", "choices": [{"index": 0, "message": LOOKS}]}
SEEN = {"role": "tool", "tool_call_id": "1", "content": "seen"}


@pytest.mark.parametrize(
    "record",
    [
        WHOLE,
        {"id": "b", "custom_id": "t-1", "response": {"status_code": 200, "body": WHOLE}, "error": None},
        {"custom_id": "t-1", "method": "POST", "url": "/v1", "body": {"model": "gpt-x", "messages": [LOOKS]}},
        {"request": {"body": {"messages": []}}, "response": {"status": 200, "body": WHOLE}},
    ],
)
def test_a_completion_alone_and_lines_of_a_batch_are_episodes(record: dict[str, Any], tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, record), "openai")
    assert episode.calls == (Call("look", {"a": 1}, id="1", turn=1),)
    assert episode.agent == "gpt-x"
    assert episode.extra["metadata"].get("custom_id") == record.get("custom_id")


def test_a_custom_id_alone_makes_no_batch_of_a_conversation() -> None:
    record = {"custom_id": "t-1", "messages": [LOOKS], "params": {"temperature": 0}, "result": "pass"}
    (episode,) = read_record(record)
    assert len(episode.calls) == 1
    assert episode.extra["metadata"] == {"custom_id": "t-1", "params": {"temperature": 0}, "result": "pass"}


def test_a_line_of_a_batch_that_failed_says_what_the_api_said() -> None:
    for failed in (
        {"custom_id": "t-1", "response": None, "error": {"code": "batch_expired"}},
        {"custom_id": "t-1", "response": {"status_code": 400, "body": {"error": {"code": "batch_expired"}}}},
    ):
        with pytest.raises(RecordError, match=r"the API answered with an error: .*batch_expired"):
            list(read_record(failed))


def test_a_call_whose_arguments_the_client_wrote_anew_is_the_same_call(tmp_path: Path) -> None:
    asked = {"role": "user", "content": "Look."}
    again = {**CALL, "index": 0, "function": {"name": "look", "arguments": '{"a": 1}'}}
    log = [
        {"request": {"messages": [asked]}, "response": WHOLE},
        {"request": {"messages": [asked, {**LOOKS, "tool_calls": [again]}, SEEN]}, "response": {"choices": []}},
    ]
    (episode,) = read(write(tmp_path, *log), "openai")
    assert episode.calls == (Call("look", {"a": 1}, "seen", id="1", turn=1),)


def test_a_run_that_did_nothing_stands_beside_one_that_ended(tmp_path: Path) -> None:
    asked = {"role": "user", "content": "Look."}
    ended = [asked, LOOKS, SEEN, {"role": "assistant", "content": "Seen."}]
    for one, other in (([asked], ended), ([asked, {"role": "assistant", "content": "No."}], [*ended[1:], asked])):
        found = read(write(tmp_path, {"messages": one}, {"messages": other}), "openai")
        assert [len(episode.calls) for episode in found] == [0, 1]


# Export

RESULTS = json_values | texts.map(json.dumps) | st.just(UNANSWERED)
ARGUMENTS = json_objects | texts.filter(lambda text: arguments_of(text) == text)


@st.composite
def calls(draw: st.DrawFn) -> Call:
    error = draw(st.none() | texts.filter(bool))
    result = UNANSWERED if error else draw(RESULTS)
    id_ = draw(st.none() | st.sampled_from(["call_0", "call_1", "a"]))
    return Call(draw(tool_names), draw(ARGUMENTS), result, error, id_, draw(st.none() | st.integers(1, 3)))


odd_calls = st.builds(
    Call, tool_names, json_values | texts, RESULTS, st.none() | json_values | texts, st.none(), st.none()
)
"""Calls that messages cannot represent, such as arguments that are not objects and errors with a result."""


@given(st.lists(calls(), max_size=6), st.none() | texts.filter(bool))
def test_an_exported_episode_is_imported_as_it_was(made: list[Call], answer: str | None) -> None:
    episode = Episode("t", tuple(made), answer=answer)
    messages = json.loads(json.dumps(openai_messages(episode, "Do it.")))
    (again,) = read_record(messages)
    assert [_said(call) for call in again.calls] == [_said(call) for call in made]
    assert again.answer == answer


def _said(call: Call) -> tuple[Any, ...]:
    return call.tool, call.arguments, call.result, call.error


@given(st.lists(calls() | odd_calls, max_size=4), st.integers(-3, 3) | st.none(), json_values, json_objects)
def test_an_exported_record_is_imported_with_all_that_is_recorded(
    made: list[Call], seed: int | None, answer: Any, params: dict[str, Any]
) -> None:
    scoring = {"lam": 0.25}
    other = (Call("o", {"p": 1}, "q"),)
    episode = Episode("t", tuple(made), "m", 2, params, answer, other, (), seed, "f" * 16, scoring, reward=1)
    (again,) = read_record(json.loads(json.dumps(openai_record(episode))))
    assert [_said(call) for call in again.calls] == [_said(call) for call in made]
    assert replace(again, calls=(), messages=(), extra={}) == replace(episode, calls=(), messages=(), extra={})
    assert again.reward == 1


def test_what_others_say_of_a_trace_is_not_taken_for_ours() -> None:
    told = {"seed": 4, "fingerprint": "f", "scoring": "recommended", "epoch": 3, "ended": "failed outside", "task": "t"}
    for record in (
        {"messages": [LOOKS, SEEN], **told},
        {"messages": [LOOKS, SEEN], "metadata": told},
        {"messages": [LOOKS, SEEN], "corepath": "0.1", "metadata": {"corepath": told, **told}},
    ):
        (episode,) = read_record(record)
        assert (episode.task, episode.seed, episode.fingerprint, episode.scoring, episode.epoch) == ("", *[None] * 3, 0)
        assert not episode.outcome
        assert episode.extra["metadata"]["seed"] == 4


def test_what_we_said_of_a_trace_must_be_readable() -> None:
    with pytest.raises(RecordError, match=r"under 'corepath' cannot be read: 'seed'"):
        list(read_record({"messages": [LOOKS, SEEN], "corepath": {"task": "t", "seed": "four"}}))


def test_calls_of_one_turn_stand_in_one_message_and_keep_their_ids() -> None:
    (episode,) = read_record(OPENAI)
    messages = openai_messages(episode)
    assert [len(message.get("tool_calls", ())) for message in messages if message["role"] == "assistant"] == [
        2,
        1,
        1,
        0,
    ]
    assert [message["content"] for message in messages[:3]] == ["You care for plants.", "Water A.", "I look."]
    (again,) = read_record(messages)
    assert again.calls == episode.calls == CALLS
    assert again.messages == episode.messages == MESSAGES
    assert again.answer == "I could not."


def test_a_call_without_an_answer_lends_its_id_to_no_other() -> None:
    made = (Call("a", {}, id="x", turn=1), Call("b", {}, "answer of b", id="x", turn=2))
    (again,) = read_record(openai_messages(Episode("t", made)))
    assert [call.result for call in again.calls] == [UNANSWERED, "answer of b"]


def test_the_package_of_openai_takes_what_is_exported() -> None:
    (episode,) = read_record(OPENAI)
    for message in openai_messages(episode):
        if message["role"] == "assistant":
            assert completion(message)["tool_calls"] == message.get("tool_calls")


@pytest.mark.parametrize("ended", [None, "failed outside", "step limit"])
def test_an_episode_that_did_nothing_comes_back_as_it_was(ended: str | None, tmp_path: Path) -> None:
    episode = Episode("t", (), "gpt-x", epoch=3, outcome=ended)
    (again,) = read(write(tmp_path, openai_record(episode)), "openai")
    assert (again.calls, again.answer, again.agent, again.epoch) == ((), None, "gpt-x", 3)
    assert again.outcome == again.extra["metadata"].get("ended") == ended


def test_no_messages_are_a_conversation_only_where_no_other_list_could_be_one() -> None:
    assert mismatch({"messages": [], "model": "gpt-x"}) is None
    assert mismatch({"messages": [], "items": []})
    assert mismatch([])
