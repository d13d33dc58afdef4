"""PC-KTC: Path Correctness combined with the order of the steps (Kendall's τ).

x is the agent's condensed path as a sequence of tokens. A reference is a path that x is compared with. Here, the
references are the golden paths.

The search for the best golden path is best-first (A* with branch and bound). Each entry in its queue is the beginning
of a golden path, aligned with the beginning of x. The upper bound of an entry is a value that no completion of the
entry can exceed. The entry with the highest upper bound is expanded next, so the first complete entry that leaves the
queue is the optimum.

Three things decide how an entry can continue: the node in the golden graph, the open tokens of x (those that can still
be matched), and how many matched tokens lie to the right of each open token. Entries that agree in all three share a
search node. Among the entries of a search node, an entry is dropped if another entry has no more edits and no more
inversions.
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
from corepath.automaton.flat import MOST_LISTED
from corepath.automaton.golden_paths import GoldenGraph, lengths_of
from corepath.automaton.step import Token
from corepath.scoring.alignment import ClosestReference, similarity
from corepath.scoring.columns import EDITS, Column, first_column, index_tokens, next_column

OrderFallback = float | Literal["pc"]
"""The value of τ⁺ if fewer than two tokens match: a number, or "pc" for PC itself."""

_ROUNDING: Final = 1e-13
_Open = tuple[tuple[int, int], ...]
"""The open tokens of x: pairs of an index in x and the number of matched tokens to the right of that index."""
_Entry = tuple[int, int, int, int]
"""A search node's number, the number of tokens of x used, the edits so far, and the inversions so far."""


@dataclass(frozen=True)
class Composite:
    """PC-KTC as an interval. If the value is exact, `lower` equals `upper`."""

    lower: float
    upper: float

    @property
    def exact(self) -> bool:
        """Whether the exact value is known."""
        return self.lower == self.upper


@dataclass(frozen=True)
class _Formula:
    """The PC-KTC formula: λ·PC + (1−λ)·τ⁺, with τ⁺ = 1 − inversions/pairs, or the fallback if there are no pairs."""

    lam: float
    fallback: OrderFallback

    def __call__(self, pc: float, inversions: int, pairs: int) -> float:
        if pairs:
            return self.lam * pc + (1 - self.lam) * (1 - inversions / pairs)
        return self.lam * pc + (1 - self.lam) * (pc if self.fallback == "pc" else self.fallback)

    def ceiling(self, pc: float, *, ordered: bool) -> float:
        """Return an upper bound on PC-KTC for all paths whose PC is at most `pc`.

        `ordered` says whether at least two tokens can match, so that there is an order to compare.
        """
        return max(self(pc, 0, 1), self(pc, 0, 0)) if ordered else self(pc, 0, 0)


def pc_ktc(
    path: Path, automaton: Automaton, nearest: ClosestReference, lam: float, fallback: OrderFallback, budget: int
) -> Composite:
    """PC-KTC (Eq. 5): the largest λ·PC + (1−λ)·τ⁺ over all golden paths.

    `nearest` is the golden path that PC found. If the search would expand more than `budget` entries, the result is an
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
    """Match x with `path`, and return the number of inversions and the number of pairs of matches.

    The tokens of x are matched in order, each with the first equal token in `path` that is still unmatched.
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
    """Whether at least two tokens of x occur on golden paths."""
    return sum(token in golden.symbols for token in x) >= 2


def _similarity(x: Sequence[Token], path: Sequence[Token]) -> float:
    """Compute 1 − NLD(x, path)."""
    indexes = index_tokens(x)
    column = first_column(len(x))
    for token in path:
        column = next_column([(column, indexes.get(token, ()))], EDITS)
    return similarity(column[-1] + len(x), len(x), len(path))


@dataclass
class _SearchNode:
    """The part of a search entry that decides how the entry can continue. Several entries may share a search node."""

    node: int
    """The node in the golden graph."""
    left: int
    """The number of steps left on the golden path."""
    length: int
    """The length of the whole golden path."""
    matches: int
    """The number of matches so far."""
    open: _Open
    remaining: Column
    """The fewest further edits for each number of unused tokens of x, with an offset. See `_Search._remaining`."""
    futures: tuple[tuple[int, int], ...] = ()
    """For 0, 1, 2, … further matches: the fewest inversions they add, and the resulting number of pairs of matches."""
    edges: list[tuple[int, int, int]] | None = None
    """For each edge: its symbol, the number of the next search node, and the inversions added. None until computed."""

    def __post_init__(self) -> None:
        cheapest = sorted(right for _, right in self.open)[: self.left]
        totals = range(self.matches, self.matches + len(cheapest) + 1)
        pairs = [matches * (matches - 1) // 2 for matches in totals]
        self.futures = tuple(zip(accumulate(cheapest, initial=0), pairs, strict=True))


class _Search:
    """The best-first search for one x.

    `frontier` maps a search node and a number of aligned tokens of x to the best (edits, inversions) pairs so far. A
    pair is dropped if another one has no more edits and no more inversions. `remaining` caches the fewest edits that
    are still needed.
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
        """Find the largest PC-KTC over all golden paths, or an interval that contains it.

        `known` is a value that some golden path reaches, and `ceiling` is an upper bound. Invariant: every path better
        than `known` continues some entry in the heap, and no such path is better than the highest bound in the heap.
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
        """Yield the entries that extend an entry by one edit or match.

        Either the next token of x is deleted, or the golden path's next step is inserted, or the two are aligned.
        """
        unused = used < len(self.x)
        if unused:
            yield number, used + 1, distance + 1, inversions
        for symbol, after, added in self._edges_of(number):
            yield after, used, distance + 1, inversions + added
            if unused:
                yield after, used + 1, distance + (self.x[used] != symbol), inversions + added

    def _complete_greedily(self, number: int, used: int, distance: int, inversions: int) -> float:
        """Complete an entry by always taking the successor with the highest bound, and return the final PC-KTC."""
        while self.nodes[number].left or used < len(self.x):
            successors = self._successors(number, used, distance, inversions)
            number, used, distance, inversions = max(successors, key=self._promise)
        return self._bound(self.nodes[number], 0, distance, inversions)

    def _promise(self, entry: _Entry) -> tuple[float, int, int]:
        """Return a sort key for `entry`: upper bound, negated number of steps left, number of tokens of x used."""
        number, used, distance, inversions = entry
        node = self.nodes[number]
        return self._bound(node, len(self.x) - used, distance, inversions), -node.left, used

    def _push(self, number: int, used: int, distance: int, inversions: int, known: float) -> None:
        """Add an entry to the heap if its upper bound is above `known` and no earlier entry is at least as good."""
        frontier = self.frontier.get((number, used), ())
        for d, i in frontier:
            if d <= distance and i <= inversions:
                return
        node = self.nodes[number]
        unused = len(self.x) - used
        bound = self._bound(node, unused, distance, inversions)
        if bound > known + _ROUNDING:
            kept = [(d, i) for d, i in frontier if d < distance or i < inversions]
            self.frontier[number, used] = [*kept, (distance, inversions)]
            heappush(self.heap, (-bound, node.left, unused, number, used, distance, inversions))

    def _bound(self, node: _SearchNode, unused: int, distance: int, inversions: int) -> float:
        """Return an upper bound on PC-KTC for all completions of an entry.

        The bound combines the fewest further edits with the fewest further inversions.
        """
        pc = similarity(distance + node.remaining[unused] + unused, len(self.x), node.length)
        # The formula is written out, because this is the innermost loop of the search.
        by_edits, weight, best = self.formula.lam * pc, 1 - self.formula.lam, -1.0
        for added, pairs in node.futures:
            value = by_edits + weight * (1 - (inversions + added) / pairs) if pairs else self.formula(pc, 0, 0)
            if value > best:  # noqa: PLR1730  # faster than max
                best = value
        return best

    def _remaining(self, node: int, left: int) -> Column:
        """Return the fewest edits that align the last tokens of x with a path of `left` steps from `node` to the end.

        The result is a Levenshtein column with the offset described in `columns`. Cell i is for the last i tokens of x.
        The column is computed backwards, from the end of x and from the ends of the paths.
        """
        stack = [] if (node, left) in self.remaining else [(node, left)]
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
        """Return the (symbol, target) edges that leave `node` on golden paths with exactly `left` steps left."""
        if not left:
            return []
        return [edge for edge in self.golden.edges[node] if self.golden.lengths_from[edge[1]] >> (left - 1) & 1]

    def _edges_of(self, number: int) -> list[tuple[int, int, int]]:
        """Return the edges that leave a search node, in the form that `_follow` returns. The result is cached."""
        node = self.nodes[number]
        if node.edges is None:
            node.edges = [self._follow(node, *edge) for edge in self._graph_edges(node.node, node.left)]
        return node.edges

    def _follow(self, node: _SearchNode, symbol: int, after: int) -> tuple[int, int, int]:
        """Follow an edge in the golden graph, and match its symbol with the first equal open token, if any.

        Returns the edge's symbol, the number of the next search node, and the inversions added.
        """
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
        """Return the number of the search node with these fields. Create the search node if it does not exist."""
        key = (node, left, length, matches, still_open)
        number = self.numbers.get(key)
        if number is None:
            number = self.numbers[key] = len(self.nodes)
            self.nodes.append(_SearchNode(*key, self._remaining(node, left)))
        return number

    def _drop_unmatchable(self, node: int, still_open: _Open) -> _Open:
        """Return the open tokens that some path from `node` can still match."""
        left = cast("dict[Token, int]", dict(self.golden.max_occurrences[node]))
        kept: list[tuple[int, int]] = []
        for one in still_open:
            token = self.x[one[0]]
            if left.get(token):
                left[token] -= 1
                kept.append(one)
        return tuple(kept)
