"""Rules about an agent's calls and the messages around them, whatever the task.

A rule says which order, number or combination of events is wrong. Rules are written as text (see `rules.parser`) or
made by the functions in `rules.policy`. `rules.watch` says what each rule means.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Final

from corepath.automaton.reading import Severity
from corepath.errors import TaskError
from corepath.notation.action import Action, Tool
from corepath.notation.matchers import Matcher, walk
from corepath.notation.matchers.choices import NoneOf, OneOf
from corepath.notation.matchers.containers import Contains, Unordered
from corepath.notation.matchers.references import ResultOf, Variable
from corepath.values import is_name, key_text, to_notation

Condition = Callable[[Any], object]
"""A condition on a world's state."""

SPEAKERS: Final = {"user": "user", "agent": "assistant", "system": "system"}
"""The names of messages in rules, and the roles that they stand for."""
_UNITS: Final = (("day", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


@dataclass(frozen=True)
class Said(Action):
    """A pattern for messages. `tool` is `user`, `agent` or `system`, and the only argument is `text`."""


@dataclass(frozen=True)
class CallPattern(Action):
    """A pattern for calls with more than a tool and its arguments.

    If `failed` is True, only calls that failed match. If `whole` is set, it names a variable that stands for the whole
    call, its tool and its arguments. If `tools` is not empty, the call may be to any of these tools or globs, and
    `tool` is their common name.
    """

    failed: bool = False
    whole: str | None = None
    tools: tuple[str, ...] = ()

    def fits_tool(self, tool: str) -> bool:
        """Return True if the pattern is for calls to `tool`."""
        return any(fnmatchcase(tool, one) for one in self.tools) if self.tools else super().fits_tool(tool)


@dataclass(frozen=True)
class Window:
    """How far apart two events may be: in seconds, in calls, or within one turn of the agent."""

    seconds: float | None = None
    calls: int | None = None
    turn: bool = False

    def __str__(self) -> str:
        if self.turn:
            return "per turn"
        if self.calls is not None:
            return f"within {self.calls} {'call' if self.calls == 1 else 'calls'}"
        assert self.seconds is not None
        name, size = next(((name, size) for name, size in _UNITS if self.seconds % size == 0), _UNITS[-1])
        plural = "s" if name == "day" and self.seconds > size else ""
        return f"within {to_notation(_whole(self.seconds / size))} {name}{plural}"


def _whole(number: float) -> float:
    return int(number) if number == int(number) else number


@dataclass(frozen=True, kw_only=True)
class Rule(ABC):
    """What all rules have.

    `because` is the reason for the rule. If `attempted` is False, only calls that did not fail can break the rule.
    `between` restricts the rule to the events after a first pattern and before a second one.
    """

    because: str = ""
    severity: Severity = "medium"
    attempted: bool = True
    between: tuple[Action, Action] | None = None

    def __post_init__(self) -> None:
        for pattern in self.patterns:
            if any(isinstance(one, ResultOf) for one in _matchers(pattern)):
                raise TaskError.of(f"'{pattern.notation}': a rule has no steps, so result_of means nothing")

    @property
    @abstractmethod
    def own_patterns(self) -> tuple[Action, ...]:
        """The patterns of the rule itself, without those of `between`."""

    @cached_property
    def patterns(self) -> tuple[Action, ...]:
        """All patterns in the rule."""
        return (*self.own_patterns, *(self.between or ()))

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The rule itself in the notation, without `between`."""

    def __str__(self) -> str:
        if self.between is None:
            return self.sentence
        first, last = self.between
        return f"{self.sentence} between {text_of(first)} and {text_of(last)}"


@dataclass(frozen=True)
class Requires(Rule):
    """Each event that matches `then` needs an earlier one that matches `first`, with the same values of variables.

    If `own` is True, each such event uses up one earlier event. With `since`, the earlier event must come after the
    last event that matches `since`. With `within`, it must not be further away than that.
    """

    first: Action
    then: Action
    own: bool = False
    since: Action | None = None
    within: Window | None = None

    @property
    def own_patterns(self) -> tuple[Action, ...]:
        return (self.first, self.then, *(() if self.since is None else (self.since,)))

    @property
    def sentence(self) -> str:
        parts = [text_of(self.then), "requires", *(["its own"] if self.own else []), text_of(self.first)]
        parts += [f"since {text_of(self.since)}"] if self.since is not None else []
        return " ".join([*parts, *([str(self.within)] if self.within is not None else [])])


@dataclass(frozen=True)
class Eventually(Rule):
    """Each event that matches `first` needs a later one that matches `then`, with the same values of variables.

    If `own` is True, each later event settles only one earlier event. With `within`, the later event must not be
    further away than that.
    """

    first: Action
    then: Action
    own: bool = False
    within: Window | None = None

    @property
    def own_patterns(self) -> tuple[Action, ...]:
        return (self.first, self.then)

    @property
    def sentence(self) -> str:
        own = "its own " if self.own else ""
        within = "" if self.within is None else f" {self.within}"
        return f"after {text_of(self.first)} eventually {own}{text_of(self.then)}{within}"


@dataclass(frozen=True)
class Never(Rule):
    """No event may match `call`.

    With `after`, only events after one that matches `after` are forbidden, up to the distance `within`. With `beside`,
    only events in the same turn as one that matches `beside`. In a world, `when` is a condition on the state before the
    call, and `leaves` is a condition on the state after it. If `call` is None, the rule is about every call.
    """

    call: Action | None
    after: Action | None = None
    beside: Action | None = None
    within: Window | None = None
    when: Condition | None = None
    leaves: Condition | None = None

    @property
    def always(self) -> bool:
        """Whether the call is forbidden whatever happened before and whatever the state."""
        given = (self.when, self.leaves, self.after, self.beside, self.between)
        return all(one is None for one in given)

    @property
    def own_patterns(self) -> tuple[Action, ...]:
        return tuple(one for one in (self.call, self.after, self.beside) if one is not None)

    @property
    def sentence(self) -> str:
        text = f"never {'any call' if self.call is None else text_of(self.call)}"
        if self.after is not None:
            text += f" after {text_of(self.after)}"
        if self.beside is not None:
            text += f" with {text_of(self.beside)}"
        if self.within is not None:
            text += f" {self.within}"
        if self.leaves is not None:
            return f"{text} into a forbidden state"
        return f"{text} in a forbidden state" if self.when is not None else text


@dataclass(frozen=True)
class AtMost(Rule):
    """At most `most` events may match `call`, for each value of its variables. With `within`, in any such window."""

    most: int
    call: Action
    within: Window | None = None

    @property
    def own_patterns(self) -> tuple[Action, ...]:
        return (self.call,)

    @property
    def sentence(self) -> str:
        return f"at most {self.most} {text_of(self.call)}" + ("" if self.within is None else f" {self.within}")


@dataclass(frozen=True)
class AtLeast(Rule):
    """At least `least` events must match `call`, for each value of its variables that occurs.

    If `each` is False, events with any values of variables are counted together.
    """

    least: int
    call: Action
    each: bool = True

    @property
    def own_patterns(self) -> tuple[Action, ...]:
        return (self.call,)

    @property
    def sentence(self) -> str:
        return f"at least {self.least} {text_of(self.call)}"


@dataclass(frozen=True)
class SumAtMost(Rule):
    """The sum of an argument over the calls that match `call` is at most `most`, for each value of its variables.

    With `within`, this holds in any such window. Calls that failed do not count.
    """

    most: float
    call: Action
    field: str
    within: Window | None = None

    @property
    def own_patterns(self) -> tuple[Action, ...]:
        return (self.call,)

    @property
    def sentence(self) -> str:
        within = "" if self.within is None else f" {self.within}"
        bare = self.call == Tool(self.call.tool).any() and is_name(self.call.tool) and is_name(self.field)
        what = f"{self.call.tool}.{self.field}" if bare else f"{key_text(self.field)} of {text_of(self.call)}"
        return f"sum({what}) at most {to_notation(_whole(self.most))}{within}"


def text_of(pattern: Action) -> str:
    """Write a pattern as rules have it. A tool whose name means something else in a rule is quoted."""
    if isinstance(pattern, CallPattern):
        plain = (
            f"${pattern.whole}" if pattern.whole else text_of(Action(pattern.tool, pattern.arguments, pattern.result))
        )
        return f"failed {plain}" if pattern.failed else plain
    if pattern == ANY_CALL:
        return "call"
    quoted = pattern.tool in (*SPEAKERS, "sum") and not isinstance(pattern, Said)
    return f'"{pattern.tool}"{pattern.notation.removeprefix(pattern.tool)}' if quoted else pattern.notation


def variables_of(pattern: Action) -> frozenset[str]:
    """Return the names of the variables in a pattern."""
    names = frozenset(one.name for one in _matchers(pattern) if isinstance(one, Variable))
    return names | {pattern.whole} if isinstance(pattern, CallPattern) and pattern.whole else names


def is_plain(pattern: Action) -> bool:
    """Return True if each variable in a pattern stands for one value, so that a match decides all variables."""
    choices = [one for one in _matchers(pattern) if isinstance(one, (OneOf, NoneOf, Contains, Unordered))]
    return not any(isinstance(inner, Variable) for one in choices for inner in walk(one))


def _matchers(pattern: Action) -> Iterator[Matcher]:
    yield from walk(pattern.arguments)
    if pattern.result is not None:
        yield from walk(pattern.result)


ANY_CALL: Final = Tool("*").any()
"""A pattern that every call matches."""
