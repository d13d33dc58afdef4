"""Path Correctness: how close the condensed path comes to the nearest golden path."""

from __future__ import annotations

from corepath.automaton.automaton import Automaton
from corepath.automaton.condensation import Path
from corepath.scoring.alignment import Closest, Pair, closest


def path_correctness(path: Path, automaton: Automaton) -> Closest:
    """PC (Eq. 4): the largest 1 − NLD over all golden paths, with the path that has it."""
    x = path.tokens
    if path.end in automaton.accepting and not any(path.harm_mask) and automaton.rule == "acyclic":
        return Closest(0, x, tuple(Pair(place, place) for place in range(len(x))), len(x))  # it is golden itself
    return closest(automaton.golden, x)
