"""Example arguments for executing a task's steps.

A step is identified by its symbol, which is the number of its action in the automaton's alphabet. Each argument's
examples are numbered, and a variant uses the same example number for all arguments. A position is a point in an
episode, with the automaton state, the variables and the results so far.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import lcm
from typing import Any, Final
from weakref import WeakKeyDictionary

from corepath.automaton.step import Position
from corepath.notation.action import Action
from corepath.notation.call import REQUIRED
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
from corepath.world.exploring import Choose, simulator_of

MOST_VARIANTS: Final = 50
"""The maximum number of variants in which a task is executed."""


def variant(task: Task, number: int) -> Choose:
    """Return a function that chooses a step's arguments, using example `number` for each argument.

    Example 0 is the simplest, and the others include boundary values.
    """
    return lambda position, symbol: arguments_at(task, position, symbol, number)


def count_variants(task: Task) -> int:
    """Return how many variants are needed to use all examples of all arguments, at most `MOST_VARIANTS`."""
    alphabet = task.automaton.alphabet
    names = ((number, name) for number in alphabet.steps for name, _ in alphabet.patterns[number].arguments.fields)
    return min(MOST_VARIANTS, max((len(sample_values(task, number, name)) for number, name in names), default=1))


def count_distinct_variants(task: Task, symbol: int) -> int | None:
    """Return how many distinct variants a step has, or None if they cannot be counted.

    They can be counted only if the step does not depend on earlier steps and does not allow additional arguments.
    """
    arguments = task.automaton.alphabet.patterns[symbol].arguments
    settled = [_settled_values(task, symbol, name) for name, _ in arguments.fields]
    if arguments.open or None in settled:
        return None
    return lcm(*(len(values) for values in settled if values))


def sample_values(task: Task, symbol: int, name: str) -> list[Any]:
    """Return the example values that a step's argument has at the start of an episode.

    If the argument is a variable, these are the samples for the tool's parameter. If it depends on earlier steps in
    another way, return `[None]`.
    """
    settled = _settled_values(task, symbol, name)
    if settled is not None:
        return settled
    action = task.automaton.alphabet.patterns[symbol]
    free = isinstance(dict(action.arguments.fields)[name], Variable)
    return list(simulator_of(task).tools[action.tool].inputs[name].samples) if free else [None]


def _settled_values(task: Task, symbol: int, name: str) -> list[Any] | None:
    """Return the example values for a step's argument `name`, or None if they depend on earlier steps."""
    return next(values for argument, _, values in _step(task, symbol).arguments if argument == name)


@dataclass(frozen=True)
class _Step:
    """A step's arguments, each as a tuple of name, pattern and example values.

    The values are None if they depend on earlier steps. `settled` is True if no argument depends on earlier steps. In
    that case `known` caches the arguments for each variant.
    """

    arguments: tuple[tuple[str, Matcher, list[Any] | None], ...]
    settled: bool
    known: dict[int, dict[str, Any] | None] = field(default_factory=dict)


_STEPS: Final[WeakKeyDictionary[Task, dict[int, _Step]]] = WeakKeyDictionary()


def _step(task: Task, symbol: int) -> _Step:
    """Return a step's arguments, cached per task."""
    steps = _STEPS.setdefault(task, {})
    if symbol not in steps:
        action, world = task.automaton.alphabet.patterns[symbol], simulator_of(task)
        arguments = tuple(
            (name, pattern, None if depends_on_calls(pattern) else _values(pattern, Scope(), world, action.tool, name))
            for name, pattern in action.arguments.fields
        )
        steps[symbol] = _Step(arguments, all(values is not None for _, _, values in arguments))
    return steps[symbol]


def arguments_at(task: Task, position: Position, symbol: int, number: int = 0) -> dict[str, Any] | None:
    """Return a step's arguments at a position, or None if an argument has no example there.

    `number` selects the example for each argument, modulo the number of its examples.
    """
    step = _step(task, symbol)
    if not step.settled:
        return _arguments(task, position, symbol, number)
    if number not in step.known:
        step.known[number] = _arguments(task, position, symbol, number)
    return step.known[number]


def _arguments(task: Task, position: Position, symbol: int, number: int) -> dict[str, Any] | None:
    world, alphabet = simulator_of(task), task.automaton.alphabet
    action = alphabet.patterns[symbol]
    scope = Scope(dict(position.variables), position.results)
    arguments: dict[str, Any] = {}
    for name, pattern, settled in _step(task, symbol).arguments:
        values = _values(pattern, scope, world, action.tool, name) if settled is None else settled
        if not values:
            return None
        arguments[name] = values[number % len(values)]
        if isinstance(pattern, Variable):
            scope.variables[pattern.name] = arguments[name]
    if action.arguments.open and alphabet.tools is not None:
        for name, default in (alphabet.tools[action.tool].parameters or {}).items():
            if name not in arguments and default is REQUIRED:
                samples = world.tools[action.tool].inputs[name].samples
                arguments[name] = samples[number % len(samples)]
    return arguments


def _values(pattern: Matcher, scope: Scope, world: Simulator, tool: str, name: str) -> list[Any]:
    """Return values that match an argument's pattern and have the type of the tool's parameter."""
    if isinstance(pattern, Anything) or (isinstance(pattern, Variable) and pattern.name not in scope.variables):
        return list(world.tools[tool].inputs[name].samples)
    fitting = [value for value in _instances(pattern, scope) if world.tools[tool].inputs[name].admits(value)]
    return fitting if len(fitting) <= 1 else list({canonical(value): value for value in fitting}.values())


def _instances(pattern: Matcher, scope: Scope) -> Iterator[Any]:
    """Yield values that match a pattern. Variables and earlier results are replaced by their values in `scope`."""
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
            yield from _first_instances(items, scope)
        case Fields(fields) if depends_on_calls(pattern):
            names, patterns = zip(*fields, strict=True)
            yield from (dict(zip(names, values, strict=True)) for values in _first_instances(patterns, scope))
        case _:
            yield from pattern.examples()


def _first_instances(patterns: Sequence[Matcher], scope: Scope) -> Iterator[list[Any]]:
    """Yield one list with the first matching value for each pattern, or nothing if a pattern has no matching value."""
    columns = [list(_instances(pattern, scope)) for pattern in patterns]
    if all(columns):
        yield [column[0] for column in columns]


def may_match(action: Action, arguments: Any) -> bool:
    """Return True if `arguments` could match the action for some values of its variables and earlier results."""
    return settled_part(action).matches(arguments, Scope())


def settled_part(action: Action) -> Fields:
    """Return the part of an action's argument pattern that does not depend on earlier steps."""
    settled = tuple((name, pattern) for name, pattern in action.arguments.fields if not depends_on_calls(pattern))
    return Fields(settled, open=True)
