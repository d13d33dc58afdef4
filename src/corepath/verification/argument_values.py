"""Check that enough argument values are tried, and that the agent can know the values that golden paths need."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from corepath.errors import count
from corepath.notation.call import REQUIRED
from corepath.notation.matchers import (
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
    SameText,
    Satisfies,
    Search,
    Unordered,
    depends_on_calls,
)
from corepath.task import Task
from corepath.values import equal
from corepath.verification.subject import Subject
from corepath.verification.wording import normalise
from corepath.world.candidates import in_prompt, numbers_in
from corepath.world.examples import sample_values

FEWEST_VALUES: Final = 3
"""Minimum number of values to try for a matcher that accepts infinitely many."""
INFINITE: Final = (Approx, Between, Regex, Search, Contains, SameText, Satisfies, NoneOf)
"""Matchers that accept infinitely many values."""


def check_values_are_tried(subject: Subject) -> Iterator[str]:
    """Check that at least three values are tried for every matcher that accepts infinitely many."""
    alphabet = subject.task.automaton.alphabet
    for symbol in sorted(alphabet.steps):
        action = alphabet.patterns[symbol]
        for name, pattern in action.arguments.fields:
            found = len(sample_values(subject.task, symbol, name)) if _needs_many_values(pattern) else FEWEST_VALUES
            if found < FEWEST_VALUES:
                values = count(found, "value")
                yield f"'{action.notation}': only {values} of '{name}' can be tried; {pattern} needs more examples"


def _needs_many_values(pattern: Matcher) -> bool:
    """Whether a matcher accepts infinitely many values and does not depend on earlier calls."""
    if not isinstance(pattern, INFINITE) or depends_on_calls(pattern):
        return False
    return not (isinstance(pattern, Approx) and pattern.number == 0 and not pattern.tol)


def check_values_are_known(subject: Subject) -> Iterator[str]:
    """Check that the agent can know every value that a golden path needs.

    A value is known if it is in the prompt or in an earlier result, or if it is a default or an alias.
    """
    task, alphabet = subject.task, subject.task.automaton.alphabet
    reported: set[tuple[int, str]] = set()
    for edge in subject.rounds[0].edges:
        action = alphabet.patterns[edge.symbol]
        results = [call.result for call in edge.node.calls]
        defaults = (alphabet.tools or {})[action.tool].parameters or {}
        for name, pattern in action.arguments.fields:
            if (edge.symbol, name) in reported:
                continue
            known = partial(is_known, task=task, results=results, default=defaults.get(name, REQUIRED))
            missing = find_missing(pattern, known, task.prompt)
            if missing is not None:
                reported.add((edge.symbol, name))
                yield (
                    f"'{action.notation}' needs {missing!r} for '{name}', which is not in the prompt, not in an "
                    "earlier result and no default; name the words that mean it in says="
                )


def is_known(value: Any, task: Task, results: Sequence[Any], default: Any) -> bool:
    """Whether the agent can know `value` from the prompt, an alias, the parameter's default or earlier results."""
    if default is not REQUIRED and equal(default, value):
        return True
    if any(equal(alias, value) for alias in task.says.values()):
        return True
    return in_prompt(value, task.prompt) or any(is_in_result(value, result) for result in results)


def is_in_result(value: Any, result: Any) -> bool:
    """Whether `value` occurs in `result` at any depth."""
    if equal(value, result):
        return True
    if isinstance(result, str):
        return in_prompt(value, result)
    if isinstance(result, Mapping):
        return any(key == value or is_in_result(value, item) for key, item in result.items())
    return isinstance(result, (list, tuple)) and any(is_in_result(value, item) for item in result)


IsKnown = Callable[[Any], bool]


def find_missing(pattern: Matcher, is_known: IsKnown, prompt: str) -> Any:
    """Return a value that the matcher needs but the agent cannot know, or None if there is none."""
    match pattern:
        case OneOf(options):
            missing = [find_missing(option, is_known, prompt) for option in options]
            return None if None in missing else missing[0]
        case Contains() | Items() | Unordered() | Fields():
            missing = [find_missing(part, is_known, prompt) for part in pattern.inner()]
            return next((value for value in missing if value is not None), None)
    return _find_missing_value(pattern, is_known, prompt)


def _find_missing_value(pattern: Matcher, is_known: IsKnown, prompt: str) -> Any:
    """Return the value that a matcher needs but the agent cannot know, or None if there is none.

    The matcher must not contain other matchers.
    """
    match pattern:
        case Literal(value=value):
            return _find_unknown_part(value, is_known)
        case Approx(number):
            return None if is_known(number) else number
        case Between(low, high):
            return None if _is_range_known(low, high, is_known, prompt) else low
        case SameText(text):
            return None if normalise(text) in normalise(prompt) or is_known(text) else text
        case Satisfies():
            return None if any(map(is_known, pattern.examples())) else pattern.examples()[0]
    return None


def _is_range_known(low: Any, high: Any, is_known: IsKnown, prompt: str) -> bool:
    """Whether the prompt contains a number in the range, or both ends of the range are known."""
    if isinstance(low, (int, float)) and any(low <= number <= high for number in numbers_in(prompt)):
        return True
    return is_known(low) and is_known(high)


def _find_unknown_part(value: Any, is_known: IsKnown) -> Any:
    """Return the part of `value` that the agent cannot know, or None if everything is known.

    In a list or an object, this is the first unknown item. Otherwise it is the value itself, or "null" for None.
    """
    if is_known(value):
        return None
    if isinstance(value, (list, dict)) and value:
        items = value if isinstance(value, list) else value.values()
        return next((item for item in items if not is_known(item)), None)
    return "null" if value is None else value
