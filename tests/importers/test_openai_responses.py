"""OpenAI Responses: items, tools that the API runs, approvals, and linked responses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from corepath import Call
from corepath.errors import RecordError
from corepath.importers import import_trace
from corepath.importers.formats.openai_responses import read_record
from corepath.notation.call import UNANSWERED

from .conversations import RESPONSES
from .damage import outcomes, read, write


def response(*output: Any, **more: Any) -> dict[str, Any]:
    """A response as OpenAI's SDK parses and dumps it."""
    from openai.types.responses import Response  # slow to import

    whole = {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "gpt-x", "output": list(output), "tools": [],
        "parallel_tool_calls": True, "tool_choice": "auto", "status": "completed", **more,
    }  # fmt: skip
    return dict(Response.model_validate(whole).model_dump(mode="json"))


def function(id_: str, name: str = "look", arguments: str = "{}", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": id_, "name": name, "arguments": arguments, "id": f"fc_{id_}", **more}


def output(id_: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id_, "output": value, **more}


def words(*texts: str) -> dict[str, Any]:
    parts = [{"type": "output_text", "text": text, "annotations": []} for text in texts]
    return {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": parts}


def one(value: Any) -> Any:
    (episode,) = read_record(value)
    return episode


def test_a_response_that_the_package_of_openai_dumps(tmp_path: Path) -> None:
    made = response(
        {"type": "reasoning", "id": "r", "summary": []}, function("1", arguments='{"a": 1}'), function("2"),
        words("I ", "look."), metadata={"flow": "f"}, conversation={"id": "conv_1"},
    )  # fmt: skip
    (episode,) = read(write(tmp_path, made), "openai-responses")
    assert episode.calls == (Call("look", {"a": 1}, id="1", turn=1), Call("look", {}, id="2", turn=1))
    assert episode.answer == "I look."
    assert episode.agent == "gpt-x"
    metadata = episode.extra["metadata"]
    assert (metadata["flow"], metadata["conversation"], metadata["id"]) == ("f", {"id": "conv_1"}, "resp_1")


def test_items_that_the_package_of_openai_takes_as_input(tmp_path: Path) -> None:
    from openai.types.responses import ResponseInputItem  # slow to import

    items = [
        {"role": "user", "content": "Look."}, function("1"),
        output("1", [{"type": "input_text", "text": '{"ok": '}, {"type": "input_text", "text": "1}"}]),
        {"type": "custom_tool_call", "call_id": "2", "name": "run", "input": "print(1)"},
        {"type": "custom_tool_call_output", "call_id": "2", "output": "1"},
        {"type": "shell_call", "call_id": "3", "action": {"commands": ["ls"]}},
        {"type": "shell_call_output", "call_id": "3", "output": [
            {"stdout": "", "stderr": "no", "outcome": {"type": "exit", "exit_code": 2}}]},
        {"type": "apply_patch_call", "call_id": "4", "status": "completed",
         "operation": {"type": "delete_file", "path": "a"}},
        {"type": "apply_patch_call_output", "call_id": "4", "status": "failed", "output": "no such file"},
        {"type": "local_shell_call", "id": "x", "call_id": "5", "status": "completed",
         "action": {"type": "exec", "command": ["ls"], "env": {}}},
        {"type": "local_shell_call_output", "id": "5", "output": "a.txt"},
    ]  # fmt: skip
    dumped = TypeAdapter(list[ResponseInputItem]).validate_python(items)
    kept = TypeAdapter(list[ResponseInputItem]).dump_python(dumped, mode="json", exclude_none=True)
    (episode,) = read(write(tmp_path, kept), "openai-responses")
    assert [(call.tool, call.arguments, call.result, call.error) for call in episode.calls] == [
        ("look", {}, {"ok": 1}, None),
        ("run", {"input": "print(1)"}, 1, None),
        ("shell", {"commands": ["ls"]}, items[6]["output"], None),
        ("apply_patch", {"type": "delete_file", "path": "a"}, UNANSWERED, "no such file"),
        ("local_shell", {"type": "exec", "command": ["ls"], "env": {}}, "a.txt", None),
    ]
    assert [call.turn for call in episode.calls] == [1, 2, 3, 4, 5]


def test_tools_that_the_api_runs_bring_their_answers_with_them(tmp_path: Path) -> None:
    mcp = {"type": "mcp_call", "server_label": "sums", "name": "add", "arguments": '{"a": 1}'}
    failed = {"type": "mcp_tool_execution_error", "content": [{"type": "text", "text": "no numbers"}]}
    made = response(
        {**mcp, "id": "1", "output": "3", "status": "completed"},
        {**mcp, "id": "2", "error": failed, "status": "failed"},
        {**mcp, "id": "3", "status": "incomplete"},
        {"type": "web_search_call", "id": "4", "status": "completed", "action": {"type": "search", "query": "q"}},
        {"type": "file_search_call", "id": "5", "status": "completed", "queries": ["q"], "results": [{"text": "t"}]},
        {"type": "code_interpreter_call", "id": "6", "status": "failed", "code": "1/0", "container_id": "c",
         "outputs": [{"type": "logs", "logs": "ZeroDivisionError"}]},
        {"type": "image_generation_call", "id": "7", "status": "completed", "result": "aGk=", "action": "generate"},
        words("Done."),
    )  # fmt: skip
    (episode,) = read(write(tmp_path, made), "openai-responses")
    assert [(call.tool, call.failed) for call in episode.calls] == [
        ("add", False), ("add", True), ("add", False), ("web_search", False), ("file_search", False),
        ("code_interpreter", True), ("image_generation", False),
    ]  # fmt: skip
    first, second, third, search, files, code, image = episode.calls
    assert (first.arguments, first.result, first.extra["server_label"]) == ({"a": 1}, 3, "sums")
    assert second.error == failed
    assert (third.result, third.extra["status"]) == (UNANSWERED, "incomplete")
    assert search.arguments["query"] == "q"
    assert search.result is None
    assert (files.arguments, files.result[0]["text"]) == ({"queries": ["q"]}, "t")
    assert code.error == [{"type": "logs", "logs": "ZeroDivisionError"}]
    assert (image.arguments["action"], image.result) == ("generate", "aGk=")
    assert {call.turn for call in episode.calls} == {1}


def test_a_call_that_was_cut_off_keeps_its_text_and_has_no_answer() -> None:
    (call,) = one({"output": [function("1", arguments='{"a": ', status="incomplete")]}).calls
    assert (call.arguments, call.result, call.extra) == ('{"a": ', UNANSWERED, {"status": "incomplete"})


@pytest.mark.parametrize(
    ("approved", "call", "expected"),
    [
        (True, True, ("ok", None)),
        (False, False, (UNANSWERED, "too dear")),
        (None, False, (UNANSWERED, None)),
    ],
)
def test_a_call_that_needs_approval_counts_once(approved: bool | None, call: bool, expected: Any) -> None:
    about = {"server_label": "shop", "name": "buy", "arguments": "{}"}
    items: list[Any] = [{"type": "mcp_approval_request", "id": "ask", **about}]
    if approved is not None:
        reply = {"type": "mcp_approval_response", "approval_request_id": "ask", "approve": approved}
        items.append({**reply, "reason": "too dear"})
    if call:
        items.append({"type": "mcp_call", "id": "2", "approval_request_id": "ask", **about, "output": "ok"})
    (made,) = one(items).calls
    assert (made.tool, made.result, made.error) == ("buy", *expected)


def test_an_output_without_an_id_is_joined_by_its_name_or_refused() -> None:
    items = [function("1", "a"), function("2", "b"), output("x", "of b", name="b", call_id=None)]
    assert [call.result for call in one(items).calls] == [UNANSWERED, "of b"]
    with pytest.raises(RecordError, match="'function_call_output' needs the 'call_id'"):
        one([function("1"), output("1", "x", call_id=None)])


def test_a_list_that_the_api_gives_newest_first_is_read_from_its_end() -> None:
    items = [{"role": "user", "content": "Look."}, function("1"), function("2"), output("1", "a"), output("2", "b"),
             words("Done.")]  # fmt: skip
    for data in (items, items[::-1]):
        episode = one({"object": "list", "data": data, "has_more": False, "first_id": "a"})
        assert [(call.id, call.result, call.turn) for call in episode.calls] == [("1", "a", 1), ("2", "b", 1)]
        assert episode.answer == "Done."


# Requests and responses


def test_responses_that_go_on_from_each_other_are_one_episode(tmp_path: Path) -> None:
    first = {"input": "Look.", **response(function("1"), id="r1")}
    second = {"request": {"previous_response_id": "r1", "input": [output("1", "seen")]},
              "response": response(function("2"), id="r2", previous_response_id="r1")}  # fmt: skip
    third = {"input": [output("2", "too")], **response(words("Seen."), id="r3", previous_response_id="r2")}
    (episode,) = read(write(tmp_path, [first, second, third], name="chain.json"), "openai-responses")
    assert [(call.result, call.turn) for call in episode.calls] == [("seen", 1), ("too", 2)]
    assert episode.answer == "Seen."
    other = {"input": [output("1", "other")], **response(words("Other."), id="r4", previous_response_id="r1")}
    made = list(read_record([first, second, third, other]))
    assert [(one.answer, len(one.calls)) for one in made] == [("Seen.", 2), ("Other.", 1)]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_responses_that_go_on_from_each_other_stand_one_a_line(tmp_path: Path, order: tuple[int, ...]) -> None:
    first = {"input": "Look.", **response(function("1"), id="r1")}
    second = {"request": {"body": {"previous_response_id": "r1", "input": [output("1", "seen")]}},
              "response": {"body": response(function("2"), id="r2", previous_response_id="r1")}}  # fmt: skip
    third = {"input": [output("2", "too")], **response(words("Seen."), id="r3", previous_response_id="r2")}
    other = {"input": [output("1", "other")], **response(words("Other."), id="r4", previous_response_id="r1")}
    lines = [(first, second, third)[number] for number in order]
    made = read(write(tmp_path, RESPONSES, *lines, other), "openai-responses")
    assert [([call.result for call in one.calls], one.answer) for one in made[1:]] == [
        (["seen", "too"], "Seen."),
        (["other"], "Other."),
    ]
    assert len(made[0].calls) == 4


def test_responses_that_begin_with_the_same_words_are_each_read(tmp_path: Path) -> None:
    short, long = response(words("Yes."), id="r1"), response(words("Yes."), function("1"), id="r2")
    assert len(read(write(tmp_path, short, long), "openai-responses")) == 2
    go_on = [{"input": "Go on.", **one, "previous_response_id": before} for one, before in ((short, "a"), (long, "b"))]
    assert len(read(write(tmp_path, *go_on), "openai-responses")) == 2


def test_responses_in_a_circle_are_told_line_by_line(tmp_path: Path) -> None:
    circle = [{"id": own, "previous_response_id": before, "output": [words("x")]} for own, before in ("12", "21")]
    first, second, kept = outcomes(import_trace(write(tmp_path, *circle, RESPONSES), "openai-responses"))
    assert "trace.jsonl:1:1: some responses continue each other in a cycle" in str(first)
    assert "trace.jsonl:2:1: some responses" in str(second)
    assert kept == 4


def test_a_line_of_a_batch_is_an_episode(tmp_path: Path) -> None:
    line = {"id": "b", "custom_id": "t-1", "response": {"status_code": 200, "body": response(function("1"))}}
    (episode,) = read(write(tmp_path, line), "openai-responses")
    assert [call.id for call in episode.calls] == ["1"]
    assert (episode.agent, episode.extra["metadata"]["custom_id"]) == ("gpt-x", "t-1")


def test_the_last_event_of_a_stream_has_the_whole_response(tmp_path: Path) -> None:
    events = [{"type": "response.created", "response": response()},
              {"type": "response.completed", "response": response(function("1"))}]  # fmt: skip
    for log in (events, events[1:]):
        (episode,) = read(write(tmp_path, *log), "openai-responses")
        assert [call.id for call in episode.calls] == ["1"]
    failed = {
        "type": "response.failed",
        "response": response(status="failed", error={"code": "server_error", "message": "no"}),
    }
    (why,) = outcomes(import_trace(write(tmp_path, events[0], failed)))
    assert "the API answered with an error" in str(why)


def test_a_response_without_the_one_that_it_goes_on_from_says_so(tmp_path: Path) -> None:
    lost = {"input": [output("1", "seen")], **response(words("Seen."), id="r2", previous_response_id="r1")}
    bad, good = outcomes(import_trace(write(tmp_path, lost, RESPONSES)))
    assert "continues the response 'r1', which is not in this file" in str(bad)
    assert good == 4


def test_responses_that_cannot_be_put_in_order_are_refused() -> None:
    def made(id_: str, before: str) -> dict[str, Any]:
        return {"id": id_, "previous_response_id": before, "output": [words("x")]}

    with pytest.raises(RecordError, match="in a cycle"):
        list(read_record([made("1", "2"), made("2", "1")]))
    with pytest.raises(RecordError, match=r"the response '\d' continues itself"):
        list(read_record([made("1", "2"), made("2", "1"), made("3", "1")]))
    with pytest.raises(RecordError, match="two responses have the id '1'"):
        list(read_record([made("1", "0"), made("1", "0"), made("3", "1")]))
    with pytest.raises(RecordError, match="one of 3 has none"):
        list(read_record([made("1", "0"), made("2", "1"), {"id": "3"}]))


def test_requests_that_repeat_the_items_before_them_are_one_episode(tmp_path: Path) -> None:
    asked: list[Any] = [{"role": "user", "content": "Look."}]
    first = response(function("1"), function("2"))
    sent = [{key: value for key, value in item.items() if key not in ("id", "status")} for item in first["output"]]
    sent[0]["arguments"] = "{ }"
    second = [*asked, *sent, output("1", "a"), output("2", "b")]
    log = [{"input": asked, **first}, {"input": second, **response(words("Done."))}]
    (episode,) = read(write(tmp_path, *log), "openai-responses")
    assert [(call.result, call.turn) for call in episode.calls] == [("a", 1), ("b", 1)]
    assert episode.answer == "Done."
