"""An agent built with pydantic-ai.

Run it: python pydantic_ai_agent.py gpt-4.1 farm/threshold >> episodes.jsonl

Calls are executed when the model's message arrives, before pydantic-ai checks them. So they keep their order, and calls
of unknown tools or with arguments that are not JSON are part of the path. The agent's tools then return the results.
"""

import asyncio
import sys

from pydantic_ai import Agent, RunContext, Tool, UsageLimits
from pydantic_ai.models.openai import OpenAIChatModel

import corepath


async def play(ep: corepath.Recorder, model: str) -> None:
    """Run the agent until the model answers without a call."""
    replies: dict[str | None, str] = {}

    def reply(ctx: RunContext, **_: object) -> str:
        return replies[ctx.tool_call_id]

    tools = [
        Tool.from_schema(reply, tool["name"], tool["description"], tool["parameters"], takes_ctx=True)
        for tool in ep.tools("schema")
    ]
    limit = ep.task.step_limit + 1
    agent = Agent(OpenAIChatModel(model), instructions=ep.system, tools=tools, retries=limit)
    async with agent.iter(ep.prompt, usage_limits=UsageLimits(request_limit=limit)) as run:
        turn = 0
        async for node in run:
            if Agent.is_call_tools_node(node):
                turn += 1
                message = node.model_response
                if message.text and message.tool_calls:
                    ep.say(message.text)
                for call in message.tool_calls:
                    replies[call.tool_call_id] = ep.reply(call.tool_name, call.args, id=call.tool_call_id, turn=turn)
        ep.answer(run.result.output)


if __name__ == "__main__":
    name, *tasks = sys.argv[1:]
    for task in tasks:
        try:
            with corepath.episode(task, agent=name) as episode:
                asyncio.run(play(episode, name))
        except Exception as error:  # noqa: BLE001  # keep the calls made so far, and go on with the next task
            print(f"{task}: {error}", file=sys.stderr)
        print(corepath.episode_json(episode.episode))
