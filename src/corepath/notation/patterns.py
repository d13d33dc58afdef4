"""Patterns: what a task's author writes for a value, and the matcher that it means.

A pattern is plain JSON, a matcher from one of these functions, a Python function that says yes or no, or lists and
objects of patterns. The functions are annotated `-> Any`, so that a matcher may stand where a tool wants a number.
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
    Unordered,
    Variable,
)
from corepath.values import canonical, is_name, is_number, why_not_json

ANY: Any = Anything()


def approx(number: float, tol: float | None = None) -> Any:
    """A number close to this one: `approx(4.5)` within a millionth of it, `approx(4.5, tol=0.1)` within 0.1."""
    for value, what in ((number, "number"), (tol, "tolerance")):
        if value is not None and (not is_number(value) or why_not_json(value)):
            raise TaskError.of(f"approx() needs a {what}, not {_shown(value)}")
    if tol is not None and tol < 0:
        raise TaskError.of(f"approx() needs a tolerance of 0 or more, not {tol}")
    return Approx(number, tol)


def between(low: Any, high: Any) -> Any:
    """A number (or a text, such as a date) from low to high, both included."""
    both = (low, high)
    if not (all(map(is_number, both)) or all(isinstance(end, str) for end in both)):
        raise TaskError.of(f"between() needs two numbers or two texts, not {_shown(low)} and {_shown(high)}")
    if wrong := why_not_json(both):
        raise TaskError.of(f"between() cannot be used: {wrong}")
    if not low <= high:
        raise TaskError.of(f"between({low!r}, {high!r}) holds nothing: the first is larger than the second")
    return Between(low, high)


def one_of(*options: Any) -> Any:
    """One of these values or matchers: `one_of("low", "high")`."""
    return OneOf(_options("one_of", options))


def none_of(*options: Any) -> Any:
    """Any value but these: `none_of("draft")`."""
    matcher = NoneOf(_options("none_of", options))
    if not matcher.examples():
        raise TaskError.of(f"no value that {matcher} takes was found: it leaves nothing over")
    return matcher


def regex(pattern: str, example: str | None = None) -> Any:
    """A text that the expression (RE2 syntax) matches as a whole; `example` where none can be found by itself."""
    if not isinstance(pattern, str):
        raise TaskError.of(f"regex() needs a text, not {_shown(pattern)}")
    expression = regular_expressions.compiled(pattern)
    if example is not None and not (isinstance(example, str) and expression.fullmatch(example)):
        raise TaskError.of(f"regex({pattern!r}) does not match its own example {_shown(example)}")
    matcher = Regex(pattern, example)
    if not matcher.examples():
        raise TaskError.of(f'no text that regex({pattern!r}) matches was found; give one: regex(..., example="...")')
    return matcher


def contains(part: Any) -> Any:
    """A text with this part, or a list with such an element."""
    return Contains(as_matcher(part))


def unordered(items: Any) -> Any:
    """A list of just these, in any order: `unordered(["a", "b"])`."""
    if not isinstance(items, (list, tuple)):
        raise TaskError.of(f'unordered() takes one list, as in unordered(["a", "b"]), not {_shown(items)}')
    return Unordered(tuple(as_matcher(item) for item in items))


def same_text(text: str) -> Any:
    """This text, whatever its case and white space."""
    if not isinstance(text, str):
        raise TaskError.of(f"same_text() needs a text, not {_shown(text)}")
    return SameText(text)


def var(name: str) -> Any:
    """A variable, `$name` in text: from the episode's params, else from the first step that matches."""
    if not (isinstance(name, str) and is_name(name)):
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
        if wrong := why_not_json(example):
            raise TaskError.of(f"{_shown(example)} cannot be an example of {name}: {wrong}")
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
    """The pattern as a Matcher: JSON stands for itself, a function for what it says yes to, `...` opens an object."""
    return pattern if isinstance(pattern, Matcher) else _wrapped(_read(pattern))


def opened(matcher: Matcher) -> Matcher:
    """The pattern with its objects open: a tool's answer may hold more than a procedure asks about."""
    match matcher:
        case Literal(value=value):
            return _opened_value(value)
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


def _read(pattern: Any) -> Any:
    """The pattern as a Matcher, or as plain JSON where it stands for nothing but itself: each part is read once."""
    if isinstance(pattern, Matcher):
        return pattern.value if isinstance(pattern, Literal) else pattern
    if isinstance(pattern, Mapping):
        return _read_object(pattern)
    if isinstance(pattern, (list, tuple)):
        items = [_read(item) for item in pattern]
        return Items(tuple(map(_wrapped, items))) if _any_matcher(items) else items
    if pattern is ...:
        raise TaskError.of("'...' opens a pattern; for any value of one argument write ANY")
    if callable(pattern):
        return satisfies(pattern)
    if wrong := why_not_json(pattern):
        raise TaskError.of(f"{_shown(pattern)} cannot be a value to match: {wrong}")
    return pattern


def _read_object(pattern: Mapping[Any, Any]) -> Any:
    named = {name: _read(value) for name, value in pattern.items() if name is not ...}
    for name in named:
        if not isinstance(name, str):
            raise TaskError.of(f"the key {name!r} is not text")
    if ... not in pattern and not _any_matcher(named.values()):
        return named
    return Fields(tuple((name, _wrapped(value)) for name, value in named.items()), ... in pattern)


def _any_matcher(values: Iterable[Any]) -> bool:
    return any(isinstance(value, Matcher) for value in values)


def _wrapped(read: Any) -> Matcher:
    if isinstance(read, Matcher):
        return read
    if wrong := why_not_json(read):
        raise TaskError.of(f"this cannot be a value to match: {wrong}")
    return Literal(canonical(read), read)


def _shown(value: Any) -> str:
    """The value for an error message, or its type if it is too long to print."""
    try:
        text = str(value) if isinstance(value, Matcher) else repr(value)
    except ValueError:  # Python refuses to print very long numbers
        text = ""
    return text if 0 < len(text) <= 1000 else f"this {type(value).__name__}"


def _opened_value(value: Any) -> Matcher:
    if isinstance(value, dict):
        return Fields(tuple((name, _opened_value(item)) for name, item in value.items()), open=True)
    if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        return Items(tuple(map(_opened_value, value)))
    return _wrapped(value)


def _options(name: str, options: tuple[Any, ...]) -> tuple[Matcher, ...]:
    read = tuple(as_matcher(option) for option in options)
    match read:
        case () | (Items(),) | (Literal(value=list()),):
            raise TaskError.of(f'{name}() takes the values themselves, as in {name}("a", "b")')
    return read
