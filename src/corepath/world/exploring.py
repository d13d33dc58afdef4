"""Executing a task: calls in its world, and every pair of automaton state and world state that golden paths reach."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import lcm
from typing import Any, Final

from corepath.automaton.step import Kind, Position, begin, step
from corepath.errors import TaskError
from corepath.notation import parser
from corepath.notation.action import Action
from corepath.notation.call import REQUIRED, Call
from corepath.notation.matchers import (
    Anything,
    Contains,
    Fields,
    Items,
    Matcher,
    OneOf,
    ResultOf,
    Scope,
    Unordered,
    Variable,
    depends_on_calls,
)
from corepath.task import Simulator, Task
from corepath.values import canonical

MOST_PAIRS: Final = 20_000
"""Pairs that are looked at; where there are more, what depends on all of them is not known."""

MOST_VARIANTS: Final = 50
"""Rounds in which the values of matchers are tried."""

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
    """All pairs reached over progress edges; `whole` says that there are no more."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    snags: tuple[Snag, ...]
    whole: bool


def explore(
    task: Task,
    choose: Choose,
    most: int = MOST_PAIRS,
    also: Callable[[Node], Hashable] | None = None,
    params: Mapping[str, Any] | None = None,
) -> Explored:
    """Every pair that golden paths reach when each step is done with the arguments chosen for it.

    `also` tells apart pairs that were reached in ways which differ in something else.
    """
    first = Node(begin(task.automaton, params), task.start)

    def key(node: Node) -> Hashable:
        return place(task, node), None if also is None else also(node)

    seen = {key(first): first}
    nodes: list[Node] = [first]
    edges: list[Edge] = []
    snags: list[Snag] = []
    waiting = deque([first])
    while waiting:
        node = waiting.popleft()
        for symbol in task.automaton.due(node.position.state):
            done = attempt(task, node, symbol, choose)
            if isinstance(done, Snag):
                snags.append(done)
                continue
            reached = key(done.after)
            known = seen.get(reached)
            if known is None:
                if len(seen) >= most:
                    return Explored(tuple(nodes), tuple(edges), tuple(snags), whole=False)
                seen[reached] = known = done.after
                nodes.append(known)
                waiting.append(known)
            edges.append(Edge(node, symbol, done.call, known))
    return Explored(tuple(nodes), tuple(edges), tuple(snags), whole=True)


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


def variant(task: Task, number: int) -> Choose:
    """Each step with the example of that number: 0 is the plainest, the others take the boundaries in turn."""
    return lambda position, symbol: arguments_at(task, position, symbol, number)


def variants(task: Task) -> int:
    """How many variants take every example of every step once, or nearly so."""
    alphabet = task.automaton.alphabet
    names = ((number, name) for number in alphabet.steps for name, _ in alphabet.patterns[number].arguments.fields)
    return min(MOST_VARIANTS, max((len(sample_values(task, number, name)) for number, name in names), default=1))


def different(task: Task, symbol: int) -> int | None:
    """How many variants of a step differ, wherever it is done; None where that depends on what is bound."""
    arguments = task.automaton.alphabet.patterns[symbol].arguments
    settled = [_settled_values(task, symbol, name) for name, _ in arguments.fields]
    if arguments.open or None in settled:
        return None
    return lcm(*(len(values) for values in settled if values))


def sample_values(task: Task, symbol: int, name: str) -> list[Any]:
    """The values that a step's argument is tried with, where nothing bound decides it."""
    settled = _settled_values(task, symbol, name)
    if settled is not None:
        return settled
    action = task.automaton.alphabet.patterns[symbol]
    free = isinstance(dict(action.arguments.fields)[name], Variable)
    return list(simulator_of(task).samples(action.tool, name)) if free else [None]


def _settled_values(task: Task, symbol: int, name: str) -> list[Any] | None:
    """The values of an argument that depends on nothing bound, found once; None where it does."""
    known: dict[tuple[int, str], list[Any] | None] = vars(task).setdefault("_settled", {})
    if (symbol, name) not in known:
        action = task.automaton.alphabet.patterns[symbol]
        pattern = dict(action.arguments.fields)[name]
        settled = (
            None if depends_on_calls(pattern) else _values(pattern, Scope(), simulator_of(task), action.tool, name)
        )
        known[symbol, name] = settled
    return known[symbol, name]


def arguments_at(task: Task, position: Position, symbol: int, number: int = 0) -> dict[str, Any] | None:
    """The arguments of a step at a position: of each argument's examples the one of that number, in turn."""
    world, alphabet = simulator_of(task), task.automaton.alphabet
    action = alphabet.patterns[symbol]
    scope = Scope(dict(position.variables), position.results)
    arguments: dict[str, Any] = {}
    for name, pattern in action.arguments.fields:
        values = _settled_values(task, symbol, name)
        if values is None:
            values = _values(pattern, scope, world, action.tool, name)
        if not values:
            return None
        arguments[name] = values[number % len(values)]
        if isinstance(pattern, Variable):
            scope.variables[pattern.name] = arguments[name]
    if action.arguments.open and alphabet.tools is not None:
        for name, default in (alphabet.tools[action.tool].parameters or {}).items():
            if name not in arguments and default is REQUIRED:
                samples = world.samples(action.tool, name)
                arguments[name] = samples[number % len(samples)]
    return arguments


def _values(pattern: Matcher, scope: Scope, world: Simulator, tool: str, name: str) -> list[Any]:
    """The values of an argument that fit the pattern and that the tool takes."""
    if isinstance(pattern, Anything) or (isinstance(pattern, Variable) and pattern.name not in scope.variables):
        return list(world.samples(tool, name))
    fitting = (value for value in _instances(pattern, scope) if world.admits(tool, name, value))
    return list({canonical(value): value for value in fitting}.values())


def _instances(pattern: Matcher, scope: Scope) -> Iterator[Any]:
    """Values that fit, with what is bound put in its place."""
    match pattern:
        case Variable(name):
            yield scope.variables.get(name, name)
        case ResultOf():
            yield from pattern.values(scope)
        case OneOf(options):
            for option in options:
                yield from _instances(option, scope)
        case Contains(ResultOf() as part):
            yield from (value for value in part.values(scope) if isinstance(value, str))
        case Items(items) | Unordered(items) if depends_on_calls(pattern):
            columns = [list(_instances(item, scope)) for item in items]
            if all(columns):
                yield [column[0] for column in columns]
        case Fields(fields) if depends_on_calls(pattern):
            columns = [list(_instances(inner, scope)) for _, inner in fields]
            if all(columns):
                yield {name: column[0] for (name, _), column in zip(fields, columns, strict=True)}
        case _:
            yield from pattern.examples()


def may_match(action: Action, arguments: Any) -> bool:
    """Whether the action takes the arguments, or would under other results than none."""
    return settled_part(action).matches(arguments, Scope())


def settled_part(action: Action) -> Fields:
    """What an action asks of its arguments whatever is bound."""
    settled = tuple((name, pattern) for name, pattern in action.arguments.fields if not depends_on_calls(pattern))
    return Fields(settled, open=True)


def binds(task: Task) -> bool:
    """Whether what a step returned, or was called with, decides about later ones."""
    if "_binds" not in vars(task):
        vars(task)["_binds"] = _binds(task)
    return bool(vars(task)["_binds"])


def _binds(task: Task) -> bool:
    actions = [task.automaton.alphabet.patterns[number] for number in task.automaton.alphabet.steps]
    patterns = [pattern for action in actions for pattern in (action.arguments, action.result) if pattern is not None]
    return any(map(depends_on_calls, patterns))


def depends_on_results(task: Task) -> bool:
    """Whether what a call is depends on more than its arguments and the state: on results, or on what is bound."""
    alphabet = task.automaton.alphabet
    rules = (*alphabet.reads, *alphabet.neutral, *(one.call for one in alphabet.forbid))
    actions = (*alphabet.patterns, *rules)
    return binds(task) or any(action.result is not None or depends_on_calls(action.arguments) for action in actions)


def place(task: Task, node: Node) -> tuple[int, str, str]:
    """What tells a pair apart: both states, and what is bound where that decides about later steps."""
    bound = ""
    if binds(task):
        results = {action.notation: result for action, result in node.position.results.items()}
        bound = canonical([node.position.variables, results])
    return node.position.state, simulator_of(task).key(node.state), bound
