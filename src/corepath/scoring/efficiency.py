"""Efficiency and directness: how many calls the agent needed."""

from __future__ import annotations

from corepath.automaton.automaton import Automaton
from corepath.automaton.condensation import Path


def efficiency(path: Path, automaton: Automaton) -> float | None:
    """Eff (Eq. 8): ℓ*/n, with n calls and ℓ* the length of the longest golden path that has at most n steps.

    Returns None if there is no such golden path.
    """
    n = path.length
    reached = automaton.golden.lengths & ((1 << n + 1) - 1)
    if not reached:
        return None
    return (reached.bit_length() - 1) / n if n else 1.0


def directness(path: Path, automaton: Automaton) -> float | None:
    """Return the share of all calls that were progress.

    Without any calls, directness is 1.0 if the start state is accepting. Otherwise it is undefined, and None is
    returned.
    """
    if not path.length:
        return 1.0 if automaton.start in automaton.accepting else None
    return path.stays.count(0) / path.length
