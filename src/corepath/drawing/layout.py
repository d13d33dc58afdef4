"""A layered layout: things with sizes and edges between them in, places and routes out. It knows numbers only.

Nodes stand in every second column, the further right the longer the longest way to them. The columns between hold the
labels of the edges, and an edge that goes on over several columns has a lane of its own in each. An edge is level
within a column and bends only between two columns, where nothing stands: so no edge crosses a node or a label.

Places are whole numbers, and heights and the gaps between columns are even: so half of a bend is whole too.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, inf
from typing import Final

ROW_GAP: Final = 8.0
"""Rounding may take 2 of this."""
COLUMN_GAP: Final = 22
MOST_GAP: Final = 130
ORDERINGS: Final = 16
"""How often, at most, the columns are sorted by their neighbours,"""
STALE: Final = 4
"""and how often in a row without a crossing less."""
SETTLINGS: Final = 60
"""How often, at most, the columns are moved towards their neighbours,"""
FEWEST_SETTLINGS: Final = 8
MOST_MOVES: Final = 200_000
"""and how many moves that may take in all, past the fewest settlings."""
SETTLED: Final = 0.02
STRAIGHTENINGS: Final = 3
STIFF: Final = 4.0
"""How much straighter an edge wants to be between two lanes than at its ends."""


@dataclass(frozen=True)
class Size:
    """How far a thing reaches from its anchor to each side."""

    left: float
    right: float
    above: float
    below: float


@dataclass(frozen=True)
class Edge:
    """From one node to another, with room for a label."""

    tail: int
    head: int
    label: Size


@dataclass(frozen=True)
class Lane:
    """A level part of a route."""

    begin: int
    end: int
    y: int


@dataclass(frozen=True)
class Route:
    """The level parts of an edge from its tail's anchor to its head's, and the anchor of its label."""

    lanes: tuple[Lane, ...]
    label: tuple[int, int]


@dataclass(frozen=True)
class Layout:
    """Where each node and each edge goes, in the order in which they were given."""

    places: tuple[tuple[int, int], ...]
    routes: tuple[Route, ...]
    width: int
    height: int


@dataclass(frozen=True)
class _Sheet:
    """What is placed: the nodes, then a label or a lane for each column that an edge passes, linked left to right."""

    sizes: list[Size]
    column_of: list[int]
    before: list[list[int]]
    after: list[list[int]]
    chains: list[list[int]]
    """For each edge what it goes through, from left to right."""
    nodes: int

    def link(self, left: int, right: int) -> None:
        self.after[left].append(right)
        self.before[right].append(left)

    def add(self, size: Size, column: int) -> int:
        self.sizes.append(size)
        self.column_of.append(column)
        self.before.append([])
        self.after.append([])
        return len(self.sizes) - 1

    def stiffness(self, one: int, other: int) -> float:
        return STIFF if one >= self.nodes and other >= self.nodes else 1.0


def laid_out(nodes: Sequence[Size], edges: Sequence[Edge], start: int = 0) -> Layout:
    """The layout of nodes and edges; no edge leads from a node to itself. The same input gives the same layout."""
    pairs, order = _onwards(len(nodes), edges, start)
    layers = [0] * len(nodes)
    ways: list[list[int]] = [[] for _ in nodes]
    for left, right in pairs:
        ways[left].append(right)
    for node in order:
        for after in ways[node]:
            layers[after] = max(layers[after], layers[node] + 1)
    sheet = _sheet(nodes, edges, pairs, layers)
    columns = _ordered(sheet, _first_order(sheet, order))
    heights = _heights(sheet, columns)
    _straighten(sheet, columns, heights)
    return _placed(sheet, columns, heights, edges)


def _onwards(count: int, edges: Sequence[Edge], start: int) -> tuple[list[tuple[int, int]], list[int]]:
    """Each edge as a pair that goes on, those that close a circle turned round, and an order that all pairs keep."""
    out: list[list[int]] = [[] for _ in range(count)]
    for number, edge in enumerate(edges):
        out[edge.tail].append(number)
    pairs = [(edge.tail, edge.head) for edge in edges]
    seen, open_nodes, finished = [False] * count, [False] * count, []
    for root in (start, *range(count)):
        if seen[root]:
            continue
        seen[root] = open_nodes[root] = True
        path = [(root, iter(out[root]))]
        while path:
            node, rest = path[-1]
            for number in rest:
                head = edges[number].head
                if open_nodes[head]:
                    pairs[number] = (head, node)
                elif not seen[head]:
                    seen[head] = open_nodes[head] = True
                    path.append((head, iter(out[head])))
                    break
            else:
                path.pop()
                open_nodes[node] = False
                finished.append(node)
    return pairs, finished[::-1]


def _sheet(nodes: Sequence[Size], edges: Sequence[Edge], pairs: list[tuple[int, int]], layers: list[int]) -> _Sheet:
    count = len(nodes)
    sheet = _Sheet(
        list(nodes),
        [2 * layer for layer in layers],
        [[] for _ in nodes],
        [[] for _ in nodes],
        [],
        count,
    )
    lane = Size(0, 0, 1, 1)
    for edge, (left, right) in zip(edges, pairs, strict=True):
        inner = range(2 * layers[left] + 1, 2 * layers[right])
        at_label = inner[0] if left == edge.tail else inner[-1]
        chain = [left, *(sheet.add(edge.label if column == at_label else lane, column) for column in inner), right]
        for one, other in pairwise(chain):
            sheet.link(one, other)
        sheet.chains.append(chain)
    return sheet


def _first_order(sheet: _Sheet, order: Iterable[int]) -> list[list[int]]:
    """The columns in the order in which one comes to what stands in them, going as far as one can each time."""
    columns: list[list[int]] = [[] for _ in range(max(sheet.column_of, default=0) + 1)]
    seen = [False] * len(sheet.sizes)
    for root in order:
        waiting = [root]
        while waiting:
            vertex = waiting.pop()
            if not seen[vertex]:
                seen[vertex] = True
                columns[sheet.column_of[vertex]].append(vertex)
                waiting += reversed(sheet.after[vertex])
    return columns


def _ordered(sheet: _Sheet, columns: list[list[int]]) -> list[list[int]]:
    """The columns sorted by the mean places of their neighbours, back and forth; the order with fewest crossings."""
    places = [0] * len(sheet.sizes)
    for column in columns:
        _number(column, places)
    best, fewest, stale = columns, _crossings(sheet, columns, places), 0
    for turn in range(ORDERINGS):
        if not fewest or stale == STALE:
            break
        neighbours = sheet.after if turn % 2 else sheet.before
        columns = [list(column) for column in columns]
        for column in columns[-2::-1] if turn % 2 else columns[1:]:
            _sort(column, neighbours, places)
        crossings = _crossings(sheet, columns, places)
        stale += 1
        if crossings < fewest:
            best, fewest, stale = columns, crossings, 0
    return best


def _sort(column: list[int], neighbours: list[list[int]], places: list[int]) -> None:
    """Sort a column by the mean place of each one's neighbours; what has none keeps its place."""
    means = {
        vertex: sum(places[one] for one in neighbours[vertex]) / len(neighbours[vertex])
        for vertex in column
        if neighbours[vertex]
    }
    moved = iter(sorted(means, key=means.__getitem__))
    column[:] = [next(moved) if vertex in means else vertex for vertex in column]
    _number(column, places)


def _number(column: list[int], places: list[int]) -> None:
    for place, vertex in enumerate(column):
        places[vertex] = place


def _crossings(sheet: _Sheet, columns: list[list[int]], places: list[int]) -> int:
    crossings = 0
    for column in columns:
        passed: list[int] = []
        for vertex in column:
            for place in sorted(places[after] for after in sheet.after[vertex]):
                crossings += len(passed) - bisect_right(passed, place)
                insort(passed, place)
    return crossings


def _heights(sheet: _Sheet, columns: list[list[int]]) -> list[float]:
    """How far down each one stands: as near to the mean of its neighbours as the others in its column allow.

    Columns are settled one after the other, each exactly. As no column limits another, this comes ever closer to the
    one best answer for all.
    """
    heights = [0.0] * len(sheet.sizes)
    links: list[list[tuple[int, float]]] = [
        [(other, sheet.stiffness(vertex, other)) for other in (*sheet.before[vertex], *sheet.after[vertex])]
        for vertex in range(len(sheet.sizes))
    ]
    weights = [sum(stiffness for _, stiffness in linked) or 1.0 for linked in links]
    offsets = [_offsets(sheet, column) for column in columns]
    for column, offset in zip(columns, offsets, strict=True):
        for vertex, height in zip(column, offset, strict=True):
            heights[vertex] = height - offset[-1] / 2
    for turn in range(max(FEWEST_SETTLINGS, min(SETTLINGS, MOST_MOVES // (len(heights) + 1)))):
        most = 0.0
        rows = zip(columns, offsets, strict=True)
        for column, offset in reversed(list(rows)) if turn % 2 else rows:
            wanted = [
                sum(heights[other] * stiffness for other, stiffness in links[vertex]) / weights[vertex] - shift
                if links[vertex]
                else heights[vertex] - shift
                for vertex, shift in zip(column, offset, strict=True)
            ]
            settled = _rising(wanted, [weights[vertex] for vertex in column])
            for vertex, height, shift in zip(column, settled, offset, strict=True):
                most = max(most, abs(heights[vertex] - height - shift))
                heights[vertex] = height + shift
        if most < SETTLED:
            break
    return heights


def _straighten(sheet: _Sheet, columns: list[list[int]], heights: list[float]) -> None:
    """Make the parts without a fork level, as far as what stands above and below them leaves room."""
    for _ in range(STRAIGHTENINGS):
        room = _room(sheet, columns, heights)
        for run in _runs(sheet):
            piece: list[int] = []
            low, high = -inf, inf
            for vertex in (*run, None):
                bounds = room(vertex) if vertex is not None else (inf, -inf)
                if piece and max(low, bounds[0]) > min(high, bounds[1]):
                    mean = sum(heights[one] for one in piece) / len(piece)
                    level = min(max(mean, low), high)
                    for one in piece:
                        heights[one] = level
                    piece, low, high = [], -inf, inf
                if vertex is not None:
                    piece.append(vertex)
                    low, high = max(low, bounds[0]), min(high, bounds[1])


def _runs(sheet: _Sheet) -> Iterator[list[int]]:
    """The rows of vertices in which each has one after it, that has no other before it."""
    for first in range(len(sheet.sizes)):
        before = sheet.before[first]
        if len(before) == 1 and len(sheet.after[before[0]]) == 1:
            continue
        run = [first]
        while len(sheet.after[run[-1]]) == 1 and len(sheet.before[sheet.after[run[-1]][0]]) == 1:
            run.append(sheet.after[run[-1]][0])
        if len(run) > 1:
            yield run


def _room(sheet: _Sheet, columns: list[list[int]], heights: list[float]) -> Callable[[int], tuple[float, float]]:
    """For a vertex how far up and how far down it may be moved now."""
    over = {other: one for column in columns for one, other in pairwise(column)}
    under = {one: other for other, one in over.items()}

    def room(vertex: int) -> tuple[float, float]:
        one, other = over.get(vertex), under.get(vertex)
        return (
            -inf if one is None else heights[one] + _apart(sheet, one, vertex),
            inf if other is None else heights[other] - _apart(sheet, vertex, other),
        )

    return room


def _apart(sheet: _Sheet, upper: int, lower: int) -> float:
    """How far apart two neighbours in a column must be."""
    return sheet.sizes[upper].below + ROW_GAP + sheet.sizes[lower].above


def _offsets(sheet: _Sheet, column: list[int]) -> list[float]:
    """How far below the first of a column each one stands when all are as close as they may be."""
    offsets = [0.0]
    for one, other in pairwise(column):
        offsets.append(offsets[-1] + _apart(sheet, one, other))
    return offsets


def _rising(wanted: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The numbers nearest to those wanted that never fall: neighbours that would are pooled into their mean."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(wanted, weights, strict=True):
        pool = (value, weight, 1)
        while pools and pools[-1][0] > pool[0]:
            mean, heavy, count = pools.pop()
            total = heavy + pool[1]
            pool = ((mean * heavy + pool[0] * pool[1]) / total, total, count + pool[2])
        pools.append(pool)
    return [mean for mean, _, count in pools for _ in range(count)]


def _placed(sheet: _Sheet, columns: list[list[int]], heights: list[float], edges: Sequence[Edge]) -> Layout:
    sizes = sheet.sizes
    top = min((heights[vertex] - sizes[vertex].above for column in columns for vertex in column), default=0.0)
    ys = [2 * round(round(height - top, 1) / 2) for height in heights]
    lefts, anchors, rights = [], [], []
    x = 0
    for column in columns:
        lefts.append(x)
        anchors.append(x + ceil(max((sizes[vertex].left for vertex in column), default=0.0)))
        rights.append(anchors[-1] + ceil(max((sizes[vertex].right for vertex in column), default=0.0)))
        steepest = max((abs(ys[vertex] - ys[after]) for vertex in column for after in sheet.after[vertex]), default=0)
        x = rights[-1] + min(MOST_GAP, COLUMN_GAP + 2 * (steepest // 10))
    routes = []
    for edge, chain in zip(edges, sheet.chains, strict=True):
        lanes = [Lane(lefts[sheet.column_of[one]], rights[sheet.column_of[one]], ys[one]) for one in chain]
        first, last = anchors[sheet.column_of[chain[0]]], anchors[sheet.column_of[chain[-1]]]
        lanes[0] = Lane(first, lanes[0].end, lanes[0].y)
        lanes[-1] = Lane(lanes[-1].begin, last, lanes[-1].y)
        label = chain[1]
        if chain[0] != edge.tail:
            lanes = [Lane(lane.end, lane.begin, lane.y) for lane in reversed(lanes)]
            label = chain[-2]
        routes.append(Route(tuple(lanes), (anchors[sheet.column_of[label]], ys[label])))
    return Layout(
        tuple((anchors[sheet.column_of[node]], ys[node]) for node in range(sheet.nodes)),
        tuple(routes),
        rights[-1],
        ceil(max((y + size.below for y, size in zip(ys, sizes, strict=True)), default=0.0)),
    )
