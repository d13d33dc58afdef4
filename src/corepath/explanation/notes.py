"""The step list: every call with its kind and a few words on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from corepath.automaton.step import Kind, Step
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Note
from corepath.explanation.harms import effect, why
from corepath.values import visible


def notes(facts: Facts, idle: Mapping[int, tuple[object, str]]) -> Iterator[Note]:
    """A note a call."""
    harms = {harm.index: harm for harm in facts.score.harms}
    done = 0
    for step in facts.steps:
        if step.kind is Kind.PROGRESS:
            done += 1
            text = f"step {done}{_ends(facts, step)}"
        elif step.index in harms:
            harm = harms[step.index]
            text = "; ".join(filter(None, (why(facts, harm), effect(facts, harm))))
        else:
            text = idle[step.index][1]
        yield Note(step.index, visible(step.call.label), step.kind, step.harm, visible(text), step.call.turn)


def _ends(facts: Facts, step: Step) -> str:
    if step.after not in facts.automaton.accepting:
        return ""
    return ", and the task could end here" if facts.automaton.due(step.after) else ", and the task is complete"
