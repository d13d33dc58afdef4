"""Matchers: conditions on one argument, one result or one answer.

A matcher says whether a value fits, shows values that do, and writes itself in the call notation. They are made by
the functions of `patterns`.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from corepath import regular
from corepath.json_values import canonical, equal, is_number, key_text, look_up, written

PROBES: Final[tuple[Any, ...]] = ("anything", "", 0, 1, -1, 0.5, 100, True, False, None, [], {}, ["a"], "2025-01-01")
"""Values of every JSON type, tried where nothing better is known."""


@dataclass
class Scope:
    """What is known while one call is matched: values of variables, and what earlier steps returned."""

    variables: dict[str, Any] = field(default_factory=dict)
    results: Mapping[Any, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Matcher:
    """A condition on one value."""

    def matches(self, value: Any, scope: Scope) -> bool:
        """Whether the value fits; a variable met for the first time takes its value in `scope`."""
        raise NotImplementedError

    def examples(self) -> tuple[Any, ...]:
        """Values that fit, the plainest first, the boundaries among them."""
        raise NotImplementedError

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
        if not is_number(value):
            return False
        try:
            return bool(abs(value - self.number) <= self._reach)
        except OverflowError:
            return False

    def examples(self) -> tuple[Any, ...]:
        ends = [self._end(self.number - self._reach), self._end(self.number + self._reach)]
        return tuple(dict.fromkeys([self.number, *ends]))

    @property
    def _reach(self) -> float:
        return 1e-6 * abs(self.number) if self.tol is None else self.tol

    def _end(self, number: float) -> float:
        """The boundary, pulled inwards where rounding put it outside."""
        while not self.matches(number, Scope()):
            number = math.nextafter(number, self.number)
        return number

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
        middle = self.low
        if not isinstance(self.low, str):
            whole = isinstance(self.low, int) and isinstance(self.high, int)
            middle = (self.low + self.high) // 2 if whole else self.low / 2 + self.high / 2
        return tuple(dict.fromkeys([middle, self.low, self.high]))

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
        return not any(_tried(option, value, scope) for option in self.options)

    def examples(self) -> tuple[Any, ...]:
        probes: list[Any] = []
        for option in self.options:
            for example in option.examples():
                if is_number(example):
                    probes += [example + 1, example - 1]
                elif isinstance(example, str):
                    probes += [f"not {example}", example + "x"]
        return _distinct(value for value in [*probes, *PROBES] if self.matches(value, Scope()))[:4]

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
        return isinstance(value, str) and regular.compiled(self.pattern).fullmatch(_encodable(value)) is not None

    def examples(self) -> tuple[Any, ...]:
        found = regular.examples(self.pattern)
        return found if self.example is None else tuple(dict.fromkeys([self.example, *found]))

    def __str__(self) -> str:
        return f"regex({written(self.pattern)})"


@dataclass(frozen=True)
class Contains(Matcher):
    """A text with this part (case counts), or a list with such an element."""

    part: Matcher

    def matches(self, value: Any, scope: Scope) -> bool:
        if isinstance(value, str):
            return isinstance(self.part, Literal) and isinstance(self.part.value, str) and self.part.value in value
        return isinstance(value, (list, tuple)) and any(_tried(self.part, item, scope) for item in value)

    def examples(self) -> tuple[Any, ...]:
        if isinstance(self.part, Literal) and isinstance(self.part.value, str):
            part = self.part.value
            return (part, f"before {part} after", [part])
        return tuple(example for part in self.part.examples() for example in ([part], ["another", part]))

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
        with_variables = [item for item in self.items if _has_variables(item)]
        plain = [item for item in self.items if not _has_variables(item)]
        return _place(with_variables, plain, list(value), scope)

    def examples(self) -> tuple[Any, ...]:
        first = [item.examples()[0] for item in self.items]
        return _distinct([first, first[::-1], first[1:] + first[:1]])

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
        return tuple(dict.fromkeys([self.text, self.text.swapcase(), f" {self.text.replace(' ', '  ')} "]))

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
        if self.action not in scope.results:
            return False
        return any(
            equal(found, value) or (isinstance(found, (list, tuple)) and any(equal(item, value) for item in found))
            for found in look_up(scope.results[self.action], self.path)
        )

    def examples(self) -> tuple[Any, ...]:
        return (f"<{self}>",)

    def __str__(self) -> str:
        name = self.action.name or str(self.action)
        return f"result_of({name})" if self.path is None else f"result_of({name}, {written(self.path)})"


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
            and all(item.matches(one, scope) for item, one in zip(self.items, value, strict=True))
        )

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
        return (
            isinstance(value, Mapping)
            and (self.open or len(value) == len(self.fields))
            and all(name in value for name, _ in self.fields)
            and all(pattern.matches(value[name], scope) for name, pattern in self.fields)
        )

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
        return _perfect(plain, values, scope)
    before = dict(scope.variables)
    for index, value in enumerate(values):
        if first[0].matches(value, scope) and _place(first[1:], plain, values[:index] + values[index + 1 :], scope):
            return True
        scope.variables = dict(before)
    return False


def _perfect(items: list[Matcher], values: list[Any], scope: Scope) -> bool:
    fits = [[index for index, value in enumerate(values) if item.matches(value, scope)] for item in items]
    owner: dict[int, int] = {}
    holds: dict[int, int] = {}
    for item in range(len(items)):
        # Breadth first from the item: a value that another item holds is freed by moving that item on.
        reached: dict[int, int] = {}
        queue = [item]
        for one in queue:
            for index in fits[one]:
                if index not in reached:
                    reached[index] = one
                    if index in owner:
                        queue.append(owner[index])
        free = next((index for index in reached if index not in owner), None)
        if free is None:
            return False
        moved: int | None = free
        while moved is not None:
            one = reached[moved]
            owner[moved] = one
            freed = holds.get(one)
            holds[one] = moved
            moved = freed
    return True


def _has_variables(matcher: Matcher) -> bool:
    return any(isinstance(one, Variable) for one in every(matcher))


def _varied(columns: list[tuple[Any, ...]]) -> list[list[Any]]:
    """Rows that take every example of every column: the first of each, then one changed at a time."""
    first = [column[0] for column in columns]
    rows = [first]
    for place, column in enumerate(columns):
        rows += [[*first[:place], other, *first[place + 1 :]] for other in column[1:]]
    return rows


def _distinct(values: Any) -> tuple[Any, ...]:
    return tuple({canonical(value): value for value in values}.values())


def _listed(matchers: tuple[Matcher, ...]) -> str:
    return ", ".join(map(str, matchers))


def _folded(text: str) -> str:
    return "".join(text.split()).casefold()


def _encodable(text: str) -> str:
    """The text as RE2 can take it: half of a surrogate pair is no character."""
    return text.encode("utf-8", "replace").decode() if any("\ud800" <= c <= "\udfff" for c in text) else text
