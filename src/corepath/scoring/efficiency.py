"""Efficiency and directness: how many calls it took."""

from __future__ import annotations

from corepath.automaton.condensation import Trace
from corepath.automaton.step import Kind


def efficiency(trace: Trace) -> float | None:
    """Eff (Eq. 8): ℓ*/n with ℓ* the largest golden length that is at most n; None when there is none."""
    n = len(trace.steps)
    reached = trace.automaton.golden.lengths & ((1 << n + 1) - 1)
    if not reached:
        return None
    return (reached.bit_length() - 1) / n if n else 1.0


def directness(trace: Trace) -> float | None:
    """Share of all calls that were progress; without calls, 1 if nothing had to be done and None otherwise."""
    if not trace.steps:
        return 1.0 if trace.automaton.start in trace.automaton.accepting else None
    return sum(step.kind is Kind.PROGRESS for step in trace.steps) / len(trace.steps)
