"""Matchers: conditions on one argument, one result or one answer.

A pattern is plain JSON, a matcher, or lists and objects of patterns; `as_matcher` makes every one of them a
Matcher. A matcher says whether a value fits, shows values that do, and writes itself in the call notation.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from corepath import regular
from corepath.errors import TaskError
from corepath.json_values import canonical, equal, is_number, key_text, look_up, why_not_json, written


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
            return abs(value - self.number) <= self._reach
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
        return _distinct(value for value in [*probes, *_PROBES] if self.matches(value, Scope()))[:4]

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


ANY: Any = Anything()
_PROBES = ("anything", "", 0, 1, -1, 0.5, 100, True, False, None, [], {}, ["a"], "2025-01-01")


def approx(number: float, tol: float | None = None) -> Any:
    """A number close to this one: `approx(4.5)` within a millionth of it, `approx(4.5, tol=0.1)` within 0.1."""
    for value, what in ((number, "number"), (tol, "tolerance")):
        if value is not None and not (is_number(value) and math.isfinite(value)):
            raise TaskError.of(f"approx() needs a {what}, not {value!r}")
    if tol is not None and tol < 0:
        raise TaskError.of(f"approx() needs a tolerance of 0 or more, not {tol}")
    return Approx(number, tol)


def between(low: Any, high: Any) -> Any:
    """A number (or a text, such as a date) from low to high, both included."""
    both = (low, high)
    if not (all(map(is_number, both)) or all(isinstance(end, str) for end in both)):
        raise TaskError.of(f"between() needs two numbers or two texts, not {low!r} and {high!r}")
    if not low <= high:
        raise TaskError.of(f"between({low!r}, {high!r}) holds nothing: the first is larger than the second")
    return Between(low, high)


def one_of(*options: Any) -> Any:
    """One of these values or matchers: `one_of("low", "high")`."""
    return OneOf(_options("one_of", options))


def none_of(*options: Any) -> Any:
    """Any value but these: `none_of("draft")`."""
    return NoneOf(_options("none_of", options))


def regex(pattern: str, example: str | None = None) -> Any:
    """A text that the expression (RE2 syntax) matches as a whole; `example` where none can be found by itself."""
    if not isinstance(pattern, str):
        raise TaskError.of(f"regex() needs a text, not {pattern!r}")
    expression = regular.compiled(pattern)
    if example is not None and not expression.fullmatch(example):
        raise TaskError.of(f"regex({pattern!r}) does not match its own example {example!r}")
    matcher = Regex(pattern, example)
    if not matcher.examples():
        raise TaskError.of(f"no text that regex({pattern!r}) matches was found; give one: regex(..., example=\"...\")")
    return matcher


def contains(part: Any) -> Any:
    """A text with this part, or a list with such an element."""
    return Contains(as_matcher(part))


def unordered(items: Any) -> Any:
    """A list of just these, in any order: `unordered(["a", "b"])`."""
    if not isinstance(items, (list, tuple)):
        raise TaskError.of(f'unordered() takes one list, as in unordered(["a", "b"]), not {items!r}')
    return Unordered(tuple(as_matcher(item) for item in items))


def same_text(text: str) -> Any:
    """This text, whatever its case and white space."""
    if not isinstance(text, str):
        raise TaskError.of(f"same_text() needs a text, not {text!r}")
    return SameText(text)


def var(name: str) -> Any:
    """A variable, `$name` in text: from the episode's params, else from the first step that matches."""
    if not (isinstance(name, str) and name.isidentifier()):
        raise TaskError.of(f"a variable's name is letters, digits and _, not {name!r}")
    return Variable(name)


def result_of(action: Any, path: str | None = None) -> Any:
    """What the latest successful step of that action returned: `result_of(check, "rule.id")`."""
    if not hasattr(action, "tool"):
        raise TaskError.of(f"result_of() takes an action of the procedure, not {action!r}")
    return ResultOf(action, path)


def satisfies(predicate: Callable[[Any], object], *examples: Any) -> Any:
    """A value for which the function says yes; the examples are values for which it does."""
    name = getattr(predicate, "__name__", "predicate")
    for example in examples:
        if not predicate(example):
            raise TaskError.of(f"{name} says no to its own example {example!r}")
    matcher = Satisfies(predicate, tuple(json.dumps(example) for example in examples))
    if not examples:
        found = [probe for probe in _PROBES if matcher.matches(probe, Scope())]
        if not found:
            raise TaskError.of(f"{name} says no to every value tried; give it an example: satisfies({name}, 4.5)")
        matcher = Satisfies(predicate, tuple(json.dumps(value) for value in found[:4]))
    return matcher


def as_matcher(pattern: Any) -> Matcher:
    """The pattern as a Matcher: JSON stands for itself, a function for what it says yes to, `...` opens an object."""
    if isinstance(pattern, Matcher):
        return pattern
    if isinstance(pattern, Mapping):
        named = {name: as_matcher(value) for name, value in pattern.items() if name is not ...}
        if wrong := next((name for name in named if not isinstance(name, str)), None):
            raise TaskError.of(f"the key {wrong!r} is not text")
        return _object(named, is_open=... in pattern)
    if isinstance(pattern, (list, tuple)):
        items = tuple(as_matcher(item) for item in pattern)
        values = [item.value for item in items if isinstance(item, Literal)]
        return _literal(values) if len(values) == len(items) else Items(items)
    if pattern is ...:
        raise TaskError.of("'...' opens a pattern; for any value of one argument write ANY")
    if callable(pattern):
        return satisfies(pattern)  # type: ignore[no-any-return]
    return _literal(pattern)


def opened(matcher: Matcher) -> Matcher:
    """The pattern with its objects open: a tool's answer may hold more than a procedure asks about."""
    match matcher:
        case Literal(value=dict() as value):
            return Fields(tuple((name, opened(as_matcher(item))) for name, item in value.items()), open=True)
        case Literal(value=list() as value) if any(isinstance(item, (dict, list)) for item in value):
            return Items(tuple(opened(as_matcher(item)) for item in value))
        case Fields(fields):
            return Fields(tuple((name, opened(pattern)) for name, pattern in fields), open=True)
        case Items(items):
            return Items(tuple(opened(item) for item in items))
        case Unordered(items):
            return Unordered(tuple(opened(item) for item in items))
        case OneOf(options):
            return OneOf(tuple(opened(option) for option in options))
        case NoneOf(options):
            return NoneOf(tuple(opened(option) for option in options))
        case Contains(part):
            return Contains(opened(part))
    return matcher


def every(matcher: Matcher) -> Iterator[Matcher]:
    """The matcher and all it is made of."""
    waiting = [matcher]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(one.inner())


def _literal(value: Any) -> Literal:
    if wrong := why_not_json(value):
        raise TaskError.of(f"{value!r} cannot be a value to match: {wrong}")
    return Literal(canonical(value), copy.deepcopy(value))


def _object(named: dict[str, Matcher], *, is_open: bool) -> Matcher:
    values = {name: pattern.value for name, pattern in named.items() if isinstance(pattern, Literal)}
    if not is_open and len(values) == len(named):
        return _literal(values)
    return Fields(tuple(named.items()), is_open)


def _options(name: str, options: tuple[Any, ...]) -> tuple[Matcher, ...]:
    if not options or (len(options) == 1 and isinstance(options[0], (list, tuple))):
        raise TaskError.of(f'{name}() takes the values themselves, as in {name}("a", "b")')
    return tuple(as_matcher(option) for option in options)


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
        while free is not None:
            one = reached[free]
            owner[free] = one
            free, holds[one] = holds.get(one), free
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
