"""Remember steps, for those who run the same calls on an automaton again and again."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from corepath.automaton.harm import Breach
from corepath.automaton.reading import Reading
from corepath.automaton.step import Position, Step, classify, read
from corepath.memory import remember
from corepath.notation.call import Call

MOST_STEPS: Final = 5_000
"""The most steps that are remembered, and the most positions."""

T = TypeVar("T", Step, Position)


_Bound = frozenset[tuple[Any, str]] | None
"""The values of variables and the results of earlier steps, or None if there are none."""
_Setting = tuple[int, str, _Bound]
"""All that decides how calls are read at a position: the automaton, how failed calls count, and the bound values."""
_Place = tuple[_Setting, int, int]
"""All that decides what calls do at a position: how they are read, the state, and what was done."""


class StepMemory:
    """Takes steps as `step` does, and remembers them.

    Calls are told apart by identity, so this helps only if they are the same objects again. Equal positions are
    replaced by the first one, so that they too can be told apart by identity.
    """

    def __init__(self) -> None:
        self._positions: dict[tuple[_Place, int], Position] = {}
        self._taken: dict[tuple[int, int, Breach | None], tuple[Position, tuple[Step, Position]]] = {}
        self._at_other_index: dict[tuple[_Place, int, Breach | None], tuple[Step, Position, _Place]] = {}
        self._readings: dict[tuple[int, _Setting], tuple[Position, Call, Reading]] = {}

    def step(self, position: Position, call: Call, breach: Breach | None = None) -> tuple[Step, Position]:
        """Classify a call as `step` does, or return what it did at an equal position before."""
        found = self._taken.get((id(position), id(call), breach))
        if found is None:
            place = _place_of(position)
            position = remember(self._positions, (place, position.index), position, MOST_STEPS)
            key = (id(position), id(call), breach)
            found = self._taken.get(key)
            if found is None:
                known = (position, self._take(position, place, call, breach))  # keeps the ids in the key unique
                found = remember(self._taken, key, known, MOST_STEPS)
        return found[1]

    def _take(self, position: Position, place: _Place, call: Call, breach: Breach | None) -> tuple[Step, Position]:
        """Take a step. If it was taken at another index before, only the index is new."""
        index = position.index
        found = self._at_other_index.get((place, id(call), breach))
        if found is None:
            taken, after = classify(position, call, self._read(position, place[0], call), breach)
            found = (taken, after, _place_of(after))  # `taken` keeps `call`, so that its id stays unique
            remember(self._at_other_index, (place, id(call), breach), found, MOST_STEPS)
        taken, after, there = found
        reached = self._positions.get((there, index + 1))
        if reached is None:
            reached = remember(self._positions, (there, index + 1), _at_index(after, index + 1), MOST_STEPS)
        return _at_index(taken, index), reached

    def _read(self, position: Position, setting: _Setting, call: Call) -> Reading:
        """Read a call as `read` does, or return how it was read in the same setting before."""
        key = (id(call), setting)
        found = self._readings.get(key)
        if found is None:
            known = (position, call, read(position, call))  # the first two keep the ids in the key unique
            found = remember(self._readings, key, known, MOST_STEPS)
        return found[2]


def _place_of(position: Position) -> _Place:
    """Return a key that positions have in common only if they are equal, apart from the index."""
    bound: _Bound = None
    if position.variables or position.results:
        values = (*position.variables.items(), *position.results.items())
        bound = frozenset((name, repr(value)) for name, value in values)
    return (id(position.automaton), position.errors, bound), position.state, position.done


def _at_index(item: T, index: int) -> T:
    """Return a step or a position with another index, as `dataclasses.replace` does, but much faster."""
    if item.index == index:
        return item
    made = object.__new__(type(item))
    made.__dict__.update(item.__dict__, index=index)
    return made
