"""The two final-state baselines of BFCL: did the world end as it should, and did the agent get the answers it should.

Both are replayed in a fresh world. They are here to be compared with: what they miss is what the path shows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

from corepath.automaton.step import Position, begin
from corepath.notation.call import Call
from corepath.notation.matchers import Fields, Scope, depends_on_calls
from corepath.task import Simulator, Task
from corepath.values import canonical, equal
from corepath.world.examples import arguments_at, settled_part
from corepath.world.exploring import MOST_PAIRS, Choose, Explored, Node, Replay, explore, replay, simulator_of

MOST_KEPT: Final = 200
"""Explorations of one task that are kept."""


def baselines(
    task: Task, calls: Sequence[Call], params: Mapping[str, Any] | None = None, replayed: Replay | None = None
) -> tuple[bool | None, bool | None]:
    """`state_match` and `response_match`; None where there are too many pairs to look at all."""
    world = simulator_of(task)
    run = replay(task, calls) if replayed is None else replayed
    done = [call for call in run.calls if not call.failed]
    references = _references(task, done, params or {})
    if not references.explored.whole:
        return None, None
    state = canonical(world.public(run.end)) in references.ends
    return state, references.responses_found(Counter(canonical(call.result) for call in done))


class _References:
    """What the golden paths do in the world: where they end, and what they are answered on the way."""

    def __init__(self, world: Simulator, explored: Explored) -> None:
        self.explored = explored
        accepted = (node for node in explored.nodes if node.position.accepted)
        self.ends = {canonical(world.public(node.state)) for node in accepted}
        self._steps: dict[int, list[tuple[str, Node]]] = defaultdict(list)
        for edge in explored.edges:
            self._steps[id(edge.node)].append((canonical(edge.call.result), edge.after))

    def responses_found(self, responses: Counter[str]) -> bool | None:
        """Whether the responses of some golden path are all among the agent's, each as often."""
        first: tuple[Node, tuple[str, ...]] = (self.explored.nodes[0], ())
        seen = {(id(first[0]), first[1])}
        waiting = [first]
        while waiting:
            node, used = waiting.pop()
            if node.position.accepted:
                return True
            for text, after in self._steps[id(node)]:
                if used.count(text) < responses[text]:
                    key = (id(after), tuple(sorted((*used, text))))
                    if key not in seen:
                        if len(seen) >= MOST_PAIRS:
                            return None
                        seen.add(key)
                        waiting.append((after, key[1]))
        return False


def _references(task: Task, done: Sequence[Call], params: Mapping[str, Any]) -> _References:
    """What the golden paths do, each step with the arguments that the agent gave it, else with an example.

    Where the agent's arguments are what the examples are too, what was found for these holds.
    """
    settled, bound = {}, {}
    for step in _free(task):
        own = step.own(done)
        if own and step.bound:
            bound[step.symbol] = own
        elif own and not equal(own[0], step.example):
            settled[step.symbol] = own[:1]
    if not bound:
        return _explored(task, settled, params)
    key = canonical([params, _by_text(settled), _by_text(bound)])
    return _memory(task).recall(key, lambda: _with_bound(task, settled, bound, params))


def _with_bound(
    task: Task, settled: Mapping[int, Sequence[Any]], bound: Mapping[int, Sequence[Any]], params: Mapping[str, Any]
) -> _References:
    """What they do where steps depend on what is bound: as usual, if the agent chose as the examples do."""
    usual = _explored(task, settled, params)
    again: list[tuple[Node, int, Call | None]] = [(edge.node, edge.symbol, edge.call) for edge in usual.explored.edges]
    again += [(snag.node, snag.symbol, snag.call) for snag in usual.explored.snags]
    choose = _as_the_agent(task, bound)
    for node, symbol, call in again:
        if symbol in bound and (call is None or not equal(choose(node.position, symbol), call.arguments)):
            return _explored(task, {**settled, **bound}, params)
    return usual


@dataclass(frozen=True)
class _Free:
    """A step that is more than one call; `may_be` is what its arguments must be like whatever is bound.

    `example` are the arguments that it has where the agent gave none; None where they depend on what is `bound`.
    """

    symbol: int
    tool: str
    may_be: Fields
    bound: bool
    example: Any

    def own(self, done: Sequence[Call]) -> list[Any]:
        """The arguments of the agent's calls that may be the step; each once."""
        found: dict[str, Any] = {}
        for call in done:
            if call.tool == self.tool and self.may_be.matches(call.arguments, Scope()):
                found.setdefault(canonical(call.arguments), call.arguments)
        return list(found.values())


def _free(task: Task) -> list[_Free]:
    """The steps that are more than one call, found once."""
    memory = _memory(task)
    if memory.free is None:
        alphabet = task.automaton.alphabet
        numbers = [number for number in sorted(alphabet.steps) if not alphabet.actions[number].is_literal]
        memory.free = [_free_step(task, number) for number in numbers]
    return memory.free


def _free_step(task: Task, number: int) -> _Free:
    pattern = task.automaton.alphabet.patterns[number]
    if depends_on_calls(pattern.arguments):
        return _Free(number, pattern.tool, settled_part(pattern), bound=True, example=None)
    example = arguments_at(task, begin(task.automaton), number)
    return _Free(number, pattern.tool, pattern.arguments, bound=False, example=example)


def _by_text(own: Mapping[int, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    return {str(symbol): given for symbol, given in own.items()}


def _explored(task: Task, own: Mapping[int, Sequence[Any]], params: Mapping[str, Any]) -> _References:
    def explore_anew() -> _References:
        explored = explore(task, _as_the_agent(task, own), MOST_PAIRS, params=params)
        return _References(simulator_of(task), explored)

    return _memory(task).recall(canonical([params, _by_text(own)]), explore_anew)


@dataclass
class _Memory:
    """What was found out about a task's golden paths, for the next episodes of the same task."""

    free: list[_Free] | None = None
    references: dict[str, _References] = field(default_factory=dict)

    def recall(self, key: str, explore: Callable[[], _References]) -> _References:
        """The references for a key; explored if they are not known."""
        if key not in self.references:
            found = explore()
            if len(self.references) >= MOST_KEPT:
                self.references.clear()
            self.references[key] = found
        return self.references[key]


_MEMORIES: Final[WeakKeyDictionary[Task, _Memory]] = WeakKeyDictionary()


def _memory(task: Task) -> _Memory:
    if task not in _MEMORIES:
        _MEMORIES[task] = _Memory()
    return _MEMORIES[task]


def _as_the_agent(task: Task, own: Mapping[int, Sequence[Any]]) -> Choose:
    def choose(position: Position, symbol: int) -> Any:
        pattern = task.automaton.alphabet.patterns[symbol]
        for arguments in own.get(symbol, ()):
            if pattern.arguments.matches(arguments, Scope(dict(position.variables), position.results)):
                return arguments
        return arguments_at(task, position, symbol)

    return choose
