"""Causes: harms that would vanish if one skipped step had been done belong together.

Beside the run, a second one is walked in which skipped steps are put in where they were needed. A harmful call that
is legal there would have been legal: it shares the cause of what was put in.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from corepath.automaton import Automaton
from corepath.harm import HarmKind
from corepath.trace import Kind, Trace


@dataclass(frozen=True)
class Cause:
    """Steps that were skipped, and the number of the call at which they were first missed."""

    skipped: tuple[str, ...]
    at: int


def causes(trace: Trace) -> dict[int, Cause]:
    """The cause of each harmful call that has one, by the number of the call."""
    automaton = trace.automaton
    found: dict[int, Cause] = {}
    ways: dict[tuple[int, int], tuple[list[int], int] | None] = {}
    cause: Cause | None = None
    mended = automaton.start
    for step in trace.condensed:
        symbol = step.symbol if step.symbol is not None else next(iter(step.reading.fits), None)
        if symbol is None:
            continue
        after = automaton.delta[mended].get(symbol)
        if step.kind is Kind.PROGRESS:
            mended = mended if after is None else after
        elif after is not None and cause is not None:
            found[step.index], mended = cause, after
        elif step.harm is HarmKind.OUT_OF_ORDER:
            if (mended, symbol) not in ways:
                ways[mended, symbol] = _way_to(automaton, mended, symbol)
            way = ways[mended, symbol]
            if way is not None:
                skipped, mended = way
                cause = Cause(tuple(automaton.alphabet.names[one] for one in skipped), step.index)
                found[step.index] = cause
    return found


def _way_to(automaton: Automaton, state: int, symbol: int) -> tuple[list[int], int] | None:
    """The fewest steps after which the symbol is progress, and the state after it; None where it never is."""
    if not automaton.ahead[state] >> symbol & 1:
        return None
    came: dict[int, tuple[int, int] | None] = {state: None}
    queue = deque([state])
    while queue:
        one = queue.popleft()
        target = automaton.delta[one].get(symbol, one)
        if one not in (target, state):
            skipped: list[int] = []
            while (link := came[one]) is not None:
                one, taken = link
                skipped.append(taken)
            return skipped[::-1], target
        for taken, after in automaton.delta[one].items():
            if after not in came and taken != symbol:
                came[after] = (one, taken)
                queue.append(after)
    return None
