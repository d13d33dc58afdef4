"""Causes of harm: harmful calls that one skipped step explains belong together.

The calls are run a second time with each skipped step inserted where it was first missed. A call that is harmful in the
real run and harmless in the second one is caused by the inserted step.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from corepath.automaton.automaton import Automaton
from corepath.automaton.condensation import Trace
from corepath.automaton.harm import HarmKind
from corepath.automaton.step import Kind, Position, Step, advance, step

_Way = tuple[list[int], int] | None
"""Steps, and the state after them; None where there is no way."""


@dataclass(frozen=True)
class Cause:
    """Steps that were skipped, and the number of the call at which they were first missed."""

    skipped: tuple[str, ...]
    at: int


def find_causes(trace: Trace) -> dict[int, Cause]:
    """The cause of each harmful call that has one, by the call's number."""
    found: dict[int, Cause] = {}
    if not any(step.harm is HarmKind.OUT_OF_ORDER for step in trace.condensed):
        return found
    names = trace.automaton.alphabet.names
    ways: dict[tuple[int, int], _Way] = {}
    cause: Cause | None = None
    mended = trace.begin
    for real in trace.steps:
        # Before anything is put in, both runs are the same.
        taken, after = (real, advance(mended, real)) if cause is None else step(mended, real.call)
        if real.kind is Kind.HARM and taken.kind is Kind.HARM and taken.harm is HarmKind.OUT_OF_ORDER:
            skipped, ready = _made_up_for(mended, taken, ways)
            retaken, after_skipped = step(ready, real.call)
            if retaken.kind is not Kind.HARM:
                cause = Cause(tuple(names[symbol] for symbol in skipped), real.index)
                taken, after = retaken, after_skipped
        if real.kind is Kind.HARM and taken.kind is not Kind.HARM and cause is not None:
            found[real.index] = cause
        mended = after
    return found


def _made_up_for(position: Position, harmful: Step, ways: dict[tuple[int, int], _Way]) -> tuple[list[int], Position]:
    """The fewest steps after which the harmful one is progress, and the position with them done."""
    symbol = harmful.symbol if harmful.symbol is not None else harmful.reading.fits[0]
    if (position.state, symbol) not in ways:
        ways[position.state, symbol] = _way_to(position.automaton, position.state, symbol)
    way = ways[position.state, symbol]
    if way is None:
        return [], position
    skipped, state = way
    return skipped, replace(position, state=state, done=position.done.union(skipped))


def _way_to(automaton: Automaton, state: int, symbol: int) -> _Way:
    """The fewest steps after which the symbol is progress, and the state then; None where it never is."""
    if not automaton.ahead[state] >> symbol & 1:
        return None
    came: dict[int, tuple[int, int] | None] = {state: None}
    queue = deque([state])
    while queue:
        reached = queue.popleft()
        if automaton.delta[reached].get(symbol, reached) != reached:
            skipped: list[int] = []
            link = came[reached]
            while link is not None:
                skipped.append(link[1])
                link = came[link[0]]
            return skipped[::-1], reached
        for taken, after in automaton.delta[reached].items():
            if after not in came:
                came[after] = (reached, taken)
                queue.append(after)
    return None
