"""Recover blocks from an automaton: sequences, forks, partial orders and choices."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from corepath.automaton.automaton import Automaton
from corepath.automaton.golden_paths import topological_order
from corepath.drawing.blocks import NOTHING, Block, Form, any_order, choice, join_unbroken, repeat, seq, step, unbroken
from corepath.drawing.collapse import unavoidable_states

MOST_STATES: Final = 2_000
"""Larger automata are not decomposed."""
MOST_STEPS: Final = 200
"""A decomposition with more steps is given up, because it would repeat the same steps over and over."""


class _TooManyStepsError(Exception):
    pass


@dataclass(frozen=True)
class _Graph:
    """The progress of an automaton, or of a part of it. A symbol stands for the block at its place in `blocks`."""

    edges: dict[int, dict[int, int]]
    start: int
    accepting: frozenset[int]
    blocks: Sequence[Block]

    @property
    def symbols(self) -> list[int]:
        return list(dict.fromkeys(symbol for edges in self.edges.values() for symbol in edges))

    def part(self, start: int, accepting: Iterable[int], follow: Callable[[int, int], bool]) -> _Graph:
        """Return the part that is reachable from `start` by transitions that `follow` allows: (symbol, target)."""
        edges: dict[int, dict[int, int]] = {}
        waiting = [start]
        while waiting:
            state = waiting.pop()
            if state not in edges:
                edges[state] = {symbol: to for symbol, to in self.edges[state].items() if follow(symbol, to)}
                waiting.extend(edges[state].values())
        return _Graph(edges, start, frozenset(accepting) & edges.keys(), self.blocks)

    def order(self) -> list[int]:
        """Return the states in topological order."""
        numbers = {state: number for number, state in enumerate(self.edges)}
        states = list(self.edges)
        progress = [[(symbol, numbers[to]) for symbol, to in edges.items()] for edges in self.edges.values()]
        return [states[number] for number in topological_order(progress, numbers[self.start])]


def decompose(automaton: Automaton) -> Block | None:
    """Return an automaton's progress as a block, or None if it goes in circles, or if the block would be too large."""
    if automaton.rule != "acyclic" or len(automaton.states) > MOST_STATES:
        return None
    edges = {
        state: {symbol: target for symbol, target in targets.items() if target != state}
        for state, targets in enumerate(automaton.delta)
    }
    blocks = [step(symbol) for symbol in range(len(automaton.alphabet.actions))]
    try:
        block = _decompose(_Graph(edges, automaton.start, automaton.accepting, blocks), MOST_STEPS)
        return join_unbroken(block)
    except _TooManyStepsError:
        return None


def _decompose(graph: _Graph, room: int) -> Block:
    """Return a graph as a block of at most `room` steps. Each level takes some room too, so that there are not many."""
    room -= 2
    if room <= 0:
        raise _TooManyStepsError
    graph = _merge_ends(graph)
    if graph.start in graph.accepting:
        rest = _Graph(graph.edges, graph.start, graph.accepting - {graph.start}, graph.blocks)
        return repeat(_decompose(rest, room), 0, 1) if rest.accepting else NOTHING
    cuts = _cuts(graph)
    if len(cuts) > 2 or (len(cuts) == 2 and graph.edges[cuts[1]]):
        return seq(*_each(_pieces(graph, cuts), room))
    if all(not graph.edges[target] for target in graph.edges[graph.start].values()):
        return choice(*(graph.blocks[symbol] for symbol in graph.edges[graph.start]))
    for find in (_fork, _partial_order, _contract, _branches):
        found = find(graph, room)
        if found is not None:
            return found
    return choice(*_each(_by_first_step(graph), room))


def _each(graphs: Iterable[_Graph], room: int) -> Iterator[Block]:
    for graph in graphs:
        block = _decompose(graph, room)
        room -= sum(1 for _ in block.steps)
        if room < 0:
            raise _TooManyStepsError
        yield block


def _merge_ends(graph: _Graph) -> _Graph:
    """Make one state of all accepting states in which nothing is left to do."""
    ends = {state for state in graph.accepting if not graph.edges[state]}
    if len(ends) < 2:
        return graph
    end = min(ends)
    edges = {
        state: {symbol: end if to in ends else to for symbol, to in targets.items()}
        for state, targets in graph.edges.items()
        if state == end or state not in ends
    }
    return _Graph(edges, graph.start, (graph.accepting - ends) | {end}, graph.blocks)


# Sequences


def _cuts(graph: _Graph) -> list[int]:
    """Return the states that every path goes through, in order."""
    states = list(graph.edges)
    numbers = {state: number for number, state in enumerate(states)}
    progress = [[(symbol, numbers[to]) for symbol, to in edges.items()] for edges in graph.edges.values()]
    order = topological_order(progress, numbers[graph.start])
    found, _ = unavoidable_states(progress, order, frozenset(numbers[state] for state in graph.accepting))
    return [states[number] for number in found]


def _pieces(graph: _Graph, cuts: list[int]) -> Iterator[_Graph]:
    """Yield the parts between two cuts, and the part after the last one."""
    for begin, end in zip(cuts, [*cuts[1:], None], strict=True):
        if end is None:
            if graph.edges[begin]:
                yield graph.part(begin, graph.accepting, lambda *_: True)
            continue
        whole = graph.part(begin, {end}, lambda *_: True)
        yield _Graph({**_before(whole, end), end: {}}, begin, frozenset({end}), graph.blocks)


def _before(graph: _Graph, end: int) -> dict[int, dict[int, int]]:
    """Return the transitions of the states that come before `end`."""
    beyond = graph.part(end, (), lambda *_: True).edges
    return {state: edges for state, edges in graph.edges.items() if state not in beyond}


# Forks


def _fork(graph: _Graph, room: int) -> Block | None:
    """Return a fork if the symbols fall into sets that do not depend on each other."""
    groups = _independent(graph)
    if len(groups) < 2:
        return None
    parts = [_project(graph, group) for group in groups]
    if not _is_product(graph, parts, groups):
        return None
    return any_order(*_each(parts, room))


def _independent(graph: _Graph) -> list[set[int]]:
    """Return the finest sets of symbols such that symbols of two sets can always be swapped."""
    together: list[tuple[int, int]] = []
    for edges in graph.edges.values():
        for first, to in edges.items():
            for then, end in graph.edges[to].items():
                other = edges.get(then)
                if other is None or graph.edges[other].get(first) != end:
                    together.append((first, then))
            together.extend((first, other) for other in edges if other != first and other not in graph.edges[to])
    return _components(graph.symbols, together)


def _components(members: Iterable[int], pairs: Iterable[tuple[int, int]]) -> list[set[int]]:
    """Return the connected components of a graph."""
    group = {member: {member} for member in members}
    for one, other in pairs:
        if group[one] is not group[other]:
            small, large = sorted((group[one], group[other]), key=len)
            large |= small
            for member in small:
                group[member] = large
    return list({id(found): found for found in group.values()}.values())


def _project(graph: _Graph, group: set[int]) -> _Graph:
    """Return the part of a graph that has only the symbols in `group`."""
    return graph.part(graph.start, _ends_without(graph, group), lambda symbol, _: symbol in group)


def _ends_without(graph: _Graph, group: set[int]) -> set[int]:
    """Return the states from which acceptance can be reached without a symbol in `group`."""
    found = set(graph.accepting)
    for state in reversed(graph.order()):
        if any(to in found for symbol, to in graph.edges[state].items() if symbol not in group):
            found.add(state)
    return found


def _is_product(graph: _Graph, parts: Sequence[_Graph], groups: Sequence[set[int]]) -> bool:
    """Return True if the paths of a graph are exactly those of its parts, interleaved."""
    number_of = {symbol: number for number, group in enumerate(groups) for symbol in group}
    states = {graph.start: tuple(part.start for part in parts)}
    for state in graph.order():
        here = states[state]
        if (state in graph.accepting) != all(one in part.accepting for one, part in zip(here, parts, strict=True)):
            return False
        allowed = {symbol for one, part in zip(here, parts, strict=True) for symbol in part.edges[one]}
        if allowed != graph.edges[state].keys():
            return False
        for symbol, to in graph.edges[state].items():
            number = number_of[symbol]
            there = (*here[:number], parts[number].edges[here[number]][symbol], *here[number + 1 :])
            if states.setdefault(to, there) != there:
                return False
    return True


# Partial orders


def _partial_order(graph: _Graph, room: int) -> Block | None:
    """Return a partial order if every path has each symbol once, and only some pairs of them have a fixed order."""
    symbols, done = graph.symbols, _done(graph)
    parts = tuple(graph.blocks[symbol] for symbol in symbols)
    if done is None or len(symbols) > room or any(part.form is not Form.STEP for part in parts):
        return None
    needs = _needs(graph, done)
    if any(edges.keys() != _ready(needs, done[state]) for state, edges in graph.edges.items()):
        return None
    place = {symbol: number for number, symbol in enumerate(symbols)}
    links = tuple((place[one], place[symbol]) for symbol in symbols for one in sorted(_direct(needs, symbol)))
    return Block(Form.PARTIAL_ORDER, parts, links=links)


def _done(graph: _Graph) -> dict[int, frozenset[int]] | None:
    """Return the symbols that lead to each state, or None if a state is reached by different ones.

    Returns None too if a symbol is repeated, or if not all symbols lead to the end.
    """
    done = {graph.start: frozenset[int]()}
    for state in graph.order():
        for symbol, to in graph.edges[state].items():
            there = done[state] | {symbol}
            if symbol in done[state] or done.setdefault(to, there) != there:
                return None
    return done if {len(done[state]) for state in graph.accepting} == {len(graph.symbols)} else None


def _needs(graph: _Graph, done: dict[int, frozenset[int]]) -> dict[int, frozenset[int]]:
    """Return the symbols that always come before each symbol."""
    needs = {symbol: frozenset(graph.symbols) for symbol in graph.symbols}
    for state, edges in graph.edges.items():
        for symbol in edges:
            needs[symbol] &= done[state]
    return needs


def _ready(needs: dict[int, frozenset[int]], done: frozenset[int]) -> set[int]:
    """Return the symbols that can come next."""
    return {symbol for symbol, before in needs.items() if symbol not in done and before <= done}


def _direct(needs: dict[int, frozenset[int]], symbol: int) -> frozenset[int]:
    """Return the symbols that come before a symbol, without those that come before another of them."""
    return needs[symbol] - frozenset().union(*(needs[one] for one in needs[symbol]))


# Steps that always follow each other


def _contract(graph: _Graph, room: int) -> Block | None:
    """Make one symbol of those that always follow each other directly, and go on. None if there are no such symbols."""
    short = graph
    while pair := _inseparable(short):
        short = _merge(short, *pair)
    return None if short is graph else _decompose(short, room)


def _inseparable(graph: _Graph) -> tuple[int, int] | None:
    """Return two symbols that always follow each other directly, or None."""
    targets, sources = defaultdict(set), defaultdict(set)
    reached = defaultdict(set)
    for state, edges in graph.edges.items():
        for symbol, to in edges.items():
            targets[symbol].add(to)
            sources[symbol].add(state)
            reached[to].add(symbol)
    for first, between in targets.items():
        after = {symbol for state in between for symbol in graph.edges[state]}
        if len(after) != 1 or after == {first} or not between.isdisjoint(graph.accepting):
            continue
        (then,) = after
        if sources[then] == between and all(reached[state] == {first} for state in between):
            return first, then
    return None


def _merge(graph: _Graph, first: int, then: int) -> _Graph:
    """Return the graph with one symbol for `first` and then `then`."""
    between = {edges[first] for edges in graph.edges.values() if first in edges}
    inner = [one.parts[0] if one.form is Form.UNBROKEN else one for one in (graph.blocks[first], graph.blocks[then])]
    blocks = [*graph.blocks, unbroken(seq(*inner))]
    edges = {
        state: {
            len(graph.blocks) if symbol == first else symbol: graph.edges[to][then] if symbol == first else to
            for symbol, to in targets.items()
        }
        for state, targets in graph.edges.items()
        if state not in between
    }
    return _Graph(edges, graph.start, graph.accepting, blocks)


# Choices


def _branches(graph: _Graph, room: int) -> Block | None:
    """Return a choice between parts that have no state in common but the first and the last, if there are several."""
    ends = {state for state in graph.accepting if not graph.edges[state]}
    groups = _inner_groups(graph, ends)
    direct = [symbol for symbol, to in graph.edges[graph.start].items() if to in ends]
    if len(groups) + bool(direct) < 2:
        return None
    parts = [_only(graph, group, ends) for group in groups]
    return choice(*_each(parts, room - len(direct)), *(graph.blocks[symbol] for symbol in direct))


def _inner_groups(graph: _Graph, ends: set[int]) -> list[set[int]]:
    """Return the states between the start and the ends, those that are linked together."""
    inner = [state for state in graph.edges if state != graph.start and state not in ends]
    pairs = [(state, to) for state in inner for to in graph.edges[state].values() if to not in ends]
    return _components(inner, pairs)


def _only(graph: _Graph, group: set[int], ends: set[int]) -> _Graph:
    """Return the part of a graph that goes through the states in `group`."""
    part = graph.part(graph.start, graph.accepting, lambda _, to: to in group or to in ends)
    begin = {symbol: to for symbol, to in part.edges[graph.start].items() if to in group}
    return _Graph({**part.edges, graph.start: begin}, graph.start, part.accepting, graph.blocks)


def _by_first_step(graph: _Graph) -> Iterator[_Graph]:
    """Yield a part for each state that the first step can lead to."""
    by_target: dict[int, dict[int, int]] = defaultdict(dict)
    for symbol, to in graph.edges[graph.start].items():
        by_target[to][symbol] = to
    for target, begin in by_target.items():
        rest = graph.part(target, graph.accepting, lambda *_: True)
        yield _Graph({graph.start: begin, **rest.edges}, graph.start, rest.accepting, graph.blocks)
