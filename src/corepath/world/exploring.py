"""Execute calls in a task's world, and explore every pair of automaton state and world state on golden paths."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from corepath.automaton.step import Kind, Position, begin, step
from corepath.errors import TaskError
from corepath.notation import parser
from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.task import Simulator, Task
from corepath.values import canonical

MOST_PAIRS: Final = 20_000
"""The most pairs that are explored; beyond that, answers that need all pairs are unknown."""

_encode: Final = json.JSONEncoder(sort_keys=True, check_circular=False).encode

Place = tuple[int, str, str]
"""The key of a pair of states; see `place`."""
Choose = Callable[[Position, int], Mapping[str, Any] | None]
"""Chooses the arguments of a step at a position; None if the step cannot be executed there."""


@dataclass(frozen=True)
class Replay:
    """Executed calls with their answers, and the states before and after them: `states[0]` is the start state."""

    calls: tuple[Call, ...]
    states: tuple[Any, ...]

    @property
    def end(self) -> Any:
        """The state after the last call."""
        return self.states[-1]


def replay(task: Task, calls: Iterable[Action | Call | str]) -> Replay:
    """Execute calls one after the other in a fresh copy of the task's world."""
    world = simulator_of(task)
    states = [task.start]
    answered: list[Call] = []
    for call in calls:
        done, state = world.answer(states[-1], as_call(call))
        answered.append(done)
        states.append(state)
    return Replay(tuple(answered), tuple(states))


def simulator_of(task: Task) -> Simulator:
    """The task's simulator. Raises `TaskError` if it has none."""
    if task.simulator is None:
        raise TaskError.of(f"task '{task.id}' has no world in which its calls could be executed")
    return task.simulator


def as_call(call: Action | Call | str) -> Call:
    """Convert to a call: from call notation, or from an action whose arguments are all literal values."""
    if isinstance(call, str):
        return parser.call(call)
    if isinstance(call, Call):
        return call
    if not call.is_literal:
        raise TaskError.of(f"'{call.notation}' is not one call: each of its arguments must be a value")
    return call.examples()[0]


@dataclass(frozen=True)
class Node:
    """A pair of automaton state and world state; `previous` is the node and the call that first led here."""

    position: Position
    state: Any
    previous: tuple[Node, Call] | None = field(default=None, repr=False)

    @property
    def calls(self) -> list[Call]:
        """The calls from the start to this node."""
        path: list[Call] = []
        node = self
        while node.previous is not None:
            node, call = node.previous
            path.append(call)
        return path[::-1]


def path_text(calls: Sequence[Call]) -> str:
    """A path for messages: its calls joined by arrows."""
    return " → ".join(map(str, calls)) if calls else "nothing"


@dataclass(frozen=True)
class Edge:
    """An executed step from one node to another."""

    node: Node
    symbol: int
    call: Call
    after: Node


@dataclass(frozen=True)
class Snag:
    """A step that is due but could not be executed."""

    node: Node
    symbol: int
    call: Call | None
    why: str


@dataclass(frozen=True)
class Explored:
    """All nodes reached by progress steps, with their keys in `places`; `whole` is False if the limit was reached."""

    nodes: tuple[Node, ...]
    places: tuple[Place, ...]
    edges: tuple[Edge, ...]
    snags: tuple[Snag, ...]
    whole: bool


StepMemo = dict[tuple[Place, int, str], tuple["Edge | Snag", "Place | None"]]
"""Executed steps by place, step and arguments, each with the place that it leads to."""


def explore(
    task: Task,
    choose: Choose,
    most: int = MOST_PAIRS,
    also: Callable[[Node], Hashable] | None = None,
    params: Mapping[str, Any] | None = None,
    memo: StepMemo | None = None,
) -> Explored:
    """Explore every pair of states on golden paths, executing each step with the arguments that `choose` returns.

    `also` computes a further part of a node's key, to distinguish nodes with the same states. `memo` keeps executed
    steps from one exploration of the task to the next.
    """
    first = Node(begin(task.automaton, params), task.start)
    start = (place(task, first), None if also is None else also(first))
    seen = {start: first}
    edges: list[Edge] = []
    snags: list[Snag] = []
    waiting = deque([(start[0], first)])
    while waiting:
        here, node = waiting.popleft()
        for symbol in task.automaton.due(node.position.state):
            done, there = _attempt_once(task, here, node, symbol, choose, memo)
            if isinstance(done, Snag) or there is None:
                snags += [done] if isinstance(done, Snag) else []
                continue
            reached = (there, None if also is None else also(done.after))
            known = seen.get(reached)
            if known is None:
                if len(seen) >= most:
                    return _explored(seen, edges, snags, whole=False)
                seen[reached] = known = done.after
                waiting.append((there, known))
            edges.append(Edge(node, symbol, done.call, known))
    return _explored(seen, edges, snags, whole=True)


def _attempt_once(
    task: Task, here: Place, node: Node, symbol: int, choose: Choose, memo: StepMemo | None
) -> tuple[Edge | Snag, Place | None]:
    """Attempt a step, or look it up in the memo; with the place that it leads to."""
    if memo is None:
        done = attempt(task, node, symbol, choose)
        return done, None if isinstance(done, Snag) else place(task, done.after)
    key = (here, symbol, canonical(choose(node.position, symbol)))
    if key not in memo:
        memo[key] = _attempt_once(task, here, node, symbol, choose, None)
    return memo[key]


def _explored(
    seen: Mapping[tuple[Place, Hashable], Node], edges: Sequence[Edge], snags: Sequence[Snag], *, whole: bool
) -> Explored:
    return Explored(tuple(seen.values()), tuple(place for place, _ in seen), tuple(edges), tuple(snags), whole)


def attempt(task: Task, node: Node, symbol: int, choose: Choose) -> Edge | Snag:
    """Execute one step from a node, with the arguments that `choose` returns."""
    name = task.automaton.alphabet.names[symbol]
    arguments = choose(node.position, symbol)
    if arguments is None:
        return Snag(node, symbol, None, f"no value is known that '{name}' could be called with here")
    call = Call(task.automaton.alphabet.actions[symbol].tool, arguments)
    answered, state = simulator_of(task).answer(node.state, call)
    if answered.failed:
        return Snag(node, symbol, answered, f"'{call}' fails: {answered.error}")
    done, position = step(node.position, answered)
    if done.kind is not Kind.PROGRESS or done.symbol != symbol:
        actual = "a self-loop" if done.kind is Kind.LOOP else done.kind.value
        if done.symbol is not None and done.symbol != symbol:
            actual = f"taken for '{task.automaton.alphabet.names[done.symbol]}'"
        why = f"'{call}' should be the step '{name}' and is {actual}: {answered.result!r}"
        return Snag(node, symbol, answered, why)
    return Edge(node, symbol, answered, Node(position, state, (node, answered)))


def place(task: Task, node: Node) -> Place:
    """The key of a node: both states, and the values bound by earlier steps if later steps depend on them."""
    bound = ""
    if task.automaton.alphabet.binds:
        results = {action.notation: result for action, result in node.position.results.items()}
        bound = _encode([node.position.variables, results])
    return node.position.state, simulator_of(task).key(node.state), bound
