"""Acted before seeing: a check and the act that depends on it, sent in one turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from corepath.automaton.automaton import Automaton
from corepath.automaton.step import Kind, Step
from corepath.errors import count
from corepath.explanation.arguments import meant
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Finding, FindingKind
from corepath.explanation.words import calls_text, sentence
from corepath.notation.matchers import ResultOf, walk

MOST_LOOKED_AT: Final = 2_000
"""States that are looked at to see whether one step needs another."""
MOST_TOLD: Final = 5


def unseen(facts: Facts) -> Iterator[Finding]:
    """Acts that were sent before the answer was there on which they depend."""
    found = list(pairs(facts))
    for check, act in found[:MOST_TOLD]:
        text = (f"{facts.call_text(act)}, depends on {facts.call_text(check)}, and both went out in one turn: "
                "it acted before it had seen the answer")  # fmt: skip
        yield Finding(FindingKind.UNSEEN, sentence(text), (check, act))
    if rest := found[MOST_TOLD:]:
        calls = tuple(sorted({index for pair in rest for index in pair}))
        text = f"{count(len(rest), 'more act')} went out before what it depends on was seen: {calls_text(calls)}."
        yield Finding(FindingKind.UNSEEN, text, calls)


def pairs(facts: Facts) -> Iterator[tuple[int, int]]:
    """A check and the first act in the same turn that depends on its answer, by index."""
    in_turns = (step for step in facts.steps if step.call.turn is not None)
    for _, turn in groupby(in_turns, key=lambda step: step.call.turn):
        sent = list(turn)
        for place, check in enumerate(sent):
            act = next((act for act in sent[place + 1 :] if _depends(facts, act, check)), None)
            if act is not None:
                yield check.index, act.index


def _depends(facts: Facts, act: Step, check: Step) -> bool:
    """Whether an act waits for what a check returns: its result is an argument, or the act comes only after it."""
    alphabet, checks, acts = facts.automaton.alphabet, _checks(facts, check), _acted(facts, act)
    if acts is None or not checks:
        return False
    needed = {alphabet.actions[symbol] for symbol in checks}
    if any(isinstance(one, ResultOf) and one.action in needed for one in walk(alphabet.actions[acts].arguments)):
        return True
    if not any(_is_check(facts, symbol) for symbol in checks) or _is_check(facts, acts):
        return False
    if not facts.automaton.ahead[check.before] >> acts & 1:
        return False
    return not _reached_without(facts.automaton, check.before, checks, acts)


def _checks(facts: Facts, check: Step) -> frozenset[int]:
    """The steps that a call may have been by its arguments, where one of them was due and it did not fail."""
    if check.kind is Kind.HARM or check.call.failed:
        return frozenset()
    fits = check.reading.fits if check.symbol is None else (check.symbol,)
    due = facts.automaton.due(check.before)
    found = frozenset[int]().union(
        *(facts.alike(symbol) for symbol in fits if symbol in facts.automaton.alphabet.steps)
    )
    return found if found.intersection(due) else frozenset()


def _acted(facts: Facts, act: Step) -> int | None:
    """The step that an act is, or is but for a result that it needs."""
    if act.kind is Kind.LOOP:
        return None
    if act.symbol is not None:
        return act.symbol
    nearby = meant(facts, act.index)
    return nearby.symbol if nearby is not None and nearby.needs else None


def _is_check(facts: Facts, symbol: int) -> bool:
    """Whether a step is done for its answer."""
    action, world = facts.automaton.alphabet.actions[symbol], facts.task.simulator
    if action.result is not None or facts.automaton.alphabet.is_read(symbol):
        return True
    return world is not None and not world.tools[action.tool].writes


def _reached_without(automaton: Automaton, state: int, checks: frozenset[int], act: int) -> bool:
    """Whether some way from a state does the act and none of the checks before it."""
    seen = {state}
    waiting = deque([state])
    while waiting and len(seen) <= MOST_LOOKED_AT:
        for symbol, after in automaton.delta[waiting.popleft()].items():
            if symbol in checks or after in seen:
                continue
            if symbol == act:
                return True
            seen.add(after)
            waiting.append(after)
    return len(seen) > MOST_LOOKED_AT
