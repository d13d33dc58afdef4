"""Example arguments with which the steps of a task are executed."""

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
"""The most variants of a task's arguments that are tried."""


def variant(task: Task, number: int) -> Choose:
    """Choose the example with this number for every step: 0 is the plainest, others include boundary values."""
    return lambda position, symbol: arguments_at(task, position, symbol, number)


def count_variants(task: Task) -> int:
    """The number of variants that together use every example of every step at least once, up to a limit."""
    alphabet = task.automaton.alphabet
    names = ((number, name) for number in alphabet.steps for name, _ in alphabet.patterns[number].arguments.fields)
    return min(MOST_VARIANTS, max((len(sample_values(task, number, name)) for number, name in names), default=1))


def count_distinct_variants(task: Task, symbol: int) -> int | None:
    """The number of distinct variants of a step; None if it depends on earlier steps."""
    arguments = task.automaton.alphabet.patterns[symbol].arguments
    settled = [_settled_values(task, symbol, name) for name, _ in arguments.fields]
    if arguments.open or None in settled:
        return None
    return lcm(*(len(values) for values in settled if values))


def sample_values(task: Task, symbol: int, name: str) -> list[Any]:
    """The example values of a step's argument at the start of an episode."""
    settled = _settled_values(task, symbol, name)
    if settled is not None:
        return settled
    action = task.automaton.alphabet.patterns[symbol]
    free = isinstance(dict(action.arguments.fields)[name], Variable)
    return list(simulator_of(task).tools[action.tool].inputs[name].samples) if free else [None]


def _settled_values(task: Task, symbol: int, name: str) -> list[Any] | None:
    """The values of an argument that does not depend on earlier steps; None if it does."""
    return next(values for argument, _, values in _step(task, symbol).arguments if argument == name)


@dataclass(frozen=True)
class _Step:
    """A step's arguments, each with its name, its pattern, and its values, or None if they depend on earlier steps.

    `settled` is True if no argument depends on earlier steps; then `known` caches the arguments of each variant.
    """

    arguments: tuple[tuple[str, Matcher, list[Any] | None], ...]
    settled: bool
    known: dict[int, dict[str, Any] | None] = field(default_factory=dict)


_STEPS: Final[WeakKeyDictionary[Task, dict[int, _Step]]] = WeakKeyDictionary()


def _step(task: Task, symbol: int) -> _Step:
    """The arguments of a step, cached by task."""
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
    """The arguments of a step at a position: the example with this number for each argument, modulo their count.

    None if an argument has no example there.
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
    """Values that match an argument's pattern and have the type of the tool's parameter."""
    if isinstance(pattern, Anything) or (isinstance(pattern, Variable) and pattern.name not in scope.variables):
        return list(world.tools[tool].inputs[name].samples)
    fitting = [value for value in _instances(pattern, scope) if world.tools[tool].inputs[name].admits(value)]
    return fitting if len(fitting) <= 1 else list({canonical(value): value for value in fitting}.values())


def _instances(pattern: Matcher, scope: Scope) -> Iterator[Any]:
    """Values that match a pattern, with variables and earlier results replaced by their values."""
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
    """One list with the first instance of each pattern; nothing if a pattern has none."""
    columns = [list(_instances(pattern, scope)) for pattern in patterns]
    if all(columns):
        yield [column[0] for column in columns]


def may_match(action: Action, arguments: Any) -> bool:
    """Whether the arguments match the action for some values of its variables and earlier results."""
    return settled_part(action).matches(arguments, Scope())


def settled_part(action: Action) -> Fields:
    """The part of an action's pattern that does not depend on earlier steps."""
    settled = tuple((name, pattern) for name, pattern in action.arguments.fields if not depends_on_calls(pattern))
    return Fields(settled, open=True)
