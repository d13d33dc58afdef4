"""Execute calls in a task's world, and explore all golden paths.

Exploring visits every pair of automaton state and world state that occurs on a golden path.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from corepath.automaton.step import Kind, Position, Take, begin, step
from corepath.errors import TaskError
from corepath.notation import parser
from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.rules.rule import Rule
from corepath.task import Simulator, Task
from corepath.values import canonical
from corepath.world.recall import Recall, compute

MOST_PAIRS: Final = 20_000
"""The maximum number of pairs to explore. Beyond it, questions that need all pairs have no answer."""

_encode: Final = json.JSONEncoder(sort_keys=True, check_circular=False).encode

Place = tuple[int, str, str]
"""A node's key, computed by `place`: the automaton state, and the world state and the bound values as text.

The bound values are the variables and results from earlier steps.
"""
Choose = Callable[[Position, int], Mapping[str, Any] | None]
"""A function that chooses a step's arguments at a position, or returns None if the step cannot be executed there."""


@dataclass(frozen=True)
class Replay:
    """Executed calls with their results, and the states before and after them. `states[0]` is the start state.

    `breaches` has the first policy of the task that each call breaks, by the call's index, if that is known. `take`,
    `recall` and `breaks` are for calls and states that come again. They take steps, call other functions, and say
    whether the last of some calls breaks a policy, or remember all this.
    """

    calls: tuple[Call, ...]
    states: tuple[Any, ...]
    breaches: Mapping[int, Rule] | None = None
    take: Take = step
    recall: Recall = compute
    breaks: Callable[[Sequence[Call]], bool] | None = None

    @property
    def end(self) -> Any:
        """The state after the last call."""
        return self.states[-1]


def replay(task: Task, calls: Iterable[Action | Call | str]) -> Replay:
    """Execute calls one after the other in the task's world, beginning in its start state."""
    world = simulator_of(task)
    states = [task.start]
    answered: list[Call] = []
    for call in calls:
        done, state = world.answer(states[-1], as_call(call))
        answered.append(done)
        states.append(state)
    return Replay(tuple(answered), tuple(states))


def simulator_of(task: Task) -> Simulator:
    """Return the task's simulator. Raises `TaskError` if the task has none."""
    if task.simulator is None:
        raise TaskError.of(f"task '{task.id}' has no world in which its calls could be executed")
    return task.simulator


def as_call(call: Action | Call | str) -> Call:
    """Convert a string in call notation, or an action whose arguments are all literal values, to a call."""
    if isinstance(call, str):
        return parser.call(call)
    if isinstance(call, Call):
        return call
    if not call.is_literal:
        raise TaskError.of(f"'{call.notation}' is not one call: each of its arguments must be a value")
    return call.examples()[0]


@dataclass(frozen=True)
class Node:
    """A pair of automaton state and world state.

    `position` holds the automaton state, the variables and the earlier results. `previous` is the node and the call
    that first led to this node, or None for the start node.
    """

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
    """Format a path for messages, with its calls joined by arrows."""
    return " → ".join(map(str, calls)) if calls else "nothing"


@dataclass(frozen=True)
class Edge:
    """An executed step from `node` to the node `after`. `symbol` is the number of the step's action."""

    node: Node
    symbol: int
    call: Call
    after: Node


@dataclass(frozen=True)
class Snag:
    """A step that was expected at `node` but could not be executed.

    `symbol` is the number of the step's action. `call` is None if there were no arguments to call the tool with.
    """

    node: Node
    symbol: int
    call: Call | None
    why: str


@dataclass(frozen=True)
class Explored:
    """The result of exploring a task's golden paths.

    `nodes` holds the nodes that were reached, and `places` their keys. `edges` holds the steps that were executed, and
    `snags` those that could not be. `whole` is False if the exploration stopped at the maximum number of nodes.
    """

    nodes: tuple[Node, ...]
    places: tuple[Place, ...]
    edges: tuple[Edge, ...]
    snags: tuple[Snag, ...]
    whole: bool


StepMemo = dict[tuple[Place, int, str], tuple["Edge | Snag", "Place | None"]]
"""A cache of executed steps. Each key is a place, a step's number and the arguments as text.

Each value is the edge or snag, and the place to which the step leads, or None for a snag.
"""


def explore(
    task: Task,
    choose: Choose,
    most: int = MOST_PAIRS,
    also: Callable[[Node], Hashable] | None = None,
    params: Mapping[str, Any] | None = None,
    memo: StepMemo | None = None,
) -> Explored:
    """Explore every pair of states on golden paths, executing each step with the arguments that `choose` returns.

    `also` computes an additional key that distinguishes nodes with the same states. `params` holds initial values for
    variables. `memo` caches executed steps, so that several explorations of the same task can share them. The
    exploration stops once there are `most` nodes.
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
                    return _finish(seen, edges, snags, whole=False)
                seen[reached] = known = done.after
                waiting.append((there, known))
            edges.append(Edge(node, symbol, done.call, known))
    return _finish(seen, edges, snags, whole=True)


def _attempt_once(
    task: Task, here: Place, node: Node, symbol: int, choose: Choose, memo: StepMemo | None
) -> tuple[Edge | Snag, Place | None]:
    """Execute a step, or look it up in `memo`.

    Return the edge and the key of the node that it leads to, or a snag and None.
    """
    if memo is None:
        done = attempt(task, node, symbol, choose)
        return done, None if isinstance(done, Snag) else place(task, done.after)
    key = (here, symbol, canonical(choose(node.position, symbol)))
    if key not in memo:
        memo[key] = _attempt_once(task, here, node, symbol, choose, None)
    return memo[key]


def _finish(
    seen: Mapping[tuple[Place, Hashable], Node], edges: Sequence[Edge], snags: Sequence[Snag], *, whole: bool
) -> Explored:
    return Explored(tuple(seen.values()), tuple(place for place, _ in seen), tuple(edges), tuple(snags), whole)


def attempt(task: Task, node: Node, symbol: int, choose: Choose) -> Edge | Snag:
    """Execute one step from a node, with the arguments that `choose` returns.

    Return a snag if the call fails or does not make the expected progress.
    """
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
    """Return a node's key: the automaton state, the world state as text, and the bound values as text.

    The bound values are the variables and results from earlier steps. Their text is empty if no step depends on them.
    """
    bound = ""
    if task.automaton.alphabet.binds:
        results = {action.notation: result for action, result in node.position.results.items()}
        bound = _encode([node.position.variables, results])
    return node.position.state, simulator_of(task).key(node.state), bound
