"""Path Correctness: how close the condensed path comes to the nearest golden path."""

from __future__ import annotations

from corepath.metrics.alignment import Closest, closest
from corepath.trace import Trace


def path_correctness(trace: Trace) -> Closest:
    """PC (Eq. 4): the largest 1 − NLD over all golden paths, with the path that has it."""
    return closest(trace.automaton.golden, trace.tokens)
