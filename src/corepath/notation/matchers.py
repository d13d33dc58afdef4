"""Matchers: conditions on one argument, one result or one answer.

A matcher says whether a value fits, shows values that do, and writes itself in the call notation. They are made by
the functions of `patterns`.
"""

from __future__ import annotations

import copy
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any, Final

from corepath.notation import regular_expressions
from corepath.notation.assignment import assigned
from corepath.values import canonical, equal, is_number, key_text, look_up, written

PROBES: Final[tuple[Any, ...]] = ("anything", "", 0, 1, -1, 0.5, 100, True, False, None, [], {}, ["a"], "2025-01-01")
"""Values of every JSON type, tried where nothing better is known."""


@dataclass
class Scope:
    """What is known while one call is matched: values of variables, and what earlier steps returned."""

    variables: dict[str, Any] = field(default_factory=dict)
    results: Mapping[Any, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Matcher(ABC):
    """A condition on one value."""

    @abstractmethod
    def matches(self, value: Any, scope: Scope) -> bool:
        """Whether the value fits; a variable met for the first time takes its value in `scope`."""

    @abstractmethod
    def examples(self) -> tuple[Any, ...]:
        """Values that fit, the plainest first, the boundaries among them."""

    def inner(self) -> tuple[Matcher, ...]:
        """The matchers this one is made of."""
        return ()


@dataclass(frozen=True)
class Literal(Matcher):
    """Exactly this JSON value."""

    text: str
    value: Any = field(compare=False)

    def matches(self, value: Any, scope: Scope) -> bool:
        return equal(self.value, value)

    def examples(self) -> tuple[Any, ...]:
        return (copy.deepcopy(self.value),)

    def __str__(self) -> str:
        return written(self.value)


@dataclass(frozen=True)
class Anything(Matcher):
    """Every value."""

    def matches(self, value: Any, scope: Scope) -> bool:
        return True

    def examples(self) -> tuple[Any, ...]:
        return ("anything", 0, None)

    def __str__(self) -> str:
        return "ANY"


@dataclass(frozen=True)
class Approx(Matcher):
    """A number close to this one: relative 1e-6, or within an absolute tolerance."""

    number: float
    tol: float | None

    def matches(self, value: Any, scope: Scope) -> bool:
        if not is_number(value) or (isinstance(value, float) and not math.isfinite(value)):
            return False
        low, high = self._ends
        if isinstance(value, float) and (value < self._rough[0] or value > self._rough[1]):
            return False  # far outside: most values are, and fractions are slow
        return low <= _exact(value) <= high

    @cached_property
    def _rough(self) -> tuple[float, float]:
        """Both ends, a little further out than they are."""
        try:
            low, high = map(float, self._ends)
        except OverflowError:
            return -math.inf, math.inf
        return low - abs(low) * 1e-9 - 1e-300, high + abs(high) * 1e-9 + 1e-300

    def examples(self) -> tuple[Any, ...]:
        low, high = self._ends
        return tuple(dict.fromkeys([self.number, self._inside(low, math.inf), self._inside(high, -math.inf)]))

    @cached_property
    def _ends(self) -> tuple[Fraction, Fraction]:
        """Both ends as they are written: 0.4 is within 0.1 of 0.3."""
        middle = _exact(self.number)
        reach = abs(middle) / 1_000_000 if self.tol is None else _exact(self.tol)
        return middle - reach, middle + reach

    def _inside(self, end: Fraction, inwards: float) -> float:
        """The end as a number of JSON, pulled inwards where rounding put it outside."""
        if isinstance(self.number, int) and end.denominator == 1:
            return int(end)
        try:
            rounded = float(end)
        except OverflowError:
            return self.number
        near = (rounded, math.nextafter(rounded, inwards))
        return next((number for number in near if self.matches(number, Scope())), self.number)

    def __str__(self) -> str:
        return f"approx({self.number})" if self.tol is None else f"approx({self.number}, tol={self.tol})"


@dataclass(frozen=True)
class Between(Matcher):
    """A number, or a text, from low to high, both included."""

    low: Any
    high: Any

    def matches(self, value: Any, scope: Scope) -> bool:
        fits = isinstance(value, str) if isinstance(self.low, str) else is_number(value)
        return fits and bool(self.low <= value <= self.high)

    def examples(self) -> tuple[Any, ...]:
        inside = [middle for middle in self._middle() if self.matches(middle, Scope())]
        return tuple(dict.fromkeys([*inside, self.low, self.high]))

    def _middle(self) -> tuple[Any, ...]:
        if isinstance(self.low, str):
            return ()
        if isinstance(self.low, int) and isinstance(self.high, int):
            return ((self.low + self.high) // 2,)
        try:
            return (self.low / 2 + self.high / 2,)
        except OverflowError:
            return ()

    def __str__(self) -> str:
        return f"between({written(self.low)}, {written(self.high)})"


@dataclass(frozen=True)
class OneOf(Matcher):
    """One of these."""

    options: tuple[Matcher, ...]

    def matches(self, value: Any, scope: Scope) -> bool:
        return any(_tried(option, value, scope) for option in self.options)

    def examples(self) -> tuple[Any, ...]:
        return _distinct(example for option in self.options for example in option.examples())

    def inner(self) -> tuple[Matcher, ...]:
        return self.options

    def __str__(self) -> str:
        return f"one_of({_listed(self.options)})"


@dataclass(frozen=True)
class NoneOf(Matcher):
    """Any value but these."""

    options: tuple[Matcher, ...]

    def matches(self, value: Any, scope: Scope) -> bool:
        before = dict(scope.variables)
        found = any(_tried(option, value, scope) for option in self.options)
        scope.variables = before
        return not found

    def examples(self) -> tuple[Any, ...]:
        return copy.deepcopy(self._found)

    @cached_property
    def _found(self) -> tuple[Any, ...]:
        inner = (one for option in self.options for one in every(option))
        held = list(islice((example for one in inner for example in one.examples()), 20))
        near: list[Any] = []
        for example in held:
            if is_number(example):
                near += [example + 1, example - 1]
            elif isinstance(example, str):
                near += [f"not {example}", example + "x"]
        bound = {one.name: one.name for one in every(self) if isinstance(one, Variable)}
        fit = (value for value in [*near, *PROBES, *held] if self.matches(value, Scope(dict(bound))))
        return _distinct(islice(fit, 6))[:4]

    def inner(self) -> tuple[Matcher, ...]:
        return self.options

    def __str__(self) -> str:
        return f"none_of({_listed(self.options)})"


@dataclass(frozen=True)
class Regex(Matcher):
    """A text that the expression matches as a whole."""

    pattern: str
    example: str | None = field(default=None, compare=False)

    def matches(self, value: Any, scope: Scope) -> bool:
        return isinstance(value, str) and regular_expressions.compiled(self.pattern).fullmatch(value) is not None

    def examples(self) -> tuple[Any, ...]:
        found = regular_expressions.examples(self.pattern)
        return found if self.example is None else tuple(dict.fromkeys([self.example, *found]))

    def __str__(self) -> str:
        example = "" if self.example is None else f", example={written(self.example)}"
        return f"regex({written(self.pattern)}{example})"


@dataclass(frozen=True)
class Contains(Matcher):
    """A text with this part (case counts), or a list with such an element."""

    part: Matcher

    def matches(self, value: Any, scope: Scope) -> bool:
        if isinstance(value, str):
            return any(part in value for part in _known_texts(self.part, scope))
        return isinstance(value, (list, tuple)) and any(_tried(self.part, item, scope) for item in value)

    def examples(self) -> tuple[Any, ...]:
        if isinstance(self.part, Literal) and isinstance(self.part.value, str):
            part = self.part.value
            return (part, f"before {part} after", f"{part}.", [part])
        first, *others = self.part.examples()
        return ([first], ["another", first], *([part] for part in others))

    def inner(self) -> tuple[Matcher, ...]:
        return (self.part,)

    def __str__(self) -> str:
        return f"contains({self.part})"


@dataclass(frozen=True)
class Unordered(Matcher):
    """A list of just these, in any order."""

    items: tuple[Matcher, ...]

    def matches(self, value: Any, scope: Scope) -> bool:
        if not isinstance(value, (list, tuple)) or len(value) != len(self.items):
            return False
        # Items with variables first: each choice for them fixes what the others must be.
        with_variables = [item for item in self.items if _variables(item)]
        plain = [item for item in self.items if not _variables(item)]
        return _all_fit(plain, value, scope) and _place(with_variables, plain, list(value), scope)

    def examples(self) -> tuple[Any, ...]:
        rows = _varied([item.examples() for item in self.items])
        first = rows[0]
        return _distinct([*rows, first[::-1], first[1:] + first[:1]])

    def inner(self) -> tuple[Matcher, ...]:
        return self.items

    def __str__(self) -> str:
        return f"unordered([{_listed(self.items)}])"


@dataclass(frozen=True)
class SameText(Matcher):
    """The same text but for case and white space."""

    text: str

    def matches(self, value: Any, scope: Scope) -> bool:
        return isinstance(value, str) and _folded(value) == _folded(self.text)

    def examples(self) -> tuple[Any, ...]:
        others = (self.text.swapcase(), f" {self.text.replace(' ', '  ')} ")
        return tuple(dict.fromkeys([self.text, *(text for text in others if self.matches(text, Scope()))]))

    def __str__(self) -> str:
        return f"same_text({written(self.text)})"


@dataclass(frozen=True)
class Variable(Matcher):
    """The value that the episode's params, or the first step that matched, gave this name."""

    name: str

    def matches(self, value: Any, scope: Scope) -> bool:
        if self.name in scope.variables:
            return equal(scope.variables[self.name], value)
        scope.variables[self.name] = value
        return True

    def examples(self) -> tuple[Any, ...]:
        return (self.name,)

    def __str__(self) -> str:
        return f"${self.name}"


@dataclass(frozen=True)
class ResultOf(Matcher):
    """What the latest successful step of that action returned, or a field of it."""

    action: Any
    path: str | None

    def matches(self, value: Any, scope: Scope) -> bool:
        return any(equal(found, value) for found in self.values(scope))

    def values(self, scope: Scope) -> list[Any]:
        """What was returned, and each item where that is a list; nothing where there was no such step."""
        if self.action not in scope.results:
            return []
        found = look_up(scope.results[self.action], self.path)
        return found + [item for one in found if isinstance(one, (list, tuple)) for item in one]

    def examples(self) -> tuple[Any, ...]:
        return (f"<{self}>",)

    def __str__(self) -> str:
        return f"result_of({self.action})" if self.path is None else f"result_of({self.action}, {written(self.path)})"


@dataclass(frozen=True)
class Satisfies(Matcher):
    """A value for which a Python function says yes."""

    predicate: Callable[[Any], object]
    known: tuple[str, ...]

    def matches(self, value: Any, scope: Scope) -> bool:
        try:
            return bool(self.predicate(value))
        except Exception:  # noqa: BLE001  # an agent's value of another type than the function expects does not fit
            return False

    def examples(self) -> tuple[Any, ...]:
        return tuple(json.loads(text) for text in self.known)

    def __str__(self) -> str:
        return f"<{getattr(self.predicate, '__name__', 'predicate')}>"


@dataclass(frozen=True)
class Items(Matcher):
    """A list whose items fit these patterns one by one."""

    items: tuple[Matcher, ...]

    def matches(self, value: Any, scope: Scope) -> bool:
        return (
            isinstance(value, (list, tuple))
            and len(value) == len(self.items)
            and all(item.matches(value[place], scope) for place, item in self._ordered)
        )

    @cached_property
    def _ordered(self) -> list[tuple[int, Matcher]]:
        return _surest_first(enumerate(self.items))

    def examples(self) -> tuple[Any, ...]:
        return tuple(list(row) for row in _varied([item.examples() for item in self.items]))

    def inner(self) -> tuple[Matcher, ...]:
        return self.items

    def __str__(self) -> str:
        return f"[{_listed(self.items)}]"


@dataclass(frozen=True, eq=False)
class Fields(Matcher):
    """An object whose fields fit these patterns; closed, it has no others."""

    fields: tuple[tuple[str, Matcher], ...]
    open: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fields) and (set(self.fields), self.open) == (set(other.fields), other.open)

    def __hash__(self) -> int:
        return hash((frozenset(self.fields), self.open))

    def matches(self, value: Any, scope: Scope) -> bool:
        if type(value) is not dict and not isinstance(value, Mapping):  # what all is matched with is a dict
            return False
        if not self.open and len(value) != len(self.fields):
            return False
        for name, _ in self.fields:
            if name not in value:
                return False
        return all(pattern.matches(value[name], scope) for name, pattern in self._ordered)

    @cached_property
    def _ordered(self) -> list[tuple[str, Matcher]]:
        return _surest_first(self.fields)

    def examples(self) -> tuple[Any, ...]:
        names = [name for name, _ in self.fields]
        rows = _varied([pattern.examples() for _, pattern in self.fields])
        return tuple(dict(zip(names, row, strict=True)) for row in rows)

    def inner(self) -> tuple[Matcher, ...]:
        return tuple(pattern for _, pattern in self.fields)

    def __str__(self) -> str:
        parts = [f"{key_text(name)}: {pattern}" for name, pattern in self.fields]
        return "{" + ", ".join([*parts, "..."] if self.open else parts) + "}"


def every(matcher: Matcher) -> Iterator[Matcher]:
    """The matcher and all it is made of."""
    waiting = [matcher]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(one.inner())


def _known_texts(part: Matcher, scope: Scope) -> list[str]:
    """The texts that the pattern stands for, where it says which they are."""
    known: list[Any] = []
    match part:
        case Literal(value=value):
            known = [value]
        case Variable(name):
            known = [scope.variables.get(name)]
        case ResultOf():
            known = part.values(scope)
        case OneOf(options):
            known = [text for option in options for text in _known_texts(option, scope)]
    return [text for text in known if isinstance(text, str)]


def _tried(matcher: Matcher, value: Any, scope: Scope) -> bool:
    """Match, and leave no variable bound where it fails."""
    before = dict(scope.variables)
    if matcher.matches(value, scope):
        return True
    scope.variables = before
    return False


def _place(first: list[Matcher], plain: list[Matcher], values: list[Any], scope: Scope) -> bool:
    """Whether each item finds a value of its own: items with variables by trying, the others by augmenting paths."""
    if not first:
        return _all_fit(plain, values, scope)
    before = dict(scope.variables)
    # An item whose variables all have values is tried next: it has the least choice.
    place = next((place for place, one in enumerate(first) if _variables(one) <= before.keys()), 0)
    item, others = first[place], first[:place] + first[place + 1 :]
    tried: set[str] = set()
    for index, value in enumerate(values):
        if (text := canonical(value)) in tried:
            continue
        tried.add(text)
        if item.matches(value, scope) and _place(others, plain, values[:index] + values[index + 1 :], scope):
            return True
        scope.variables = dict(before)
    return False


def _all_fit(items: list[Matcher], values: Sequence[Any], scope: Scope) -> bool:
    return assigned([[index for index, value in enumerate(values) if item.matches(value, scope)] for item in items])


def _variables(matcher: Matcher) -> set[str]:
    return {one.name for one in every(matcher) if isinstance(one, Variable)}


def _surest_first(patterns: Iterable[tuple[Any, Matcher]]) -> list[tuple[Any, Matcher]]:
    """Patterns that leave a variable a choice of values last: what the others bind decides it."""
    return sorted(patterns, key=lambda pattern: any(map(_leaves_choice, every(pattern[1]))))


def _leaves_choice(matcher: Matcher) -> bool:
    return isinstance(matcher, (OneOf, NoneOf, Contains, Unordered)) and bool(_variables(matcher))


def _exact(number: float) -> Fraction:
    """The number as it is written."""
    return Fraction(number if isinstance(number, int) else repr(number))


def _varied(columns: list[tuple[Any, ...]]) -> list[list[Any]]:
    """Rows that take every example of every column: the first of each, one changed at a time, all changed."""
    first = [column[0] for column in columns]
    rows = [first]
    for place, column in enumerate(columns):
        rows += [[*first[:place], other, *first[place + 1 :]] for other in column[1:]]
    if sum(len(column) > 1 for column in columns) > 1:
        rows.append([column[-1] for column in columns])
    return rows


def _distinct(values: Any) -> tuple[Any, ...]:
    return tuple({canonical(value): value for value in values}.values())


def _listed(matchers: tuple[Matcher, ...]) -> str:
    return ", ".join(map(str, matchers))


def _folded(text: str) -> str:
    return "".join(text.split()).casefold()
