"""Golden paths: the ways to do a task without loops or harm, stored as a graph rather than a list.

The graph is a minimal acyclic automaton (a DAWG). For example, `any_order` with k steps has k! golden paths but only
2^k nodes. Nodes are numbered in topological order, so every edge leads to a higher number. A single pass over the nodes
is therefore enough for dynamic programming over all golden paths. Edges are labelled with symbols, i.e. action numbers.
Nodes are not always states of the task's automaton: under the rule "simple_paths", the graph is built from a list of
paths.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

Edges = tuple[tuple[int, int], ...]
"""Pairs of a symbol and the node that it leads to."""
OTHER: Final = -1
"""The symbol that replaces all merged symbols in a `MergedGraph`."""
MIN_EDGES_TO_MERGE: Final = 1_000
"""In a graph with fewer edges, merging symbols is not worth the effort."""
MIN_UNUSED_TO_MERGE: Final = 3
"""If there are fewer unused symbols, merging them saves almost no nodes."""


@dataclass(frozen=True)
class GoldenGraph:
    """An acyclic graph in which the paths from `start` to an accepting node are the golden paths.

    `edges[node]` lists pairs of a symbol and the next node. The next node always has a higher number than `node`.
    """

    edges: tuple[Edges, ...]
    accepting: frozenset[int]
    start: int = 0
    _merged: dict[frozenset[int], MergedGraph] = field(default_factory=dict, init=False, compare=False, repr=False)

    @cached_property
    def incoming(self) -> tuple[Edges, ...]:
        """For each node, its incoming edges as pairs of the previous node and the symbol."""
        into: list[list[tuple[int, int]]] = [[] for _ in self.edges]
        for node, edges in enumerate(self.edges):
            for symbol, after in edges:
                into[after].append((node, symbol))
        return tuple(map(tuple, into))

    @cached_property
    def lengths_from(self) -> tuple[int, ...]:
        """For each node, a bit set of lengths: bit ℓ is set if a path of length ℓ leads to an accepting node."""
        bits = [0] * len(self.edges)
        for node in range(len(self.edges) - 1, -1, -1):
            found = int(node in self.accepting)
            for _, after in self.edges[node]:
                found |= bits[after] << 1
            bits[node] = found
        return tuple(bits)

    @cached_property
    def lengths(self) -> int:
        """A bit set of path lengths: bit ℓ is set if there is a golden path of length ℓ."""
        uses = [len(before) for before in self.incoming]
        bits: dict[int, int] = {}
        for node in range(len(self.edges) - 1, self.start - 1, -1):
            found = int(node in self.accepting)
            for _, after in self.edges[node]:
                found |= bits[after] << 1
            for _, after in self.edges[node]:
                uses[after] -= 1
                if not uses[after]:  # long procedures have long bit sets: drop each one after its last use
                    del bits[after]
            bits[node] = found
        return bits[self.start]

    @cached_property
    def longest_from(self) -> tuple[int, ...]:
        """For each node, the length of the longest path to an accepting node."""
        longest = [0] * len(self.edges)
        for node in range(len(self.edges) - 1, -1, -1):
            longest[node] = max((longest[after] + 1 for _, after in self.edges[node]), default=0)
        return tuple(longest)

    @property
    def longest(self) -> int:
        """The length of the longest golden path."""
        return self.longest_from[self.start]

    @cached_property
    def symbols(self) -> frozenset[int]:
        """All symbols that occur on edges."""
        return frozenset(symbol for edges in self.edges for symbol, _ in edges)

    @cached_property
    def size(self) -> int:
        """The number of edges."""
        return sum(map(len, self.edges))

    @cached_property
    def count(self) -> int:
        """The number of golden paths."""
        counts = [0] * len(self.edges)
        for node in range(len(self.edges) - 1, self.start - 1, -1):
            counts[node] = (node in self.accepting) + sum(counts[after] for _, after in self.edges[node])
        return counts[self.start]

    @cached_property
    def max_occurrences(self) -> tuple[dict[int, int], ...]:
        """For each node, the maximum number of times that each symbol can occur on a path to an accepting node."""
        most: list[dict[int, int]] = [{} for _ in self.edges]
        for node in range(len(self.edges) - 1, -1, -1):
            here = most[node]
            for symbol, after in self.edges[node]:
                for other, times in most[after].items():
                    here[other] = max(here.get(other, 0), times + (other == symbol))
                here[symbol] = max(here.get(symbol, 0), 1)
        return tuple(most)

    def paths(self) -> Iterator[tuple[int, ...]]:
        """Yield every golden path as a tuple of symbols, in depth-first order."""
        path: list[int] = []
        if self.start in self.accepting:
            yield ()
        stack = [iter(self.edges[self.start])]
        while stack:
            edge = next(stack[-1], None)
            if edge is None:
                stack.pop()
                if path:
                    path.pop()
                continue
            symbol, after = edge
            path.append(symbol)
            if after in self.accepting:
                yield tuple(path)
            stack.append(iter(self.edges[after]))

    def shortest(self) -> tuple[int, ...]:
        """Find one of the shortest golden paths by breadth-first search."""
        reached_by: dict[int, tuple[int, int] | None] = {self.start: None}
        queue = deque([self.start])
        while queue[0] not in self.accepting:
            node = queue.popleft()
            for symbol, after in self.edges[node]:
                if after not in reached_by:
                    reached_by[after] = (node, symbol)
                    queue.append(after)
        path: list[int] = []
        link = reached_by[queue[0]]
        while link is not None:
            path.append(link[1])
            link = reached_by[link[0]]
        return tuple(path[::-1])

    def merge_unused(self, used: Container[object]) -> MergedGraph | None:
        """Merge all symbols that are not in `used` into `OTHER`.

        Returns the merged graph, or None if the graph is small or few symbols are unused, so that merging would not pay
        off.
        """
        unused = [symbol for symbol in self.symbols if symbol not in used]
        if len(unused) < MIN_UNUSED_TO_MERGE or self.size < MIN_EDGES_TO_MERGE:
            return None
        kept = self.symbols.difference(unused)
        if kept not in self._merged:
            self._merged.clear()  # only PC and PC-KTC of the same episode use the same graph
            graph, node_of = minimise(self.edges, self.accepting, self.start, kept)
            self._merged[kept] = MergedGraph(graph, self, node_of)
        return self._merged[kept]

    def with_start(self, node: int) -> GoldenGraph:
        """Return a copy with a different start node. Properties that are already computed are reused."""
        graph = GoldenGraph(self.edges, self.accepting, node)
        shared = ("incoming", "lengths_from", "longest_from", "max_occurrences", "size")
        vars(graph).update({name: getattr(self, name) for name in shared if name in vars(self)})
        return graph


@dataclass(frozen=True)
class MergedGraph:
    """A golden graph in which all symbols that the agent never used are merged into a single symbol, `OTHER`.

    Unused symbols cannot match any token of the agent's path, so scores do not depend on which of them a golden path
    contains. After merging, more nodes are equivalent. For example, if an agent did 7 of 14 steps that may come in any
    order, 1,024 of 16,384 nodes remain. `node_of` maps each node of `original` to its node in `graph`.
    """

    graph: GoldenGraph
    original: GoldenGraph
    node_of: dict[int, int]

    def restore(self, path: Sequence[int], nodes: Sequence[int]) -> list[int]:
        """Convert a path through the merged graph to a path through the original graph.

        `path` lists the symbols, and `nodes` lists the node that each symbol leads to in the merged graph.
        """
        node = self.original.start
        symbols: list[int] = []
        for wanted, target in zip(path, nodes, strict=True):
            for symbol, after in self.original.edges[node]:
                if self.node_of[after] == target and wanted in (symbol, OTHER):
                    symbols.append(symbol)
                    node = after
                    break
        return symbols


def lengths_of(bits: int) -> list[int]:
    """Convert a bit set of lengths to a list, shortest first."""
    return [length for length in range(bits.bit_length()) if bits >> length & 1]


def fold(paths: Iterable[Sequence[int]]) -> GoldenGraph:
    """Build the smallest graph that contains exactly these paths, by minimising a trie."""
    children: list[dict[int, int]] = [{}]
    ends: set[int] = set()
    for path in paths:
        node = 0
        for symbol in path:
            if symbol not in children[node]:
                children[node][symbol] = len(children)
                children.append({})
            node = children[node][symbol]
        ends.add(node)
    return minimise([tuple(after.items()) for after in children], ends, 0)[0]


def minimise(
    edges: Sequence[Edges], accepting: Container[int], start: int, kept: Container[int] | None = None
) -> tuple[GoldenGraph, dict[int, int]]:
    """Merge equivalent nodes of an acyclic graph, i.e. nodes from which the same paths lead to an accepting node.

    Nodes are visited in reverse topological order, so that a node's successors are merged before the node itself. Two
    nodes are then equivalent if both or neither are accepting and their edges are equal. Symbols that are not in `kept`
    become `OTHER`. If `kept` is None, all symbols are kept.

    Returns the minimal graph, whose start is 0, and a mapping from each node reachable from `start` to its new number.
    """
    classes: dict[tuple[bool, Edges], int] = {}
    class_of: dict[int, int] = {}
    for node in reversed(topological_order(edges, start)):
        if kept is None:
            after = [(symbol, class_of[target]) for symbol, target in edges[node]]
        else:
            after = list({(symbol if symbol in kept else OTHER, class_of[target]) for symbol, target in edges[node]})
        class_of[node] = classes.setdefault((node in accepting, tuple(sorted(after))), len(classes))
    # Classes are numbered from the ends to the start. The reversed numbers are a topological order.
    last = len(classes) - 1
    found = sorted(classes.items(), key=lambda item: -item[1])
    graph = tuple(tuple((symbol, last - target) for symbol, target in after) for (_, after), _ in found)
    ends = frozenset(last - number for (ends_here, _), number in found if ends_here)
    return GoldenGraph(graph, ends), {node: last - number for node, number in class_of.items()}


def topological_order(edges: Sequence[Sequence[tuple[int, int]]], start: int) -> list[int]:
    """Return the nodes reachable from `start`, in topological order. Edges that close a cycle are ignored."""
    order: list[int] = []
    seen = {start}
    stack = [(start, iter(edges[start]))]
    while stack:
        node, targets = stack[-1]
        for _, target in targets:
            if target not in seen:
                seen.add(target)
                stack.append((target, iter(edges[target])))
                break
        else:
            order.append(node)
            stack.pop()
    return order[::-1]
