"""Remember steps, for those who run the same calls on an automaton again and again."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Final

from corepath.automaton.harm import Breach
from corepath.automaton.step import Position, Step, advance, step
from corepath.memory import remember
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
        self._at_other_index: dict[tuple[Hashable, int, Breach | None], Step] = {}

    def step(self, position: Position, call: Call, breach: Breach | None = None) -> tuple[Step, Position]:
        """Classify a call as `step` does, or return what it did at an equal position before."""
        found = self._taken.get((id(position), id(call), breach))
        if found is None:
            place = _identify(position)
            position = remember(self._positions, (place, position.index), position, MOST_STEPS)
            key = (id(position), id(call), breach)
            found = self._taken.get(key)
            if found is None:
                taken, after = self._take(position, place, call, breach)
                after = remember(self._positions, (_identify(after), after.index), after, MOST_STEPS)
                known = (position, (taken, after))  # keeps the ids in the key unique
                found = remember(self._taken, key, known, MOST_STEPS)
        return found[1]

    def _take(self, position: Position, place: Hashable, call: Call, breach: Breach | None) -> tuple[Step, Position]:
        """Take a step. If it was taken at another index before, only its index is new."""
        known = self._at_other_index.get((place, id(call), breach))
        if known is not None:
            taken = replace(known, index=position.index)
            return taken, advance(position, taken)
        taken, after = step(position, call, breach)
        remember(self._at_other_index, (place, id(call), breach), taken, MOST_STEPS)
        return taken, after


def _identify(position: Position) -> Hashable:
    """Return a key that positions have in common only if they are equal, apart from the index."""
    known = (id(position.automaton), position.state, position.done, position.errors)
    if not position.variables and not position.results:
        return known
    bound = (*position.variables.items(), *position.results.items())
    return known, frozenset((name, repr(value)) for name, value in bound)
