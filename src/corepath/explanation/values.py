"""How calls, steps and values are written in a sentence: short, and bounded whatever an agent sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from corepath.explanation.words import cut, listed
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
    """A JSON value; of a long one the beginning."""
    if isinstance(value, str):
        return to_notation(cut(value, most))
    return cut(to_notation(value), most)


def message_text(message: Any) -> str:
    """What a tool answered with, on one line."""
    text = message if isinstance(message, str) else to_notation(message)
    return cut(" ".join(text[: 4 * LONGEST_MESSAGE].split()), LONGEST_MESSAGE).rstrip(".")


def tool_name(tool: str) -> str:
    """A tool's name, which an agent may have made up."""
    return cut(tool, LONGEST_NAME)


def call_text(call: Call) -> str:
    """A call as the agent made it."""
    if call.malformed:
        return f"{tool_name(call.tool)}({value_text(call.arguments)})"
    return _joined(call.tool, [f"{_key(name)}={value_text(value)}" for name, value in call.arguments.items()])


def step_text(action: Action, scope: Scope) -> str:
    """A step as a call that would be right, with the values that are bound."""
    parts = [f"{_key(name)}={_pattern_text(pattern, scope)}" for name, pattern in action.arguments.fields]
    text = _joined(action.tool, [*parts, "…"] if action.arguments.open else parts)
    return text if action.result is None else f"{text} -> {cut(str(action.result), LONGEST_VALUE)}"


def wanted_text(pattern: Matcher, scope: Scope) -> str:
    """What a value should have been: `about 4.5`, `"C" or "D"`."""
    match pattern:
        case Approx(number, tol):
            return f"about {number}" if tol is None else f"{number} ± {tol}"
        case Between(low, high):
            return f"between {value_text(low)} and {value_text(high)}"
        case OneOf(options):
            return listed([wanted_text(option, scope) for option in options], "or", 6)
        case NoneOf(options):
            return f"anything but {listed([wanted_text(option, scope) for option in options], 'or', 6)}"
        case Regex(expression):
            return f"a text like {cut(expression, LONGEST_VALUE)}"
        case Contains(part):
            return f"something that holds {wanted_text(part, scope)}"
        case Unordered(items):
            return f"{_list_text(items, scope)} in any order"
        case Satisfies():
            return f"a value that fits {pattern}"
        case Anything():
            return "any value"
        case Variable() | ResultOf():
            return _bound_text(pattern, scope)
    return _pattern_text(pattern, scope)


def _bound_text(pattern: Variable | ResultOf, scope: Scope) -> str:
    """What a value should have been that an earlier call decided."""
    if isinstance(pattern, Variable):
        known = pattern.name in scope.variables
        return f"{value_text(scope.variables[pattern.name])} (${pattern.name})" if known else str(pattern)
    values = pattern.values(scope)
    if values:
        return f"{_any_of(values)}, as {pattern.action.tool} returned it"
    return f"what {pattern.action.tool} returns"


def _pattern_text(pattern: Matcher, scope: Scope) -> str:
    """A pattern inside a call: a value where it stands for one, else its notation."""
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
                return _any_of(values)
            return f"<{path or 'what'} of {action.tool}>"
    return cut(str(pattern), LONGEST_VALUE)


def _list_text(items: Sequence[Matcher], scope: Scope) -> str:
    return f"[{cut(', '.join(_pattern_text(item, scope) for item in items), LONGEST_VALUE)}]"


def _any_of(values: Sequence[Any]) -> str:
    """What a result gave to choose from: where it is a list, its items rather than the list."""
    single = [value for value in values if not isinstance(value, (list, tuple))]
    return listed(list(dict.fromkeys(value_text(value) for value in single or values)), "or")


def _key(name: Any) -> str:
    return cut(key_text(str(name)), LONGEST_NAME)


def _joined(tool: str, arguments: Sequence[str]) -> str:
    """A call in the call notation; of many arguments those that there is room for."""
    shown: list[str] = []
    room = LONGEST_CALL - len(tool_name(tool))
    for number, argument in enumerate(arguments):
        room -= len(argument) + 2
        if room < 0 and number:
            shown.append("…")
            break
        shown.append(argument)
    return f"{tool_name(tool)}({', '.join(shown)})"


def given_beside(given: Any, pattern: Matcher, scope: Scope) -> str:
    """`was 5, expected about 4.5`; of long texts the part in which they differ."""
    expected = _text_of(pattern, scope)
    if isinstance(given, str) and expected is not None and max(len(given), len(expected)) > LONGEST_VALUE:
        differ = next((n for n, (a, b) in enumerate(zip(given, expected, strict=False)) if a != b), None)
        first = min(len(given), len(expected)) if differ is None else differ
        if first > LONGEST_VALUE // 2:
            begin = first - LONGEST_VALUE // 2
            return (f"was {value_text('…' + given[begin:])}, expected {value_text('…' + expected[begin:])} "
                    f"from character {begin + 1} on")  # fmt: skip
    return f"was {value_text(given)}, expected {wanted_text(pattern, scope)}"


def _text_of(pattern: Matcher, scope: Scope) -> str | None:
    """The one text that a pattern asks for."""
    value: Any = None
    match pattern:
        case Literal(value=value) | SameText(value):
            pass
        case Variable(name):
            value = scope.variables.get(name)
    return value if isinstance(value, str) else None
