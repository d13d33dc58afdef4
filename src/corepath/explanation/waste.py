"""Waste: legal calls that brought the task no further."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from enum import StrEnum

from corepath.automaton.step import Kind, Step
from corepath.errors import count
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Finding, FindingKind
from corepath.explanation.undone import Pair
from corepath.explanation.values import message_text, tool_name, value_text
from corepath.explanation.words import calls_text, sentence, tallied
from corepath.notation.call import unknown_token


class Idle(StrEnum):
    """The ways in which a legal call brings nothing."""

    REFUSED = "refused"
    IGNORED = "ignored"
    EARLY = "early"
    AGAIN = "again"
    NO_EFFECT = "no effect"
    BESIDE = "beside"
    LOOK = "look"


def idle(facts: Facts) -> dict[int, tuple[Idle, str]]:
    """For each self-loop what it was, and in words."""
    found: dict[int, tuple[Idle, str]] = {}
    last: dict[tuple[str, str], int] = {}
    changed_at = -1
    for step in facts.steps:
        token = None if step.call.malformed else unknown_token(step.call)
        if step.kind is Kind.LOOP:
            earlier = last.get(token) if token is not None else None
            found[step.index] = _idle(facts, step, earlier if earlier is not None and earlier > changed_at else None)
        if _may_have_changed(facts, step):
            changed_at = step.index
        if token is not None and not step.call.failed and last.get(token, -1) <= changed_at:
            last[token] = step.index
    return found


def _idle(facts: Facts, step: Step, earlier: int | None) -> tuple[Idle, str]:
    if step.call.failed:
        return Idle.REFUSED, f"the tool refused it: {message_text(step.call.error)}"
    if step.symbol is None and step.reading.fits:
        return Idle.NO_EFFECT, f"the step that is due, but it returned {value_text(step.call.result)}"
    if step.ignored:
        return Idle.IGNORED, "not part of the task, and let pass"
    if earlier is not None:
        return Idle.AGAIN, f"the same as call {earlier + 1}, and nothing had changed"
    if step in facts.early:
        return Idle.EARLY, "a step that is not due yet, and does not count"
    if facts.changed[step.index]:
        return Idle.BESIDE, "legal here, and no step"
    if facts.task.simulator is not None and facts.task.simulator.tools[step.call.tool].writes:
        return Idle.NO_EFFECT, "changes nothing here, and is no step"
    return Idle.LOOK, "only looks, no step here"


def _may_have_changed(facts: Facts, step: Step) -> bool:
    """Whether the world may be another after a call; in a world that is known, else by what the call was."""
    known = facts.changed[step.index]
    if known is not None:
        return known
    if step.kind is Kind.LOOP or step.call.failed:
        return step.ignored
    return step.symbol is None or not facts.automaton.alphabet.is_read(step.symbol)


def waste(facts: Facts, found: dict[int, tuple[Idle, str]], undone: tuple[Pair, ...]) -> Iterator[Finding]:
    """What the calls were that brought nothing, a finding a way; those that took something back did bring that."""
    backs = {pair.back for pair in undone}
    for way in Idle:
        calls = tuple(index for index, (one, _) in found.items() if one is way and index not in backs)
        if calls:
            yield Finding(FindingKind.WASTE, sentence(_told(facts, way, calls)), calls)


def _told(facts: Facts, way: Idle, calls: tuple[int, ...]) -> str:
    tools = tallied(Counter(tool_name(facts.steps[index].call.tool) for index in calls))
    many, which = count(len(calls), "call"), calls_text(calls)
    match way:
        case Idle.REFUSED:
            why = message_text(facts.steps[calls[0]].call.error)
            return f"{many} failed without effect: {tools} ({which}). The first answer was: {why}"
        case Idle.IGNORED:
            them = "it" if len(calls) == 1 else "them"
            return f"the task does not speak of {many}, and lets {them} pass: {tools} ({which})"
        case Idle.EARLY:
            be = "is a step that was" if len(calls) == 1 else "are steps that were"
            return f"{many} {be} not due yet, and {'does' if len(calls) == 1 else 'do'} not count: {tools} ({which})"
        case Idle.AGAIN:
            return f"{many} repeated an earlier one with nothing changed in between: {tools} ({which})"
        case Idle.NO_EFFECT:
            return f"{many} brought nothing: {tools} ({which})"
        case Idle.BESIDE:
            return f"{many} {'was' if len(calls) == 1 else 'were'} legal and no step: {tools} ({which})"
    return f"{many} only looked and {'was' if len(calls) == 1 else 'were'} no step: {tools} ({which})"
