"""Find waste: legal calls that did not advance the task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from corepath.automaton.step import Kind, Step
from corepath.errors import count
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Finding, FindingKind
from corepath.explanation.sentences import calls_text, sentence, tally_text
from corepath.explanation.undo import UndoPair
from corepath.explanation.value_text import message_text, tool_name, value_text
from corepath.notation.call import unknown_token
from corepath.scoring.hand_over import is_hand_over


class WasteKind(StrEnum):
    """Why a legal call did not advance the task."""

    REFUSED = "refused"
    IGNORED = "ignored"
    EARLY = "early"
    AGAIN = "again"
    NO_EFFECT = "no effect"
    BESIDE = "beside"
    HANDED_OVER = "handed over"
    LOOK = "look"


@dataclass(frozen=True)
class Loop:
    """Why a self-loop did not advance the task, as a kind of waste and as text."""

    kind: WasteKind
    text: str


def classify_loops(facts: Facts) -> dict[int, Loop]:
    """Find out for each self-loop why it did not advance the task. The keys are call indexes."""
    found: dict[int, Loop] = {}
    last: dict[tuple[str, str], int] = {}
    changed_at = -1
    for step in facts.steps:
        token = None if step.call.malformed else unknown_token(step.call)
        if step.kind is Kind.LOOP:
            earlier = -1 if token is None else last.get(token, -1)
            found[step.index] = _classify(facts, step, earlier if earlier > changed_at else None)
        if _may_have_changed(facts, step):
            changed_at = step.index
        if token is not None and not step.call.failed and last.get(token, -1) <= changed_at:
            last[token] = step.index
    return found


def _classify(facts: Facts, step: Step, earlier: int | None) -> Loop:
    """Find out why a self-loop did not advance the task.

    `earlier` is the index of the same call made earlier in the same state, or None if there was no such call.
    """
    if step.call.failed:
        return Loop(WasteKind.REFUSED, f"the tool refused it: {message_text(step.call.error)}")
    if step.symbol is None and step.reading.fits:
        return Loop(WasteKind.NO_EFFECT, f"the expected step, but it returned {value_text(step.call.result)}")
    if step.ignored:
        return Loop(WasteKind.IGNORED, "not part of the task, and let pass")
    if earlier is not None:
        return Loop(WasteKind.AGAIN, f"the same as call {earlier + 1}, and nothing had changed")
    if step in facts.early_calls:
        return Loop(WasteKind.EARLY, "a step that is not expected yet, and does not count")
    if is_hand_over(step):
        return Loop(WasteKind.HANDED_OVER, "handed over to a human")
    if facts.changed_state[step.index]:
        return Loop(WasteKind.BESIDE, "legal here, and no step")
    if facts.task.simulator is not None and facts.task.simulator.tools[step.call.tool].writes:
        return Loop(WasteKind.NO_EFFECT, "changes nothing here, and is no step")
    return Loop(WasteKind.LOOK, "only looks, no step here")


def _may_have_changed(facts: Facts, step: Step) -> bool:
    """Whether a call changed the state. If the task has no world, this is a guess."""
    known = facts.changed_state[step.index]
    if known is not None:
        return known
    if step.kind is Kind.LOOP or step.call.failed:
        return step.ignored
    return step.symbol is None or not facts.automaton.alphabet.is_read(step.symbol)


def find_waste(facts: Facts, loops: Mapping[int, Loop], undone: tuple[UndoPair, ...]) -> Iterator[Finding]:
    """Yield a finding for each kind of waste. Calls that undid another call are not waste."""
    backs = {pair.back for pair in undone}
    for kind in WasteKind:
        calls = tuple(index for index, loop in loops.items() if loop.kind is kind and index not in backs)
        if calls:
            yield Finding(FindingKind.WASTE, sentence(_describe(facts, kind, calls)), calls)


def _describe(facts: Facts, kind: WasteKind, calls: tuple[int, ...]) -> str:
    """Describe the wasted calls of one kind."""
    tools = tally_text(Counter(tool_name(facts.steps[index].call.tool) for index in calls))
    many, which, one = count(len(calls), "call"), calls_text(calls), len(calls) == 1
    were = "was" if one else "were"
    match kind:
        case WasteKind.REFUSED:
            why = message_text(facts.steps[calls[0]].call.error)
            return f"{many} failed without effect: {tools} ({which}). The first answer was: {why}"
        case WasteKind.IGNORED:
            return f"the task does not speak of {many}, and lets {'it' if one else 'them'} pass: {tools} ({which})"
        case WasteKind.AGAIN:
            return f"{many} repeated an earlier one with nothing changed in between: {tools} ({which})"
        case WasteKind.NO_EFFECT:
            return f"{many} brought nothing: {tools} ({which})"
        case WasteKind.EARLY:
            early = "is a step that was not expected yet, and does"
            text = early if one else "are steps that were not expected yet, and do"
            return f"{many} {text} not count: {tools} ({which})"
        case WasteKind.HANDED_OVER:
            return f"{which} handed over to a human"
        case WasteKind.BESIDE:
            return f"{many} {were} legal and no step: {tools} ({which})"
    return f"{many} only looked and {were} no step: {tools} ({which})"
