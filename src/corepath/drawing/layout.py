"""Lay out a graph in layers: find a position for each node and a route for each edge.

Nodes are in every second column. A node's column depends on the length of its longest path from the start. The columns
in between hold the edges' labels. An edge that crosses several columns has a lane of its own in each of them. A lane is
a horizontal part of an edge. Edges bend only between two columns, where there is nothing else, so no edge crosses a
node or a label.

Coordinates are whole numbers. Heights and the gaps between columns are even, so that they can be halved.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, inf
from typing import Final

ROW_GAP: Final = 8.0
"""Space between two neighbours in a column. Rounding may take up to 2 of it."""
COLUMN_GAP: Final = 22
MOST_GAP: Final = 130
ORDERINGS: Final = 16
"""Maximum number of passes that sort the columns to reduce crossings."""
STALE: Final = 4
"""Sorting stops after this many passes in a row that do not reduce crossings."""
SETTLINGS: Final = 60
"""Maximum number of passes that move vertices towards their neighbours."""
FEWEST_SETTLINGS: Final = 8
MOST_MOVES: Final = 200_000
"""Maximum number of moves in all passes together. At least `FEWEST_SETTLINGS` passes are made all the same."""
SETTLED: Final = 0.02
"""Moving stops after a pass in which no vertex moves this far."""
STRAIGHTENINGS: Final = 3
STIFF: Final = 4.0
"""Weight of keeping an edge straight between two lanes. At the ends of the edge the weight is 1."""


@dataclass(frozen=True)
class Size:
    """How far a node or label extends to each side of its anchor, the point at which it is placed."""

    left: float
    right: float
    above: float
    below: float


@dataclass(frozen=True)
class Edge:
    """An edge between two nodes, with the size of its label."""

    tail: int
    head: int
    label: Size


@dataclass(frozen=True)
class Lane:
    """A horizontal part of an edge's route."""

    begin: int
    end: int
    y: int


@dataclass(frozen=True)
class Route:
    """An edge's lanes from its tail to its head, and its label's anchor."""

    lanes: tuple[Lane, ...]
    label: tuple[int, int]


@dataclass(frozen=True)
class Layout:
    """The position of each node and the route of each edge, in input order, and the size of the whole layout."""

    places: tuple[tuple[int, int], ...]
    routes: tuple[Route, ...]
    width: int
    height: int


@dataclass(frozen=True)
class _Graph:
    """The graph to lay out. Its vertices are the nodes, and a label or lane in each column that an edge crosses."""

    sizes: list[Size]
    column_of: list[int]
    before: list[list[int]]
    after: list[list[int]]
    chains: list[list[int]]
    """The vertices on each edge, from left to right."""
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


def lay_out(nodes: Sequence[Size], edges: Sequence[Edge], start: int = 0) -> Layout:
    """Lay out nodes and edges. The same input always gives the same layout.

    Self-loops are not allowed.
    """
    pairs, order = _break_cycles(len(nodes), edges, start)
    layers = [0] * len(nodes)
    ways: list[list[int]] = [[] for _ in nodes]
    for left, right in pairs:
        ways[left].append(right)
    for node in order:
        for after in ways[node]:
            layers[after] = max(layers[after], layers[node] + 1)
    graph = _build_graph(nodes, edges, pairs, layers)
    columns = _reduce_crossings(graph, _first_order(graph, order))
    heights = _find_heights(graph, columns)
    _straighten(graph, columns, heights)
    return _build_layout(graph, columns, heights, edges)


def _break_cycles(count: int, edges: Sequence[Edge], start: int) -> tuple[list[tuple[int, int]], list[int]]:
    """Return the edges as (left, right) pairs of nodes, and a topological order of the nodes.

    Edges that close a cycle are reversed.
    """
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


def _build_graph(
    nodes: Sequence[Size], edges: Sequence[Edge], pairs: list[tuple[int, int]], layers: list[int]
) -> _Graph:
    count = len(nodes)
    graph = _Graph(
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
        chain = [left, *(graph.add(edge.label if column == at_label else lane, column) for column in inner), right]
        for one, other in pairwise(chain):
            graph.link(one, other)
        graph.chains.append(chain)
    return graph


def _first_order(graph: _Graph, order: Iterable[int]) -> list[list[int]]:
    """Return the vertices in each column, in the order in which a depth-first search reaches them."""
    columns: list[list[int]] = [[] for _ in range(max(graph.column_of, default=0) + 1)]
    seen = [False] * len(graph.sizes)
    for root in order:
        waiting = [root]
        while waiting:
            vertex = waiting.pop()
            if not seen[vertex]:
                seen[vertex] = True
                columns[graph.column_of[vertex]].append(vertex)
                waiting += reversed(graph.after[vertex])
    return columns


def _reduce_crossings(graph: _Graph, columns: list[list[int]]) -> list[list[int]]:
    """Reorder the columns to reduce edge crossings, and return the best order found.

    Passes go through the columns in alternating directions. Each pass sorts columns by the mean position of each
    vertex's neighbours.
    """
    places = [0] * len(graph.sizes)
    for column in columns:
        _note_places(column, places)
    best, fewest, stale = columns, _count_crossings(graph, columns, places), 0
    for turn in range(ORDERINGS):
        if not fewest or stale == STALE:
            break
        neighbours = graph.after if turn % 2 else graph.before
        columns = [list(column) for column in columns]
        for column in columns[-2::-1] if turn % 2 else columns[1:]:
            _sort(column, neighbours, places)
        crossings = _count_crossings(graph, columns, places)
        stale += 1
        if crossings < fewest:
            best, fewest, stale = columns, crossings, 0
    return best


def _sort(column: list[int], neighbours: list[list[int]], places: list[int]) -> None:
    """Sort a column by the mean position of each vertex's neighbours. A vertex without neighbours stays where it is."""
    means = {
        vertex: sum(places[one] for one in neighbours[vertex]) / len(neighbours[vertex])
        for vertex in column
        if neighbours[vertex]
    }
    ordered = iter(sorted(means, key=means.__getitem__))
    column[:] = [next(ordered) if vertex in means else vertex for vertex in column]
    _note_places(column, places)


def _note_places(column: list[int], places: list[int]) -> None:
    for place, vertex in enumerate(column):
        places[vertex] = place


def _count_crossings(graph: _Graph, columns: list[list[int]], places: list[int]) -> int:
    crossings = 0
    for column in columns:
        passed: list[int] = []
        for vertex in column:
            for place in sorted(places[after] for after in graph.after[vertex]):
                crossings += len(passed) - bisect_right(passed, place)
                insort(passed, place)
    return crossings


def _find_heights(graph: _Graph, columns: list[list[int]]) -> list[float]:
    """Find a height for each vertex, as near to its neighbours' mean height as its column allows.

    Each step finds the best heights in one column while all other columns stay fixed. After enough passes over all
    columns, the heights converge to the best overall solution.
    """
    offsets = [_offsets(graph, column) for column in columns]
    heights = _first_heights(columns, offsets, len(graph.sizes))
    links = [
        [(other, graph.stiffness(vertex, other)) for other in (*graph.before[vertex], *graph.after[vertex])]
        for vertex in range(len(graph.sizes))
    ]
    weights = [sum(stiffness for _, stiffness in linked) or 1.0 for linked in links]
    for turn in range(max(FEWEST_SETTLINGS, min(SETTLINGS, MOST_MOVES // (len(heights) + 1)))):
        rows = list(zip(columns, offsets, strict=True))
        if turn % 2:
            rows.reverse()
        if max((_settle(column, offset, links, weights, heights) for column, offset in rows), default=0.0) < SETTLED:
            break
    return heights


def _first_heights(columns: list[list[int]], offsets: list[list[float]], count: int) -> list[float]:
    """Return initial heights, with every column packed tightly and centred at 0."""
    heights = [0.0] * count
    for column, offset in zip(columns, offsets, strict=True):
        for vertex, height in zip(column, offset, strict=True):
            heights[vertex] = height - offset[-1] / 2
    return heights


def _settle(
    column: list[int],
    offset: list[float],
    links: list[list[tuple[int, float]]],
    weights: list[float],
    heights: list[float],
) -> float:
    """Move a column's vertices to their best heights, and return the largest distance that a vertex moved."""
    wanted = [
        sum(heights[other] * stiffness for other, stiffness in links[vertex]) / weights[vertex] - shift
        if links[vertex]
        else heights[vertex] - shift
        for vertex, shift in zip(column, offset, strict=True)
    ]
    settled = _isotonic(wanted, [weights[vertex] for vertex in column])
    most = 0.0
    for vertex, height, shift in zip(column, settled, offset, strict=True):
        most = max(most, abs(heights[vertex] - height - shift))
        heights[vertex] = height + shift
    return most


def _straighten(graph: _Graph, columns: list[list[int]], heights: list[float]) -> None:
    """Make paths without forks horizontal if the vertices above and below leave room. Changes `heights` in place."""
    for _ in range(STRAIGHTENINGS):
        room = _room(graph, columns, heights)
        for run in _unforked_paths(graph):
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


def _unforked_paths(graph: _Graph) -> Iterator[list[int]]:
    """Yield the paths without forks.

    Each vertex on such a path, except the last, has one successor, and the successor has no other predecessor.
    """
    for first in range(len(graph.sizes)):
        before = graph.before[first]
        if len(before) == 1 and len(graph.after[before[0]]) == 1:
            continue
        run = [first]
        while len(graph.after[run[-1]]) == 1 and len(graph.before[graph.after[run[-1]][0]]) == 1:
            run.append(graph.after[run[-1]][0])
        if len(run) > 1:
            yield run


def _room(graph: _Graph, columns: list[list[int]], heights: list[float]) -> Callable[[int], tuple[float, float]]:
    """Return a function that gives the smallest and largest height to which a vertex can move.

    The current heights of the vertices directly above and below set these limits.
    """
    over = {other: one for column in columns for one, other in pairwise(column)}
    under = {one: other for other, one in over.items()}

    def room(vertex: int) -> tuple[float, float]:
        one, other = over.get(vertex), under.get(vertex)
        return (
            -inf if one is None else heights[one] + _distance(graph, one, vertex),
            inf if other is None else heights[other] - _distance(graph, vertex, other),
        )

    return room


def _distance(graph: _Graph, upper: int, lower: int) -> float:
    """Return the minimum distance between two adjacent vertices in a column."""
    return graph.sizes[upper].below + ROW_GAP + graph.sizes[lower].above


def _offsets(graph: _Graph, column: list[int]) -> list[float]:
    """Return each vertex's distance from the first vertex in a tightly packed column."""
    offsets = [0.0]
    for one, other in pairwise(column):
        offsets.append(offsets[-1] + _distance(graph, one, other))
    return offsets


def _isotonic(wanted: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the nondecreasing numbers nearest to `wanted` (isotonic regression, by pooling adjacent violators)."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(wanted, weights, strict=True):
        pool = (value, weight, 1)
        while pools and pools[-1][0] > pool[0]:
            mean, heavy, count = pools.pop()
            total = heavy + pool[1]
            pool = ((mean * heavy + pool[0] * pool[1]) / total, total, count + pool[2])
        pools.append(pool)
    return [mean for mean, _, count in pools for _ in range(count)]


def _build_layout(graph: _Graph, columns: list[list[int]], heights: list[float], edges: Sequence[Edge]) -> Layout:
    """Round the heights, place the columns side by side, and route the edges."""
    sizes = graph.sizes
    top = min((heights[vertex] - sizes[vertex].above for column in columns for vertex in column), default=0.0)
    ys = [2 * round(round(height - top, 1) / 2) for height in heights]
    spans = _column_spans(graph, columns, ys)
    anchors = [spans[column].anchor for column in graph.column_of]
    return Layout(
        tuple((anchors[node], ys[node]) for node in range(graph.nodes)),
        tuple(_route(graph, spans, ys, edge, chain) for edge, chain in zip(edges, graph.chains, strict=True)),
        spans[-1].right,
        ceil(max((y + size.below for y, size in zip(ys, sizes, strict=True)), default=0.0)),
    )


@dataclass(frozen=True)
class _Span:
    """The x coordinates of a column's left end, right end and anchors."""

    left: int
    anchor: int
    right: int


def _column_spans(graph: _Graph, columns: list[list[int]], ys: list[int]) -> list[_Span]:
    """Place the columns side by side, and return their spans. Steep edges make the gap after a column wider."""
    spans = []
    x = 0
    for column in columns:
        anchor = x + ceil(max((graph.sizes[vertex].left for vertex in column), default=0.0))
        right = anchor + ceil(max((graph.sizes[vertex].right for vertex in column), default=0.0))
        spans.append(_Span(x, anchor, right))
        steepest = max((abs(ys[vertex] - ys[after]) for vertex in column for after in graph.after[vertex]), default=0)
        x = right + min(MOST_GAP, COLUMN_GAP + 2 * (steepest // 10))
    return spans


def _route(graph: _Graph, spans: list[_Span], ys: list[int], edge: Edge, chain: list[int]) -> Route:
    """Route an edge through the vertices in `chain`, from its tail to its head."""
    columns = [spans[graph.column_of[vertex]] for vertex in chain]
    lanes = [Lane(column.left, column.right, ys[vertex]) for column, vertex in zip(columns, chain, strict=True)]
    lanes[0] = Lane(columns[0].anchor, lanes[0].end, lanes[0].y)
    lanes[-1] = Lane(lanes[-1].begin, columns[-1].anchor, lanes[-1].y)
    label = 1
    if chain[0] != edge.tail:
        lanes = [Lane(lane.end, lane.begin, lane.y) for lane in reversed(lanes)]
        label = len(chain) - 2
    return Route(tuple(lanes), (columns[label].anchor, ys[chain[label]]))
