"""Anthropic messages: blocks, tools that the API runs, requests and responses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from corepath import Call
from corepath.errors import RecordError
from corepath.importers import import_trace
from corepath.importers.formats.anthropic import mismatch, read_record
from corepath.importers.registry import recognise_format

from .conversations import ANTHROPIC
from .damage import good, outcomes, read, write

USAGE = {"input_tokens": 1, "output_tokens": 1}


def response(*content: Any, beta: bool = False) -> dict[str, Any]:
    """A response as Anthropic's SDK parses and dumps it."""
    from anthropic.types import Message  # slow to import
    from anthropic.types.beta import BetaMessage

    whole = {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": list(content),
        "stop_reason": "end_turn", "stop_sequence": None, "usage": USAGE,
    }  # fmt: skip
    kind = BetaMessage if beta else Message
    dumped: dict[str, Any] = kind.model_validate(whole).model_dump(mode="json")
    return dumped


def use(id_: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": arguments}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def answer(id_: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id_, "content": content, **more}]}


def said(dumped: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": dumped["content"]}


def run() -> list[dict[str, Any]]:
    """A run of three requests as a proxy logs it; each repeats the conversation so far."""
    asked: list[Any] = [{"role": "user", "content": "Water A."}]
    first = response({"type": "thinking", "thinking": "hm", "signature": "s"}, use("1", "look", plant="A"))
    second = response(use("2", "water", plant="A"), use("3", "water", plant="B"))
    last = response(text("Do"), text("ne."))
    kept = [asked, [*asked, said(first), answer("1", "dry")]]
    kept.append([*kept[1], said(second), {"role": "user", "content": [
        answer("3", "no such plant", is_error=True)["content"][0], answer("2", "ok")["content"][0]]}])  # fmt: skip
    requests = [{"model": "claude-x", "max_tokens": 99, "messages": messages} for messages in kept]
    return [{"request": one, "response": two} for one, two in zip(requests, [first, second, last], strict=True)]


RUN = (
    Call("look", {"plant": "A"}, "dry", id="1", turn=1),
    Call("water", {"plant": "A"}, "ok", id="2", turn=2),
    Call("water", {"plant": "B"}, error="no such plant", id="3", turn=2),
)


@pytest.mark.parametrize("as_list", [True, False])
def test_requests_and_responses_of_one_run_are_one_episode(tmp_path: Path, as_list: bool) -> None:
    log = run()
    file = write(tmp_path, log, name="log.json") if as_list else write(tmp_path, *log)
    (episode,) = read(file, "anthropic")
    assert episode.calls == RUN
    assert episode.answer == "Done."
    assert episode.agent == "claude-x"
    metadata = episode.extra["metadata"]
    assert (metadata["max_tokens"], metadata["id"], metadata["stop_reason"]) == (99, "msg_1", "end_turn")
    assert not metadata.keys() & {"messages", "content", "request", "response", "model"}


def test_runs_that_are_logged_at_the_same_time_are_told_apart(tmp_path: Path) -> None:
    one, two = run(), run()
    for exchange in two:
        exchange["request"]["messages"][0] = {"role": "user", "content": "Water B."}
    log = [exchange for pair in zip(one, two, strict=True) for exchange in pair]
    assert [episode.calls for episode in read(write(tmp_path, *log), "anthropic")] == [RUN, RUN]


def test_the_same_run_twice_is_two_episodes(tmp_path: Path) -> None:
    assert [episode.calls for episode in read(write(tmp_path, *run(), *run()), "anthropic")] == [RUN, RUN]


def test_marks_of_caching_and_left_out_thoughts_make_no_other_conversation(tmp_path: Path) -> None:
    log = run()
    messages = log[2]["request"]["messages"]
    messages[1]["content"] = [block for block in messages[1]["content"] if block["type"] != "thinking"]
    messages[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
    messages[0]["content"] = [{**text("Water A."), "cache_control": {"type": "ephemeral"}}]
    (episode,) = read(write(tmp_path, *log), "anthropic")
    assert episode.calls == RUN


def test_a_run_whose_last_request_failed_keeps_its_calls_and_says_why(tmp_path: Path) -> None:
    log = run()
    log[2]["response"] = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    (episode,) = read(write(tmp_path, *log), "anthropic")
    assert episode.calls == RUN
    assert episode.answer is None
    assert episode.extra["metadata"]["error"]["message"] == "busy"


def test_a_request_that_was_tried_again_counts_once(tmp_path: Path) -> None:
    log = run()
    failed = {**log[1], "response": {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}}
    (episode,) = read(write(tmp_path, log[0], failed, log[1], log[2]), "anthropic")
    assert episode.calls == RUN


def test_a_response_alone_is_an_episode(tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, response(text("I look."), use("1", "look"))), "anthropic")
    assert episode.calls == (Call("look", {}, id="1", turn=1),)
    assert episode.agent == "claude-x"


@pytest.mark.parametrize(
    "line",
    [
        lambda made: {"custom_id": "t-1", "result": {"type": "succeeded", "message": made}},
        lambda made: {"custom_id": "t-1", "params": {"model": "claude-x", "messages": [said(made)]}},
    ],
)
def test_a_line_of_a_batch_is_an_episode(line: Callable[[Any], dict[str, Any]], tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, line(response(use("1", "look")))), "anthropic")
    assert episode.calls == (Call("look", {}, id="1", turn=1),)
    assert (episode.agent, episode.extra["metadata"]["custom_id"]) == ("claude-x", "t-1")


def test_a_line_of_a_batch_that_failed_says_what_the_api_said() -> None:
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": "too long"}}
    line = {"custom_id": "t-1", "result": {"type": "errored", "error": error}}
    with pytest.raises(RecordError, match=r"the API answered with an error: .*too long"):
        list(read_record(line))
    (episode,) = read_record({**line, "params": {"messages": ANTHROPIC["messages"]}})
    assert len(episode.calls) == 4


def test_tools_that_the_api_runs_are_calls_and_their_errors_are_errors(tmp_path: Path) -> None:
    blocks = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "a"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [
            {"type": "web_search_result", "title": "t", "url": "u", "encrypted_content": "e", "page_age": None}]},
        {"type": "server_tool_use", "id": "s2", "name": "web_fetch", "input": {"url": "u"}},
        {"type": "web_fetch_tool_result", "tool_use_id": "s2", "content": {
            "type": "web_fetch_tool_result_error", "error_code": "url_not_accessible"}},
        {"type": "server_tool_use", "id": "s3", "name": "bash_code_execution", "input": {"command": "false"}},
        {"type": "bash_code_execution_tool_result", "tool_use_id": "s3", "content": {
            "type": "bash_code_execution_result", "stdout": "", "stderr": "", "return_code": 1, "content": []}},
        {"type": "mcp_tool_use", "id": "s4", "name": "add", "server_name": "sums", "input": {}},
        {"type": "mcp_tool_result", "tool_use_id": "s4", "is_error": True, "content": [text("no numbers")]},
        text("I am done."),
    ]  # fmt: skip
    (episode,) = read(write(tmp_path, response(*blocks, beta=True)), "anthropic")
    assert [(call.tool, call.failed, call.turn) for call in episode.calls] == [
        ("web_search", False, 1), ("web_fetch", True, 1), ("bash_code_execution", False, 1), ("add", True, 1),
    ]  # fmt: skip
    assert episode.calls[0].result[0]["title"] == "t"
    assert episode.calls[1].error["error_code"] == "url_not_accessible"
    assert episode.calls[2].result["return_code"] == 1
    assert episode.calls[3].error == "no numbers"
    assert episode.calls[3].extra == {"server_name": "sums", "type": "mcp_tool_use"}
    assert episode.answer == "I am done."


def test_results_that_are_more_than_text_are_kept_and_an_empty_one_is_none() -> None:
    picture = [text("see"), {"type": "image", "source": {"type": "url", "url": "u"}}]
    empty = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "2"}]}
    use_both = {"role": "assistant", "content": [use("1", "draw"), use("2", "wait")]}
    (episode,) = read_record([use_both, answer("1", picture), empty])
    assert [call.result for call in episode.calls] == [picture, None]


def test_words_between_calls_stand_before_the_call_that_they_precede() -> None:
    (episode,) = read_record([{"role": "assistant", "content": [text("a"), use("1", "x"), text("b"), use("2", "y")]}])
    assert [(one.content, one.before_call) for one in episode.messages] == [("a", 0), ("b", 1)]
    assert episode.answer is None


def test_a_file_whose_first_conversation_has_no_calls_is_recognised_by_the_others(tmp_path: Path) -> None:
    idle = {"messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": [text("Hello.")]}]}
    file = write(tmp_path, idle, ANTHROPIC)
    assert recognise_format(file).name == "anthropic"
    assert [(len(one.calls), one.answer) for one in good(import_trace(file))] == [(0, "Hello."), (4, "I could not.")]


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({"role": "tool", "content": "x"}, "role of a message must be user, assistant or system, not 'tool'"),
        ({"role": "assistant", "content": None, "tool_calls": [{}]}, "use --from openai"),
        ({"role": "assistant", "content": 5}, "blocks of content must be a list, not a number"),
        ({"role": "assistant", "content": ["x"]}, "blocks of content must be objects; number 1 is a string"),
        ({"role": "user", "content": [{"type": "tool_result"}]}, "'tool_result' needs 'tool_use_id'"),
        ("x", "messages must be objects; number 1 is a string"),
    ],
)
def test_what_is_wrong_with_a_message_is_said(message: Any, why: str) -> None:
    with pytest.raises(RecordError, match=why):
        list(read_record({"messages": [message]}))


def test_a_bad_exchange_is_a_problem_of_its_own_and_the_others_are_read(tmp_path: Path) -> None:
    log = run()
    file = write(tmp_path, log[2], {"request": {"messages": "x"}, "response": log[0]["response"]}, ANTHROPIC)
    first, second, third = outcomes(import_trace(file))
    assert (first, third) == (3, 4)
    assert "trace.jsonl:2:1: no list of messages" in str(second)


def test_an_item_of_the_responses_api_is_no_response_of_anthropic() -> None:
    item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}]}
    assert mismatch(item) is not None
