"""Lower bounds for the size of a repair. They keep the search for the smallest one short."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from corepath.automaton.automaton import Automaton
from corepath.automaton.step import Kind
from corepath.explanation.facts import Facts

_Back = list[list[tuple[int, int]]]
"""For each state, the states from which a step leads there, each with the step's number."""


@dataclass(frozen=True)
class Bound:
    """What the calls from some place on can do at best.

    `useless` counts the calls that can never stay, without those that the tool refused. `useful` counts those that may
    be steps. `distances` counts for each state the steps to the nearest accepting state that none of the calls can be.
    """

    useless: int
    useful: int
    distances: list[int]


def lower_bounds(facts: Facts, symbols: Sequence[int | None]) -> list[Bound]:
    """Return a bound for each call, and one for the end. `symbols` holds the step that each call is, if any."""
    automaton = facts.automaton
    binds, back = automaton.alphabet.binds, _edges_back(automaton)
    called: frozenset[int | None] = frozenset([None])
    known = {called: _distances(automaton, back, called)}
    bounds = [Bound(0, 0, known[called])]
    for step, symbol in zip(reversed(facts.steps), reversed(symbols), strict=True):
        fits = {*step.reading.fits, *step.reading.early, symbol, None}
        may_be_step = binds or len(fits) > 1
        may_stay = may_be_step or step.kind is not Kind.HARM or step.reading.loops or step.only_breaks
        may_stay = may_stay or step.call.failed
        if not called.issuperset(fits):
            called = called.union(fits)
        if called not in known:
            known[called] = [0] * len(automaton.delta) if binds else _distances(automaton, back, called)
        last = bounds[-1]
        bounds.append(Bound(last.useless + (not may_stay), last.useful + may_be_step, known[called]))
    return bounds[::-1]


def _edges_back(automaton: Automaton) -> _Back:
    found: _Back = [[] for _ in automaton.delta]
    for state, edges in enumerate(automaton.delta):
        for symbol, after in edges.items():
            if after != state:
                found[after].append((state, symbol))
    return found


def _distances(automaton: Automaton, back: _Back, called: frozenset[int | None]) -> list[int]:
    """For each state, count the steps to the nearest accepting state. Steps in `called` cost nothing."""
    far = len(automaton.delta)
    found = [far] * far
    queue = deque((0, state) for state in automaton.accepting)
    while queue:
        distance, state = queue.popleft()
        if found[state] <= distance:
            continue
        found[state] = distance
        for before, symbol in back[state]:
            if symbol in called:
                queue.appendleft((distance, before))
            else:
                queue.append((distance + 1, before))
    return found
