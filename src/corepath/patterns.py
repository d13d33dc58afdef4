"""Patterns: what a task's author writes for a value, and the matcher that it means.

A pattern is plain JSON, a matcher from one of these functions, a Python function that says yes or no, or lists and
objects of patterns. The functions are annotated `-> Any`, so that a matcher may stand where a tool wants a number.
"""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Mapping
from typing import Any

from corepath import regular
from corepath.errors import TaskError
from corepath.json_values import canonical, is_number, why_not_json
from corepath.matchers import (
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

ANY: Any = Anything()


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
        raise TaskError.of(f'no text that regex({pattern!r}) matches was found; give one: regex(..., example="...")')
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
        found = [probe for probe in PROBES if matcher.matches(probe, Scope())]
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
