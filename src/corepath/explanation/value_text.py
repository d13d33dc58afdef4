"""Format calls, steps and values as short text. The length is limited, no matter what an agent sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from corepath.explanation.sentences import cut, join
from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.notation.matchers import (
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
from corepath.values import key_text, to_notation

LONGEST_NAME: Final = 60
LONGEST_VALUE: Final = 50
LONGEST_CALL: Final = 100
SHORT_VALUE: Final = 40
"""Maximum length of the one argument that is shown of a long call."""
LONGEST_MESSAGE: Final = 140
LONGEST_WHOLE: Final = 1_200
"""Maximum length of a call that is written in full."""
UNKNOWN: Final = object()
"""Stands for a value that is not known."""
_NEGLIGIBLE: Final = 0.01
"""A tolerance up to this share of the number is not worth telling."""


@dataclass
class NamingScope(Scope):
    """A scope that also knows how to name actions. `names` holds those whose tool other actions use as well."""

    names: Mapping[Action, str] = field(default_factory=dict)


def _name(action: Action, scope: Scope) -> str:
    """Name an action by its tool, or as a call if there are other actions with that tool."""
    return scope.names.get(action, action.tool) if isinstance(scope, NamingScope) else action.tool


def value_text(value: Any, most: int = LONGEST_VALUE) -> str:
    """Write a JSON value, and cut it if it is long. Of a long list or object, the first part is written."""
    if isinstance(value, str):
        return to_notation(cut(value, most))
    whole = to_notation(value)
    if len(whole) <= most or not isinstance(value, (dict, list, tuple)):
        return cut(whole, most)
    parts = value.items() if isinstance(value, dict) else ((None, part) for part in value)
    name, first = next(iter(parts))
    return _first_part(name, value_text(first, most // 2), len(value))


def _first_part(name: str | None, text: str, size: int) -> str:
    """Write a long list or object by its first part, e.g. `[1, …]` or `{"id": 1, …}`. Items of a list have no name."""
    more = ", …" if size > 1 else ""
    return f"[{text}{more}]" if name is None else f"{{{to_notation(cut(name, SHORT_VALUE))}: {text}{more}}}"


def message_text(message: Any) -> str:
    """Put a message on one line, and cut it if it is long."""
    text = message if isinstance(message, str) else to_notation(message)
    return cut(" ".join(text[: 4 * LONGEST_MESSAGE].split()), LONGEST_MESSAGE).rstrip(".")


def tool_name(tool: str) -> str:
    """Return a tool's name, and cut it if it is long. An agent may have made the name up."""
    return cut(tool, LONGEST_NAME)


def call_text(call: Call, telling: frozenset[str] = frozenset()) -> str:
    """Write a call with the arguments that the agent sent, or with one of those in `telling` if that is too long.

    If no such argument is short, the tool's name stands for the call.
    """
    if call.malformed:
        return f"{tool_name(call.tool)}({value_text(call.arguments)})"
    parts = {name: f"{_key(name)}={value_text(value)}" for name, value in call.arguments.items()}
    whole = f"{tool_name(call.tool)}({', '.join(parts.values())})"
    if len(whole) <= LONGEST_CALL and not any(map(_is_cut, call.arguments.values())):
        return whole
    short = [name for name, value in call.arguments.items() if len(parts[name]) <= SHORT_VALUE and not _is_cut(value)]
    shown = next((name for name in short if name in telling), None)
    return tool_name(call.tool) if shown is None else f"{tool_name(call.tool)}({parts[shown]}, …)"


def _is_cut(value: Any) -> bool:
    """Whether a list or an object is too long to be written whole. A text may be cut."""
    return not isinstance(value, str) and len(to_notation(value)) > LONGEST_VALUE


def step_text(action: Action, scope: Scope, only: frozenset[str] | None = None) -> str:
    """Write a step as a valid call, with the values that are already known.

    With `only`, other arguments are left out.
    """
    fields = [(name, part) for name, part in action.arguments.fields if only is None or name in only]
    parts = [f"{_key(name)}={_pattern_text(part, scope)}" for name, part in fields]
    is_cut = action.arguments.open or len(parts) < len(action.arguments.fields)
    return f"{_call_notation(action.tool, [*parts, '…'] if is_cut else parts)}{_result_text(action, scope)}"


def whole_step_text(action: Action, scope: Scope) -> str:
    """Write a step as a call with all its arguments, for someone who is to make that call."""
    parts = [f"{_key(name)}={_pattern_text(part, scope, LONGEST_WHOLE)}" for name, part in action.arguments.fields]
    call = f"{tool_name(action.tool)}({', '.join([*parts, '…'] if action.arguments.open else parts)})"
    return cut(call, LONGEST_WHOLE)


def _result_text(action: Action, scope: Scope) -> str:
    return (
        "" if action.result is None else f" with the result {cut(_pattern_text(action.result, scope), LONGEST_VALUE)}"
    )


def expected_text(pattern: Matcher, scope: Scope, most: int = LONGEST_VALUE) -> str:
    """Describe the value that a matcher expects, as people write it, e.g. `4.5` or `"C" or "D"`.

    A single value is cut if it is longer than `most`.
    """
    match pattern:
        case Approx(number, tol):
            return f"{number} ± {tol}" if tol is not None and tol > abs(number) * _NEGLIGIBLE else str(number)
        case Between(low, high):
            return f"between {value_text(low)} and {value_text(high)}"
        case OneOf(options):
            return _alternatives_text(options, scope)
        case NoneOf(options):
            return f"anything but {_alternatives_text(options, scope)}"
        case Regex() | Search() | Satisfies():
            return _like_text(pattern)
        case Contains(part):
            kind = "a text" if isinstance(exact_value(part, scope), str) else "a list"
            return f"{kind} with {expected_text(part, scope)}"
        case Unordered(items):
            return f"{_list_text(items, scope)} in any order"
        case Anything():
            return "any value"
        case Variable() | ResultOf():
            return _bound_text(pattern, scope)
    return _pattern_text(pattern, scope, most)


def _like_text(pattern: Regex | Search | Satisfies) -> str:
    """Describe what a regular expression or a function accepts, by an example."""
    kind = "a value" if isinstance(pattern, Satisfies) else "a text"
    example = next(iter(pattern.examples()), UNKNOWN)
    return f"{kind} like {cut(str(pattern), LONGEST_VALUE) if example is UNKNOWN else value_text(example)}"


def exact_value(pattern: Matcher, scope: Scope) -> Any:
    """Return the value that a matcher expects, or `UNKNOWN` if it does not expect one particular value."""
    match pattern:
        case Literal(value=value) | SameText(value) | Approx(number=value):
            return value
        case Variable(name):
            return scope.variables.get(name, UNKNOWN)
    return UNKNOWN


def _alternatives_text(options: Sequence[Matcher], scope: Scope) -> str:
    return join([expected_text(option, scope) for option in options], "or", 6)


def _bound_text(pattern: Variable | ResultOf, scope: Scope) -> str:
    """Describe a value that comes from a variable or from an earlier call, e.g. `3, as scan returned it`."""
    if isinstance(pattern, Variable):
        known = pattern.name in scope.variables
        return value_text(scope.variables[pattern.name]) if known else "any value"
    values = pattern.values(scope)
    if values:
        return f"{_options_text(values)}, as {_name(pattern.action, scope)} returned it"
    return _result_name(pattern, scope)


def _result_name(pattern: ResultOf, scope: Scope) -> str:
    """Name a value that is not known yet by the call that returns it, e.g. `what scan returns as moisture`."""
    path = pattern.path or ""
    part = f" as {to_notation(path) if ' ' in path else path}" if path else ""
    return f"what {_name(pattern.action, scope)} returns{part}"


def _pattern_text(pattern: Matcher, scope: Scope, most: int = LONGEST_VALUE) -> str:
    """Write a matcher as the value of an argument: the expected value if it is known, otherwise a description of it."""
    match pattern:
        case Literal(value=value) | SameText(value):
            return value_text(value, most)
        case Approx(number):
            return str(number)
        case Anything():
            return "…"
        case Items(items) | Unordered(items):
            return _list_text(items, scope, most)
        case Fields(fields) if fields:
            parts = {name: _pattern_text(part, scope, most) for name, part in fields}
            whole = f"{{{', '.join(f'{to_notation(name)}: {text}' for name, text in parts.items())}}}"
            name, first = next(iter(parts.items()))
            return whole if len(whole) <= most else _first_part(name, first, len(parts))
        case Variable(name):
            return value_text(scope.variables[name], most) if name in scope.variables else "…"
        case ResultOf():
            values = pattern.values(scope)
            return _options_text(values) if values else f"<{_result_name(pattern, scope)}>"
    return cut(expected_text(pattern, scope), most)


def _list_text(items: Sequence[Matcher], scope: Scope, most: int = LONGEST_VALUE) -> str:
    parts = [_pattern_text(item, scope, most) for item in items]
    whole = f"[{', '.join(parts)}]"
    return whole if len(whole) <= most else _first_part(None, _pattern_text(items[0], scope, most // 2), len(items))


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
