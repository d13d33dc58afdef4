"""Path Correctness: how close the agent's condensed path x comes to the nearest golden path."""

from __future__ import annotations

from corepath.automaton.automaton import Automaton
from corepath.automaton.condensation import Path
from corepath.scoring.alignment import ClosestReference, Pair, find_closest


def path_correctness(path: Path, automaton: Automaton) -> ClosestReference:
    """PC (Eq. 4): the largest 1 − NLD over all golden paths. Returns the path that attains it."""
    x = path.tokens
    if path.end in automaton.accepting and not any(path.harm_mask) and automaton.rule == "acyclic":
        return ClosestReference(0, x, tuple(Pair(index, index) for index in range(len(x))), len(x))  # x is golden
    return find_closest(automaton.golden, x)
