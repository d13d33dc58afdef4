"""An agent built as a LangGraph graph.

Run it: python langgraph_agent.py gpt-4.1 farm/threshold >> episodes.jsonl

The tool node records every call as the model sent it. LangGraph's own node would answer some calls itself (unknown
tools, arguments that are not JSON), but they are part of the path.
"""

import sys
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_openai import ChatOpenAI
from langgraph.graph import END, START, MessagesState, StateGraph

import corepath


def play(ep: corepath.Recorder, model: str) -> None:
    """Run the graph until the model answers without a call."""
    chat = ChatOpenAI(model=model).bind_tools(ep.tools("openai"))

    def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [chat.invoke(state["messages"])]}

    def act(state: MessagesState) -> dict[str, Any]:
        turn = sum(isinstance(message, AIMessage) for message in state["messages"])
        if said := state["messages"][-1].text:
            ep.say(said)
        replies = [
            ToolMessage(ep.reply(call["name"] or "", call["args"], id=call["id"], turn=turn), tool_call_id=call["id"])
            for call in calls_in(state)
        ]
        return {"messages": replies}

    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("act", act)
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", lambda state: "act" if calls_in(state) else END)
    graph.add_edge("act", "think")
    begin = {"messages": [SystemMessage(ep.system), HumanMessage(ep.prompt)]}
    end = graph.compile().invoke(begin, {"recursion_limit": 2 * ep.task.step_limit + 4})
    ep.answer(end["messages"][-1].text)


def calls_in(state: MessagesState) -> list[Any]:
    """The calls of the last message; the arguments of an invalid call are text.

    LangChain does not keep the order of valid and invalid calls, so the invalid ones come last.
    """
    last = state["messages"][-1]
    return [*last.tool_calls, *last.invalid_tool_calls] if isinstance(last, AIMessage) else []


if __name__ == "__main__":
    name, *tasks = sys.argv[1:]
    for task in tasks:
        try:
            with corepath.episode(task, agent=name) as episode:
                play(episode, name)
        except Exception as error:  # noqa: BLE001  # keep the calls made so far, and go on with the next task
            print(f"{task}: {error}", file=sys.stderr)
        print(corepath.episode_json(episode.episode))
