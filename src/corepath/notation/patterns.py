"""Patterns, which task authors write to describe values, and their conversion to matchers.

A pattern is a JSON value, a matcher created by a function in this module, a Python predicate, or a list or object of
patterns. The functions return `Any`, so that type checkers accept a matcher where a tool expects, say, a number.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from corepath.errors import TaskError
from corepath.notation import regular_expressions
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
    Regex,
    ResultOf,
    SameText,
    Satisfies,
    Scope,
    Search,
    Unordered,
    Variable,
)
from corepath.values import canonical, is_name, is_number, why_not_json

ANY: Any = Anything()


def approx(number: float, tol: float | None = None) -> Any:
    """Match a number close to `number`.

    `approx(4.5, tol=0.1)` allows a difference of 0.1. `approx(4.5)` allows a relative difference of 1e-6.
    """
    for value, what in ((number, "number"), (tol, "tolerance")):
        if value is not None and (not is_number(value) or why_not_json(value)):
            raise TaskError.of(f"approx() needs a {what}, not {_describe(value)}")
    if tol is not None and tol < 0:
        raise TaskError.of(f"approx() needs a tolerance of 0 or more, not {tol}")
    return Approx(number, tol)


def between(low: Any, high: Any) -> Any:
    """Match a number, or a string such as a date, from `low` to `high`, both included."""
    both = (low, high)
    if not (all(map(is_number, both)) or all(isinstance(end, str) for end in both)):
        raise TaskError.of(f"between() needs two numbers or two texts, not {_describe(low)} and {_describe(high)}")
    if wrong := why_not_json(both):
        raise TaskError.of(f"between() cannot be used: {wrong}")
    if not low <= high:
        raise TaskError.of(f"between({low!r}, {high!r}) is empty: the first is larger than the second")
    return Between(low, high)


def one_of(*options: Any) -> Any:
    """Match one of these values or matchers: `one_of("low", "high")`."""
    return OneOf(_options("one_of", options))


def none_of(*options: Any) -> Any:
    """Match any value except these: `none_of("draft")`."""
    matcher = NoneOf(_options("none_of", options))
    if not matcher.examples():
        raise TaskError.of(f"no value was found that {matcher} allows")
    return matcher


def regex(pattern: str, example: str | None = None) -> Any:
    """Match a string if the regular expression (RE2 syntax) matches all of it.

    An `example` is required only if none can be generated from the pattern.
    """
    if not isinstance(pattern, str):
        raise TaskError.of(f"regex() needs a text, not {_describe(pattern)}")
    expression = regular_expressions.compile_expression(pattern)
    if example is not None and not (isinstance(example, str) and expression.fullmatch(example)):
        raise TaskError.of(f"regex({pattern!r}) does not match its own example {_describe(example)}")
    matcher = Regex(pattern, example)
    if not matcher.examples():
        raise TaskError.of(f'no text that regex({pattern!r}) matches was found; give one: regex(..., example="...")')
    return matcher


def search(pattern: str) -> Any:
    """Match a string in which the regular expression (RE2 syntax) is found, written `~"yes|go ahead"`.

    A pattern that begins with `(?i)` ignores case.
    """
    if not isinstance(pattern, str):
        raise TaskError.of(f"search() needs a text, not {_describe(pattern)}")
    regular_expressions.compile_expression(pattern)
    return Search(pattern)


def contains(part: Any) -> Any:
    """Match a string that contains `part`, or a list with an item that matches `part`."""
    return Contains(as_matcher(part))


def unordered(items: Any) -> Any:
    """Match a list of exactly these items, in any order: `unordered(["a", "b"])`."""
    if not isinstance(items, (list, tuple)):
        raise TaskError.of(f'unordered() takes one list, as in unordered(["a", "b"]), not {_describe(items)}')
    return Unordered(tuple(as_matcher(item) for item in items))


def same_text(text: str) -> Any:
    """Match this string, ignoring case and whitespace."""
    if not isinstance(text, str):
        raise TaskError.of(f"same_text() needs a text, not {_describe(text)}")
    return SameText(text)


def var(name: str) -> Any:
    """Match a variable's value. In text, the variable is written `$name`.

    The value comes from the episode's params or from the first step that uses the variable.
    """
    if not (isinstance(name, str) and is_name(name)):
        raise TaskError.of(f"a variable's name is letters, digits and _, not {name!r}")
    return Variable(name)


def result_of(action: Any, path: str | None = None) -> Any:
    """Match an action's latest result, or a part of it: `result_of(check, "rule.id")`."""
    if not hasattr(action, "tool"):
        raise TaskError.of(f"result_of() takes an action of the procedure, not {action!r}")
    return ResultOf(action, path)


def satisfies(predicate: Callable[[Any], object], *examples: Any) -> Any:
    """Match a value for which `predicate` returns a truthy value. `examples` are values that match."""
    name = getattr(predicate, "__name__", "predicate")
    for example in examples:
        if wrong := why_not_json(example):
            raise TaskError.of(f"{_describe(example)} cannot be an example of {name}: {wrong}")
    matcher = Satisfies(predicate, tuple(json.dumps(example) for example in examples))
    for example in examples:
        if not matcher.matches(example, Scope()):
            raise TaskError.of(f"{name} says no to its own example {example!r}")
    if not examples:
        found = [probe for probe in PROBES if matcher.matches(probe, Scope())]
        if not found:
            raise TaskError.of(f"{name} says no to every value tried; give it an example: satisfies({name}, 4.5)")
        matcher = Satisfies(predicate, tuple(json.dumps(value) for value in found[:4]))
    return matcher


def as_matcher(pattern: Any) -> Matcher:
    """Convert a pattern to a matcher. In an object, the key `...` allows other fields."""
    return pattern if isinstance(pattern, Matcher) else _wrap(_normalize(pattern))


def open_objects(matcher: Matcher) -> Matcher:
    """Return a copy of the matcher in which all objects allow other fields.

    This is used for results, which may have more fields than the procedure mentions.
    """
    match matcher:
        case Literal(value=value):
            return _open_value(value)
        case Fields(fields):
            return Fields(tuple((name, open_objects(pattern)) for name, pattern in fields), open=True)
        case Items(parts) | Unordered(parts) | OneOf(parts) | NoneOf(parts):
            return type(matcher)(tuple(map(open_objects, parts)))
        case Contains(part):
            return Contains(open_objects(part))
    return matcher


def _normalize(pattern: Any) -> Any:
    """Convert a pattern to a matcher, or to plain JSON if it contains no matcher."""
    if isinstance(pattern, Matcher):
        return pattern.value if isinstance(pattern, Literal) else pattern
    if isinstance(pattern, Mapping):
        return _normalize_object(pattern)
    if isinstance(pattern, (list, tuple)):
        items = [_normalize(item) for item in pattern]
        return Items(tuple(map(_wrap, items))) if _any_matcher(items) else items
    if pattern is ...:
        raise TaskError.of("'...' opens a pattern; for any value of one argument write ANY")
    if callable(pattern):
        return satisfies(pattern)
    if wrong := why_not_json(pattern):
        raise TaskError.of(f"{_describe(pattern)} cannot be a value to match: {wrong}")
    return pattern


def _normalize_object(pattern: Mapping[Any, Any]) -> Any:
    named = {name: _normalize(value) for name, value in pattern.items() if name is not ...}
    for name in named:
        if not isinstance(name, str):
            raise TaskError.of(f"the key {name!r} is not text")
    if ... not in pattern and not _any_matcher(named.values()):
        return named
    return Fields(tuple((name, _wrap(value)) for name, value in named.items()), ... in pattern)


def _any_matcher(values: Iterable[Any]) -> bool:
    return any(isinstance(value, Matcher) for value in values)


def _wrap(value: Any) -> Matcher:
    if isinstance(value, Matcher):
        return value
    if wrong := why_not_json(value):
        raise TaskError.of(f"this cannot be a value to match: {wrong}")
    return Literal(canonical(value), value)


def _describe(value: Any) -> str:
    """Format a value for an error message. If the value is too long to print, name its type instead."""
    try:
        text = str(value) if isinstance(value, Matcher) else repr(value)
    except ValueError:  # Python refuses to print very long numbers
        text = ""
    return text if 0 < len(text) <= 1000 else f"this {type(value).__name__}"


def _open_value(value: Any) -> Matcher:
    if isinstance(value, dict):
        return Fields(tuple((name, _open_value(item)) for name, item in value.items()), open=True)
    if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        return Items(tuple(map(_open_value, value)))
    return _wrap(value)


def _options(name: str, options: tuple[Any, ...]) -> tuple[Matcher, ...]:
    matchers = tuple(as_matcher(option) for option in options)
    match matchers:
        case () | (Items(),) | (Literal(value=list()),):
            raise TaskError.of(f'{name}() takes the values themselves, as in {name}("a", "b")')
    return matchers
