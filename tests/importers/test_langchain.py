"""LangChain messages in their three forms, and states of LangGraph."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from corepath import Call
from corepath.errors import RecordError
from corepath.importers.formats.langchain import read_record
from corepath.notation.call import UNANSWERED

from .damage import read, write

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage


def one(value: Any) -> Any:
    (episode,) = read_record(value)
    return episode


def call(id_: str, name: str = "look", **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args, "id": id_, "type": "tool_call"}


def messages() -> list[AnyMessage]:
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage  # slow to import

    return [
        SystemMessage("You care for plants."),
        HumanMessage("Water A."),
        AIMessage(
            "I look.",
            tool_calls=[call("1", plant="A")],
            invalid_tool_calls=[
                {"name": "water", "args": '{"l', "id": "2", "error": "bad", "type": "invalid_tool_call"}
            ],
            response_metadata={"model_name": "gpt-x"},
        ),
        ToolMessage('{"dry": true}', tool_call_id="1", artifact={"raw": [1]}),
        ToolMessage("no JSON", tool_call_id="2", status="error"),
        AIMessage([{"type": "text", "text": "Done"}, "."]),
    ]


def dumpd(value: Any) -> Any:
    from langchain_core.load import dumpd

    return dumpd(value)


def messages_to_dict(messages: list[AnyMessage]) -> Any:
    from langchain_core.messages import messages_to_dict

    return messages_to_dict(messages)


FORMS: dict[str, Callable[[list[AnyMessage]], Any]] = {
    "model_dump": lambda messages: [message.model_dump() for message in messages],
    "messages_to_dict": messages_to_dict,
    "dumpd": lambda messages: [dumpd(message) for message in messages],
    "dumpd of a state": lambda messages: dumpd({"messages": messages}),
    "state": lambda messages: {"messages": [message.model_dump() for message in messages]},
    "snapshot": lambda messages: {"values": {"messages": messages_to_dict(messages)}, "next": []},
}


@pytest.mark.parametrize("form", FORMS)
def test_messages_that_langchain_writes(form: str, tmp_path: Path) -> None:
    (episode,) = read(write(tmp_path, FORMS[form](messages())), "langchain")
    assert episode.calls == (
        Call("look", {"plant": "A"}, {"dry": True}, id="1", turn=1),
        Call("water", '{"l', error="no JSON", id="2", turn=1),
    )
    assert episode.calls[0].extra == {"artifact": {"raw": [1]}}
    assert episode.calls[1].extra == {"invalid": "bad"}
    assert (episode.answer, episode.agent) == ("Done.", "gpt-x")


def water(litres: int) -> str:
    """Give water."""
    if litres > 5:
        raise ValueError("too much")
    return json.dumps({"left": 5})


def test_a_state_that_an_agent_of_langgraph_ends_in(tmp_path: Path) -> None:
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_core.tools import tool
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    said = [
        AIMessage("I water.", tool_calls=[call("1", "water", litres=2), call("2", "water", litres=9)]),
        AIMessage("", tool_calls=[call("3", "drown")]),
        AIMessage("Watered once."),
    ]
    model = GenericFakeChatModel(messages=iter(said))

    def agent(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("agent", agent)
    graph.add_node("tools", ToolNode([tool(water)], handle_tool_errors=True))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", tools_condition, ["tools", END])
    graph.add_edge("tools", "agent")
    state = graph.compile().invoke({"messages": [HumanMessage("Water it.")]})
    (episode,) = read(write(tmp_path, dumpd(state)), "langchain")
    assert [(made.tool, made.arguments, made.result, made.turn) for made in episode.calls] == [
        ("water", {"litres": 2}, {"left": 5}, 1),
        ("water", {"litres": 9}, UNANSWERED, 1),
        ("drown", {}, UNANSWERED, 2),
    ]
    assert "too much" in episode.calls[1].error
    assert "drown is not a valid tool" in episode.calls[2].error
    assert episode.answer == "Watered once."


def test_calls_that_could_not_be_parsed_stand_where_the_model_put_them() -> None:
    from langchain_core.messages import AIMessage

    raw = [
        {"id": "1", "type": "function", "function": {"name": "water", "arguments": '{"l'}},
        {"id": "2", "type": "function", "function": {"name": "look", "arguments": "{}"}},
        {"id": "3", "type": "function", "function": {"name": "water", "arguments": "{"}},
    ]
    message = AIMessage("", additional_kwargs={"tool_calls": raw})
    assert [made["id"] for made in message.tool_calls] == ["2"]
    episode = one([message.model_dump()])
    assert [(made.id, made.arguments) for made in episode.calls] == [("1", '{"l'), ("2", {}), ("3", "{")]
    blocks: list[Any] = [{"type": "tool_use", "id": id_, "name": "x", "input": {}} for id_ in ("3", "1", "2")]
    moved = message.model_copy(update={"additional_kwargs": {}, "content": blocks})
    assert [made.id for made in one([moved.model_dump()]).calls] == ["3", "1", "2"]


def test_messages_that_are_older_than_tool_calls_are_read_from_what_the_provider_sent() -> None:
    from langchain_core.messages import FunctionMessage

    raw = [{"id": "1", "function": {"name": "look", "arguments": '{"a": 1}'}}]
    old = [
        {"type": "ai", "data": {"content": "", "additional_kwargs": {"tool_calls": raw}}},
        {"type": "tool", "data": {"content": "seen", "tool_call_id": "1"}},
        {"type": "ai", "data": {"content": "", "additional_kwargs": {"function_call": raw[0]["function"]}}},
        *messages_to_dict([FunctionMessage(content="5", name="look")]),
    ]
    assert one(old).calls == (
        Call("look", {"a": 1}, "seen", id="1", turn=1),
        Call("look", {"a": 1}, 5, turn=2),
    )


def test_pieces_of_a_streamed_message_joined_by_langchain_are_a_message() -> None:
    from langchain_core.messages import AIMessageChunk, ToolMessage

    pieces = [
        AIMessageChunk(content="I ", tool_call_chunks=[{"name": "look", "args": '{"a"', "id": "1", "index": 0}]),
        AIMessageChunk(content="look.", tool_call_chunks=[{"name": None, "args": ": 1}", "id": None, "index": 0}]),
    ]
    whole = pieces[0] + pieces[1]
    episode = one([whole.model_dump(), ToolMessage("x", tool_call_id="1").model_dump()])
    assert episode.calls == (Call("look", {"a": 1}, "x", id="1", turn=1),)
    assert episode.messages[0].content == "I look."


def test_tools_that_the_provider_runs_are_calls_whichever_provider_it_is() -> None:
    from langchain_core.messages import AIMessage

    content: list[Any] = [
        {"type": "text", "text": "I search."},
        {"type": "server_tool_call", "id": "1", "name": "web_search", "args": {"query": "q"}},
        {"type": "server_tool_result", "tool_call_id": "1", "status": "error", "output": "none"},
        {"type": "server_tool_use", "id": "2", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "2", "content": []},
        {"type": "mcp_call", "id": "3", "name": "add", "arguments": "{}", "output": "3", "server_label": "s"},
        {"type": "tool_use", "id": "4", "name": "look", "input": {}},
    ]
    episode = one([AIMessage(content, tool_calls=[call("4")]).model_dump()])
    assert [(made.tool, made.id, made.failed) for made in episode.calls] == [
        ("web_search", "1", True), ("web_search", "2", False), ("add", "3", False), ("look", "4", False),
    ]  # fmt: skip
    assert [made.turn for made in episode.calls] == [1] * 4


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({"type": "robot", "content": "x"}, "the 'type' of a message must be one of ai, human, .* not 'robot'"),
        ({"role": "assistant", "content": "x"}, "the 'type' of a message must be one of"),
        ({"type": "ai", "data": 5}, "in 'data', or in 'kwargs'"),
        ({"lc": 1, "type": "constructor", "id": ["AIMessage"]}, "in 'kwargs' next to 'lc'"),
        ({"type": "tool", "content": "x"}, "a tool message needs the 'tool_call_id'"),
        ({"type": "ai", "content": "", "tool_calls": "x"}, "calls must be a list, not a string"),
        (5, "messages must be objects; number 2 is a number"),
    ],
)
def test_what_is_wrong_with_a_message_is_said(message: Any, why: str) -> None:
    with pytest.raises(RecordError, match=why):
        one([{"type": "human", "content": "Hi."}, message])
