"""Run Inspect with a mock model and write its logs to a folder: `python -m tests.importers.inspect_eval FOLDER`."""

from __future__ import annotations

import sys
from typing import Any

from inspect_ai import Task, eval  # noqa: A004
from inspect_ai.agent import as_solver, react
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.solver import generate, solver, use_tools
from inspect_ai.tool import ToolCall, ToolError, tool

from tests.importers.inspect_turns import TURNS


@tool
def add() -> Any:
    async def execute(x: int, y: int) -> int | str:
        """Add two numbers.

        Args:
            x: one
            y: the other
        """
        if x < 0:
            raise RuntimeError("the adder is on fire")
        if x > 100:
            raise ToolError("too large")
        return x + y if x < 50 else "long " * 500

    return execute


def _output(text: str, calls: list[tuple[Any, ...]]) -> ModelOutput:
    made = ModelOutput.from_content("mockllm/model", text)
    made.usage = ModelUsage()
    made.choices[0].message.tool_calls = [
        ToolCall(id=id_, function=name, arguments=arguments, parse_error=wrong[0] if wrong else None)
        for id_, name, arguments, *wrong in calls
    ]
    return made


def _answer(messages: list[Any], *_: Any) -> ModelOutput:
    texts = [one.text for one in messages if one.role == "user"]
    turns: Any = next((turns for name, turns in TURNS.items() if name in texts), [("C", [])])
    turn = sum(one.role == "assistant" for one in messages)
    return _output(*turns[min(turn, len(turns) - 1)])


@solver
def by_sample() -> Any:
    async def solve(state: Any, go_on: Any) -> Any:
        if state.sample_id == "submits":
            return await as_solver(react(tools=[add()]))(state, go_on)
        if state.sample_id == "is cut":
            state.message_limit = 4
        return await generate()(await use_tools(add())(state, go_on), go_on)

    return solve


@scorer(metrics=[accuracy()])
def graded() -> Any:
    async def score(state: Any, target: Any) -> Score:
        verdict = await get_model().generate(f"Is {state.output.completion} right?")
        return Score(value=verdict.completion, answer=state.output.completion)

    return score


if __name__ == "__main__":
    samples = [
        Sample(input=name, target="3", id=name, metadata={"ticket": number}) for number, name in enumerate(TURNS)
    ]
    task = Task(dataset=samples, solver=by_sample(), scorer=graded(), name="adding")
    for form in ("eval", "json"):
        eval(
            task,
            model=get_model("mockllm/model", custom_outputs=_answer, memoize=False),
            log_dir=sys.argv[1],
            log_format=form,
            display="none",
            fail_on_error=False,
            max_samples=1,
        )
