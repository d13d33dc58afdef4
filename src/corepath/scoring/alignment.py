"""Find the reference closest to x, and align the two, without listing all references.

x is the agent's condensed path as a sequence of tokens. A reference is a path that x is compared with: a path through a
golden graph, possibly after a prefix. A column is one column of the Levenshtein table. It belongs to a graph node and
has one cell per prefix of x (see `columns`).

Let n be the length of x, ℓ the length of a reference, and d their Levenshtein distance. The closest reference has the
lowest normalised distance 2d / (n + ℓ + d), which grows with d / (n + ℓ). Two exact methods minimise this ratio. If x
is almost right, a search by number of edits finds the reference (`edit_search`). Otherwise, columns are computed for
the whole graph (`columns`), several times if needed (Dinkelbach's method).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Final, NamedTuple

from corepath.automaton.flat import flat_graph
from corepath.automaton.golden_paths import GoldenGraph
from corepath.automaton.step import Token
from corepath.scoring import kernel
from corepath.scoring.arrays import numbers, zeros
from corepath.scoring.columns import Column, Weights, first_column
from corepath.scoring.edit_search import EditSearch, Link

MIN_CELLS_TO_SEARCH: Final = 5_000
"""If the columns have more cells than this, the search by number of edits runs first."""
MOST_EDGES: Final = 20_000
"""The most edges that the search looks at before it gives up and columns are used instead."""

_UNKNOWN: Final = -2
"""Stands for every call that fits no action. No symbol of a golden graph equals it, not even `OTHER`."""


class Pair(NamedTuple):
    """One position in an alignment: an index in x (`mine`) and an index in the reference (`theirs`).

    One of them is None if the token on the other side has no partner.
    """

    mine: int | None
    theirs: int | None


@dataclass(frozen=True)
class ClosestReference:
    """The reference with the smallest normalised distance to x, and its alignment with x."""

    distance: int
    path: tuple[Token, ...]
    pairs: tuple[Pair, ...]
    x_length: int

    @property
    def similarity(self) -> float:
        """1 − NLD(x, reference)."""
        return similarity(self.distance, self.x_length, len(self.path))


def similarity(distance: int, mine: int, theirs: int) -> float:
    """1 − NLD(x, y), NLD = 2·LD / (|x| + |y| + LD); 1 when both are empty.

    `distance` is LD. `mine` and `theirs` are the lengths |x| and |y|.
    """
    return 1 - 2 * distance / (mine + theirs + distance) if mine + theirs else 1.0


@dataclass(frozen=True)
class Prefix:
    """The token sequences that a reference can begin with. A path through the graph follows.

    `chain` describes the sequences token by token. `column(weights)` returns the Levenshtein column after the prefix.
    `trace_back(used, weights)` returns the best prefix and its alignment with the first `used` tokens of x.
    """

    chain: Sequence[Link]
    column: Callable[[Weights], Column]
    trace_back: Callable[[int, Weights], tuple[list[Token], list[Pair]]]


def find_closest(graph: GoldenGraph | None, x: Sequence[Token], prefix: Prefix | None = None) -> ClosestReference:
    """Find the reference closest to x. Every reference is a prefix followed by a path through `graph`.

    If `graph` is None, references consist of a prefix only. If `prefix` is None, they have no prefix.
    """
    prefix = prefix or _empty_prefix(len(x))
    longest = len(prefix.chain) + (graph.longest if graph else 0)
    cells = (len(x) + 1) * (len(prefix.chain) + (graph.size if graph else 0))
    if cells > MIN_CELLS_TO_SEARCH:
        search = EditSearch(prefix.chain, graph, x, longest)
        found = search.find_closest(budget=min(cells // 15, MOST_EDGES))
        if found is not None:
            path, pairs = build_alignment(found.pieces)
            return ClosestReference(found.distance, tuple(path), tuple(pairs), len(x))
    return _find_by_columns(graph, x, prefix, longest)


def build_alignment(pieces: Iterable[tuple[int | None, Token | None]]) -> tuple[list[Token], list[Pair]]:
    """Build a reference and its alignment with x.

    Each piece is an index in x and the reference token aligned with it. Either is None if the other has no partner.
    """
    path: list[Token] = []
    pairs: list[Pair] = []
    for mine, token in pieces:
        pairs.append(Pair(mine, None if token is None else len(path)))
        if token is not None:
            path.append(token)
    return path, pairs


def _empty_prefix(n: int) -> Prefix:
    return Prefix(
        chain=(),
        column=lambda _: first_column(n),
        trace_back=lambda used, _: ([], [Pair(index, None) for index in range(used)]),
    )


class _Columns(NamedTuple):
    """The columns of the nodes that are reachable from the start.

    `costs` has them one after the other, with `width` cells each, without the offset described in `columns`.
    """

    costs: Sequence[int]
    live: Sequence[int]
    """Whether each node is reachable."""
    width: int

    def cost(self, node: int, used: int) -> int:
        """Return the lowest cost of aligning the first `used` tokens of x with any path that leads to `node`."""
        return self.costs[node * self.width + used]


class _Optimum(NamedTuple):
    """The reference with the lowest alignment cost under `weights`.

    `distance` is its edit distance to x, and `length` is its length. The reference ends at `node`. Its tokens are
    reconstructed from `columns`.
    """

    distance: int
    length: int
    columns: _Columns
    node: int
    weights: Weights


def _find_by_columns(graph: GoldenGraph | None, x: Sequence[Token], prefix: Prefix, longest: int) -> ClosestReference:
    """Minimise the ratio d / (n + ℓ) over all references by Dinkelbach's method.

    For a ratio a/b, find the reference that minimises b·d − a·ℓ. If this reference's ratio is not below a/b, then a/b
    was the minimum. Otherwise, continue with the reference's ratio. The first round has a/b = 0 and minimises the plain
    distance.
    """
    n = len(x)
    merged = graph.merge_unused(set(x)) if graph else None
    searched = merged.graph if merged else graph
    best: _Optimum | None = None
    a, b = 0, 1
    while True:
        found = _solve_round(searched, x, prefix, longest, a, b)
        if best is not None and found.distance * (n + best.length) >= best.distance * (n + found.length):
            break
        best = found
        if a == 0 and (best.distance + 1) * (n + best.length) >= best.distance * (n + longest):
            break  # with one more edit, not even the longest reference is closer
        common = gcd(best.distance, n + best.length)
        a, b = best.distance // common, (n + best.length) // common
    beginning, path, nodes, pairs = _trace_back(searched, x, best, prefix)
    ending = merged.restore(path, nodes) if merged else path
    return ClosestReference(best.distance, (*beginning, *ending), tuple(pairs), n)


def _solve_round(
    graph: GoldenGraph | None, x: Sequence[Token], prefix: Prefix, longest: int, a: int, b: int
) -> _Optimum:
    """Find the reference that minimises b·d − a·ℓ, preferring longer references among equals.

    Both goals are combined into one integer, (b·d − a·ℓ)·scale − ℓ with scale > ℓ.
    """
    scale = longest + 1
    weights = Weights(edge=(b - a) * scale - 1, hit=-a * scale - 1, drop=b * scale)
    columns, node = _columns(graph, x, prefix.column(weights), weights)
    value = columns.cost(node, len(x))
    length = -value % scale
    distance = ((value + length) // scale + a * length) // b
    return _Optimum(distance, length, columns, node, weights)


def _columns(graph: GoldenGraph | None, x: Sequence[Token], first: Column, weights: Weights) -> tuple[_Columns, int]:
    """Compute a Levenshtein column for each node that is reachable from the start, whose column is `first`.

    Returns the columns, and the accepting node with the lowest cost of aligning all of x.
    """
    width = len(x) + 1
    costs = [cell + weights.drop * used for used, cell in enumerate(first)]
    if graph is None:
        return _Columns(costs, [1], width), 0
    size, start = len(graph.edges), graph.start
    table, live = zeros(size * width), zeros(size)
    table[start * width : (start + 1) * width] = numbers(costs)
    tokens = numbers([token if isinstance(token, int) else _UNKNOWN for token in x])
    kernel.follow_graph(
        flat_graph(graph), start, tokens, 0, len(x), weights.edge, weights.hit, weights.drop, table, live
    )
    columns = _Columns(table, live, width)
    ends = (node for node in range(start, size) if node in graph.accepting and live[node])
    return columns, min(ends, key=lambda node: columns.cost(node, len(x)))


def _trace_back(
    graph: GoldenGraph | None, x: Sequence[Token], best: _Optimum, prefix: Prefix
) -> tuple[list[Token], list[int], list[int], list[Pair]]:
    """Reconstruct the best reference from its columns, from the end to the start.

    Returns the prefix, the path through the graph, the nodes on this path, and the alignment.
    """
    path: list[int] = []
    nodes: list[int] = []
    places: list[tuple[int | None, bool]] = []
    used, node = len(x), best.node
    while graph is not None and node != graph.start:
        edge = _edge_back(graph, x, best, node, used)
        if edge is None:
            used -= 1
            places.append((used, False))
        else:
            path.append(edge.symbol)
            nodes.append(node)
            node = edge.earlier
            used -= edge.consumes
            places.append((used if edge.consumes else None, True))
    beginning, pairs = prefix.trace_back(used, best.weights)
    theirs = len(beginning)
    for mine, in_reference in reversed(places):
        pairs.append(Pair(mine, theirs if in_reference else None))
        theirs += in_reference
    return beginning, path[::-1], nodes[::-1], pairs


class _EdgeBack(NamedTuple):
    """An edge on the best path: its source node, its symbol, and whether it is aligned with a token of x."""

    earlier: int
    symbol: int
    consumes: bool


def _edge_back(graph: GoldenGraph, x: Sequence[Token], best: _Optimum, node: int, used: int) -> _EdgeBack | None:
    """Find the last edge on the best path to `node`, given that the path is aligned with the first `used` tokens of x.

    Returns None if the best alignment deletes the last of these tokens instead.
    """
    columns, weights = best.columns, best.weights
    cost = columns.cost(node, used)
    deleted = used > 0 and columns.cost(node, used - 1) + weights.drop == cost
    for earlier, symbol in graph.incoming[node]:
        if not columns.live[earlier]:
            continue
        if used:
            price = weights.hit if x[used - 1] == symbol else weights.edge
            if columns.cost(earlier, used - 1) + price == cost:
                return _EdgeBack(earlier, symbol, consumes=True)
        if not deleted and columns.cost(earlier, used) + weights.edge == cost:
            return _EdgeBack(earlier, symbol, consumes=False)
    return None
