"""Questions about orders as sentences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from corepath.authoring.learning.log import Run
from corepath.authoring.learning.questions import OrderQuestion
from corepath.notation.call import Call


def describe_question(question: OrderQuestion, calls: Callable[[Run], Sequence[Call]]) -> str:
    """Return a question as a sentence. `calls` returns the calls of a run."""
    if (pair := question.swapped) is not None:
        first, second = calls(pair)
        if first.label != second.label:
            return f"May {first.label} come before {second.label}?"
    missing = [event for event in question.seen if event not in question.examples[0]]
    if missing:
        return f"May {calls((missing[0],))[0].label} be left out?"
    return "May these steps come in another order?"
