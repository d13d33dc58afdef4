"""PC-KTC: Path Correctness combined with the order of the steps (Kendall's τ).

The golden path that is best for both at once is found by a best-first branch-and-bound search (A*) over pairs of a
golden path and its alignment with x. The next entry to expand is the one with the highest upper bound, so the first
complete entry that leaves the queue is the optimum.

The future of a search depends on its past only through the node of the golden graph, the tokens of x that can still be
matched, and for each of them the number of matched tokens to its right in x. Entries that agree in these share a
search node; among them, one with at least as many edits and inversions as another is discarded.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import accumulate
from typing import Final, Literal, cast

from corepath.automaton.automaton import Automaton
from corepath.automaton.condensation import Path
from corepath.automaton.golden_paths import GoldenGraph, lengths_of
from corepath.automaton.step import Token
from corepath.scoring.alignment import ClosestReference, similarity
from corepath.scoring.columns import EDITS, Column, first_column, index_tokens, next_column

OrderFallback = float | Literal["pc"]
"""The value of τ⁺ if fewer than two tokens match: a number, or PC itself."""

MOST_LISTED: Final = 64
"""With at most this many golden paths, each is compared with x, without a search."""
_ROUNDING: Final = 1e-13
_Open = tuple[tuple[int, int], ...]
"""Tokens of x that can still be matched: pairs of an index in x and the number of matched tokens to its right."""
_Entry = tuple[int, int, int, int]
"""A search node, the number of tokens of x used, the edits so far, and the inversions so far."""


@dataclass(frozen=True)
class Composite:
    """PC-KTC as an interval that contains it; `lower` equals `upper` if it is exact."""

    lower: float
    upper: float

    @property
    def exact(self) -> bool:
        """Whether the exact value is known."""
        return self.lower == self.upper


@dataclass(frozen=True)
class _Formula:
    """λ·PC + (1−λ)·τ⁺, with τ⁺ = 1 − inversions/pairs, or the fallback if there are no pairs."""

    lam: float
    fallback: OrderFallback

    def __call__(self, pc: float, inversions: int, pairs: int) -> float:
        if pairs:
            return self.lam * pc + (1 - self.lam) * (1 - inversions / pairs)
        return self.lam * pc + (1 - self.lam) * (pc if self.fallback == "pc" else self.fallback)

    def ceiling(self, pc: float, *, ordered: bool) -> float:
        """An upper bound for paths of this PC or less; `ordered` says whether two matches are possible at all."""
        return max(self(pc, 0, 1), self(pc, 0, 0)) if ordered else self(pc, 0, 0)


def pc_ktc(
    path: Path, automaton: Automaton, nearest: ClosestReference, lam: float, fallback: OrderFallback, budget: int
) -> Composite:
    """PC-KTC (Eq. 5): the largest λ·PC + (1−λ)·τ⁺ over all golden paths, PC and τ⁺ of the same path.

    `nearest` is the reference that PC found. If the search expands more than `budget` entries, the answer is an
    interval.
    """
    golden, x = automaton.golden, path.tokens
    formula = _Formula(lam, fallback)
    known = formula(nearest.similarity, *concordance(x, nearest.path))
    ceiling = formula.ceiling(nearest.similarity, ordered=_can_match_two(golden, x))
    if known >= ceiling - _ROUNDING or golden.count == 1:
        return Composite(known, known)
    if golden.count <= MOST_LISTED:
        for one in golden.paths():
            order = concordance(x, one)
            if formula(nearest.similarity, *order) > known:  # no path has a better PC than the nearest one
                known = max(known, formula(_similarity(x, one), *order))
        return Composite(known, known)
    merged = golden.merge_unused(set(x))
    return _Search(merged.graph if merged else golden, x, formula).find_best(known, ceiling, budget)


def concordance(x: Sequence[Token], path: Sequence[Token]) -> tuple[int, int]:
    """The inversions among the matches of x and a path, and the number of pairs of matches.

    Each token of x, in order, is matched with the first equal token of the path that is still free.
    """
    free = {token: iter(indexes) for token, indexes in index_tokens(path).items()}
    inversions = 0
    ranks: list[int] = []
    for token in x:
        if token in free and (rank := next(free[token], None)) is not None:
            below = bisect(ranks, rank)
            inversions += len(ranks) - below
            ranks.insert(below, rank)
    return inversions, len(ranks) * (len(ranks) - 1) // 2


def _can_match_two(golden: GoldenGraph, x: Sequence[Token]) -> bool:
    """Whether at least two tokens of x are symbols of golden paths."""
    return sum(token in golden.symbols for token in x) >= 2


def _similarity(x: Sequence[Token], path: Sequence[Token]) -> float:
    """1 − NLD of x and one path."""
    indexes = index_tokens(x)
    column = first_column(len(x))
    for token in path:
        column = next_column([(column, indexes.get(token, ()))], EDITS)
    return similarity(column[-1] + len(x), len(x), len(path))


@dataclass
class _SearchNode:
    """The part of a search entry that decides its future."""

    node: int
    """The node of the golden graph."""
    left: int
    """The number of steps left on the golden path."""
    length: int
    """The length of the whole golden path."""
    matches: int
    """The number of matches so far."""
    open: _Open
    futures: tuple[tuple[int, int], ...] = ()
    """For each number of further matches: the fewest inversions they add, and the pairs of matches there are then."""
    edges: list[tuple[int, int, int]] | None = None
    """For each edge: its symbol, the search node it leads to, and the inversions it adds; None until needed."""

    def __post_init__(self) -> None:
        cheapest = sorted(right for _, right in self.open)[: self.left]
        totals = range(self.matches, self.matches + len(cheapest) + 1)
        pairs = [matches * (matches - 1) // 2 for matches in totals]
        self.futures = tuple(zip(accumulate(cheapest, initial=0), pairs, strict=True))


class _Search:
    """The best-first search for one x.

    `frontier` holds, for each search node and number of used tokens, the pairs (edits, inversions) that no other pair
    dominates. `remaining` holds the columns of the fewest edits that are still needed.
    """

    def __init__(self, golden: GoldenGraph, x: Sequence[Token], formula: _Formula) -> None:
        self.golden, self.x, self.formula = golden, x, formula
        self.reversed_indexes = index_tokens(x[::-1])
        self.nodes: list[_SearchNode] = []
        self.numbers: dict[tuple[int, int, int, int, _Open], int] = {}
        self.remaining: dict[tuple[int, int], Column] = {}
        self.heap: list[tuple[float, int, int, int, int, int, int]] = []
        self.frontier: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def find_best(self, known: float, ceiling: float, budget: int) -> Composite:
        """The largest value over all golden paths, or an interval that contains it.

        `known` is a value that some path has, `ceiling` an upper bound. Invariant: every path better than `known`
        continues some entry of the heap, and no path is better than the highest bound in the heap.
        """
        n, golden = len(self.x), self.golden
        if len(golden.edges) * golden.lengths.bit_count() * (n + golden.longest + 1) > 50 * budget:
            return Composite(known, ceiling)
        first = self._drop_unmatchable(golden.start, tuple((index, 0) for index in range(n)))
        for length in lengths_of(golden.lengths):
            self._push(self._intern(golden.start, length, length, 0, first), 0, 0, 0, known)
        while self.heap:
            bound, left, unused, number, used, distance, inversions = heappop(self.heap)
            if -bound <= known + _ROUNDING:
                break
            if not left and not unused:
                return Composite(-bound, -bound)
            if (distance, inversions) not in self.frontier[number, used]:
                continue
            if not budget:
                return Composite(max(known, self._complete_greedily(number, used, distance, inversions)), -bound)
            budget -= 1
            for entry in self._successors(number, used, distance, inversions):
                self._push(*entry, known)
        return Composite(known, known)

    def _successors(self, number: int, used: int, distance: int, inversions: int) -> Iterator[_Entry]:
        """Delete a token of x, or take one more step of the golden path, with a token of x or without."""
        unused = used < len(self.x)
        if unused:
            yield number, used + 1, distance + 1, inversions
        for symbol, after, added in self._edges_of(number):
            yield after, used, distance + 1, inversions + added
            if unused:
                yield after, used + 1, distance + (self.x[used] != symbol), inversions + added

    def _complete_greedily(self, number: int, used: int, distance: int, inversions: int) -> float:
        """The value of a complete path, found by always taking the successor with the highest bound."""
        while self.nodes[number].left or used < len(self.x):
            successors = self._successors(number, used, distance, inversions)
            number, used, distance, inversions = max(successors, key=self._promise)
        return self._bound(self.nodes[number], 0, distance, inversions)

    def _promise(self, entry: _Entry) -> tuple[float, int, int]:
        """Sort key of entries: the bound first, then how near the end is."""
        number, used, distance, inversions = entry
        node = self.nodes[number]
        return self._bound(node, len(self.x) - used, distance, inversions), -node.left, used

    def _push(self, number: int, used: int, distance: int, inversions: int, known: float) -> None:
        """Add an entry to the heap, unless another one dominates it or its bound is not above `known`."""
        frontier = self.frontier.setdefault((number, used), [])
        for d, i in frontier:
            if d <= distance and i <= inversions:
                return
        node = self.nodes[number]
        unused = len(self.x) - used
        bound = self._bound(node, unused, distance, inversions)
        if bound > known + _ROUNDING:
            frontier[:] = [(d, i) for d, i in frontier if d < distance or i < inversions]
            frontier.append((distance, inversions))
            heappush(self.heap, (-bound, node.left, unused, number, used, distance, inversions))

    def _bound(self, node: _SearchNode, unused: int, distance: int, inversions: int) -> float:
        """An upper bound of the value of all completions: fewest further edits, and fewest further inversions."""
        edits = distance + self._remaining(node.node, node.left)[unused] + unused
        pc = similarity(edits, len(self.x), node.length)
        return max(self.formula(pc, inversions + added, pairs) for added, pairs in node.futures)

    def _remaining(self, node: int, left: int) -> Column:
        """The fewest edits to the end of a path with `left` steps, for each number of unused tokens of x.

        These are Levenshtein columns from the end of x and of the paths, with the offset described in `columns`.
        """
        stack = [(node, left)]
        while stack:
            here = stack[-1]
            if here in self.remaining:
                stack.pop()
                continue
            edges = [(symbol, (after, here[1] - 1)) for symbol, after in self._graph_edges(*here)]
            needed = [key for _, key in edges if key not in self.remaining]
            if needed:
                stack.extend(needed)
            elif edges:
                before = [(self.remaining[key], self.reversed_indexes.get(symbol, ())) for symbol, key in edges]
                self.remaining[here] = next_column(before, EDITS)
            else:
                self.remaining[here] = first_column(len(self.x))
        return self.remaining[node, left]

    def _graph_edges(self, node: int, left: int) -> list[tuple[int, int]]:
        """The edges of the golden graph after which a path can end in exactly `left` − 1 steps."""
        if not left:
            return []
        return [edge for edge in self.golden.edges[node] if self.golden.lengths_from[edge[1]] >> (left - 1) & 1]

    def _edges_of(self, number: int) -> list[tuple[int, int, int]]:
        """The edges of a search node, computed once."""
        node = self.nodes[number]
        if node.edges is None:
            node.edges = [self._follow(node, *edge) for edge in self._graph_edges(node.node, node.left)]
        return node.edges

    def _follow(self, node: _SearchNode, symbol: int, after: int) -> tuple[int, int, int]:
        """The search node after an edge, which matches the first open token that equals its symbol."""
        still_open, added, matches = node.open, 0, node.matches
        match = next((one for one in node.open if self.x[one[0]] == symbol), None)
        if match is not None:
            matched, added = match
            matches += 1
            still_open = tuple((index, right + (index < matched)) for index, right in node.open if index != matched)
        still_open = self._drop_unmatchable(after, still_open)
        target = self._intern(after, node.left - 1, node.length, matches, still_open)
        return symbol, target, added

    def _intern(self, node: int, left: int, length: int, matches: int, still_open: _Open) -> int:
        """The number of a search node; a new one is stored."""
        key = (node, left, length, matches, still_open)
        if key not in self.numbers:
            self.numbers[key] = len(self.nodes)
            self.nodes.append(_SearchNode(*key))
        return self.numbers[key]

    def _drop_unmatchable(self, node: int, still_open: _Open) -> _Open:
        """The open tokens that some path from the node can still match."""
        left = cast("dict[Token, int]", dict(self.golden.max_occurrences[node]))
        kept: list[tuple[int, int]] = []
        for one in still_open:
            token = self.x[one[0]]
            if left.get(token):
                left[token] -= 1
                kept.append(one)
        return tuple(kept)
