"""Messages of pydantic-ai: real runs, and histories of older versions."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from corepath import Call
from corepath.errors import RecordError
from corepath.importers.formats.pydantic_ai import read_record
from corepath.notation.call import UNANSWERED

from .damage import read

if TYPE_CHECKING:
    from pydantic_ai import Agent


class Report(BaseModel):
    """The output type of the agent."""

    litres: int


def agent(*turns: list[Any], output: Any = str) -> Agent[None, Any]:
    """Run an agent with scripted turns and a tool that refuses too much water."""

    from pydantic_ai import Agent, ModelRetry  # slow to import
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models.function import FunctionModel

    def speak(messages: list[Any], _: Any) -> Any:
        return ModelResponse(turns[sum(isinstance(message, ModelResponse) for message in messages)])

    made: Agent[None, Any] = Agent(FunctionModel(speak, model_name="fake"), output_type=output, retries=5)

    def water(litres: int) -> dict[str, int]:
        if litres > 5:
            raise ModelRetry("too much")
        return {"left": 5}

    made.tool_plain(water)
    return made


def run(made: Agent[None, Any], folder: Path) -> Any:
    file = folder / "messages.json"
    file.write_bytes(asyncio.run(made.run("Water it.")).all_messages_json())
    (episode,) = read(file, "pydantic-ai")
    return episode


def test_a_run_of_pydantic_ai(tmp_path: Path) -> None:
    from pydantic_ai.messages import TextPart, ToolCallPart

    made = agent(
        [TextPart("I "), TextPart("water."), ToolCallPart("water", {"litres": 2}, "1"),
         ToolCallPart("water", '{"litres": 9}', "2")],
        [ToolCallPart("drown", {}, "3"), ToolCallPart("water", '{"litres": ', "4")],
        [TextPart("Watered once.")],
    )  # fmt: skip
    episode = run(made, tmp_path)
    assert [(call.tool, call.arguments, call.result, call.failed, call.turn) for call in episode.calls] == [
        ("water", {"litres": 2}, {"left": 5}, False, 1),
        ("water", {"litres": 9}, UNANSWERED, True, 1),
        ("drown", {}, UNANSWERED, True, 2),
        ("water", '{"litres": ', UNANSWERED, True, 2),
    ]
    assert episode.calls[1].error == "too much"
    assert episode.calls[1].extra["outcome"] == "retried"
    assert all(call.time is not None and call.extra["seconds"] >= 0 for call in episode.calls)
    assert episode.answer == "Watered once."
    assert [(one.role, one.content, one.before_call) for one in episode.messages] == [
        ("user", "Water it.", 0), ("assistant", "I water.", 0), ("assistant", "Watered once.", 4)
    ]  # fmt: skip
    assert all(one.time is not None for one in episode.messages)
    assert episode.extra["usage"]["requests"] == 3
    assert episode.agent == "fake"
    assert episode.extra["metadata"].keys() >= {"run_id", "conversation_id"}


def test_an_output_tool_is_the_answer_and_no_call(tmp_path: Path) -> None:
    from pydantic_ai.messages import ToolCallPart

    made = agent(
        [ToolCallPart("final_result", {"litres": "many"}, "1")],
        [ToolCallPart("final_result", '{"litres": 2}', "2"), ToolCallPart("water", {"litres": 2}, "3")],
        output=Report,
    )
    episode = run(made, tmp_path)
    assert episode.calls == (Call("water", {"litres": 2}, {"left": 5}, id="3", turn=2),)
    assert episode.answer == {"litres": 2}


def test_an_output_tool_of_another_name_is_known_by_its_answer() -> None:
    def part(id_: str, content: Any) -> dict[str, Any]:
        return {"part_kind": "tool-return", "tool_name": "report", "tool_call_id": id_, "content": content}

    calls = [{"part_kind": "tool-call", "tool_name": "report", "tool_call_id": id_, "args": {"n": id_}} for id_ in "12"]
    returns = [part("1", "Final result processed."), part("2", "Output tool not used - a final result was …")]
    messages = [{"kind": "response", "parts": calls}, {"kind": "request", "parts": returns}]
    (episode,) = read_record(messages)
    assert (episode.calls, episode.answer) == ((), {"n": "1"})


def test_a_tool_that_is_only_named_like_an_output_tool_is_called() -> None:
    call = {"part_kind": "tool-call", "tool_name": "final_result_lookup", "args": {"r": 1}, "tool_call_id": "1"}
    done = {"part_kind": "tool-return", "tool_name": "final_result_lookup", "content": "42", "tool_call_id": "1"}
    (episode,) = read_record([{"kind": "response", "parts": [call]}, {"kind": "request", "parts": [done]}])
    assert episode.calls == (Call("final_result_lookup", {"r": 1}, 42, id="1", turn=1),)
    (episode,) = read_record([{"kind": "response", "parts": [call]}])
    assert (episode.calls, episode.answer) == ((), {"r": 1})


@pytest.mark.parametrize(
    ("answer", "result", "error"),
    [
        ({"content": "ok"}, "ok", None),
        ({"content": "5", "outcome": "success"}, 5, None),
        ({"content": "no", "outcome": "failed"}, UNANSWERED, "no"),
        ({"content": "no", "outcome": "denied"}, UNANSWERED, "no"),
        ({"content": [{"type": "missing"}], "outcome": "retried"}, UNANSWERED, [{"type": "missing"}]),
        ({"content": "Interrupted.", "outcome": "interrupted"}, UNANSWERED, None),
        ({"content": "Tool not executed - a final result was already processed."}, UNANSWERED, ...),
        ({"content": [{"msg": "bad"}], "part_kind": "retry-prompt"}, UNANSWERED, [{"msg": "bad"}]),
    ],
)
def test_what_an_answer_is(answer: dict[str, Any], result: Any, error: Any) -> None:
    call = {"part_kind": "tool-call", "tool_name": "water", "args": None, "tool_call_id": "1"}
    made = {"part_kind": "tool-return", "tool_name": "water", "tool_call_id": "1", **answer}
    (episode,) = read_record([{"kind": "response", "parts": [call]}, {"kind": "request", "parts": [made]}])
    (done,) = episode.calls
    assert (done.arguments, done.result) == ({}, result)
    assert done.error == (answer["content"] if error is ... else error)


def test_a_retry_that_is_about_no_call_is_no_answer() -> None:
    call = {"part_kind": "tool-call", "tool_name": "water", "args": {}, "tool_call_id": "1"}
    retry = {"part_kind": "retry-prompt", "tool_name": None, "content": "Say more.", "tool_call_id": "2"}
    (episode,) = read_record([{"kind": "response", "parts": [call]}, {"kind": "request", "parts": [retry]}])
    assert episode.calls == (Call("water", {}, id="1", turn=1),)


def test_tools_of_the_provider_are_called_and_answered_in_one_response() -> None:
    parts = [
        {"part_kind": "builtin-tool-call", "tool_name": "web_search", "args": '{"query": "q"}', "tool_call_id": "1"},
        {"part_kind": "builtin-tool-return", "tool_name": "web_search", "content": [], "tool_call_id": "1"},
        {"part_kind": "text", "content": "Found none."},
    ]
    (episode,) = read_record([{"kind": "response", "parts": parts}])
    assert episode.calls == (Call("web_search", {"query": "q"}, [], id="1", turn=1),)
    assert episode.calls[0].extra == {"type": "builtin-tool-call"}
    assert episode.answer == "Found none."


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({"kind": "note", "parts": []}, "the 'kind' of a message must be request or response, not 'note'"),
        ({"kind": "response", "parts": {}}, "parts must be a list, not an object"),
        ({"kind": "request", "parts": [{"part_kind": "tool-return", "tool_name": "x"}]}, "needs the 'tool_call_id'"),
        ("x", "messages must be objects; number 1 is a string"),
    ],
)
def test_what_is_wrong_with_a_message_is_said(message: Any, why: str) -> None:
    with pytest.raises(RecordError, match=why):
        list(read_record([message]))
