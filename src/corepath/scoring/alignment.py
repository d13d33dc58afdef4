"""The reference closest to x, among all paths of a golden graph, and how the two align."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Final, NamedTuple

from corepath.automaton.golden_paths import Blurred, Golden
from corepath.automaton.step import Token
from corepath.scoring.by_edits import ByEdits, Link
from corepath.scoring.columns import Column, Weights, cross, first_column, places

WORTH_A_TRY: Final = 5_000
"""Where columns have more cells than this, the search by number of edits is tried before them."""
MOST_EDGES: Final = 20_000
"""How many edges that search looks at, at most, before it gives way to the columns."""


class Pair(NamedTuple):
    """One place of an alignment: a token of x, a token of the reference, or one of each; None where there is none."""

    mine: int | None
    theirs: int | None


@dataclass(frozen=True)
class Closest:
    """The reference with the smallest normalised distance to x."""

    distance: int
    path: tuple[Token, ...]
    pairs: tuple[Pair, ...]
    against: int

    @property
    def similarity(self) -> float:
        """1 − NLD."""
        return similarity(self.distance, self.against, len(self.path))


def similarity(distance: int, mine: int, theirs: int) -> float:
    """1 − NLD(x, y), NLD = 2·LD / (|x| + |y| + LD); 1 when both are empty."""
    return 1 - 2 * distance / (mine + theirs + distance) if mine + theirs else 1.0


@dataclass(frozen=True)
class Lead:
    """References that begin the same way: the columns they leave before the graph, and how to read them back.

    `column(weights)` is the cost of x against the common part; `trace_back(used, weights)` gives that part and its
    alignment with the first `used` tokens of x. `chain` says the same token by token.
    """

    chain: Sequence[Link]
    column: Callable[[Weights], Column]
    trace_back: Callable[[int, Weights], tuple[list[Token], list[Pair]]]


def closest(graph: Golden | None, x: Sequence[Token], lead: Lead | None = None) -> Closest:
    """The closest of all references `lead` + a path of `graph`, exactly, without listing them."""
    begin = lead or _nothing_before(len(x))
    longest = len(begin.chain) + (graph.longest if graph else 0)
    work = (len(x) + 1) * (len(begin.chain) + (graph.size if graph else 0))
    if work > WORTH_A_TRY:
        found = ByEdits(begin.chain, graph, x, longest).closest(budget=min(work // 15, MOST_EDGES))
        if found is not None:
            path, pairs = paired(found.pieces)
            return Closest(found.distance, tuple(path), tuple(pairs), len(x))
    blurred = graph.blurred(set(x)) if graph else None
    return _closest_of_all(blurred.graph if blurred else graph, x, begin, longest, blurred)


def paired(pieces: Iterable[tuple[int | None, Token | None]]) -> tuple[list[Token], list[Pair]]:
    """A reference and its alignment from the places in x and the tokens of the reference, in order."""
    path: list[Token] = []
    pairs: list[Pair] = []
    for mine, token in pieces:
        pairs.append(Pair(mine, None if token is None else len(path)))
        if token is not None:
            path.append(token)
    return path, pairs


def _closest_of_all(
    graph: Golden | None, x: Sequence[Token], begin: Lead, longest: int, blurred: Blurred | None
) -> Closest:
    """The closest by columns over the whole graph (Dinkelbach).

    2d/(n+ℓ+d) grows with d/(n+ℓ), whose minimum is found by minimising B·d − A·ℓ for better and better A/B.
    """
    n = len(x)
    scale = longest + 1
    best: tuple[int, int] | None = None
    kept: tuple[list[Column | None], int, Weights] | None = None
    a, b = 0, 1
    while True:
        # One integer holds cost and length, cost·scale − length, so that of equal costs the longer path wins.
        weights = Weights(edge=(b - a) * scale - 1, hit=-a * scale - 1, drop=b * scale)
        columns, node = _columns(graph, x, begin.column(weights), weights)
        value = (columns[node] or [])[n] + weights.drop * n
        length = -value % scale
        distance = ((value + length) // scale + a * length) // b
        if best is not None and distance * (n + best[1]) >= best[0] * (n + length):
            break
        best, kept = (distance, length), (columns, node, weights)
        if a == 0 and (distance + 1) * (n + length) >= distance * (n + longest):
            break  # with more edits, not even the longest reference is closer
        common = gcd(distance, n + length)
        a, b = distance // common, (n + length) // common
    columns, node, weights = kept  # type: ignore[misc]
    lead, path, nodes, pairs = _trace_back(graph, x, columns, node, weights, begin)
    return Closest(best[0], (*lead, *(blurred.sharpened(path, nodes) if blurred else path)), tuple(pairs), n)


def _nothing_before(n: int) -> Lead:
    return Lead(
        chain=(),
        column=lambda _: first_column(n),
        trace_back=lambda used, _: ([], [Pair(place, None) for place in range(used)]),
    )


def _columns(
    graph: Golden | None, x: Sequence[Token], begin: Column, weights: Weights
) -> tuple[list[Column | None], int]:
    """A column for each node that the start leads to, and the accepting node with the lowest last cost."""
    if graph is None:
        return [begin], 0
    where = places(x)
    columns: list[Column | None] = [None] * len(graph.edges)
    columns[graph.start] = begin
    best = -1
    lowest = 0
    for node in range(graph.start, len(graph.edges)):
        if node != graph.start:
            before = [
                (column, where.get(symbol, ()))
                for earlier, symbol in graph.incoming[node]
                if (column := columns[earlier]) is not None
            ]
            if not before:
                continue
            columns[node] = cross(before, weights)
        if node in graph.accepting:
            last = columns[node][-1]  # type: ignore[index]
            if best < 0 or last < lowest:
                best, lowest = node, last
    return columns, best


def _trace_back(
    graph: Golden | None,
    x: Sequence[Token],
    columns: list[Column | None],
    node: int,
    weights: Weights,
    begin: Lead,
) -> tuple[list[Token], list[int], list[int], list[Pair]]:
    """What the lowest cost stands for, read from its end: the lead, the path, its nodes, and the alignment."""
    path: list[int] = []
    nodes: list[int] = []
    pairs: list[tuple[int | None, bool]] = []
    used = len(x)
    edge, hit, drop = weights.edge, weights.hit, weights.drop
    while graph is not None and node != graph.start:
        column = columns[node] or []
        cost = column[used]
        for earlier, symbol in graph.incoming[node]:
            before = columns[earlier]
            if before is None:
                continue
            price = hit if used and x[used - 1] == symbol else edge
            if used and before[used - 1] + price - drop == cost:
                step = 1
            elif before[used] + edge == cost and (used == 0 or column[used - 1] != cost):
                step = 0
            else:
                continue
            path.append(symbol)
            nodes.append(node)
            pairs.append((used - 1 if step else None, True))
            used -= step
            node = earlier
            break
        else:
            used -= 1
            pairs.append((used, False))
    lead, aligned = begin.trace_back(used, weights)
    theirs = len(lead)
    for mine, takes in reversed(pairs):
        aligned.append(Pair(mine, theirs if takes else None))
        theirs += takes
    return lead, path[::-1], nodes[::-1], aligned
