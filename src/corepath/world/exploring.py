"""Executing a task: calls in its world, and every pair of automaton state and world state that golden paths reach."""

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
"""The most pairs that are looked at; if there are more, answers that need all of them are unknown."""

_encode: Final = json.JSONEncoder(sort_keys=True, check_circular=False).encode

Place = tuple[int, str, str]
"""What identifies a pair of states: see `place`."""
Choose = Callable[[Position, int], Mapping[str, Any] | None]
"""The arguments with which a step is done at a position, or None where it cannot be."""


@dataclass(frozen=True)
class Replay:
    """Calls as a world answered them, and the states around them: `states[0]` is the start."""

    calls: tuple[Call, ...]
    states: tuple[Any, ...]

    @property
    def end(self) -> Any:
        """The state after the last call."""
        return self.states[-1]


def replay(task: Task, calls: Iterable[Action | Call | str]) -> Replay:
    """The calls, executed one after the other in a fresh copy of the task's world."""
    world = simulator_of(task)
    states = [task.start]
    answered: list[Call] = []
    for call in calls:
        done, state = world.answer(states[-1], as_call(call))
        answered.append(done)
        states.append(state)
    return Replay(tuple(answered), tuple(states))


def simulator_of(task: Task) -> Simulator:
    """What executes the task's calls."""
    if task.simulator is None:
        raise TaskError.of(f"task '{task.id}' has no world in which its calls could be executed")
    return task.simulator


def as_call(call: Action | Call | str) -> Call:
    """A call that was given as one, in the call notation, or as an action without choice."""
    if isinstance(call, str):
        return parser.call(call)
    if isinstance(call, Call):
        return call
    if not call.is_literal:
        raise TaskError.of(f"'{call.notation}' is not one call: each of its arguments must be a value")
    return call.examples()[0]


@dataclass(frozen=True)
class Node:
    """A pair of automaton state and world state, and how it was reached first."""

    position: Position
    state: Any
    came: tuple[Node, Call] | None = field(default=None, repr=False)

    @property
    def calls(self) -> list[Call]:
        """The calls that lead here."""
        path: list[Call] = []
        node = self
        while node.came is not None:
            node, call = node.came
            path.append(call)
        return path[::-1]


def path_text(calls: Sequence[Call]) -> str:
    """Calls as a person reads them."""
    return " → ".join(map(str, calls)) if calls else "nothing"


@dataclass(frozen=True)
class Edge:
    """One step between two pairs, done."""

    node: Node
    symbol: int
    call: Call
    after: Node


@dataclass(frozen=True)
class Snag:
    """A step that is due and did not work."""

    node: Node
    symbol: int
    call: Call | None
    why: str


@dataclass(frozen=True)
class Explored:
    """All pairs reached over progress edges, with their places; `whole` says that there are no more."""

    nodes: tuple[Node, ...]
    places: tuple[Place, ...]
    edges: tuple[Edge, ...]
    snags: tuple[Snag, ...]
    whole: bool


Taken = dict[tuple[Place, int, str], tuple["Edge | Snag", "Place | None"]]
"""Steps that were taken before: from which place, which step, with which arguments; and where they led."""


def explore(
    task: Task,
    choose: Choose,
    most: int = MOST_PAIRS,
    also: Callable[[Node], Hashable] | None = None,
    params: Mapping[str, Any] | None = None,
    taken: Taken | None = None,
) -> Explored:
    """Every pair that golden paths reach when each step is taken with the arguments chosen for it.

    `also` distinguishes pairs that were reached in different ways. With `taken`, steps are remembered from one
    exploration of the task to the next.
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
            done, there = _attempt_once(task, here, node, symbol, choose, taken)
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
    task: Task, here: Place, node: Node, symbol: int, choose: Choose, taken: Taken | None
) -> tuple[Edge | Snag, Place | None]:
    """Attempt a step, or recall it; with the place that it leads to."""
    if taken is None:
        done = attempt(task, node, symbol, choose)
        return done, None if isinstance(done, Snag) else place(task, done.after)
    key = (here, symbol, canonical(choose(node.position, symbol)))
    if key not in taken:
        taken[key] = _attempt_once(task, here, node, symbol, choose, None)
    return taken[key]


def _explored(
    seen: Mapping[tuple[Place, Hashable], Node], edges: Sequence[Edge], snags: Sequence[Snag], *, whole: bool
) -> Explored:
    return Explored(tuple(seen.values()), tuple(place for place, _ in seen), tuple(edges), tuple(snags), whole)


def attempt(task: Task, node: Node, symbol: int, choose: Choose) -> Edge | Snag:
    """One step from a pair, with the arguments chosen for it."""
    name = task.automaton.alphabet.names[symbol]
    arguments = choose(node.position, symbol)
    if arguments is None:
        return Snag(node, symbol, None, f"no value is known that '{name}' could be called with here")
    call = Call(task.automaton.alphabet.actions[symbol].tool, arguments)
    answered, state = simulator_of(task).answer(node.state, call)
    if answered.failed:
        return Snag(node, symbol, answered, f"'{call}' fails: {answered.error}")
    taken, position = step(node.position, answered)
    if taken.kind is not Kind.PROGRESS or taken.symbol != symbol:
        was = "a self-loop" if taken.kind is Kind.LOOP else taken.kind.value
        if taken.symbol is not None and taken.symbol != symbol:
            was = f"taken for '{task.automaton.alphabet.names[taken.symbol]}'"
        return Snag(node, symbol, answered, f"'{call}' should be the step '{name}' and is {was}: {answered.result!r}")
    return Edge(node, symbol, answered, Node(position, state, (node, answered)))


def place(task: Task, node: Node) -> Place:
    """What identifies a pair: both states, and what earlier steps bound if that decides about later ones."""
    bound = ""
    if task.automaton.alphabet.binds:
        results = {action.notation: result for action, result in node.position.results.items()}
        bound = _encode([node.position.variables, results])
    return node.position.state, simulator_of(task).key(node.state), bound
