"""The closest reference by breadth-first search over the number of edits: fast if the agent was almost right.

The search walks along x and the references at once. A spot (node, used) means that the first `used` tokens of x are
aligned with a reference prefix that leads to `node`. Level e holds the spots reached with exactly e edits: matches are
free and followed at once, then a deletion, insertion or substitution leads to level e + 1. A spot is entered again only
with a longer prefix, because with equally many edits the longer reference is closer. Spots far from x are never
visited, however large the graph is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from corepath.automaton.golden_paths import GoldenGraph
from corepath.automaton.step import Token


class Link(NamedTuple):
    """The next place in every reference: one of `tokens`, or nothing if it is `optional`."""

    tokens: tuple[Token, ...]
    optional: bool


class Found(NamedTuple):
    """A reference and its alignment: pairs of an index in x and a reference token, None where one has no partner."""

    distance: int
    pieces: list[tuple[int | None, Token | None]]


_Spot = tuple[int, int]
_Origin = tuple[int, _Spot, Token | None]
"""How a spot was reached: the number of edits and the spot before it, and the reference token in between, if any."""
_Level = dict[_Spot, tuple[int, _Origin | None]]
"""For each spot the length of its reference prefix, and its origin."""


@dataclass
class EditSearch:
    """A search for the reference closest to x.

    References consist of the links of `chain`, then a path of `graph`; `longest` is an upper bound of their length.
    The nodes of the chain are numbered 0, 1, …, those of the graph follow.
    """

    chain: Sequence[Link]
    graph: GoldenGraph | None
    x: Sequence[Token]
    longest: int

    def find_closest(self, budget: int) -> Found | None:
        """The reference with the smallest d/(|x| + ℓ), d its edits and ℓ its length.

        None if the search would look at more than `budget` edges.
        """
        n = len(self.x)
        lengths: dict[_Spot, int] = {}
        origins: dict[tuple[int, _Spot], _Origin | None] = {}
        level: _Level = {(0, 0): (0, None)}
        best: tuple[int, int, _Spot] | None = None
        edits = 0
        while level:
            for spot in self._follow_matches(level, lengths, origins, edits):
                budget -= 1 + self._degree(spot[0])
                if spot[1] == n and self._accepts(spot[0]):
                    length = lengths[spot]
                    if best is None or edits * (n + best[1]) < best[0] * (n + length):
                        best = (edits, length, spot)
            if best is not None and (edits + 1) * (n + best[1]) >= best[0] * (n + self.longest):
                break  # with one more edit, not even the longest reference is closer
            reach = sum(1 + 2 * self._degree(node) for node, _ in level)
            if reach > budget:
                return None
            level = self._next_level(level, lengths, edits)
            edits += 1
        return None if best is None else Found(best[0], self._trace_back(origins, best[0], best[2]))

    def _follow_matches(
        self,
        level: _Level,
        lengths: dict[_Spot, int],
        origins: dict[tuple[int, _Spot], _Origin | None],
        edits: int,
    ) -> Iterator[_Spot]:
        """Complete a level with all spots that matches and skipped optional links reach, and yield its spots."""
        stack = [(spot, *reached) for spot, reached in level.items()]
        level.clear()
        while stack:
            spot, length, origin = stack.pop()
            if lengths.get(spot, -1) >= length:
                continue
            lengths[spot] = length
            origins[edits, spot] = origin
            level[spot] = (length, origin)
            node, used = spot
            if node < len(self.chain) and self.chain[node].optional:
                stack.append(((node + 1, used), length, (edits, spot, None)))
            if used < len(self.x):
                token = self.x[used]
                for symbol, after in self._edges(node):
                    if symbol == token:
                        stack.append(((after, used + 1), length + 1, (edits, spot, symbol)))
        yield from level

    def _next_level(self, level: _Level, lengths: dict[_Spot, int], edits: int) -> _Level:
        """The spots that one deletion, insertion or substitution reaches from a level."""
        following: _Level = {}

        def offer(spot: _Spot, length: int, origin: _Origin) -> None:
            if lengths.get(spot, -1) < length and (spot not in following or following[spot][0] < length):
                following[spot] = (length, origin)

        for spot, (length, _) in level.items():
            if lengths[spot] != length:
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
        """The number of edges that leave a node."""
        before = len(self.chain)
        if node < before:
            return len(self.chain[node].tokens)
        return 0 if self.graph is None else len(self.graph.edges[node - before + self.graph.start])

    def _edges(self, node: int) -> Iterator[tuple[Token, int]]:
        """Yield the edges that leave a node of the chain or of the graph."""
        before = len(self.chain)
        if node < before:
            for token in self.chain[node].tokens:
                yield token, node + 1
        elif self.graph is not None:
            base = before - self.graph.start
            for symbol, after in self.graph.edges[node - base]:
                yield symbol, after + base

    def _accepts(self, node: int) -> bool:
        """Whether a reference can end at a node."""
        before = len(self.chain)
        if node < before:
            return False
        return self.graph is None or node - before + self.graph.start in self.graph.accepting

    def _trace_back(
        self, origins: dict[tuple[int, _Spot], _Origin | None], edits: int, spot: _Spot
    ) -> list[tuple[int | None, Token | None]]:
        """The alignment that led to a spot, read backwards through the origins."""
        pieces: list[tuple[int | None, Token | None]] = []
        origin = origins[edits, spot]
        while origin is not None:
            edits, before, token = origin
            if spot[1] > before[1] or token is not None:
                pieces.append((before[1] if spot[1] > before[1] else None, token))
            spot = before
            origin = origins[edits, spot]
        return pieces[::-1]
