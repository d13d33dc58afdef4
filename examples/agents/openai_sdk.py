"""An agent built with the OpenAI SDK.

Run it: python openai_sdk.py gpt-4.1 farm/threshold farm/dry_plants >> episodes.jsonl

The SDK reads its key from OPENAI_API_KEY. To use another server, set OPENAI_BASE_URL.
"""

import sys
from itertools import count
from typing import Any

from openai import OpenAI

import corepath


def play(ep: corepath.Recorder, model: str) -> None:
    """Let the model call tools until it answers without a call."""
    client = OpenAI()
    messages: list[Any] = [{"role": "system", "content": ep.system}, {"role": "user", "content": ep.prompt}]
    for turn in count(1):
        reply = client.chat.completions.create(model=model, messages=messages, tools=ep.tools("openai"))
        message = reply.choices[0].message
        messages.append(message.model_dump(exclude_none=True))
        if not message.tool_calls:
            ep.answer(message.content)
            return
        if message.content:
            ep.say(message.content)
        for call in message.tool_calls:
            told = ep.reply(call.function.name, call.function.arguments, id=call.id, turn=turn)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": told})


if __name__ == "__main__":
    name, *tasks = sys.argv[1:]
    for task in tasks:
        try:
            with corepath.episode(task, agent=name) as episode:
                play(episode, name)
        except Exception as error:  # noqa: BLE001  # keep the calls made so far, and go on with the next task
            print(f"{task}: {error}", file=sys.stderr)
        print(corepath.episode_json(episode.episode))
