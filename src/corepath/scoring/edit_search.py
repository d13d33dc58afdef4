"""Find the closest reference by searching with 0 edits, then 1, then 2, and so on.

x is the agent's condensed path as a sequence of tokens. A reference is a path that x is compared with, e.g. a golden
path. The search is fast if x is almost right.

The search walks along x and all references at once. A spot (node, used) means: the first `used` tokens of x are aligned
with the beginning of a reference, and this beginning leads to `node`. Level e holds the spots that are reached with
exactly e edits. Matches cost nothing, so they are followed within the level. A deletion, insertion or substitution
leads to level e + 1.

A spot is entered a second time only with a longer reference prefix, because with the same number of edits the longer
reference is closer. Spots that need many edits are never visited, no matter how large the graph is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from corepath.automaton.golden_paths import GoldenGraph
from corepath.automaton.step import Token


class Link(NamedTuple):
    """The next token of a reference: any one of `tokens`, or no token at all if the link is `optional`."""

    tokens: tuple[Token, ...]
    optional: bool


class Found(NamedTuple):
    """The closest reference, aligned with x.

    `distance` is the number of edits. Each piece is a pair of an index in x and a reference token. The token is None if
    the token of x was deleted, and the index is None if the reference token was inserted.
    """

    distance: int
    pieces: list[tuple[int | None, Token | None]]


_Spot = tuple[int, int]
_Origin = tuple[int, _Spot, Token | None]
"""How a spot was reached: edits at the previous spot, the previous spot, and the reference token in between or None."""
_Level = dict[_Spot, tuple[int, _Origin | None]]
"""Maps each spot to the length of its reference prefix and to its origin. The first spot has no origin."""


@dataclass
class EditSearch:
    """A search for the reference closest to x.

    Every reference begins with one token per link in `chain`, or no token if the link is optional. A path through
    `graph` follows, unless `graph` is None. No reference is longer than `longest`. Nodes are numbered from
    0, first along the chain and then through the graph.
    """

    chain: Sequence[Link]
    graph: GoldenGraph | None
    x: Sequence[Token]
    longest: int

    def find_closest(self, budget: int) -> Found | None:
        """Find the reference with the smallest d/(|x| + ℓ), where d is its number of edits and ℓ is its length.

        Returns None if the search would look at more than `budget` edges.
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
        """Add to `level` all spots reached by matches and skipped optional links, then yield every spot in `level`."""
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
        """Return the spots that are one deletion, insertion or substitution away from `level`."""
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
        """Return the number of edges that leave `node`."""
        before = len(self.chain)
        if node < before:
            return len(self.chain[node].tokens)
        return 0 if self.graph is None else len(self.graph.edges[node - before + self.graph.start])

    def _edges(self, node: int) -> Iterator[tuple[Token, int]]:
        """Yield the token and the target node of each edge that leaves `node`."""
        before = len(self.chain)
        if node < before:
            for token in self.chain[node].tokens:
                yield token, node + 1
        elif self.graph is not None:
            base = before - self.graph.start
            for symbol, after in self.graph.edges[node - base]:
                yield symbol, after + base

    def _accepts(self, node: int) -> bool:
        """Whether a reference can end at `node`."""
        before = len(self.chain)
        if node < before:
            return False
        return self.graph is None or node - before + self.graph.start in self.graph.accepting

    def _trace_back(
        self, origins: dict[tuple[int, _Spot], _Origin | None], edits: int, spot: _Spot
    ) -> list[tuple[int | None, Token | None]]:
        """Reconstruct the alignment that leads to `spot`.

        `origins` says how each spot was reached. Each piece returned is an index in x and a reference token, as in
        `Found`.
        """
        pieces: list[tuple[int | None, Token | None]] = []
        origin = origins[edits, spot]
        while origin is not None:
            edits, before, token = origin
            if spot[1] > before[1] or token is not None:
                pieces.append((before[1] if spot[1] > before[1] else None, token))
            spot = before
            origin = origins[edits, spot]
        return pieces[::-1]
