"""Causes of harm: groups the harmful calls that one skipped step explains.

The calls are run a second time, with each skipped step inserted where it was first missed. A call that is harmful in
the real run but not in the second one is caused by the step inserted last.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from corepath.automaton.automaton import Automaton
from corepath.automaton.condensation import Trace
from corepath.automaton.harm import HarmKind
from corepath.automaton.step import Kind, Position, Step, advance, step

_Detour = tuple[list[int], int] | None
"""Steps and the state after them, or None if no steps help."""


@dataclass(frozen=True)
class Cause:
    """Steps that were skipped, and the number of the call at which they were first missed."""

    skipped: tuple[str, ...]
    at: int


def find_causes(trace: Trace) -> dict[int, Cause]:
    """The cause of each harmful call that has one, by the number of the call."""
    found: dict[int, Cause] = {}
    if not any(step.harm is HarmKind.OUT_OF_ORDER for step in trace.condensed):
        return found
    names = trace.automaton.alphabet.names
    detours: dict[tuple[int, int], _Detour] = {}
    cause: Cause | None = None
    position = trace.begin
    for real in trace.steps:
        # Until a step is inserted, both runs are the same.
        taken, after = (real, advance(position, real)) if cause is None else step(position, real.call)
        if real.kind is Kind.HARM and taken.harm is HarmKind.OUT_OF_ORDER:
            skipped, ready = _insert_skipped(position, taken, detours)
            retry, after_retry = step(ready, real.call)
            if retry.kind is not Kind.HARM:
                cause = Cause(tuple(names[symbol] for symbol in skipped), real.index)
                taken, after = retry, after_retry
        if cause is not None and real.kind is Kind.HARM and taken.kind is not Kind.HARM:
            found[real.index] = cause
        position = after
    return found


def _insert_skipped(
    position: Position, harmful: Step, detours: dict[tuple[int, int], _Detour]
) -> tuple[list[int], Position]:
    """The fewest steps after which the harmful one is progress, and the position after them."""
    symbol = harmful.symbol if harmful.symbol is not None else harmful.reading.fits[0]
    if (position.state, symbol) not in detours:
        detours[position.state, symbol] = _find_detour(position.automaton, position.state, symbol)
    detour = detours[position.state, symbol]
    if detour is None:
        return [], position
    skipped, state = detour
    return skipped, replace(position, state=state, done=position.done.union(skipped))


def _find_detour(automaton: Automaton, state: int, symbol: int) -> _Detour:
    """The fewest steps after which the symbol is progress, by breadth-first search, and the state after them."""
    if not automaton.ahead[state] >> symbol & 1:
        return None
    reached_by: dict[int, tuple[int, int] | None] = {state: None}
    queue = deque([state])
    while queue:
        here = queue.popleft()
        if automaton.delta[here].get(symbol, here) != here:
            skipped: list[int] = []
            link = reached_by[here]
            while link is not None:
                skipped.append(link[1])
                link = reached_by[link[0]]
            return skipped[::-1], here
        for taken, after in automaton.delta[here].items():
            if after not in reached_by:
                reached_by[after] = (here, taken)
                queue.append(after)
    return None
