"""Runs as LangSmith's own SDK sends them, kept by a client that sends nothing."""

from __future__ import annotations

import json
import warnings
from typing import Any

from tests.runs.bad_server import BadServer, Reply, Request, call, calls, says


def run_graph() -> list[dict[str, Any]]:
    """The runs of a LangGraph agent that calls a tool twice at once; the second call fails."""
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool
    from langgraph.graph import END, START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode
    from langsmith.run_helpers import tracing_context

    def scan(plant: str) -> str:
        """Look at a plant."""
        if plant == "B":
            raise ValueError("no plant B")
        return '{"dry": true}'

    made = [{"name": "scan", "args": {"plant": plant}, "id": id_} for plant, id_ in (("A", "c1"), ("B", "c2"))]
    used = {"input_tokens": 5, "output_tokens": 6, "total_tokens": 11}
    said = [AIMessage("I look.", tool_calls=made, usage_metadata=used), AIMessage("Done.", usage_metadata=used)]
    model = GenericFakeChatModel(messages=iter(said))
    graph = StateGraph(MessagesState)
    graph.add_node("agent", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([tool(scan)], handle_tool_errors=True))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    graph.add_edge("tools", "agent")
    client, runs = _client()
    with tracing_context(client=client, enabled=True):
        graph.compile().invoke(
            {"messages": [("system", "Be careful."), ("user", "Water A.")]},
            config={"metadata": {"flow": "water", "thread_id": "t7"}, "tags": ["a"]},
        )
    return list(runs.values())


def talk_to_openai() -> list[dict[str, Any]]:
    """The runs of a loop around the OpenAI SDK, with tools that are traced functions."""
    import openai
    from langsmith import traceable
    from langsmith.run_helpers import tracing_context

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package of wrappers warns of a module that is not used here
        from langsmith.wrappers import wrap_openai

    def scan(plant: str) -> dict[str, bool]:
        if plant == "B":
            raise ValueError("no plant B")
        return {"dry": True}

    def agent(messages: list[Any]) -> Any:
        said = model.chat.completions.create(model="gpt-x", messages=messages).choices[0].message
        messages.append(said.model_dump(exclude_none=True))
        for one in said.tool_calls or []:
            try:
                result = json.dumps(traced(json.loads(one.function.arguments)["plant"]))
            except ValueError as error:
                result = str(error)
            messages.append({"role": "tool", "tool_call_id": one.id, "content": result})
        return model.chat.completions.create(model="gpt-x", messages=messages).choices[0].message.content

    traced = traceable(scan, run_type="tool")
    client, runs = _client()
    with (
        BadServer(_answer) as server,
        openai.OpenAI(api_key="none", base_url=server.url, max_retries=0) as connection,
        tracing_context(client=client, enabled=True),
    ):
        model = wrap_openai(connection)
        traceable(agent)([{"role": "system", "content": "Be careful."}, {"role": "user", "content": "Water A."}])
    return list(runs.values())


def _answer(request: Request) -> Reply:
    if request.number:
        return says("Done.")
    return calls(call("scan", {"plant": "A"}, id="c1"), call("scan", {"plant": "B"}, id="c2"), text="I look.")


def _client() -> tuple[Any, dict[str, dict[str, Any]]]:
    """A client that keeps the runs instead of sending them, and the runs by id."""
    from langsmith import Client
    from langsmith._internal._serde import dumps_json

    runs: dict[str, dict[str, Any]] = {}

    def create_run(_: Any, name: str, inputs: Any, run_type: Any, **more: Any) -> None:
        runs[str(more["id"])] = json.loads(dumps_json({"name": name, "inputs": inputs, "run_type": run_type, **more}))

    def update_run(_: Any, run_id: Any, **more: Any) -> None:
        known = {name: value for name, value in json.loads(dumps_json(more)).items() if value is not None}
        runs[str(run_id)].update(known)

    keeper = type("Keeper", (Client,), {"create_run": create_run, "update_run": update_run})
    return keeper(api_url="http://127.0.0.1:9", api_key="none", auto_batch_tracing=False), runs
