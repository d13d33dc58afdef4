"""Whether one pattern takes everything that another takes: how a shadowed action is found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from corepath.notation.assignment import assigned
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
    ResultOf,
    Scope,
    Unordered,
    Variable,
    every,
)
from corepath.values import is_number

_PROVEN = (Literal, Between, Approx, Items, Fields, Unordered, Contains)
"""Matchers of which it is known which numbers and ranges of texts they take; contains() takes no range of texts."""


def covers(wide: Matcher, narrow: Matcher) -> bool:
    """Whether every value that `narrow` takes is taken by `wide` too.

    Proven for literals, ANY, one_of, between, and lists and objects of them; otherwise it is what the examples
    of both, and values near them, say. A variable covers only itself: what it will be equal to is not known
    beforehand.
    """
    match wide, narrow:
        case Anything(), _:
            return True
        case _, Literal(value=value) if not _unsettled(wide):
            return wide.matches(value, Scope())
        case _, OneOf(options):
            return all(covers(wide, option) for option in options)
        case OneOf(options), _ if any(covers(option, narrow) for option in options):
            return True
        case Items(a), Items(b):
            return len(a) == len(b) and all(map(covers, a, b))
        case Unordered(a), Unordered(b) | Items(b):
            return len(a) == len(b) and assigned([[n for n, two in enumerate(b) if covers(one, two)] for one in a])
        case Fields(), Fields():
            return _covers_fields(wide, narrow)
    return wide == narrow or (not (_unsettled(wide) or _unsettled(narrow)) and _covers_settled(wide, narrow))


def _covers_settled(wide: Matcher, narrow: Matcher) -> bool:
    match wide, narrow:
        case _, Between() if _is_proven(wide):
            return _fill(wide, narrow)
        case _, Approx() if _is_proven(wide):
            return _fill(wide, _span(narrow))
        case Contains(part), Contains(other):
            return not _has_texts(other) and covers(part, other)
        case Contains(part), Items(items) | Unordered(items):
            return any(covers(part, item) for item in items)
        case Items(a), Unordered(b):
            return len(a) == len(b) and all(covers(one, two) for one in a for two in b)
        case NoneOf(options), NoneOf(others):
            return all(covers(OneOf(others), option) for option in options)
        case (_, Anything() | NoneOf()) | (Literal(), _):
            return False
        case OneOf(), Items() | Fields() | Unordered() | Contains():
            return False
    return all(wide.matches(value, Scope()) for value in _tries(wide, narrow) if narrow.matches(value, Scope()))


def _covers_fields(wide: Fields, narrow: Fields) -> bool:
    if narrow.open and not wide.open:
        return False
    theirs = dict(narrow.fields)
    if not wide.open and len(theirs) != len(wide.fields):
        return False
    return all(name in theirs and covers(pattern, theirs[name]) for name, pattern in wide.fields)


def _fill(wide: Matcher, narrow: Between) -> bool:
    """Whether the values and ranges of `wide`, laid end to end, leave no gap in the range of `narrow`."""
    is_text = isinstance(narrow.low, str)
    spans = [span for span in _spans(wide) if isinstance(span.low, str) == is_text and span.high >= narrow.low]
    reached = narrow.low
    for span in sorted(spans, key=lambda span: span.low):
        if span.low > reached:
            return False
        reached = max(reached, span.high)
        if reached >= narrow.high:
            return True
    return False


def _spans(matcher: Matcher) -> Iterator[Between]:
    match matcher:
        case Between():
            yield matcher
        case Approx():
            yield _span(matcher)
        case Literal(value=value) if isinstance(value, str) or is_number(value):
            yield Between(value, value)
        case OneOf(options):
            for option in options:
                yield from _spans(option)


def _span(matcher: Approx) -> Between:
    return Between(min(matcher.examples()), max(matcher.examples()))


def _is_proven(matcher: Matcher) -> bool:
    options = matcher.options if isinstance(matcher, OneOf) else (matcher,)
    return all(_is_proven(one) if isinstance(one, OneOf) else isinstance(one, _PROVEN) for one in options)


def _has_texts(matcher: Matcher) -> bool:
    return any(isinstance(one, Literal) and isinstance(one.value, str) for one in every(matcher))


def _unsettled(matcher: Matcher) -> bool:
    return any(isinstance(one, (Variable, ResultOf)) for one in every(matcher))


def _tries(wide: Matcher, narrow: Matcher) -> Iterator[Any]:
    """Values on which the two may differ."""
    for one in (*every(narrow), *every(wide)):
        for example in one.examples():
            yield example
            yield from _near(example)
    yield from PROBES


def _near(value: Any) -> Iterator[Any]:
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
