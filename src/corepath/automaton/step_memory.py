"""Remember steps, for those who run the same calls on an automaton again and again."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from corepath.automaton.harm import Breach
from corepath.automaton.step import Position, Step, step
from corepath.notation.call import Call

MOST_STEPS: Final = 5_000
"""The most steps that are remembered, and the most positions."""


class StepMemory:
    """Takes steps as `step` does, and remembers them.

    Calls are told apart by identity, so this helps only if they are the same objects again. Equal positions are
    replaced by the first one, so that they too can be told apart by identity.
    """

    def __init__(self) -> None:
        self._positions: dict[Hashable, Position] = {}
        self._taken: dict[tuple[int, int, Breach | None], tuple[Position, tuple[Step, Position]]] = {}

    def step(self, position: Position, call: Call, breach: Breach | None = None) -> tuple[Step, Position]:
        """Classify a call as `step` does, or return what it did at an equal position before."""
        found = self._taken.get((id(position), id(call), breach))
        if found is None:
            position = self._share(position)
            key = (id(position), id(call), breach)
            found = self._taken.get(key)
            if found is None:
                taken, after = step(position, call, breach)
                if len(self._taken) >= MOST_STEPS:
                    self._taken.clear()
                found = self._taken[key] = (position, (taken, self._share(after)))  # keeps the ids in the key unique
        return found[1]

    def _share(self, position: Position) -> Position:
        """Return the first position that is equal to this one."""
        if len(self._positions) >= MOST_STEPS:
            self._positions.clear()
        return self._positions.setdefault(_identify(position), position)


def _identify(position: Position) -> Hashable:
    """Return a key that only equal positions have in common."""
    known = (id(position.automaton), position.state, position.done, position.index, position.errors)
    if not position.variables and not position.results:
        return known
    bound = (*position.variables.items(), *position.results.items())
    return known, frozenset((name, repr(value)) for name, value in bound)
