"""Whether one pattern takes everything that another takes: how a shadowed action is found."""

from __future__ import annotations

from corepath.matchers import (
    Anything,
    Between,
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


def covers(wide: Matcher, narrow: Matcher) -> bool:
    """Whether every value that `narrow` takes is taken by `wide` too.

    Proven for literals, ANY, one_of, between, and lists and objects of them; otherwise it is what the examples
    of `narrow` say. A variable covers only itself: what it will be equal to is not known beforehand.
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
        case Between(), Between():
            same_kind = isinstance(wide.low, str) == isinstance(narrow.low, str)
            return same_kind and bool(wide.low <= narrow.low and narrow.high <= wide.high)
        case (Items(a), Items(b)) | (Unordered(a), Unordered(b)):
            return len(a) == len(b) and all(map(covers, a, b))
        case Fields(), Fields():
            return _covers_fields(wide, narrow)
        case _ if wide == narrow:
            return True
        case (_, Anything() | NoneOf()) | (Literal(), _):
            return False
    if _unsettled(wide) or _unsettled(narrow):
        return False
    return all(wide.matches(example, Scope()) for example in narrow.examples())


def _covers_fields(wide: Fields, narrow: Fields) -> bool:
    if narrow.open and not wide.open:
        return False
    theirs = dict(narrow.fields)
    if not wide.open and len(theirs) != len(wide.fields):
        return False
    return all(name in theirs and covers(pattern, theirs[name]) for name, pattern in wide.fields)


def _unsettled(matcher: Matcher) -> bool:
    return any(isinstance(one, (Variable, ResultOf)) for one in every(matcher))
