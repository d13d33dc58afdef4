"""Matchers for lists and objects, and for parts of a list or a string."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from corepath.notation.assignment import can_assign
from corepath.notation.matchers.base import Matcher, Scope, try_match, walk
from corepath.notation.matchers.choices import NoneOf, OneOf, unique
from corepath.notation.matchers.references import ResultOf, Variable, depends_on_calls, variables
from corepath.notation.matchers.values import Literal
from corepath.values import canonical, key_text


@dataclass(frozen=True)
class Contains(Matcher):
    """Matches a string that contains `part` (case-sensitive), or a list with an item that matches `part`."""

    part: Matcher

    def matches(self, value: Any, scope: Scope) -> bool:
        if isinstance(value, str):
            return any(part in value for part in _known_texts(self.part, scope))
        return isinstance(value, (list, tuple)) and any(try_match(self.part, item, scope) for item in value)

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
class Items(Matcher):
    """Matches a list whose items match these matchers, in this order."""

    items: tuple[Matcher, ...]

    def matches(self, value: Any, scope: Scope) -> bool:
        return (
            isinstance(value, (list, tuple))
            and len(value) == len(self.items)
            and all(item.matches(value[place], scope) for place, item in self._ordered)
        )

    @cached_property
    def _ordered(self) -> list[tuple[int, Matcher]]:
        return _choices_last(enumerate(self.items))

    def examples(self) -> tuple[Any, ...]:
        return tuple(list(row) for row in _rows([item.examples() for item in self.items]))

    def inner(self) -> tuple[Matcher, ...]:
        return self.items

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.items))}]"


@dataclass(frozen=True)
class Unordered(Matcher):
    """Matches a list whose items match these matchers, in any order."""

    items: tuple[Matcher, ...]

    def matches(self, value: Any, scope: Scope) -> bool:
        if not isinstance(value, (list, tuple)) or len(value) != len(self.items):
            return False
        with_variables = [item for item in self.items if variables(item)]
        plain = [item for item in self.items if not variables(item)]
        return _all_fit(plain, value, scope) and _assign(with_variables, plain, list(value), scope)

    def examples(self) -> tuple[Any, ...]:
        rows = _rows([item.examples() for item in self.items])
        if depends_on_calls(self):  # in another order, variables would get other values
            return unique(rows)
        first = rows[0]
        return unique([*rows, first[::-1], first[1:] + first[:1]])

    def inner(self) -> tuple[Matcher, ...]:
        return self.items

    def __str__(self) -> str:
        return f"unordered([{', '.join(map(str, self.items))}])"


@dataclass(frozen=True, eq=False)
class Fields(Matcher):
    """Matches an object whose fields match these matchers. Other fields are allowed only if `open` is True."""

    fields: tuple[tuple[str, Matcher], ...]
    open: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fields) and (set(self.fields), self.open) == (set(other.fields), other.open)

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((frozenset(self.fields), self.open))

    def matches(self, value: Any, scope: Scope) -> bool:
        if type(value) is not dict and not isinstance(value, Mapping):  # nearly always a dict, which is fast to check
            return False
        if not self.open and len(value) != len(self.fields):
            return False
        for name, _ in self.fields:
            if name not in value:
                return False
        # Written out rather than with all, because every call is matched here.
        for name, pattern in self._ordered:  # noqa: SIM110
            if not pattern.matches(value[name], scope):
                return False
        return True

    @cached_property
    def _ordered(self) -> list[tuple[str, Matcher]]:
        return _choices_last(self.fields)

    def examples(self) -> tuple[Any, ...]:
        names = [name for name, _ in self.fields]
        rows = _rows([pattern.examples() for _, pattern in self.fields])
        return tuple(dict(zip(names, row, strict=True)) for row in rows)

    def inner(self) -> tuple[Matcher, ...]:
        return tuple(pattern for _, pattern in self.fields)

    def __str__(self) -> str:
        parts = [f"{key_text(name)}: {pattern}" for name, pattern in self.fields]
        return "{" + ", ".join([*parts, "..."] if self.open else parts) + "}"


def _known_texts(part: Matcher, scope: Scope) -> list[str]:
    """Return the strings that `part` matches, or an empty list if they are not known."""
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


def _assign(with_variables: list[Matcher], plain: list[Matcher], values: list[Any], scope: Scope) -> bool:
    """Return True if each matcher can be assigned a different value that it matches.

    Matchers with variables are assigned one by one, because a variable's value restricts the other matchers. The plain
    matchers, which have no variables, are then assigned all at once.
    """
    if not with_variables:
        return _all_fit(plain, values, scope)
    before = dict(scope.variables)
    # Prefer an item whose variables all have values, because it has the fewest choices.
    place = next((place for place, one in enumerate(with_variables) if variables(one) <= before.keys()), 0)
    item, others = with_variables[place], with_variables[:place] + with_variables[place + 1 :]
    tried: set[str] = set()
    for index, value in enumerate(values):
        if (text := canonical(value)) in tried:
            continue
        tried.add(text)
        if item.matches(value, scope) and _assign(others, plain, values[:index] + values[index + 1 :], scope):
            return True
        scope.variables = dict(before)
    return False


def _all_fit(items: list[Matcher], values: Sequence[Any], scope: Scope) -> bool:
    return can_assign([[index for index, value in enumerate(values) if item.matches(value, scope)] for item in items])


def _choices_last(patterns: Iterable[tuple[Any, Matcher]]) -> list[tuple[Any, Matcher]]:
    """Move patterns that leave a choice of values for a variable, e.g. `contains($x)`, to the end.

    The other patterns leave no choice, so they set the variables first.
    """
    return sorted(patterns, key=lambda pattern: any(map(_leaves_choice, walk(pattern[1]))))


def _leaves_choice(matcher: Matcher) -> bool:
    return isinstance(matcher, (OneOf, NoneOf, Contains, Unordered)) and bool(variables(matcher))


def _rows(columns: list[tuple[Any, ...]]) -> list[list[Any]]:
    """Combine examples into rows so that every example is used.

    Each column lists the examples for one item or field. The first row consists of the first examples. The next rows
    each replace one of them with another example. The last row consists of the last examples.
    """
    first = [column[0] for column in columns]
    rows = [first]
    for place, column in enumerate(columns):
        rows += [[*first[:place], other, *first[place + 1 :]] for other in column[1:]]
    if sum(len(column) > 1 for column in columns) > 1:
        rows.append([column[-1] for column in columns])
    return rows
