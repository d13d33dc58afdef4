"""Find calls that the agent sent in the same turn as a check, although they depend on the check's answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from corepath.automaton.automaton import Automaton
from corepath.automaton.step import Kind, Step
from corepath.errors import count
from corepath.explanation.arguments import nearest_step
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Finding, FindingKind
from corepath.explanation.sentences import calls_text, sentence
from corepath.notation.matchers import ResultOf, walk

MOST_STATES: Final = 2_000
"""Maximum number of automaton states visited to decide whether one step needs another."""
MOST_PAIRS: Final = 5
"""Maximum number of pairs that get their own finding."""


def find_unseen(facts: Facts) -> Iterator[Finding]:
    """Yield a finding for each call that needs an unseen answer. If there are many, the last one sums up the rest."""
    pairs = list(unseen_pairs(facts))
    for check, act in pairs[:MOST_PAIRS]:
        text = (f"{facts.call_text(act)}, depends on {facts.call_text(check)}, and both went out in one turn: "
                "it acted before it had seen the answer")  # fmt: skip
        yield Finding(FindingKind.UNSEEN, sentence(text), (check, act))
    if rest := pairs[MOST_PAIRS:]:
        calls = tuple(sorted({index for pair in rest for index in pair}))
        text = f"{count(len(rest), 'more act')} went out before what it depends on was seen: {calls_text(calls)}."
        yield Finding(FindingKind.UNSEEN, text, calls)


def unseen_pairs(facts: Facts) -> Iterator[tuple[int, int]]:
    """Yield pairs of call indexes: a check, and the first call in the same turn that depends on the check's answer."""
    in_turns = (step for step in facts.steps if step.call.turn is not None)
    for _, turn in groupby(in_turns, key=lambda step: step.call.turn):
        sent = list(turn)
        for place, check in enumerate(sent):
            act = next((act for act in sent[place + 1 :] if _depends(facts, act, check)), None)
            if act is not None:
                yield check.index, act.index


def _depends(facts: Facts, act: Step, check: Step) -> bool:
    """Whether the call `act` needs the answer to `check`, as an argument or because `act` must come after `check`."""
    alphabet, checks, acted = facts.automaton.alphabet, _possible_steps(facts, check), _intended_step(facts, act)
    if acted is None or not checks:
        return False
    needed = {alphabet.actions[symbol] for symbol in checks}
    if any(isinstance(part, ResultOf) and part.action in needed for part in walk(alphabet.actions[acted].arguments)):
        return True
    if not any(_is_check(facts, symbol) for symbol in checks) or _is_check(facts, acted):
        return False
    if not facts.automaton.ahead[check.before] >> acted & 1:
        return False
    return not _reachable_without(facts.automaton, check.before, checks, acted)


def _possible_steps(facts: Facts, check: Step) -> frozenset[int]:
    """Return the steps that the call `check` may turn out to be, depending on its result.

    Return an empty set if the call is harmful or failed, or if none of these steps was expected.
    """
    if check.kind is Kind.HARM or check.call.failed:
        return frozenset()
    fits = check.reading.fits if check.symbol is None else (check.symbol,)
    due = facts.automaton.due(check.before)
    found = frozenset[int]().union(
        *(facts.steps_like(symbol) for symbol in fits if symbol in facts.automaton.alphabet.steps)
    )
    return found if found.intersection(due) else frozenset()


def _intended_step(facts: Facts, act: Step) -> int | None:
    """Return the step that a call matches, or would match if a missing result were known.

    Return None if there is no such step, or if the call is a self-loop.
    """
    if act.kind is Kind.LOOP:
        return None
    if act.symbol is not None:
        return act.symbol
    nearest = nearest_step(facts, act.index)
    return nearest.symbol if nearest is not None and nearest.needs else None


def _is_check(facts: Facts, symbol: int) -> bool:
    """Whether a step is done for its answer rather than to change something."""
    action, world = facts.automaton.alphabet.actions[symbol], facts.task.simulator
    if action.result is not None or facts.automaton.alphabet.is_read(symbol):
        return True
    return world is not None and not world.tools[action.tool].writes


def _reachable_without(automaton: Automaton, state: int, checks: frozenset[int], act: int) -> bool:
    """Whether some path from `state` reaches `act` without any of the `checks`.

    Return True if there are too many states to find out.
    """
    seen = {state}
    waiting = deque([state])
    while waiting and len(seen) <= MOST_STATES:
        for symbol, after in automaton.delta[waiting.popleft()].items():
            if symbol in checks or after in seen:
                continue
            if symbol == act:
                return True
            seen.add(after)
            waiting.append(after)
    return len(seen) > MOST_STATES
