"""A memory of steps takes the same steps as `step` does, whatever was run before."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corepath import Call, Task, any_order, result_of, tool, trace_calls, var
from corepath.automaton import step, step_memory
from corepath.automaton.harm import Breach
from corepath.automaton.step import Errors, Position
from corepath.automaton.step_memory import StepMemory
from corepath.scoring.causes import find_causes, find_roots
from tests.automaton.helpers import a, b, c, task_of

look = tool("look")()
TASKS = (
    task_of(any_order(a, b) >> c),
    task_of(any_order(tool("open")(key=var("k")), look) >> tool("close")(key=var("k"), found=result_of(look))),
)
CALLS = (
    *(Call(name) for name in "abcd"),
    *(Call("open", {"key": key}) for key in (1, 1.0, "1")),
    *(Call("look", {}, result) for result in (1, True, "1", [1])),
    Call("look", {}, error="no light"),
    *(Call("close", {"key": key, "found": found}) for key in (1, "1") for found in (1, True, "1", [1])),
    Call("close", {"key": 1, "found": 1}, error="it is stuck"),
)
"""The memory knows calls by identity, so that the same objects must come again."""
Run = tuple[Task, list[Call], Errors, dict[int, Breach]]


@st.composite
def runs(draw: st.DrawFn) -> Run:
    breaches = st.dictionaries(st.integers(0, 5), st.sampled_from([Breach("too loud"), Breach("too late")]), max_size=2)
    return (
        draw(st.sampled_from(TASKS)),
        draw(st.lists(st.sampled_from(CALLS), max_size=6)),
        draw(st.sampled_from(["no_effect", "harmful", "as_called"])),
        draw(breaches),
    )


def traced(run: Run, **how: Any) -> Any:
    task, calls, errors, breaches = run
    made = trace_calls(task.automaton, calls, None, errors, breaches, **how)
    return made.steps, made.positions, find_causes(made), find_roots(made)


@given(st.lists(runs(), max_size=8), st.sampled_from([1, 3, 5_000]))
def test_a_memory_takes_the_same_steps(tried: list[Run], most: int) -> None:
    memory = StepMemory()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(step_memory, "MOST_STEPS", most)
        for run in [*tried, *tried]:
            assert repr(traced(run, take=memory.step)) == repr(traced(run))


def test_a_step_is_taken_once_in_any_order_and_at_any_index(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Call] = []
    taken: list[Call] = []

    def count_read(position: Position, call: Call) -> Any:
        read.append(call)
        return step.read(position, call)

    def count_taken(position: Position, call: Call, *how: Any) -> Any:
        taken.append(call)
        return step.classify(position, call, *how)

    monkeypatch.setattr(step_memory, "read", count_read)
    monkeypatch.setattr(step_memory, "classify", count_taken)
    memory = StepMemory()
    first, second, third, other = CALLS[:4]
    for calls in ([first, second, third], [second, first, third], [other, first, second, third]):
        trace_calls(TASKS[0].automaton, calls, take=memory.step)
    assert taken == [first, second, third, second, first, other]
    assert read == [first, second, third, other]
