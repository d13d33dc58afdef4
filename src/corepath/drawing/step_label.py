"""The text in a step of a drawing as lanes: the action's name, the values of its arguments, and the rules about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, Final

from corepath.drawing.text import Text, fit_text
from corepath.notation.action import Action
from corepath.notation.matchers import Fields, Literal, Matcher, Scope
from corepath.notation.matchers.choices import OneOf
from corepath.notation.matchers.containers import Items, Unordered
from corepath.notation.matchers.references import ResultOf
from corepath.notation.matchers.values import Anything, Approx, Regex, SameText
from corepath.rules.rule import ANY_CALL, Rule, Said
from corepath.task import Task
from corepath.values import to_notation

SIZE: Final = 11
"""The font size."""
WIDEST: Final = 19
"""The most characters in a line of a step."""
NARROWEST, NARROWEST_COUNTED = 60, 116
STRIP: Final = 16
"""The height of the line with the rules and numbers of a step."""
PAD: Final = 4


class StepLabels:
    """The texts in the steps of a task, and the sizes of the steps.

    `rules` are rules that hold whatever the task. If `counted` is True, there is room for numbers.
    """

    def __init__(self, task: Task, rules: Sequence[Rule] = (), *, counted: bool = False) -> None:
        self.actions = task.automaton.alphabet.actions
        self.counted = counted
        self._rules = [*task.policies, *rules]
        self.rules_of = cache(self._rules_of)
        self._lines_of = cache(self._lines)

    def _rules_of(self, symbol: int) -> tuple[str, ...]:
        """Return the texts of the rules that name an action."""
        action = self.actions[symbol]
        return tuple(dict.fromkeys(rule.because or str(rule) for rule in self._rules if _names(rule, action)))

    @cached_property
    def has_strip(self) -> bool:
        """Whether steps have a line for rules and numbers."""
        return self.counted or any(map(self.rules_of, range(len(self.actions))))

    def _lines(self, symbol: int) -> tuple[Text, Text | None]:
        """Return an action's name, and the values of its arguments, in at most two lines each.

        If the values do not fit, those come first that other actions of the same tool do not have.
        """
        action = self.actions[symbol]
        name = fit_text(action.name or action.tool, SIZE, WIDEST, 2)
        values = list(_values(action))
        if not values:
            return name, None
        made = fit_text(", ".join(values), SIZE, WIDEST, 2)
        if made.full:
            others = [set(_values(one)) for one in self.actions if one.tool == action.tool and one is not action]
            values.sort(key=lambda value: bool(others) and all(value in other for other in others))
            made = fit_text(", ".join(values), SIZE, WIDEST, 2)
        return name, made

    def texts(self, symbol: int, note: str) -> list[tuple[Text, str]]:
        """Return the texts in a step from top to bottom, each with its class."""
        name, values = self._lines_of(symbol)
        more = [(values, "value")] if values else []
        return [(name, "name"), *more, *([(Text((note,), SIZE), "value")] if note else [])]

    def size(self, symbol: int, note: str) -> tuple[int, int]:
        """Return the width and height of a step."""
        texts = [text for text, _ in self.texts(symbol, note)]
        width = max(NARROWEST_COUNTED if self.counted else NARROWEST, *(text.width + 14 for text in texts))
        height = sum(text.height for text in texts) + 2 * PAD + STRIP * self.has_strip
        return width + width % 2, height + height % 2

    @property
    def end_size(self) -> tuple[int, int]:
        """The width and height of the start and the end."""
        return (56, 38) if self.counted else (46, 24)


def _names(rule: Rule, action: Action) -> bool:
    """Return True if a rule names calls like the action."""
    example: Any = next(iter(action.arguments.examples()), {})
    return any(
        pattern.fits_tool(action.tool) and pattern.arguments.matches(example, Scope(lenient=True))
        for pattern in rule.patterns
        if pattern != ANY_CALL and not isinstance(pattern, Said)
    )


# Values as people write them


def _values(action: Action) -> Iterator[str]:
    """Yield the tool if the action has another name, and the values of its arguments."""
    if action.name and not action.name.startswith(action.tool):
        yield action.tool
    yield from _fields(action.arguments)
    if action.result is not None:
        yield f"→ {_value(action.result)}"


def _fields(fields: Fields) -> Iterator[str]:
    for _, pattern in fields.fields:
        yield _value(pattern)
    if fields.open:
        yield "…"


def _value(pattern: Matcher) -> str:
    """Return what a matcher asks for, without quotes and tolerances. The tooltip has the exact notation."""
    match pattern:
        case Literal(value=value):
            return _plain(value)
        case SameText(text):
            return text
        case Approx(number):
            return _plain(number)
        case Regex():
            return next((f"like {example}" for example in pattern.examples()), str(pattern))
        case Anything():
            return "any"
        case Unordered(items) | Items(items):
            return ", ".join(map(_value, items))
        case OneOf(options):
            return " or ".join(map(_value, options))
        case Fields():
            return ", ".join(_fields(pattern))
        case ResultOf(Action() as action):
            return f"result of {action.name or action.tool} {', '.join(_fields(action.arguments))}".rstrip()
    return str(pattern)


def _plain(value: Any) -> str:
    """Return a JSON value without quotes, brackets and names of fields."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_plain, value))
    return value if isinstance(value, str) else to_notation(value)
