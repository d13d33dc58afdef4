"""Find the smallest repair of a path: the fewest edits after which the task's automaton accepts it without harm.

An edit leaves out a call, adds a step, changes a call into a step, or moves a call. The search goes through the calls
in order and keeps track of the automaton's state. It is an A* search, so the first repair that it finds is a smallest
one. Among those it prefers one that leaves alone what was right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property, partial
from heapq import heappop, heappush
from typing import Final, NamedTuple

from corepath.automaton.harm import HarmKind
from corepath.automaton.step import Kind, Step, effect
from corepath.explanation.arguments import differing_arguments
from corepath.explanation.bindings import Bindings
from corepath.explanation.edits import Move, Repair, as_repair
from corepath.explanation.facts import Facts
from corepath.explanation.nearest_try import change_nearest_tries, is_legal_path
from corepath.explanation.placement import add_rather_than_replace, keep_listed_order
from corepath.explanation.rehearsal import rehearse
from corepath.explanation.repair_bounds import Bound, lower_bounds
from corepath.notation.matchers import Scope

MOST_NODES: Final = 500
"""Maximum number of nodes that the search expands. If that is not enough, it searches again without moves."""
MOST_EDITS: Final = 8
"""A path that needs more edits than this is repaired without moves."""
_EDIT: Final = 100_000
"""The cost of an edit. The penalties below only decide between repairs of the same size."""
_ASSUMED: Final = 1
"""Penalty for assuming that a call succeeds that failed."""
_NEAR_MISS: Final = 1
"""Penalty for changing a legal call into a step that it nearly is."""
_ADDED: Final = 10
"""Penalty for adding a step."""
_ADDED_EARLY: Final = 1
"""Further penalty for adding a step before a call that does not need it."""
_OTHER_TOOL: Final = 100
"""Penalty for replacing a call by a step that uses another tool."""
_OTHER_AIM: Final = 100
"""Further penalty for that if the call nearly was a step with its own tool that was still to come."""
_REFUSED: Final = 20
"""Penalty for changing a call that the tool refused, rather than one that took effect."""
_UNHEARD: Final = 150
"""The cost of leaving out a call that the tool refused. It had no effect, so this is no edit of its own."""
_LOST_PROGRESS: Final = 200
"""Penalty for leaving out, moving or changing a call that was a step in its place."""


def repair_path(facts: Facts) -> Repair | None:
    """Find a smallest repair.

    Return None if there is nothing to repair, if the episode failed outside the agent, or if there is no repair.
    """
    if facts.outside_failure or (facts.score.accepted and not facts.score.harms):
        return None
    plain = list(_go_on_without_harm(facts))
    if facts.task.simulator is None:
        moves = change_nearest_tries(facts, _search(facts) or plain, partial(is_legal_path, facts))
        repair = keep_listed_order(facts, as_repair(add_rather_than_replace(facts, moves)))
    else:
        repair = _search_in_world(facts, plain)
    return repair if repair.edits else None


def _search_in_world(facts: Facts, plain: list[Move]) -> Repair:
    """Search for a repair that works in the task's world, where results after an edit may differ from those on record.

    If no repair is found to work, return the best by the record. `plain` is a repair to fall back on.
    """
    tried = plain
    for trust in Trust:
        moves = _search(facts, trust)
        if moves is None:
            break
        if rehearse(facts, moves) is not None:
            moves = change_nearest_tries(facts, moves, lambda tried: rehearse(facts, tried) is not None)
            return _without_breaches(facts, moves)
        tried = moves if tried is plain else tried
    works = rehearse(facts, plain) is not None
    return _without_breaches(facts, plain) if works else as_repair(add_rather_than_replace(facts, tried), None)


def _without_breaches(facts: Facts, moves: list[Move]) -> Repair:
    """Return a repair that works, in which calls that are no steps and break a policy even then are left out."""
    broken = rehearse(facts, moves)
    while broken:
        others = [
            replace(move, kind="leave out")
            if move.kind == "keep" and move.symbol is None and move.call in broken else move for move in moves
        ]  # fmt: skip
        if others == moves or (after := rehearse(facts, others)) is None:
            break
        moves, broken = others, after
    return as_repair(add_rather_than_replace(facts, moves), broken)


class Trust(StrEnum):
    """What the search assumes about calls that stay after an edit."""

    RESULTS_MAY_DIFFER = "results may differ"
    """Earlier results may differ from those on record, so that calls that use them may be right."""
    FAILURES_MAY_VANISH = "failures may vanish"
    """Calls that failed may succeed, because a harmful call may have made them fail."""
    AS_RECORDED = "as recorded"


def _search(facts: Facts, trust: Trust = Trust.FAILURES_MAY_VANISH) -> list[Move] | None:
    """Search with moves unless the path is far from right, and otherwise without."""
    search = _Search(facts, trust)
    near = search.least_edits <= MOST_EDITS
    return (search.run() if near else None) or _Search(facts, trust, with_moves=False).run()


def _go_on_without_harm(facts: Facts) -> Iterator[Move]:
    """Leave out every harmful call, and add a shortest path to an accepting state at the end."""
    for step in facts.steps:
        if step.kind is Kind.HARM and not step.advances:
            yield Move("leave out", step.index, None, step.index)
        else:
            yield Move("keep", step.index, step.symbol if step.advances else None, step.index)
    for symbol in facts.steps_left:
        yield Move("add", None, symbol, len(facts.steps))


_UNKNOWN: Final = -1
"""Stands for variables and results that may differ from those on record."""


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
    trust: Trust
    with_moves: bool = True
    _penalties: dict[tuple[int, int], int | None] = field(default_factory=dict)
    _due: dict[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    _loose: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._steps = self.facts.steps
        self._automaton = self.facts.automaton
        self._errors = self.facts.score.trace.begin.errors
        self._binds = self._automaton.alphabet.binds
        self._bindings = Bindings(self.facts)
        self._symbols = [self._symbol(index) for index in range(len(self._steps))]

    def run(self) -> list[Move] | None:
        """Return the moves of a smallest repair, or None if none is found in time."""
        begin = self.facts.score.trace.begin
        start = _Node(0, begin.state, 0, (), ())
        best, came = {start: 0}, dict[_Node, tuple[_Node, Move]]()
        queue: list[tuple[int, int, int, _Node, bool]] = [(0, 0, 0, start, False)]
        closed: set[_Node] = set()
        end, accepting, pushed = len(self._steps), self._automaton.accepting, 0
        while queue and len(closed) < MOST_NODES:
            estimate, _, _, node, with_edits = heappop(queue)
            if not with_edits:
                if node in closed:
                    continue
                if node.call == end and node.state in accepting:
                    return _trace_back(came, node)
                closed.add(node)
                pushed += 1
                heappush(queue, (max(estimate, best[node] + _EDIT), -node.call, -pushed, node, True))
            edges = self._edits(node) if with_edits else self._free_moves(node)
            for cost, after, move in reversed(edges):  # of equals, the one pushed last comes first
                total = best[node] + cost
                if after not in closed and total < best.get(after, total + 1):
                    best[after] = total
                    came[after] = node, move
                    pushed += 1
                    heappush(queue, (total + self._remaining(after), -after.call, -pushed, after, False))
        return None

    @property
    def least_edits(self) -> int:
        """A lower bound for the number of edits."""
        begin = self.facts.score.trace.begin
        return self._remaining(_Node(0, begin.state, 0, (), ())) // _EDIT

    def _remaining(self, node: _Node) -> int:
        """Return a lower bound for the edits from a node on, as a cost. Missing steps are taken to be added."""
        bound = self._bounds[node.call]
        missing = max(self._automaton.missing[node.state] - bound.useful, bound.distances[node.state]) - len(node.spare)
        return _EDIT * max(bound.useless, missing) + _ADDED * max(missing, 0)

    @cached_property
    def _bounds(self) -> list[Bound]:
        return lower_bounds(self.facts, self._symbols)

    # Moves

    def _free_moves(self, node: _Node) -> list[_Edge]:
        """List the moves at a node that are no edits of their own: a call stays, or takes its new place."""
        if node.call == len(self._steps):
            return list(self._put_back(node))
        kept = list(self._keep(node))
        refused = [] if self._stays(node, kept) else self._leave_out_refused(node)
        return [*kept, *refused, *self._leave_out_taken(node), *self._put_back(node)]

    def _stays(self, node: _Node, kept: list[_Edge]) -> bool:
        """Whether the next call may stay without being a step."""
        return any(after.state == node.state for _, after, _ in kept)

    def _edits(self, node: _Node) -> list[_Edge]:
        """List the edits that are possible at a node."""
        if node.call == len(self._steps):
            return list(self._add(node, can_wait=False))
        kept = list(self._keep(node))
        loops = self._stays(node, kept)
        edges = [] if loops else list(self._leave_out(node))
        edges += self._change(node)
        if not loops or self._is_early(node):
            can_wait = bool(kept) or self._is_refused(node.call)
            edges += self._add(node, can_wait=can_wait and not loops)
        return edges

    def _is_early(self, node: _Node) -> bool:
        """Whether the next call is a step that is expected only later, and so may count if other steps come first."""
        fits = self._lenient_fits(node.call) if self.trust is Trust.RESULTS_MAY_DIFFER else (self._symbols[node.call],)
        return any(symbol is not None and self._automaton.ahead[node.state] >> symbol & 1 for symbol in fits)

    def _keep(self, node: _Node) -> Iterator[_Edge]:
        """Keep the next call, if it is legal here."""
        index, state, bound, spare, taken = node
        if bound == _UNKNOWN:
            yield from self._keep_unknown(node)
            return
        step, reading = self._steps[index], self._bindings.read(index, bound)
        failed = step.call.failed and self._errors != "as_called"
        kind, after = effect(self._automaton, state, step.call, reading, failed=failed)
        is_breach = step.only_breaks and not step.advances and not (step.breach and step.breach.consequence)
        if kind is not Kind.HARM and not is_breach and not (failed and self._errors == "harmful"):
            symbol = reading.symbol if after != state else None
            known = bound if symbol is None else self._bindings.after_step(bound, index, reading)
            yield 0, _Node(index + 1, after, known, spare, taken), Move("keep", index, symbol, index)
        assumed = (
            *(reading.fits if failed and self._may_succeed(index) else ()),
            *self._bindings.assumed(index, bound),
        )
        if assumed and self.trust is not Trust.AS_RECORDED:
            edges = self._automaton.delta[state]
            fitting = (one for one in assumed if edges.get(one, state) != state)
            if (symbol := next(fitting, None)) is not None:
                move = Move("keep", index, symbol, index)
                yield _ASSUMED, _Node(index + 1, edges[symbol], bound, spare, taken), move

    def _keep_unknown(self, node: _Node) -> Iterator[_Edge]:
        """Keep the next call after an edit, when earlier results may differ from those on record."""
        index, state, bound, spare, taken = node
        step, edges = self._steps[index], self._automaton.delta[state]
        fits = self._lenient_fits(index)
        for symbol in fits:
            if edges.get(symbol, state) != state:
                cost = _ASSUMED if symbol == self._symbols[index] else 2 * _ASSUMED
                yield cost, _Node(index + 1, edges[symbol], bound, spare, taken), Move("keep", index, symbol, index)
        if step.kind is Kind.LOOP or step.reading.loops or any(edges.get(symbol) == state for symbol in fits):
            yield 3 * _ASSUMED, _Node(index + 1, state, bound, spare, taken), Move("keep", index, None, index)

    def _lenient_fits(self, index: int) -> tuple[int, ...]:
        """Return the steps that a call may be if earlier results were not those on record."""
        if index not in self._loose:
            alphabet, call = self._automaton.alphabet, self._steps[index].call
            self._loose[index] = tuple(
                number for number in sorted(alphabet.steps)
                if alphabet.patterns[number].tool == call.tool and not call.malformed
                and alphabet.patterns[number].arguments.matches(call.arguments, Scope({}, {}, lenient=True))
            )  # fmt: skip
        return self._loose[index]

    def _may_succeed(self, index: int) -> bool:
        """Whether a call may have failed only because of a harmful call, which may be the call itself."""
        harms = self.facts.score.harms if self.trust is Trust.FAILURES_MAY_VANISH else ()
        first = next((harm.index for harm in harms if harm.kind is not HarmKind.FAILED), None)
        return first is not None and first <= index

    def _leave_out_taken(self, node: _Node) -> Iterator[_Edge]:
        """Leave out the next call if it was moved to an earlier place."""
        index, state, bound, spare, taken = node
        symbol = self._symbols[index]
        if symbol is not None and symbol in taken:
            place = taken.index(symbol)
            after = _Node(index + 1, state, self._after_edit(bound), spare, taken[:place] + taken[place + 1 :])
            yield 0, after, Move("taken", index, symbol, index)

    def _leave_out(self, node: _Node) -> Iterator[_Edge]:
        """Leave out the next call. A call that is a step may be put back later."""
        index, state, bound, spare, taken = node
        symbol, move = self._symbols[index], Move("leave out", index, None, index)
        cost = _EDIT + (_LOST_PROGRESS if self._steps[index].kind is Kind.PROGRESS else 0)
        may_return = self.with_moves and symbol is not None and self._automaton.ahead[state] >> symbol & 1
        if may_return or not self._is_refused(index):
            after = _Node(index + 1, state, self._after_edit(bound), (*spare, index) if may_return else spare, taken)
            yield cost, after, move

    def _leave_out_refused(self, node: _Node) -> Iterator[_Edge]:
        """Leave out the next call if the tool refused it."""
        index, state, bound, spare, taken = node
        if self._is_refused(index):
            after = _Node(index + 1, state, bound, spare, taken)
            yield _UNHEARD, after, Move("leave out", index, None, index)

    def _is_refused(self, index: int) -> bool:
        """Whether the tool refused a call, so that the call had no effect."""
        return self._steps[index].call.failed and self._errors != "as_called"

    def _put_back(self, node: _Node) -> Iterator[_Edge]:
        """Put back a call that was left out before, as a step that is expected here."""
        place, state, bound, spare, taken = node
        for back in spare:
            symbol = self._symbols[back]
            after = state if symbol is None else self._automaton.delta[state].get(symbol, state)
            if symbol is not None and after != state:
                left = tuple(index for index in spare if index != back)
                known = self._after_edit(bound, symbol, back)
                yield place - back, _Node(place, after, known, left, taken), Move("put back", back, symbol, place)

    def _change(self, node: _Node) -> Iterator[_Edge]:
        """Change the next call into a step that is expected here."""
        index, state, bound, spare, taken = node
        lost = _LOST_PROGRESS if self._steps[index].kind is Kind.PROGRESS else 0
        for symbol, after in self._expected(state):
            if (penalty := self._change_penalty(index, symbol)) is not None:
                move = Move("change", index, symbol, index)
                known = self._after_edit(bound, symbol)
                yield _EDIT + penalty + lost, _Node(index + 1, after, known, spare, taken), move

    def _change_penalty(self, index: int, symbol: int) -> int | None:
        """Return how unlike a step a call is, or None if the call should not be changed into it."""
        if (index, symbol) not in self._penalties:
            self._penalties[index, symbol] = self._unlikeness(index, symbol)
        return self._penalties[index, symbol]

    def _unlikeness(self, index: int, symbol: int) -> int | None:
        step, action = self._steps[index], self._automaton.alphabet.patterns[symbol]
        if symbol in step.reading.fits:
            return None
        refused = _REFUSED + self._is_tried_again(step) if step.call.failed else 0
        if action.tool != step.call.tool or step.call.malformed:
            aim = _OTHER_AIM if self._is_try(step) else 0
            return None if step.kind is Kind.LOOP else _OTHER_TOOL + aim + refused + min(index, _REFUSED)
        names = differing_arguments(self.facts, index, symbol)
        if step.kind is Kind.LOOP:
            return _NEAR_MISS if len(names) == 1 else None
        first = next((name for name, _ in action.arguments.fields), None)
        return min(2 * len(names) + (first in names) + refused, _OTHER_TOOL)

    def _is_tried_again(self, step: Step) -> bool:
        """Whether a later call to the same tool was harmful too."""
        return any(one.kind is Kind.HARM and one.call.tool == step.call.tool for one in self._steps[step.index + 1 :])

    def _is_try(self, step: Step) -> bool:
        """Whether a call differs only in part from a step with its tool that was still to come."""
        actions, ahead = self._automaton.alphabet.actions, self._automaton.ahead[step.before]
        return not step.call.malformed and any(
            ahead >> one & 1 and actions[one].tool == step.call.tool
            and len(differing_arguments(self.facts, step.index, one)) < len(actions[one].arguments.fields)
            for one in self._automaton.alphabet.steps
        )  # fmt: skip

    def _add(self, node: _Node, *, can_wait: bool) -> Iterator[_Edge]:
        """Put in a step that is expected here: a new one, or a call that comes later."""
        place, state, bound, spare, taken = node
        cost = _EDIT + _ADDED + (_ADDED_EARLY if can_wait else 0)
        for symbol, after in self._expected(state):
            comes = self._next_call(symbol, place) if self.with_moves else None
            move = Move("add", None, symbol, place)
            if comes is not None:
                new = tuple(sorted((*taken, symbol)))
                yield cost, _Node(place, after, self._after_edit(bound, symbol, comes), spare, new), move
            if comes is None or self._binds:
                yield cost, _Node(place, after, self._after_edit(bound, symbol), spare, taken), move

    def _next_call(self, symbol: int, place: int) -> int | None:
        """Return the next call from `place` on that is a step and no mere look, or None if there is none."""
        return next((index for index in self._calls_of.get(symbol, ()) if index >= place), None)

    def _after_edit(self, bound: int, symbol: int | None = None, call: int | None = None) -> int:
        """Return what is known after an edit that puts in the step `symbol`, if any, with the result of `call`, if any.

        If results may differ from those on record, nothing is known after an edit.
        """
        if self.trust is Trust.RESULTS_MAY_DIFFER:
            return _UNKNOWN
        return bound if symbol is None else self._bindings.after_edit(bound, symbol, call)

    def _expected(self, state: int) -> tuple[tuple[int, int], ...]:
        """Return the steps that are expected in a state, each with the state that it leads to."""
        if state not in self._due:
            missing, edges = self._automaton.missing, self._automaton.delta[state].items()
            self._due[state] = tuple((one, after) for one, after in edges if after != state and missing[after] >= 0)
        return self._due[state]

    @cached_property
    def _calls_of(self) -> dict[int, list[int]]:
        """The calls that are each step and no mere look."""
        found: dict[int, list[int]] = {}
        for index, symbol in enumerate(self._symbols):
            if symbol is not None and self._steps[index].kind is not Kind.LOOP:
                found.setdefault(symbol, []).append(index)
        return found

    def _symbol(self, index: int) -> int | None:
        """Return the step that a call is, if any."""
        step = self._steps[index]
        symbol = self.facts.symbol(step) if self._binds else step.symbol
        if step.call.failed and self.trust is Trust.AS_RECORDED:
            return None
        if symbol is None and step.call.failed and step.reading.fits:
            symbol = step.reading.fits[0]
        return symbol if symbol in self._automaton.alphabet.steps else None


def _trace_back(came: dict[_Node, tuple[_Node, Move]], node: _Node) -> list[Move]:
    """Return the moves that led to a node."""
    moves: list[Move] = []
    while node in came:
        node, move = came[node]
        moves.append(move)
    return moves[::-1]
