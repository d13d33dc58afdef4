"""Find the smallest repair of a path: the fewest edits after which the task's automaton accepts it without harm.

An edit leaves out a call, adds a step, changes a call into a step, or moves a call. The search goes through the calls
in order and keeps track of the automaton's state. It is an A* search, so the first repair that it finds is a smallest
one. Among those it prefers one that leaves alone what was right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush
from typing import Any, Final, NamedTuple

from corepath.automaton.alphabet import Reading
from corepath.automaton.step import Kind, effect
from corepath.explanation.arguments import differing_arguments
from corepath.explanation.edits import Move, Repair, as_repair
from corepath.explanation.facts import Facts
from corepath.explanation.repair_bounds import Bound, lower_bounds
from corepath.notation.call import UNANSWERED
from corepath.values import canonical

MOST_NODES: Final = 1_500
"""Maximum number of nodes that the search expands. If that is not enough, it searches again without moves."""
_EDIT: Final = 100_000
"""The cost of an edit. The penalties below only decide between repairs of the same size."""
_ASSUMED: Final = 1
"""Penalty for assuming that a call succeeds that failed."""
_NEAR_MISS: Final = 1
"""Penalty for changing a legal call into a step that it nearly is."""
_ADDED: Final = 2
"""Penalty for adding a step."""
_ADDED_EARLY: Final = 1
"""Further penalty for adding a step before a call that does not need it."""
_OTHER_TOOL: Final = 100
"""Penalty for replacing a call by a step that uses another tool."""
_LOST_PROGRESS: Final = 200
"""Penalty for leaving out, moving or changing a call that was a step in its place."""


def repair_path(facts: Facts) -> Repair | None:
    """Find a smallest repair.

    Return None if there is nothing to repair, if the episode failed outside the agent, or if there is no repair.
    """
    if facts.outside_failure or (facts.score.accepted and not facts.score.harms):
        return None
    moves = _Search(facts).run()
    if moves is None:
        moves = _Search(facts, with_moves=False).run()
    repair = as_repair(list(_go_on_without_harm(facts)) if moves is None else moves)
    return repair if repair.edits else None


def _go_on_without_harm(facts: Facts) -> Iterator[Move]:
    """Leave out every harmful call, and add a shortest path to an accepting state at the end."""
    for step in facts.steps:
        if step.kind is Kind.HARM and not step.advances:
            yield Move("leave out", step.index, None, step.index)
        else:
            yield Move("keep", step.index, step.symbol if step.advances else None, step.index)
    for symbol in facts.steps_left:
        yield Move("add", None, symbol, len(facts.steps))


class _Node(NamedTuple):
    """A place in the search: the next call, the automaton's state, and what is known by then.

    `bound` is the number of a set of variables and results. `spare` holds calls that were left out and may be put back.
    `taken` holds added steps in place of which a later call may be left out.
    """

    call: int
    state: int
    bound: int
    spare: tuple[int, ...]
    taken: tuple[int, ...]


_Edge = tuple[int, _Node, Move]
"""The cost of a move, where it leads, and the move."""


@dataclass(eq=False)
class _Search:
    """The search for the smallest repair of one path."""

    facts: Facts
    with_moves: bool = True
    _bindings: list[tuple[dict[str, Any], dict[Any, Any]]] = field(default_factory=list)
    _numbers: dict[Any, int] = field(default_factory=dict)
    _readings: dict[tuple[int, int], Reading] = field(default_factory=dict)
    _penalties: dict[tuple[int, int], int | None] = field(default_factory=dict)
    _due: dict[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._steps = self.facts.steps
        self._automaton = self.facts.automaton
        self._errors = self.facts.score.trace.begin.errors
        self._binds = self._automaton.alphabet.binds
        self._symbols = [self._symbol(index) for index in range(len(self._steps))]

    def run(self) -> list[Move] | None:
        """Return the moves of a smallest repair, or None if none is found in time."""
        begin = self.facts.score.trace.begin
        start = _Node(0, begin.state, self._number(dict(begin.variables), dict(begin.results)), (), ())
        best, came = {start: 0}, dict[_Node, tuple[_Node, Move]]()
        queue = [(0, 0, 0, start)]
        closed: set[_Node] = set()
        end, accepting = len(self._steps), self._automaton.accepting
        while queue and len(closed) < MOST_NODES:
            node = heappop(queue)[3]
            if node in closed:
                continue
            if node.call == end and node.state in accepting:
                return _trace_back(came, node)
            closed.add(node)
            for cost, after, move in self._edges(node):
                total = best[node] + cost
                if after not in closed and total < best.get(after, total + 1):
                    best[after] = total
                    came[after] = node, move
                    heappush(queue, (total + self._remaining(after), -after.call, -len(came), after))
        return None

    def _remaining(self, node: _Node) -> int:
        """Return a lower bound for the cost from a node on."""
        bound = self._bounds[node.call]
        missing = max(self._automaton.missing[node.state] - bound.useful, bound.distances[node.state])
        return _EDIT * max(bound.useless, missing - len(node.spare))

    @cached_property
    def _bounds(self) -> list[Bound]:
        return lower_bounds(self.facts, self._symbols)

    # Moves

    def _edges(self, node: _Node) -> list[_Edge]:
        """List the moves that are possible at a node."""
        if node.call == len(self._steps):
            return list(self._add(node, can_wait=False))
        edges = list(self._keep(node))
        loops = any(after.state == node.state for _, after, _ in edges)
        can_wait = bool(edges) and not loops
        edges += self._leave_out(node, stays=loops)
        edges += self._change(node)
        if not loops or self._is_early(node):
            edges += self._add(node, can_wait=can_wait)
        return edges

    def _is_early(self, node: _Node) -> bool:
        """Whether the next call is a step that is expected only later, and so may count if other steps come first."""
        symbol = self._symbols[node.call]
        return symbol is not None and bool(self._automaton.ahead[node.state] >> symbol & 1)

    def _keep(self, node: _Node) -> Iterator[_Edge]:
        """Keep the next call, if it is legal here."""
        index, state, bound, spare, taken = node
        step, reading = self._steps[index], self._read(index, bound)
        failed = step.call.failed and self._errors != "as_called"
        kind, after = effect(self._automaton, state, reading, failed=failed)
        is_breach = step.only_breaks and not step.advances and not (step.breach and step.breach.consequence)
        if kind is not Kind.HARM and not is_breach and not (failed and self._errors == "harmful"):
            symbol = reading.symbol if after != state else None
            known = bound if symbol is None else self._bind(bound, index, reading)
            yield 0, _Node(index + 1, after, known, spare, taken), Move("keep", index, symbol, index)
        if (failed and self._may_succeed(index)) or reading.early:
            edges = self._automaton.delta[state]
            fitting = (one for one in (*reading.fits, *reading.early) if edges.get(one, state) != state)
            if (symbol := next(fitting, None)) is not None:
                move = Move("keep", index, symbol, index)
                yield _ASSUMED, _Node(index + 1, edges[symbol], bound, spare, taken), move

    def _may_succeed(self, index: int) -> bool:
        """Whether a call may have failed only because of a harmful call, which may be the call itself."""
        harms = self.facts.score.harms
        return bool(harms) and harms[0].index <= index

    def _leave_out(self, node: _Node, *, stays: bool) -> Iterator[_Edge]:
        """Leave out the next call. A call that is a step may be put back later."""
        index, state, bound, spare, taken = node
        symbol = self._symbols[index]
        if symbol is not None and symbol in taken:
            place = taken.index(symbol)
            left = taken[:place] + taken[place + 1 :]
            yield 0, _Node(index + 1, state, bound, spare, left), Move("taken", index, symbol, index)
        if stays:
            return
        cost = _EDIT + (_LOST_PROGRESS if self._steps[index].kind is Kind.PROGRESS else 0)
        may_return = self.with_moves and symbol is not None and self._automaton.ahead[state] >> symbol & 1
        kept = (*spare, index) if may_return else spare
        yield cost, _Node(index + 1, state, bound, kept, taken), Move("leave out", index, None, index)

    def _change(self, node: _Node) -> Iterator[_Edge]:
        """Change the next call into a step that is expected here."""
        index, state, bound, spare, taken = node
        lost = _LOST_PROGRESS if self._steps[index].kind is Kind.PROGRESS else 0
        for symbol, after in self._expected(state):
            if (penalty := self._change_penalty(index, symbol)) is not None:
                move = Move("change", index, symbol, index)
                yield _EDIT + penalty + lost, _Node(index + 1, after, bound, spare, taken), move

    def _change_penalty(self, index: int, symbol: int) -> int | None:
        """Return how unlike a step a call is, or None if the call should not be changed into it."""
        if (index, symbol) not in self._penalties:
            self._penalties[index, symbol] = self._unlikeness(index, symbol)
        return self._penalties[index, symbol]

    def _unlikeness(self, index: int, symbol: int) -> int | None:
        step, action = self._steps[index], self._automaton.alphabet.patterns[symbol]
        if symbol in step.reading.fits:
            return None
        if action.tool != step.call.tool or step.call.malformed:
            return None if step.kind is Kind.LOOP else _OTHER_TOOL
        names = differing_arguments(self.facts, index, symbol)
        if step.kind is Kind.LOOP:
            return _NEAR_MISS if len(names) == 1 else None
        first = next((name for name, _ in action.arguments.fields), None)
        return min(2 * len(names) + (first in names), _OTHER_TOOL)

    def _add(self, node: _Node, *, can_wait: bool) -> Iterator[_Edge]:
        """Put in a step that is expected here: a new one, or a call that was left out before."""
        place, state, bound, spare, taken = node
        cost = _EDIT + _ADDED + (_ADDED_EARLY if can_wait else 0)
        for symbol, after in self._expected(state):
            back = next((index for index in spare if self._symbols[index] == symbol), None)
            if back is not None:
                left = tuple(index for index in spare if index != back)
                move = Move("put back", back, symbol, place)
                yield place - back, _Node(place, after, bound, left, taken), move
            comes = self.with_moves and self._last_calls.get(symbol, -1) >= place
            new = tuple(sorted((*taken, symbol))) if comes else taken
            yield cost, _Node(place, after, bound, spare, new), Move("add", None, symbol, place)

    def _expected(self, state: int) -> tuple[tuple[int, int], ...]:
        """Return the steps that are expected in a state, each with the state that it leads to."""
        if state not in self._due:
            missing, edges = self._automaton.missing, self._automaton.delta[state].items()
            self._due[state] = tuple((one, after) for one, after in edges if after != state and missing[after] >= 0)
        return self._due[state]

    @cached_property
    def _last_calls(self) -> dict[int, int]:
        """The index of the last call that is each step and no mere look."""
        return {
            symbol: index for index, symbol in enumerate(self._symbols)
            if symbol is not None and self._steps[index].kind is not Kind.LOOP
        }  # fmt: skip

    # Readings

    def _symbol(self, index: int) -> int | None:
        """Return the step that a call is, if any."""
        step = self._steps[index]
        symbol = self.facts.symbol(step) if self._binds else step.symbol
        if symbol is None and step.call.failed and step.reading.fits:
            symbol = step.reading.fits[0]
        return symbol if symbol in self._automaton.alphabet.steps else None

    def _read(self, index: int, bound: int) -> Reading:
        """Classify a call with the variables and results that are known in a node."""
        if not self._binds:
            return self._steps[index].reading
        if (index, bound) not in self._readings:
            call, (variables, results) = self._steps[index].call, self._bindings[bound]
            failed = call.failed and self._errors != "as_called"
            self._readings[index, bound] = self._automaton.alphabet.read(call, variables, results, failed=failed)
        return self._readings[index, bound]

    def _bind(self, bound: int, index: int, reading: Reading) -> int:
        """Return the number of the variables and results that are known after a step."""
        if not self._binds or reading.symbol is None:
            return bound
        result, (_, results) = self._steps[index].call.result, self._bindings[bound]
        if result is not UNANSWERED:
            results = {**results, self._automaton.alphabet.actions[reading.symbol]: result}
        return self._number(dict(reading.variables), results)

    def _number(self, variables: dict[str, Any], results: dict[Any, Any]) -> int:
        """Return the number of a set of variables and results."""
        if not self._binds:
            return 0
        key = canonical(variables), canonical([[str(action), result] for action, result in results.items()])
        if key not in self._numbers:
            self._numbers[key] = len(self._bindings)
            self._bindings.append((variables, results))
        return self._numbers[key]


def _trace_back(came: dict[_Node, tuple[_Node, Move]], node: _Node) -> list[Move]:
    """Return the moves that led to a node."""
    moves: list[Move] = []
    while node in came:
        node, move = came[node]
        moves.append(move)
    return moves[::-1]
