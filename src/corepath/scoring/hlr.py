"""PC with Harm-Local Refinement: the closest path to which the agent's own can be repaired.

A repaired path keeps every progress step; in the place of each harmful one it has nothing, or any action that is a
self-loop in that state; then it goes on as some golden path does. Harmful steps in a row share a state, so a row of w
of them becomes any word of at most w such actions: one stretch of columns a row rather than one column a step.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from corepath.automaton.automaton import Automaton
from corepath.automaton.condensation import Path
from corepath.automaton.step import Token
from corepath.scoring.alignment import Closest, Lead, Pair, closest, paired
from corepath.scoring.by_edits import Link
from corepath.scoring.columns import Column, Weights, cross, first_column, places


@dataclass(frozen=True)
class _Row:
    """Harmful steps in a row, all in one state, and the progress step after them (None at the end)."""

    most: int
    loops: frozenset[Token]
    filler: Token | None
    progress: Token | None


def hlr(path: Path, automaton: Automaton) -> Closest:
    """PC+HLR: the largest 1 − NLD over all repaired paths, with the path that has it."""
    rest = automaton.golden_from(path.end)
    x = path.tokens
    if any(path.harm_mask):
        return closest(rest, x, _repaired(path, automaton))
    # Nothing to repair: the path itself, then the shortest way to the end.
    missing = rest.shortest() if rest else ()
    repaired, pairs = paired([*enumerate(x), *((None, token) for token in missing)])
    return Closest(len(missing), tuple(repaired), tuple(pairs), len(x))


def _repaired(path: Path, automaton: Automaton) -> Lead:
    """The part of all repaired paths before the golden rest."""
    x, rows = path.tokens, list(_rows(path, automaton))
    where = places(x)
    known: dict[Weights, list[array[int]]] = {}

    def each(weights: Weights) -> Iterator[Column]:
        last = first_column(len(x))
        for row in rows:
            yield last
            last = _stretch(last, x, row, weights)
            if row.progress is not None:
                yield last
                last = cross([(last, where[row.progress])], weights)
        yield last

    def columns(weights: Weights) -> list[array[int]]:
        if weights not in known:
            known.clear()  # they are large where x is long
            known[weights] = [array("q", one) for one in each(weights)]
        return known[weights]

    def column(weights: Weights) -> Column:
        return columns(weights)[-1].tolist()

    def trace_back(used: int, weights: Weights) -> tuple[list[Token], list[Pair]]:
        return _read_back(rows, columns(weights), x, used, weights)

    return Lead(tuple(_links(path, rows)), column, trace_back)


def _links(path: Path, rows: list[_Row]) -> Iterator[Link]:
    """The repaired paths token by token: a harmful step may be left out."""
    row = iter(rows)
    current = next(row)
    for token, harmful in zip(path.tokens, path.harm_mask, strict=True):
        if harmful:
            filler = () if current.filler is None else (current.filler,)
            yield Link((*current.loops, *filler), optional=True)
        else:
            yield Link((token,), optional=False)
            current = next(row)


def _rows(path: Path, automaton: Automaton) -> Iterator[_Row]:
    """The harmful steps of the path, row by row, each row with the progress step that ends it."""
    others = [("read", pattern.notation) for pattern in automaton.alphabet.other_loops]
    state, harms = automaton.start, 0
    in_x = set(path.tokens)

    def row(progress: Token | None) -> _Row:
        loops: list[Token] = [*automaton.loops(state), *others]
        usable = frozenset(token for token in loops if token in in_x)
        return _Row(harms if loops else 0, usable, loops[0] if loops else None, progress)

    for token, harmful, after in zip(path.tokens, path.harm_mask, path.states, strict=True):
        if harmful:
            harms += 1
        else:
            yield row(token)
            state, harms = after, 0
    yield row(None)


def _stretch(column: Column, x: tuple[Token, ...], row: _Row, weights: Weights) -> Column:
    """The column after at most `row.most` loop actions, each in the place of a token of x.

    From `first` to `last` tokens used, with m of them among the loops: all but min(last−first, most) are dropped, and
    min(m, most) match. Both ways to take the minimum over `first` are windows that slide along with `last`.
    """
    if not row.most:
        return column
    matched = list(accumulate((int(token in row.loops) for token in x), initial=0))
    gain, match = weights.drop - weights.edge, weights.edge - weights.hit
    near = _Window(
        [cost + match * m + gain * place for place, (cost, m) in enumerate(zip(column, matched, strict=True))]
    )
    far = _Window([cost + match * m for cost, m in zip(column, matched, strict=True)])
    result: Column = []
    reach = 0
    for last in range(len(column)):
        near.add(last)
        near.forget_before(last - row.most)
        cost = near.lowest() - match * matched[last] - gain * last
        if row.loops and last > row.most:
            while matched[last] - matched[reach] > row.most:
                reach += 1
            far.add(last - row.most - 1)
            far.forget_before(reach)
            if not far.empty():
                cost = min(cost, far.lowest() - match * matched[last] - gain * row.most)
        result.append(cost)
    return list(accumulate(result, min))


class _Window:
    """The lowest of the values that were added and not yet forgotten; places only move upwards."""

    def __init__(self, values: list[int]) -> None:
        self._values = values
        self._places: deque[int] = deque()

    def add(self, place: int) -> None:
        while self._places and self._values[self._places[-1]] >= self._values[place]:
            self._places.pop()
        self._places.append(place)

    def forget_before(self, place: int) -> None:
        while self._places and self._places[0] < place:
            self._places.popleft()

    def empty(self) -> bool:
        return not self._places

    def lowest(self) -> int:
        return self._values[self._places[0]]


def _read_back(
    rows: list[_Row], columns: list[array[int]], x: tuple[Token, ...], used: int, weights: Weights
) -> tuple[list[Token], list[Pair]]:
    """The repaired part of the reference and its alignment with the first `used` tokens, read from the end."""
    pieces: list[tuple[int | None, Token | None]] = []
    earlier = reversed(columns)
    after = next(earlier)
    for row in reversed(rows):
        if row.progress is not None:
            before = next(earlier)
            while True:
                cost = after[used]
                hits = used and x[used - 1] == row.progress and before[used - 1] + weights.hit - weights.drop == cost
                if hits or (used and before[used - 1] + weights.edge - weights.drop == cost):
                    used -= 1
                    pieces.append((used, row.progress))
                    break
                if before[used] + weights.edge == cost:
                    pieces.append((None, row.progress))
                    break
                used -= 1
                pieces.append((used, None))
            after = before
        before = next(earlier)
        first, last = _span(before, after, x, row, used, weights)
        pieces.extend((place, None) for place in range(used - 1, last - 1, -1))
        pieces.extend(reversed(list(_fill(x, row, first, last))))
        used, after = first, before
    pieces.extend((place, None) for place in range(used - 1, -1, -1))
    return paired(reversed(pieces))


def _span(
    before: array[int], after: array[int], x: tuple[Token, ...], row: _Row, used: int, weights: Weights
) -> tuple[int, int]:
    """Which tokens of x the row stands against."""
    if not row.most:
        return used, used
    gain, match = weights.drop - weights.edge, weights.edge - weights.hit
    last = used
    while last and after[last - 1] == after[used]:
        last -= 1
    matched = 0
    for first in range(last, -1, -1):
        if first < last:
            matched += x[first] in row.loops
        cost = before[first] - match * min(matched, row.most) - gain * min(last - first, row.most)
        if cost == after[used]:
            return first, last
    raise AssertionError("a column that no stretch explains")


def _fill(x: tuple[Token, ...], row: _Row, first: int, last: int) -> Iterator[tuple[int, Token | None]]:
    """The row's tokens against x[first:last]: those that match, then others, until `most` are used."""
    matching = [place for place in range(first, last) if x[place] in row.loops][: row.most]
    others = row.most - len(matching)
    taken = set(matching)
    for place in range(first, last):
        if place in taken:
            yield place, x[place]
        elif others:
            others -= 1
            yield place, row.filler
        else:
            yield place, None
