"""The edits that repair a path: leave out, add, move or change calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from corepath.automaton.step import Position

Row = tuple[int | None, int | None]
"""A call's index in the old path and a step's number in the new path. Either may be None."""


@dataclass(frozen=True)
class Move:
    """One move of the search for a repair: what happens to a call, or a step that is put in.

    `call` is a call's index, and `symbol` is a step's number. `place` is the index of the old call before which a step
    or a moved call is put; the number of calls stands for the end.
    """

    kind: Literal["keep", "leave out", "change", "add", "put back", "taken"]
    call: int | None = None
    symbol: int | None = None
    place: int = 0


@dataclass(frozen=True)
class PathEdit:
    """One edit of a path, or a call that stays as a step. `call`, `symbol` and `place` are as in `Move`."""

    kind: Literal["leave out", "change", "add", "move", "keep"]
    call: int | None
    symbol: int | None
    place: int


@dataclass(frozen=True)
class Repair:
    """Edits that make a path valid. `path` has the edits and the calls that stay as steps, in their new order.

    `broken` holds the calls that stay and break a policy even then. It is None if that is not known.
    """

    path: tuple[PathEdit, ...]
    broken: frozenset[int] | None = None

    @property
    def edits(self) -> tuple[PathEdit, ...]:
        """The edits, in the order of the new path."""
        return tuple(one for one in self.path if one.kind != "keep")

    @property
    def length(self) -> int:
        """The number of steps in the new path."""
        return sum(one.symbol is not None for one in self.path)

    @property
    def steps_kept(self) -> tuple[int, ...]:
        """The indexes of the calls that are steps of the new path, as they are or elsewhere."""
        kept = (one.call for one in self.path if one.symbol is not None and one.kind in ("keep", "move"))
        return tuple(call for call in kept if call is not None)

    @property
    def rows(self) -> tuple[Row, ...]:
        """The old path beside the new one. A call that is moved is made anew."""
        return tuple((None if one.kind == "move" else one.call, one.symbol) for one in self.path)

    @property
    def left_out(self) -> tuple[int, ...]:
        """The indexes of the calls that are left out."""
        return tuple(edit.call for edit in self.edits if edit.kind == "leave out" and edit.call is not None)

    @property
    def calls(self) -> tuple[int, ...]:
        """The indexes of the calls that are left out, changed or moved."""
        return tuple(sorted({edit.call for edit in self.edits if edit.call is not None}))


def as_repair(moves: Sequence[Move], broken: frozenset[int] | None = None) -> Repair:
    """Turn the moves of a search into edits.

    A call that is left out and put back later is moved. A step that is added and whose call is then left out as taken
    is a call that is moved to an earlier place.
    """
    moved_later = {move.call for move in moves if move.kind == "put back"}
    moved_earlier = _match_taken(moves)
    path: list[PathEdit] = []
    for number, move in enumerate(moves):
        match move.kind:
            case "keep" if move.symbol is not None:
                path.append(PathEdit("keep", move.call, move.symbol, move.place))
            case "leave out" if move.call not in moved_later:
                path.append(PathEdit("leave out", move.call, None, move.place))
            case "change":
                path.append(PathEdit("change", move.call, move.symbol, move.place))
            case "put back":
                path.append(PathEdit("move", move.call, move.symbol, move.place))
            case "add" if number in moved_earlier:
                path.append(PathEdit("move", moved_earlier[number], move.symbol, move.place))
            case "add":
                path.append(PathEdit("add", None, move.symbol, move.place))
    return Repair(tuple(path), broken)


def _match_taken(moves: Sequence[Move]) -> dict[int, int]:
    """Return the call that each added step takes, keyed by the number of the move that adds the step."""
    waiting: dict[int | None, list[int]] = {}
    found: dict[int, int] = {}
    for number, move in enumerate(moves):
        if move.kind == "add":
            waiting.setdefault(move.symbol, []).append(number)
        elif move.kind == "taken" and move.call is not None:
            found[waiting[move.symbol].pop(0)] = move.call
    return found


def take_step(position: Position, symbol: int) -> Position | None:
    """Return the position after a step, or None if the step is not expected at `position`."""
    after = position.automaton.delta[position.state].get(symbol, position.state)
    return None if after == position.state else replace(position, state=after, done=position.done | 1 << symbol)
