"""Format calls, steps and values as short text. The length is limited, no matter what an agent sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from corepath.explanation.sentences import cut, join
from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.notation.matchers import (
    Anything,
    Approx,
    Between,
    Contains,
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
from corepath.values import key_text, to_notation

LONGEST_NAME: Final = 60
LONGEST_VALUE: Final = 50
LONGEST_CALL: Final = 110
LONGEST_MESSAGE: Final = 120


def value_text(value: Any, most: int = LONGEST_VALUE) -> str:
    """Write a JSON value, and cut it if it is long."""
    if isinstance(value, str):
        return to_notation(cut(value, most))
    return cut(to_notation(value), most)


def message_text(message: Any) -> str:
    """Put a message on one line, and cut it if it is long."""
    text = message if isinstance(message, str) else to_notation(message)
    return cut(" ".join(text[: 4 * LONGEST_MESSAGE].split()), LONGEST_MESSAGE).rstrip(".")


def tool_name(tool: str) -> str:
    """Return a tool's name, and cut it if it is long. An agent may have made the name up."""
    return cut(tool, LONGEST_NAME)


def call_text(call: Call) -> str:
    """Write a call with the arguments that the agent sent."""
    if call.malformed:
        return f"{tool_name(call.tool)}({value_text(call.arguments)})"
    return _call_notation(call.tool, [f"{_key(name)}={value_text(value)}" for name, value in call.arguments.items()])


def step_text(action: Action, scope: Scope) -> str:
    """Write a step as a valid call, with the values that are already known."""
    parts = [f"{_key(name)}={_pattern_text(pattern, scope)}" for name, pattern in action.arguments.fields]
    text = _call_notation(action.tool, [*parts, "…"] if action.arguments.open else parts)
    return text if action.result is None else f"{text} -> {cut(str(action.result), LONGEST_VALUE)}"


def expected_text(pattern: Matcher, scope: Scope) -> str:
    """Describe the value that a matcher expects, e.g. `about 4.5` or `"C" or "D"`."""
    match pattern:
        case Approx(number, tol):
            return f"about {number}" if tol is None else f"{number} ± {tol}"
        case Between(low, high):
            return f"between {value_text(low)} and {value_text(high)}"
        case OneOf(options):
            return _alternatives_text(options, scope)
        case NoneOf(options):
            return f"anything but {_alternatives_text(options, scope)}"
        case Regex(expression):
            return f"a text like {cut(expression, LONGEST_VALUE)}"
        case Contains(part):
            return f"something that holds {expected_text(part, scope)}"
        case Unordered(items):
            return f"{_list_text(items, scope)} in any order"
        case Satisfies():
            return f"a value that fits {pattern}"
        case Anything():
            return "any value"
        case Variable() | ResultOf():
            return _bound_text(pattern, scope)
    return _pattern_text(pattern, scope)


def _alternatives_text(options: Sequence[Matcher], scope: Scope) -> str:
    return join([expected_text(option, scope) for option in options], "or", 6)


def _bound_text(pattern: Variable | ResultOf, scope: Scope) -> str:
    """Describe a value that comes from a variable or from an earlier call, e.g. `3, as scan returned it`."""
    if isinstance(pattern, Variable):
        known = pattern.name in scope.variables
        return f"{value_text(scope.variables[pattern.name])} (${pattern.name})" if known else str(pattern)
    values = pattern.values(scope)
    if values:
        return f"{_options_text(values)}, as {pattern.action.tool} returned it"
    return f"what {pattern.action.tool} returns"


def _pattern_text(pattern: Matcher, scope: Scope) -> str:
    """Write a matcher as a call argument: the expected value if it is known, otherwise the matcher's notation."""
    match pattern:
        case Literal(value=value):
            return value_text(value)
        case Approx(number, None):
            return str(number)
        case SameText(text):
            return value_text(text)
        case Items(items) | Unordered(items):
            return _list_text(items, scope)
        case Variable(name) if name in scope.variables:
            return value_text(scope.variables[name])
        case ResultOf(action, path):
            values = pattern.values(scope)
            if values:
                return _options_text(values)
            return f"<{path or 'what'} of {action.tool}>"
    return cut(str(pattern), LONGEST_VALUE)


def _list_text(items: Sequence[Matcher], scope: Scope) -> str:
    return f"[{cut(', '.join(_pattern_text(item, scope) for item in items), LONGEST_VALUE)}]"


def _options_text(values: Sequence[Any]) -> str:
    """Join alternative values, e.g. `3 or 4`. Lists are left out if there are other values."""
    single = [value for value in values if not isinstance(value, (list, tuple))]
    return join(list(dict.fromkeys(value_text(value) for value in single or values)), "or")


def _key(name: Any) -> str:
    return cut(key_text(str(name)), LONGEST_NAME)


def _call_notation(tool: str, arguments: Sequence[str]) -> str:
    """Write a call with as many arguments as there is room for."""
    shown: list[str] = []
    room = LONGEST_CALL - len(tool_name(tool))
    for number, argument in enumerate(arguments):
        room -= len(argument) + 2
        if room < 0 and number:
            shown.append("…")
            break
        shown.append(argument)
    return f"{tool_name(tool)}({', '.join(shown)})"


def mismatch_text(given: Any, pattern: Matcher, scope: Scope) -> str:
    """Describe a wrong value and the expected one, e.g. `was 5, expected about 4.5`.

    Long strings are cut to the part around the first difference.
    """
    expected = _literal_text(pattern, scope)
    if isinstance(given, str) and expected is not None and max(len(given), len(expected)) > LONGEST_VALUE:
        pairs = enumerate(zip(given, expected, strict=False))
        first = next((place for place, (one, other) in pairs if one != other), min(len(given), len(expected)))
        if first > LONGEST_VALUE // 2:
            begin = first - LONGEST_VALUE // 2
            return (f"was {value_text('…' + given[begin:])}, expected {value_text('…' + expected[begin:])} "
                    f"from character {begin + 1} on")  # fmt: skip
    return f"was {value_text(given)}, expected {expected_text(pattern, scope)}"


def _literal_text(pattern: Matcher, scope: Scope) -> str | None:
    """Return the string that a matcher expects, or None if it does not expect one particular string."""
    value: Any = None
    match pattern:
        case Literal(value=value) | SameText(value):
            pass
        case Variable(name):
            value = scope.variables.get(name)
    return value if isinstance(value, str) else None
