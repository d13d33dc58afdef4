"""Ways through a procedure that differ from all known paths in what they have in common.

If every known path does a step, a way without it differs. If none does one step before another, a way that does both in
this order differs. A few ways are enough to show all such differences, since one way often has many of them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, reduce
from operator import and_, or_
from typing import Final, NamedTuple

from corepath.automaton.automaton import Automaton

MOST_WAYS: Final = 3

Path = Sequence[int]
"""The symbols of a path's steps."""


class Way(NamedTuple):
    """An accepted path that lacks the step `missing`, or does the steps `order` in an order that no known path has."""

    path: Path
    missing: int | None = None
    order: tuple[int, int] | None = None


_Edges = Mapping[int, Sequence[tuple[int, int]]]
"""The steps from each state: their symbols and the states that they lead to."""


def find_other_ways(automaton: Automaton, paths: Iterable[Path], most: int = MOST_WAYS) -> Iterator[Way]:
    """Yield accepted paths that consist of the same steps as the known `paths` and differ from all of them."""
    known = list(paths)
    if not known:
        return
    graph = _Graph(automaton, {symbol for path in known for symbol in path})
    for _ in range(most):
        way = _find_way(graph, known)
        if way is None:
            return
        known.append(way.path)
        yield way


def _find_way(graph: _Graph, known: Sequence[Path]) -> Way | None:
    """Return a way that does two steps in an order that no known path has, or that lacks a step of all known paths."""
    common = reduce(and_, map(_bits, known))
    for symbol in _symbols(common):
        if (path := graph.path_without(symbol)) is not None:
            return Way(path, missing=symbol)
    later: dict[int, int] = {}
    for path in known:
        for symbol, after in zip(path, _bits_after(path), strict=True):
            later[symbol] = later.get(symbol, 0) | after
    return graph.find_other_order(later)


def _bits(path: Path) -> int:
    return reduce(or_, (1 << symbol for symbol in path), 0)


def _bits_after(path: Path) -> list[int]:
    """Return, for each step, a bit set of the symbols of all steps after it."""
    found, bits = [], 0
    for symbol in reversed(path):
        found.append(bits)
        bits |= 1 << symbol
    return found[::-1]


def _symbols(bits: int) -> Iterator[int]:
    return (symbol for symbol in range(bits.bit_length()) if bits >> symbol & 1)


def find_edges(automaton: Automaton, symbols: Container[int]) -> dict[int, list[tuple[int, int]]]:
    """Return the steps with certain symbols from each state that they reach, the nearest states first."""
    found: dict[int, list[tuple[int, int]]] = {}
    waiting = deque([automaton.start])
    while waiting:
        state = waiting.popleft()
        if state not in found:
            steps = automaton.delta[state].items()
            found[state] = [(symbol, after) for symbol, after in steps if symbol in symbols and after != state]
            waiting.extend(after for _, after in found[state])
    return found


class _Graph:
    """The part of an automaton that has only certain steps, and only states from which it can accept."""

    def __init__(self, automaton: Automaton, symbols: set[int]) -> None:
        self._start, self._accepting = automaton.start, automaton.accepting
        edges = find_edges(automaton, symbols)
        alive = self._find_alive(edges)
        self._edges: _Edges = {
            state: [(symbol, after) for symbol, after in steps if after in alive]
            for state, steps in edges.items()
            if state in alive
        }

    def _find_alive(self, edges: _Edges) -> set[int]:
        """Return the states from which an accepting state can be reached."""
        before: dict[int, list[int]] = {}
        for state, steps in edges.items():
            for _, after in steps:
                before.setdefault(after, []).append(state)
        alive = {state for state in edges if state in self._accepting}
        waiting = deque(alive)
        while waiting:
            new = [state for state in before.get(waiting.popleft(), ()) if state not in alive]
            alive.update(new)
            waiting.extend(dict.fromkeys(new))
        return alive

    @cached_property
    def _ahead(self) -> dict[int, int]:
        """For each state, a bit set of the symbols on paths from it."""
        ahead = dict.fromkeys(self._edges, 0)
        before: dict[int, list[tuple[int, int]]] = {}
        for state, steps in self._edges.items():
            for symbol, after in steps:
                before.setdefault(after, []).append((symbol, state))
        waiting = deque(self._edges)
        while waiting:
            after = waiting.pop()
            for symbol, state in before.get(after, ()):
                bits = ahead[state] | ahead[after] | 1 << symbol
                if bits != ahead[state]:
                    ahead[state] = bits
                    waiting.append(state)
        return ahead

    def path_without(self, symbol: int) -> Path | None:
        """Return a shortest accepted path without a symbol, or None if there is none."""
        return self._walk(self._start, lambda step: step != symbol, self._accepting.__contains__)

    def find_other_order(self, later: Mapping[int, int]) -> Way | None:
        """Return a way with a step after another that `later` does not have after it, or None if there is none."""
        for state, steps in self._edges.items():  # nearest states first
            for symbol, after in steps:
                new = self._ahead[after] & ~later.get(symbol, 0)
                if new:
                    second = next(_symbols(new))
                    return Way(self._join(state, symbol, after, second), order=(symbol, second))
        return None

    def _join(self, state: int, symbol: int, after: int, second: int) -> Path:
        """Return an accepted path to `state`, over `symbol` to `after`, and over the symbol `second` to the end."""
        onward = {place for place, steps in self._edges.items() if any(one == second for one, _ in steps)}
        first = self._walk(self._start, lambda _: True, state.__eq__) or ()
        between = self._walk(after, lambda _: True, onward.__contains__) or ()
        place = self._follow(after, between)
        last = next(following for one, following in self._edges[place] if one == second)
        end = self._walk(last, lambda _: True, self._accepting.__contains__) or ()
        return (*first, symbol, *between, second, *end)

    def _follow(self, state: int, path: Path) -> int:
        for symbol in path:
            state = next(after for one, after in self._edges[state] if one == symbol)
        return state

    def _walk(self, start: int, may: Callable[[int], bool], is_end: Callable[[int], bool]) -> Path | None:
        """Return a shortest path from a state to one that is an end, over steps that may be taken."""
        if start not in self._edges:
            return None
        came: dict[int, tuple[int, int] | None] = {start: None}
        waiting = deque([start])
        while waiting:
            state = waiting.popleft()
            if is_end(state):
                return _trace_back(came, state)
            for symbol, after in self._edges[state]:
                if after not in came and may(symbol):
                    came[after] = (symbol, state)
                    waiting.append(after)
        return None


def _trace_back(came: Mapping[int, tuple[int, int] | None], state: int) -> Path:
    path: list[int] = []
    while (step := came[state]) is not None:
        symbol, state = step
        path.append(symbol)
    return path[::-1]
