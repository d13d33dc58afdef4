"""Golden paths: the loop-free, harm-free ways to do a task, held as a graph and never as a list.

The graph is acyclic and its nodes are numbered so that every edge goes upwards. Nodes are not always states of the
automaton: with `simple_paths` the listed paths are folded into a graph of their own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

Edges = tuple[tuple[int, int], ...]
"""Pairs of a symbol and the node it leads to."""
OTHER: Final = -1
"""The symbol that stands for all that need not be told apart."""
WORTH_BLURRING: Final = 1_000
"""A graph with fewer edges is taken as it is."""
FEWEST_UNSEEN: Final = 3
"""And one of which x lacks fewer symbols: one or two taken for one merge next to nothing."""


@dataclass(frozen=True)
class Golden:
    """An acyclic graph whose paths from `start` to an accepting node are the golden ones.

    `edges[node]` are the pairs (symbol, next node), next node > node.
    """

    edges: tuple[Edges, ...]
    accepting: frozenset[int]
    start: int = 0

    @cached_property
    def incoming(self) -> tuple[Edges, ...]:
        """For each node the pairs (node before, symbol)."""
        into: list[list[tuple[int, int]]] = [[] for _ in self.edges]
        for node, edges in enumerate(self.edges):
            for symbol, after in edges:
                into[after].append((node, symbol))
        return tuple(map(tuple, into))

    @cached_property
    def lengths_from(self) -> tuple[int, ...]:
        """For each node the lengths of the ways from it to acceptance, as bits."""
        bits = [0] * len(self.edges)
        for node in range(len(self.edges) - 1, -1, -1):
            found = int(node in self.accepting)
            for _, after in self.edges[node]:
                found |= bits[after] << 1
            bits[node] = found
        return tuple(bits)

    @cached_property
    def lengths(self) -> int:
        """The lengths of the golden paths, as bits."""
        uses = [len(before) for before in self.incoming]
        bits: dict[int, int] = {}
        for node in range(len(self.edges) - 1, self.start - 1, -1):
            found = int(node in self.accepting)
            for _, after in self.edges[node]:
                found |= bits[after] << 1
            for _, after in self.edges[node]:
                uses[after] -= 1
                if not uses[after]:  # the bits of a long procedure are long: keep only those still needed
                    del bits[after]
            bits[node] = found
        return bits[self.start]

    @cached_property
    def longest_from(self) -> tuple[int, ...]:
        """For each node the length of the longest way from it to acceptance."""
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
        """The symbols that stand on any edge."""
        return frozenset(symbol for edges in self.edges for symbol, _ in edges)

    @cached_property
    def size(self) -> int:
        """How many edges there are."""
        return sum(map(len, self.edges))

    @cached_property
    def count(self) -> int:
        """How many golden paths there are."""
        ways = [0] * len(self.edges)
        for node in range(len(self.edges) - 1, self.start - 1, -1):
            ways[node] = (node in self.accepting) + sum(ways[after] for _, after in self.edges[node])
        return ways[self.start]

    @cached_property
    def most_of(self) -> tuple[dict[int, int], ...]:
        """For each node and symbol, how often it can still come at most."""
        most: list[dict[int, int]] = [{} for _ in self.edges]
        for node in range(len(self.edges) - 1, -1, -1):
            mine = most[node]
            for symbol, after in self.edges[node]:
                for other, times in most[after].items():
                    mine[other] = max(mine.get(other, 0), times + (other == symbol))
                mine[symbol] = max(mine.get(symbol, 0), 1)
        return tuple(most)

    def paths(self) -> Iterator[tuple[int, ...]]:
        """Every golden path, one after the other, without holding them all."""
        path: list[int] = []
        if self.start in self.accepting:
            yield ()
        waiting = [iter(self.edges[self.start])]
        while waiting:
            edge = next(waiting[-1], None)
            if edge is None:
                waiting.pop()
                if path:
                    path.pop()
                continue
            symbol, after = edge
            path.append(symbol)
            if after in self.accepting:
                yield tuple(path)
            waiting.append(iter(self.edges[after]))

    def shortest(self) -> tuple[int, ...]:
        """One of the shortest golden paths."""
        came: dict[int, tuple[int, int] | None] = {self.start: None}
        queue = deque([self.start])
        while queue[0] not in self.accepting:
            node = queue.popleft()
            for symbol, after in self.edges[node]:
                if after not in came:
                    came[after] = (node, symbol)
                    queue.append(after)
        path: list[int] = []
        link = came[queue[0]]
        while link is not None:
            path.append(link[1])
            link = came[link[0]]
        return tuple(path[::-1])

    def blurred(self, seen: Container[object]) -> Blurred | None:
        """The graph with all symbols that are not seen taken for one; None where that is not worth it."""
        unseen = [symbol for symbol in self.symbols if symbol not in seen]
        if len(unseen) < FEWEST_UNSEEN or self.size < WORTH_BLURRING:
            return None
        kept = self.symbols.difference(unseen)
        known: dict[frozenset[int], Blurred] = vars(self).setdefault("_blurred", {})
        if kept not in known:
            known.clear()  # an episode asks for the same one twice, the next for another
            graph, node_of = minimal(self.edges, self.accepting, self.start, kept)
            known[kept] = Blurred(graph, self, node_of)
        return known[kept]

    def beginning_at(self, node: int) -> Golden:
        """The same graph, begun elsewhere; what is known of its nodes stays known."""
        made = Golden(self.edges, self.accepting, node)
        shared = ("incoming", "lengths_from", "longest_from", "most_of", "size")
        vars(made).update({name: getattr(self, name) for name in shared if name in vars(self)})
        return made


@dataclass(frozen=True)
class Blurred:
    """A graph in which symbols are taken for one, and the node in it of each node of the clear one.

    What an agent did not do, it did not do in any order: where it did 7 of 14 free steps, 1,024 nodes tell apart
    all that its scores depend on, rather than 16,384.
    """

    graph: Golden
    clear: Golden
    node_of: dict[int, int]

    def sharpened(self, path: Sequence[int], nodes: Sequence[int]) -> list[int]:
        """A clear path from a blurred one and the nodes that its steps lead to."""
        node = self.clear.start
        symbols: list[int] = []
        for wanted, target in zip(path, nodes, strict=True):
            for symbol, after in self.clear.edges[node]:
                if self.node_of[after] == target and (wanted in (symbol, OTHER)):
                    symbols.append(symbol)
                    node = after
                    break
        return symbols


def lengths_of(bits: int) -> list[int]:
    """The lengths that bits stand for, the shortest first."""
    return [length for length in range(bits.bit_length()) if bits >> length & 1]


def fold(paths: Iterable[Sequence[int]]) -> Golden:
    """The listed paths as a graph without a node too many."""
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
    return minimal([tuple(after.items()) for after in children], ends, 0)[0]


def minimal(
    edges: Sequence[Edges], accepting: Container[int], start: int, kept: Container[int] | None = None
) -> tuple[Golden, dict[int, int]]:
    """An acyclic graph without two nodes that allow the same, and the new number of each node reached.

    Where `kept` is given, all other symbols are taken for one, `OTHER`.
    """
    same: dict[tuple[bool, Edges], int] = {}
    merged: dict[int, int] = {}
    for node in reversed(upwards(edges, start)):
        if kept is None:
            after = [(symbol, merged[target]) for symbol, target in edges[node]]
        else:
            after = list({(symbol if symbol in kept else OTHER, merged[target]) for symbol, target in edges[node]})
        merged[node] = same.setdefault((node in accepting, tuple(sorted(after))), len(same))
    # The first class found is the last in order, so numbers are turned round: start becomes node 0.
    last = len(same) - 1
    found = sorted(same.items(), key=lambda item: -item[1])
    graph = tuple(tuple((symbol, last - target) for symbol, target in after) for (_, after), _ in found)
    ends = frozenset(last - number for (ends_here, _), number in found if ends_here)
    return Golden(graph, ends), {node: last - number for node, number in merged.items()}


def upwards(edges: Sequence[Edges], start: int) -> list[int]:
    """The nodes that start leads to, each before those it leads to; the graph has no cycle."""
    order: list[int] = []
    seen = {start}
    waiting = [(start, iter(edges[start]))]
    while waiting:
        node, targets = waiting[-1]
        for _, target in targets:
            if target not in seen:
                seen.add(target)
                waiting.append((target, iter(edges[target])))
                break
        else:
            order.append(node)
            waiting.pop()
    return order[::-1]
