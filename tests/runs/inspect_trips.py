"""Plays episodes again with Inspect and a model that repeats their calls: `python -m tests.runs.inspect_trips FOLDER`.

`plays.json` in the folder is a list of `[task, seed, profile, calls, answer]`. There is one log per profile, and the
id of a sample is its place in the list.
"""

from __future__ import annotations

import json
import sys
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval  # noqa: A004
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.solver import chain, solver
from inspect_ai.tool import ToolCall

from corepath.runs import inspect_tasks

PLAY: ContextVar[Any] = ContextVar("PLAY")


@solver
def remember(plays: Any) -> Any:
    async def solve(state: Any, _: Any) -> Any:
        PLAY.set(plays[int(state.sample_id)])
        return state

    return solve


def answer(messages: list[Any], *_: Any) -> ModelOutput:
    *_, calls, last = PLAY.get()
    turn = sum(one.role == "assistant" for one in messages)
    output = ModelOutput.from_content("mockllm/model", "" if turn < len(calls) else last)
    output.usage = ModelUsage()
    output.choices[0].message.tool_calls = [
        ToolCall(id=f"c{turn}", function=tool, arguments=arguments) for tool, arguments in calls[turn : turn + 1]
    ]
    return output


def main(folder: Path) -> None:
    plays = json.loads((folder / "plays.json").read_text())
    for profile in dict.fromkeys(play[2] for play in plays):
        samples = []
        for place, (id_, seed, scored_as, *_) in enumerate(plays):
            if scored_as == profile:
                world, _, name = id_.partition("/")
                made = getattr(inspect_tasks, world)(seed=seed, tasks=[name], profile=profile)
                samples += [one.model_copy(update={"id": str(place)}) for one in made.dataset]
        task = Task(
            dataset=samples,
            setup=chain(remember(plays), inspect_tasks.in_world()),
            solver=inspect_tasks.conversation(),
            scorer=inspect_tasks.core(profile),
        )
        model = get_model("mockllm/model", custom_outputs=answer, memoize=False)
        eval(task, model=model, log_dir=str(folder / "logs"), display="none")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
