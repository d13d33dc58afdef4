"""Check that calls with the same effect as a step are taken for the step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from corepath.automaton.step import step
from corepath.notation.call import Call
from corepath.values import equal
from corepath.verification.subject import Subject
from corepath.world.exploring import Edge

REWRITINGS: Final = (
    lambda text: text + "\n",
    lambda text: text + " ",
    lambda text: " " + text,
    str.upper,
    str.lower,
    lambda text: " ".join(text.split()),
)
"""Ways to write a text differently, which a world may treat as the same text."""


def check_equal_arguments(subject: Subject) -> Iterator[str]:
    """Check that a write also accepts other spellings of its texts if the world treats them in the same way.

    The world does so if the call has the same result and leads to exactly the same state.
    """
    tried: set[int] = set()
    for edge in subject.rounds[0].edges:
        if edge.symbol not in tried and subject.world.tools[edge.call.tool].writes:
            tried.add(edge.symbol)
            yield from _check_spellings(subject, edge)


def _check_spellings(subject: Subject, edge: Edge) -> Iterator[str]:
    """Check the other spellings of a step's texts. At most one of them is reported for each argument."""
    world = subject.world
    for name, value in edge.call.arguments.items():
        for text in _spellings(value):
            call = Call(edge.call.tool, {**edge.call.arguments, name: text})
            answered, after = world.answer(edge.node.state, call)
            same = not answered.failed and equal(answered.result, edge.call.result)
            if same and world.key(after) == world.key(edge.after.state):
                taken, _ = step(edge.node.position, answered)
                if taken.after != edge.after.position.state:
                    kind = taken.harm or "a self-loop"
                    yield f"{call} does the same as {edge.call}, but is {kind} where that call is a step"
                    break


def _spellings(value: Any) -> list[str]:
    """Return other spellings of a text, or an empty list if the value is not a text."""
    if not isinstance(value, str) or not value.strip():
        return []
    return [text for text in dict.fromkeys(rewrite(value) for rewrite in REWRITINGS) if text != value]
