"""Subsumption: decide whether one matcher accepts every value that another accepts.

It is used to find actions that are shadowed by other actions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from corepath.notation.assignment import can_assign
from corepath.notation.matchers import (
    PROBES,
    Anything,
    Approx,
    Between,
    Contains,
    Fields,
    Items,
    Literal,
    Matcher,
    NoneOf,
    OneOf,
    Scope,
    Unordered,
    depends_on_calls,
    walk,
)
from corepath.values import is_number

_EXACT = (Literal, Between, Approx, Items, Fields, Unordered, Contains)
"""Matchers for which it is known exactly which numbers and which ranges of strings they accept.

`Contains` is one of them because it accepts no range.
"""


def covers(wide: Matcher, narrow: Matcher) -> bool:
    """Return True if `wide` accepts every value that `narrow` accepts.

    The result is exact for literals, ANY, one_of, between, and lists and objects made of them. Other matchers are
    compared by testing their examples and similar values. A variable covers only itself, because its value is not known
    in advance.
    """
    match wide, narrow:
        case Anything(), _:
            return True
        case _, Literal(value=value) if not depends_on_calls(wide):
            return wide.matches(value, Scope())
        case _, OneOf(options):
            return all(covers(wide, option) for option in options)
        case OneOf(options), _ if any(covers(option, narrow) for option in options):
            return True
        case Items(a), Items(b):
            return len(a) == len(b) and all(map(covers, a, b))
        case Unordered(a), Unordered(b) | Items(b):
            return _covers_in_some_order(a, b)
        case Fields(), Fields():
            return _covers_fields(wide, narrow)
    return wide == narrow or _covers_constant(wide, narrow)


def _covers_constant(wide: Matcher, narrow: Matcher) -> bool:
    """Return True if `wide` covers `narrow` and neither depends on other calls."""
    if depends_on_calls(wide) or depends_on_calls(narrow):
        return False
    match wide, narrow:
        case _, Between() if _is_exact(wide):
            return _fills(wide, narrow)
        case _, Approx() if _is_exact(wide):
            return _fills(wide, _range(narrow))
        case Contains(part), _ if isinstance(narrow, (Contains, Items, Unordered)):
            return _contains_all(part, narrow)
        case Items(a), Unordered(b):
            return _covers_in_every_order(a, b)
        case NoneOf(options), NoneOf(others):
            return all(covers(OneOf(others), option) for option in options)
    return not _is_wider(narrow, wide) and _covers_candidates(wide, narrow)


def _covers_candidates(wide: Matcher, narrow: Matcher) -> bool:
    fitting = (value for value in _candidates(wide, narrow) if narrow.matches(value, Scope()))
    return all(wide.matches(value, Scope()) for value in fitting)


def _is_wider(narrow: Matcher, wide: Matcher) -> bool:
    """Return True if the matchers' classes alone show that `narrow` accepts values that `wide` rejects."""
    match wide, narrow:
        case (_, Anything() | NoneOf()) | (Literal(), _):
            return True
        case OneOf(), Items() | Fields() | Unordered() | Contains():
            return True
    return False


def _contains_all(part: Matcher, narrow: Contains | Items | Unordered) -> bool:
    """Return True if every value that `narrow` accepts contains an item that `part` accepts."""
    if isinstance(narrow, Contains):
        return not _has_texts(narrow.part) and covers(part, narrow.part)
    return any(covers(part, item) for item in narrow.items)


def _covers_in_every_order(wide: tuple[Matcher, ...], narrow: tuple[Matcher, ...]) -> bool:
    return len(wide) == len(narrow) and all(covers(one, two) for one in wide for two in narrow)


def _covers_in_some_order(wide: tuple[Matcher, ...], narrow: tuple[Matcher, ...]) -> bool:
    if len(wide) != len(narrow):
        return False
    return can_assign([[place for place, two in enumerate(narrow) if covers(one, two)] for one in wide])


def _covers_fields(wide: Fields, narrow: Fields) -> bool:
    if narrow.open and not wide.open:
        return False
    theirs = dict(narrow.fields)
    if not wide.open and len(theirs) != len(wide.fields):
        return False
    return all(name in theirs and covers(pattern, theirs[name]) for name, pattern in wide.fields)


def _fills(wide: Matcher, narrow: Between) -> bool:
    """Return True if the values and ranges that `wide` accepts cover the range `narrow` without gaps."""
    is_text = isinstance(narrow.low, str)
    ranges = [one for one in _ranges(wide) if isinstance(one.low, str) == is_text and one.high >= narrow.low]
    reached = narrow.low
    for one in sorted(ranges, key=lambda one: one.low):
        if one.low > reached:
            return False
        reached = max(reached, one.high)
        if reached >= narrow.high:
            return True
    return False


def _ranges(matcher: Matcher) -> Iterator[Between]:
    """Yield the ranges that a matcher is known to accept. A single value counts as a range."""
    match matcher:
        case Between():
            yield matcher
        case Approx():
            yield _range(matcher)
        case Literal(value=value) if isinstance(value, str) or is_number(value):
            yield Between(value, value)
        case OneOf(options):
            for option in options:
                yield from _ranges(option)


def _range(matcher: Approx) -> Between:
    return Between(min(matcher.examples()), max(matcher.examples()))


def _is_exact(matcher: Matcher) -> bool:
    options = matcher.options if isinstance(matcher, OneOf) else (matcher,)
    return all(_is_exact(one) if isinstance(one, OneOf) else isinstance(one, _EXACT) for one in options)


def _has_texts(matcher: Matcher) -> bool:
    return any(isinstance(one, Literal) and isinstance(one.value, str) for one in walk(matcher))


def _candidates(wide: Matcher, narrow: Matcher) -> Iterator[Any]:
    """Yield test values on which the two matchers may differ."""
    for one in (*walk(narrow), *walk(wide)):
        for example in one.examples():
            yield example
            yield from _neighbours(example)
    yield from PROBES


def _neighbours(value: Any) -> Iterator[Any]:
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value - 1, value + 1)
    elif isinstance(value, float):
        yield from (value - 1, value + 1, value - 0.5, value + 0.5)
    elif isinstance(value, str):
        yield from (value[:-1], value[1:], f"{value}x", f"x{value}", f"{value}0", f" {value} ", value + value)
        yield from (value.upper(), value.lower(), [value])
    elif isinstance(value, list):
        yield from (value[:-1], value[::-1], [*value, "x"], value + value)
