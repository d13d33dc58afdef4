"""Path Correctness: how close the condensed path comes to the nearest golden path."""

from __future__ import annotations

from corepath.automaton.condensation import Trace
from corepath.scoring.alignment import Closest, Pair, closest


def path_correctness(trace: Trace) -> Closest:
    """PC (Eq. 4): the largest 1 − NLD over all golden paths, with the path that has it."""
    if trace.end.accepted and not any(trace.harm_mask) and trace.automaton.rule == "acyclic":
        x = trace.tokens  # a golden path itself
        return Closest(0, x, tuple(Pair(place, place) for place in range(len(x))), len(x))
    return closest(trace.automaton.golden, trace.tokens)
