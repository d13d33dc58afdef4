"""An agent built with the Anthropic SDK.

Run it: python anthropic_sdk.py claude-sonnet-4-5 farm/threshold >> episodes.jsonl

The SDK reads its key from ANTHROPIC_API_KEY. To use another server, set ANTHROPIC_BASE_URL.
"""

import sys
from itertools import count
from typing import Any

from anthropic import Anthropic

import corepath


def play(ep: corepath.Recorder, model: str) -> None:
    """Let the model call tools until it answers without a call."""
    client = Anthropic()
    tools: Any = ep.tools("anthropic")
    messages: list[Any] = [{"role": "user", "content": ep.prompt}]
    for turn in count(1):
        reply = client.messages.create(
            model=model, max_tokens=4096, system=ep.system, tools=tools, messages=messages
        )  # fmt: skip
        messages.append({"role": "assistant", "content": reply.content})
        text = "".join(block.text for block in reply.content if block.type == "text")
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            ep.answer(text)
            return
        if text:
            ep.say(text)
        results = [
            {
                "type": "tool_result",
                "tool_use_id": call.id,
                "content": ep.reply(call.name, call.input, id=call.id, turn=turn),
            }
            for call in calls
        ]
        messages.append({"role": "user", "content": results})


if __name__ == "__main__":
    name, *tasks = sys.argv[1:]
    for task in tasks:
        try:
            with corepath.episode(task, agent=name) as episode:
                play(episode, name)
        except Exception as error:  # noqa: BLE001  # keep the calls made so far, and go on with the next task
            print(f"{task}: {error}", file=sys.stderr)
        print(corepath.episode_json(episode.episode))
