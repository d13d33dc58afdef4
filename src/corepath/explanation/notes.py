"""Write the step list: every call with its kind and a short comment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from corepath.automaton.step import Kind, Step
from corepath.explanation.arguments import nearest_step
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Difference, Note
from corepath.explanation.mistake import Mistake
from corepath.explanation.reasons import effect_text, reason_text
from corepath.explanation.waste import Loop
from corepath.values import visible


def write_notes(facts: Facts, loops: Mapping[int, Loop], mistakes: tuple[Mistake, ...]) -> Iterator[Note]:
    """Yield a note on each call."""
    harms = {harm.index: (harm, one) for one in mistakes for harm in one.harms}
    done = 0
    for step in facts.steps:
        if step.kind is Kind.PROGRESS:
            done += 1
            text = f"step {done}{_completion_text(facts, step)}"
        elif step.index in harms:
            harm, mistake = harms[step.index]
            text = "; ".join(filter(None, (reason_text(facts, harm, mistake), effect_text(facts, harm))))
        else:
            text = loops[step.index].text
        yield Note(
            step.index, visible(step.call.label), step.kind, step.harm, visible(text), step.call.turn,
            differences=_differences(facts, step),
        )  # fmt: skip


def _differences(facts: Facts, step: Step) -> tuple[Difference, ...]:
    """Return how a call's arguments differ from the step that the call should have been, if they do."""
    if step.kind is Kind.PROGRESS or step.symbol is not None or step.reading.fits:
        return ()
    nearest = nearest_step(facts, step.index)
    if nearest is None or (step.kind is Kind.LOOP and not nearest.due):
        return ()
    return tuple(
        Difference(visible(one.path), visible(one.given), visible(one.expected)) for one in nearest.differences
    )


def _completion_text(facts: Facts, step: Step) -> str:
    """Say that the task is complete after a step, or return an empty string if it is not."""
    if step.after not in facts.automaton.accepting:
        return ""
    return ", and the task could end here" if facts.automaton.due(step.after) else ", and the task is complete"
