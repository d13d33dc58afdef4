"""Matchers that depend only on the value: they have no variables, earlier results or nested matchers."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from corepath.notation import regular_expressions
from corepath.notation.matchers.base import Matcher, Scope
from corepath.values import equal, is_number, to_notation


@dataclass(frozen=True)
class Literal(Matcher):
    """Matches exactly this JSON value."""

    text: str
    value: Any = field(compare=False)

    def matches(self, value: Any, scope: Scope) -> bool:
        return equal(self.value, value)

    def examples(self) -> tuple[Any, ...]:
        return (copy.deepcopy(self.value),)

    def __str__(self) -> str:
        return to_notation(self.value)


@dataclass(frozen=True)
class Anything(Matcher):
    """Matches any value."""

    def matches(self, value: Any, scope: Scope) -> bool:
        return True

    def examples(self) -> tuple[Any, ...]:
        return ("anything", 0, None)

    def __str__(self) -> str:
        return "ANY"


@dataclass(frozen=True)
class Approx(Matcher):
    """Matches a number that is close to `number`.

    `tol` is the absolute tolerance. If `tol` is None, the relative tolerance is 1e-6.
    """

    number: float
    tol: float | None

    def matches(self, value: Any, scope: Scope) -> bool:
        if not is_number(value) or (isinstance(value, float) and not math.isfinite(value)):
            return False
        low, high = self._ends
        if isinstance(value, float) and (value < self._rough[0] or value > self._rough[1]):
            return False  # a quick check first, because fractions are slow
        return low <= _exact(value) <= high

    @cached_property
    def _rough(self) -> tuple[float, float]:
        """The lower and upper limit as floats, moved slightly outwards for a quick first check."""
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
        """The lower and upper limit as exact fractions, so that 0.4 is within 0.1 of 0.3."""
        middle = _exact(self.number)
        reach = abs(middle) / 1_000_000 if self.tol is None else _exact(self.tol)
        return middle - reach, middle + reach

    def _inside(self, end: Fraction, inwards: float) -> float:
        """Convert a limit of the range to a JSON number that lies within the range.

        If rounding moves the number out of the range, the next float towards `inwards` is returned.
        """
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


def _exact(number: float) -> Fraction:
    """Convert a number to an exact fraction. A float is read as its decimal digits, so 0.1 becomes 1/10."""
    return Fraction(number if isinstance(number, int) else repr(number))


@dataclass(frozen=True)
class Between(Matcher):
    """Matches a number or a string from `low` to `high`, both included."""

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
        return f"between({to_notation(self.low)}, {to_notation(self.high)})"


@dataclass(frozen=True)
class Regex(Matcher):
    """Matches a string if the regular expression matches all of it."""

    pattern: str
    example: str | None = field(default=None, compare=False)

    def matches(self, value: Any, scope: Scope) -> bool:
        if not isinstance(value, str):
            return False
        return regular_expressions.compile_expression(self.pattern).fullmatch(value) is not None

    def examples(self) -> tuple[Any, ...]:
        found = regular_expressions.examples(self.pattern)
        return found if self.example is None else tuple(dict.fromkeys([self.example, *found]))

    def __str__(self) -> str:
        example = "" if self.example is None else f", example={to_notation(self.example)}"
        return f"regex({to_notation(self.pattern)}{example})"


@dataclass(frozen=True)
class Search(Matcher):
    """Matches a string in which the regular expression is found.

    In the notation, backslashes are part of the expression, and only the closing quote is escaped.
    """

    pattern: str

    def matches(self, value: Any, scope: Scope) -> bool:
        if not isinstance(value, str):
            return False
        expression = regular_expressions.compile_expression(f"(?s:.*)(?:{self.pattern})(?s:.*)")
        return expression.fullmatch(value) is not None

    def examples(self) -> tuple[Any, ...]:
        found = regular_expressions.examples(self.pattern)
        return tuple(dict.fromkeys([*found, *(f"before {one} after" for one in found[:1])]))

    def __str__(self) -> str:
        return '~"' + self.pattern.replace('"', '\\"') + '"'


@dataclass(frozen=True)
class SameText(Matcher):
    """Matches this string, ignoring case and whitespace."""

    text: str

    def matches(self, value: Any, scope: Scope) -> bool:
        return isinstance(value, str) and _fold(value) == _fold(self.text)

    def examples(self) -> tuple[Any, ...]:
        others = (self.text.swapcase(), f" {self.text.replace(' ', '  ')} ")
        return tuple(dict.fromkeys([self.text, *(text for text in others if self.matches(text, Scope()))]))

    def __str__(self) -> str:
        return f"same_text({to_notation(self.text)})"


def _fold(text: str) -> str:
    """Remove whitespace and case differences."""
    return "".join(text.split()).casefold()


@dataclass(frozen=True)
class Satisfies(Matcher):
    """Matches a value for which `predicate` returns a truthy value."""

    predicate: Callable[[Any], object]
    known: tuple[str, ...]

    def matches(self, value: Any, scope: Scope) -> bool:
        try:
            return bool(self.predicate(value))
        except Exception:  # noqa: BLE001  # the function may not handle every type that an agent sends
            return False

    def examples(self) -> tuple[Any, ...]:
        return tuple(json.loads(text) for text in self.known)

    def __str__(self) -> str:
        return f"<{getattr(self.predicate, '__name__', 'predicate')}>"
