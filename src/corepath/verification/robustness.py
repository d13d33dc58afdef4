"""Check that tools are deterministic and survive odd arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from corepath.notation.call import Call
from corepath.task import Task
from corepath.values import equal
from corepath.verification.subject import Subject
from corepath.world.exploring import simulator_of
from corepath.world.tools import WorldTool
from corepath.world.world import World

ODD_VALUES: Final[tuple[Any, ...]] = (0, -1, 10**9, 0.0, -0.5, 1e300, "", " ", "?", "🦉", "x" * 1000, [], [""])
"""Values that have the right type but make no sense."""


def check_repeated_steps(subject: Subject) -> Iterator[str]:
    """Check that each step has the same effect and result when it is executed again from the same state."""
    world = simulator_of(subject.task)
    for edge in subject.rounds[0].edges:
        again, after = world.answer(edge.node.state, edge.call)
        if world.key(after) != world.key(edge.after.state) or again.failed or not equal(again.result, edge.call.result):
            yield _differs(edge.call)
            return


def check_odd_arguments(subject: Subject) -> Iterator[str]:
    """Check that each tool, even with odd arguments, gives the same answer twice and raises only ToolError."""
    for tool in subject.world.tools.values():
        failures = (_try_twice(subject.task, subject.world, call) for call in odd_calls(tool))
        first = next(filter(None, failures), None)
        if first is not None:
            yield first


def odd_calls(tool: WorldTool[Any]) -> Iterator[Call]:
    """Yield one ordinary call to the tool, then calls with one odd argument each."""
    usual = {name: parameter.samples[0] for name, parameter in tool.inputs.items()}
    yield Call(tool.name, usual)
    for name, parameter in tool.inputs.items():
        for value in ODD_VALUES:
            if parameter.admits(value):
                yield Call(tool.name, {**usual, name: value})


def _try_twice(task: Task, world: World[Any], call: Call) -> str | None:
    """Make a call twice in the start state, and return what went wrong, or None if nothing did."""
    first, _ = world.answer(task.start, call)
    if "crashed" in first.extra:
        return f"{call} breaks the world: {first.error}"
    again, _ = world.answer(task.start, call)
    if first.error != again.error or (not again.failed and not equal(first.result, again.result)):
        return _differs(call)
    return None


def _differs(call: Call) -> str:
    return f"{call} does something else the second time: a world has no clock, no chance and no memory"
