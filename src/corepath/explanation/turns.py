"""Acted before seeing: a check and the act that depends on it, sent in one turn."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from corepath.automaton import Automaton
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Finding, FindingKind
from corepath.explanation.words import calls_text, counted, sentence
from corepath.matchers import ResultOf, every
from corepath.trace import Kind, Step

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
        text = f"{counted(len(rest), 'more act')} went out before what it depends on was seen: {calls_text(calls)}."
        yield Finding(FindingKind.UNSEEN, text, calls)


def pairs(facts: Facts) -> Iterator[tuple[int, int]]:
    """A check and the first act in the same turn that depends on its answer, by index."""
    in_turns = (step for step in facts.steps if step.call.turn is not None and step.kind is Kind.PROGRESS)
    for _, turn in groupby(in_turns, key=lambda step: step.call.turn):
        sent = list(turn)
        for place, check in enumerate(sent):
            act = next((act for act in sent[place + 1 :] if _depends(facts, act, check)), None)
            if act is not None:
                yield check.index, act.index


def _depends(facts: Facts, act: Step, check: Step) -> bool:
    alphabet = facts.automaton.alphabet
    if act.symbol is None or check.symbol is None:
        return False
    needed = alphabet.actions[check.symbol]
    if any(isinstance(one, ResultOf) and one.action == needed for one in every(alphabet.actions[act.symbol].arguments)):
        return True
    if not _is_check(facts, check.symbol) or _is_check(facts, act.symbol):
        return False
    return not _reached_without(facts.automaton, check.before, check.symbol, act.symbol)


def _is_check(facts: Facts, symbol: int) -> bool:
    """Whether a step is done for its answer."""
    action, world = facts.automaton.alphabet.actions[symbol], facts.task.simulator
    if action.result is not None or facts.automaton.alphabet.is_read(symbol):
        return True
    return world is not None and not world.writes(action.tool)


def _reached_without(automaton: Automaton, state: int, check: int, act: int) -> bool:
    """Whether some way from a state does the act and not the check before it."""
    seen = {state}
    waiting = deque([state])
    while waiting and len(seen) <= MOST_LOOKED_AT:
        for symbol, after in automaton.delta[waiting.popleft()].items():
            if symbol == check or after in seen:
                continue
            if symbol == act:
                return True
            seen.add(after)
            waiting.append(after)
    return len(seen) > MOST_LOOKED_AT
