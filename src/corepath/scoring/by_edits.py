"""The closest reference found by number of edits: quick where the agent was nearly right.

Matches are followed for nothing, then everything one edit away is looked at, then two. Of two ways to the same place
with equally many edits the longer reference is the better one. What is far away is never looked at, however large the
graph.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from corepath.automaton.golden_paths import Golden
from corepath.automaton.step import Token


class Link(NamedTuple):
    """One token that every reference has next: one of several, or, where it may be left out, none."""

    tokens: tuple[Token, ...]
    optional: bool


class Found(NamedTuple):
    """A reference and its alignment: a place in x, a token of the reference, or both."""

    distance: int
    pieces: list[tuple[int | None, Token | None]]


_Spot = tuple[int, int]
_From = tuple[int, _Spot, Token | None]


@dataclass
class ByEdits:
    """References that begin with the links of `chain` and end with a path of `graph`; `longest` bounds their length."""

    chain: Sequence[Link]
    graph: Golden | None
    x: Sequence[Token]
    longest: int

    def closest(self, budget: int) -> Found | None:
        """The reference with the least edits a length, or None if looking at so many edges did not find it."""
        n = len(self.x)
        length_at: dict[_Spot, int] = {}
        came: dict[tuple[int, _Spot], _From | None] = {}
        level: dict[_Spot, tuple[int, _From | None]] = {(0, 0): (0, None)}
        best: tuple[int, int, _Spot] | None = None
        edits = 0
        while level:
            for spot in self._matched(level, length_at, came, edits):
                budget -= 1 + self._degree(spot[0])
                if spot[1] == n and self._ends(spot[0]):
                    length = length_at[spot]
                    if best is None or edits * (n + best[1]) < best[0] * (n + length):
                        best = (edits, length, spot)
            if best is not None and (edits + 1) * (n + best[1]) >= best[0] * (n + self.longest):
                break
            reach = sum(1 + 2 * self._degree(node) for node, _ in level)
            if reach > budget:  # what is one edit away is more than may be looked at
                return None
            level = self._one_edit_on(level, length_at, edits)
            edits += 1
        return None if best is None else Found(best[0], self._read_back(came, best[0], best[2]))

    def _matched(
        self,
        level: dict[_Spot, tuple[int, _From | None]],
        length_at: dict[_Spot, int],
        came: dict[tuple[int, _Spot], _From | None],
        edits: int,
    ) -> Iterator[_Spot]:
        """Every place with so many edits, matches and links left out followed; `level` comes to hold them all."""
        waiting = [(spot, *reached) for spot, reached in level.items()]
        level.clear()
        while waiting:
            spot, length, origin = waiting.pop()
            if length_at.get(spot, -1) >= length:
                continue
            length_at[spot] = length
            came[edits, spot] = origin
            level[spot] = (length, origin)
            node, used = spot
            if node < len(self.chain) and self.chain[node].optional:
                waiting.append(((node + 1, used), length, (edits, spot, None)))
            if used < len(self.x):
                token = self.x[used]
                for symbol, after in self._edges(node):
                    if symbol == token:
                        waiting.append(((after, used + 1), length + 1, (edits, spot, symbol)))
        yield from level

    def _one_edit_on(
        self, level: dict[_Spot, tuple[int, _From | None]], length_at: dict[_Spot, int], edits: int
    ) -> dict[_Spot, tuple[int, _From | None]]:
        following: dict[_Spot, tuple[int, _From | None]] = {}

        def offer(spot: _Spot, length: int, origin: _From) -> None:
            if length_at.get(spot, -1) < length and (spot not in following or following[spot][0] < length):
                following[spot] = (length, origin)

        for spot, (length, _) in level.items():
            if length_at[spot] != length:
                continue
            node, used = spot
            more = used < len(self.x)
            if more:
                offer((node, used + 1), length, (edits, spot, None))
            for symbol, after in self._edges(node):
                offer((after, used), length + 1, (edits, spot, symbol))
                if more:
                    offer((after, used + 1), length + 1, (edits, spot, symbol))
        return following

    def _degree(self, node: int) -> int:
        before = len(self.chain)
        if node < before:
            return len(self.chain[node].tokens)
        return 0 if self.graph is None else len(self.graph.edges[node - before + self.graph.start])

    def _edges(self, node: int) -> Iterator[tuple[Token, int]]:
        """What may come next; nodes of the graph stand behind those of the chain."""
        before = len(self.chain)
        if node < before:
            for token in self.chain[node].tokens:
                yield token, node + 1
        elif self.graph is not None:
            base = before - self.graph.start
            for symbol, after in self.graph.edges[node - base]:
                yield symbol, after + base

    def _ends(self, node: int) -> bool:
        before = len(self.chain)
        if node < before:
            return False
        return self.graph is None or node - before + self.graph.start in self.graph.accepting

    def _read_back(
        self, came: dict[tuple[int, _Spot], _From | None], edits: int, spot: _Spot
    ) -> list[tuple[int | None, Token | None]]:
        pieces: list[tuple[int | None, Token | None]] = []
        origin = came[edits, spot]
        while origin is not None:
            edits, before, token = origin
            if spot[1] > before[1] or token is not None:
                pieces.append((before[1] if spot[1] > before[1] else None, token))
            spot = before
            origin = came[edits, spot]
        return pieces[::-1]
