"""Golden paths: the loop-free, harm-free ways to do a task, stored as a graph rather than a list.

The graph is a minimal acyclic automaton (a DAWG): any_order of k steps has k! golden paths but only 2^k nodes. Nodes
are numbered in topological order: every edge leads to a higher number, so one pass over the numbers is a dynamic
program over all golden paths. Nodes need not be states of the task's automaton: with `simple_paths`, the listed paths
are folded into a graph of their own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

Edges = tuple[tuple[int, int], ...]
"""Pairs of a symbol and the node it leads to."""
OTHER: Final = -1
"""The symbol that replaces all merged symbols in a `MergedGraph`."""
MIN_EDGES_TO_MERGE: Final = 1_000
"""In a graph with fewer edges, merging symbols does not pay."""
MIN_UNUSED_TO_MERGE: Final = 3
"""With fewer unused symbols, merging them saves almost no nodes."""


@dataclass(frozen=True)
class GoldenGraph:
    """An acyclic graph in which the paths from `start` to an accepting node are the golden paths.

    `edges[node]` lists the pairs (symbol, next node), with next node > node.
    """

    edges: tuple[Edges, ...]
    accepting: frozenset[int]
    start: int = 0
    _merged: dict[frozenset[int], MergedGraph] = field(default_factory=dict, init=False, compare=False, repr=False)

    @cached_property
    def incoming(self) -> tuple[Edges, ...]:
        """For each node, the pairs (previous node, symbol) of the edges that lead to it."""
        into: list[list[tuple[int, int]]] = [[] for _ in self.edges]
        for node, edges in enumerate(self.edges):
            for symbol, after in edges:
                into[after].append((node, symbol))
        return tuple(map(tuple, into))

    @cached_property
    def lengths_from(self) -> tuple[int, ...]:
        """For each node, the lengths of its paths to acceptance: bit ℓ is set if there is one of length ℓ."""
        bits = [0] * len(self.edges)
        for node in range(len(self.edges) - 1, -1, -1):
            found = int(node in self.accepting)
            for _, after in self.edges[node]:
                found |= bits[after] << 1
            bits[node] = found
        return tuple(bits)

    @cached_property
    def lengths(self) -> int:
        """The lengths of the golden paths: bit ℓ is set if there is one of length ℓ."""
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
        """For each node, the length of its longest path to acceptance."""
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
        """All symbols of the edges."""
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
        """For each node, how many times each symbol occurs at most on a path from there to acceptance."""
        most: list[dict[int, int]] = [{} for _ in self.edges]
        for node in range(len(self.edges) - 1, -1, -1):
            here = most[node]
            for symbol, after in self.edges[node]:
                for other, times in most[after].items():
                    here[other] = max(here.get(other, 0), times + (other == symbol))
                here[symbol] = max(here.get(symbol, 0), 1)
        return tuple(most)

    def paths(self) -> Iterator[tuple[int, ...]]:
        """Yield every golden path, by depth-first search."""
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
        """One of the shortest golden paths, by breadth-first search."""
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
        """The graph with all symbols outside `used` merged into `OTHER`, or None if merging does not pay."""
        unused = [symbol for symbol in self.symbols if symbol not in used]
        if len(unused) < MIN_UNUSED_TO_MERGE or self.size < MIN_EDGES_TO_MERGE:
            return None
        kept = self.symbols.difference(unused)
        if kept not in self._merged:
            self._merged.clear()  # PC and PC-KTC of one episode ask for the same graph, the next episode for another
            graph, node_of = minimise(self.edges, self.accepting, self.start, kept)
            self._merged[kept] = MergedGraph(graph, self, node_of)
        return self._merged[kept]

    def with_start(self, node: int) -> GoldenGraph:
        """The same graph with another start node; tables that are computed already are shared."""
        graph = GoldenGraph(self.edges, self.accepting, node)
        shared = ("incoming", "lengths_from", "longest_from", "max_occurrences", "size")
        vars(graph).update({name: getattr(self, name) for name in shared if name in vars(self)})
        return graph


@dataclass(frozen=True)
class MergedGraph:
    """A golden graph in which all symbols that the agent never used are merged into one, `OTHER`.

    Unused symbols can match no token of the agent's path, so scores do not depend on which of them a path has. Merging
    them makes more nodes equal: for an agent that did 7 of 14 free steps, 1,024 nodes are left of 16,384. `node_of`
    maps each node of `original` to its node in `graph`.
    """

    graph: GoldenGraph
    original: GoldenGraph
    node_of: dict[int, int]

    def restore(self, path: Sequence[int], nodes: Sequence[int]) -> list[int]:
        """Turn a path of the merged graph, and the nodes its symbols lead to, into a path of the original graph."""
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
    """The lengths in a bit set, shortest first."""
    return [length for length in range(bits.bit_length()) if bits >> length & 1]


def fold(paths: Iterable[Sequence[int]]) -> GoldenGraph:
    """The smallest graph with exactly the given paths: a trie of them, minimised."""
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
    """Merge all equivalent nodes of an acyclic graph: those from which the same paths lead to acceptance.

    Nodes are visited in reverse topological order. The successors of a node are then merged already, so two nodes are
    equivalent if both accept or both do not, and their edges are equal. If `kept` is given, all other symbols become
    `OTHER`.

    Returns the minimal graph, with start 0, and the new number of each node that `start` reaches.
    """
    classes: dict[tuple[bool, Edges], int] = {}
    class_of: dict[int, int] = {}
    for node in reversed(topological_order(edges, start)):
        if kept is None:
            after = [(symbol, class_of[target]) for symbol, target in edges[node]]
        else:
            after = list({(symbol if symbol in kept else OTHER, class_of[target]) for symbol, target in edges[node]})
        class_of[node] = classes.setdefault((node in accepting, tuple(sorted(after))), len(classes))
    # Classes are numbered from the ends to the start; reversed, the numbers are a topological order.
    last = len(classes) - 1
    found = sorted(classes.items(), key=lambda item: -item[1])
    graph = tuple(tuple((symbol, last - target) for symbol, target in after) for (_, after), _ in found)
    ends = frozenset(last - number for (ends_here, _), number in found if ends_here)
    return GoldenGraph(graph, ends), {node: last - number for node, number in class_of.items()}


def topological_order(edges: Sequence[Sequence[tuple[int, int]]], start: int) -> list[int]:
    """The nodes that `start` reaches, each before its successors; an edge that closes a cycle is ignored."""
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
