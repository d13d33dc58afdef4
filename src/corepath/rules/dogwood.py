"""Write rules in Dogwood, a policy language for agents' tool calls that extends Cedar by conditions on the past.

Dogwood decides at each request whether the call may be made, by what happened before. A rule becomes policies that
forbid requests. A call that worked is a `response` there, and an attempt is a `request`. What must follow later, what
the call itself will return, turns and messages cannot be said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from corepath.notation.action import Action
from corepath.notation.matchers import (
    Anything,
    Between,
    Fields,
    Literal,
    Matcher,
    NoneOf,
    OneOf,
    Search,
    Variable,
    walk,
)
from corepath.rules.rule import (
    ANY_CALL,
    AtLeast,
    AtMost,
    CallPattern,
    Eventually,
    Never,
    Requires,
    Rule,
    Said,
    SumAtMost,
    Window,
    text_of,
    variables_of,
)
from corepath.values import is_number

LONGEST: Final = 86_400
"""How far back Dogwood looks, in seconds, unless its event schema allows more."""
_UNITS: Final = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN: Final = re.compile(r"[^\\.^$*+?{}\[\]|()]*")
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


@dataclass(frozen=True)
class Exported:
    """A rule as Dogwood policies. If it has none, `reason` says why. `notes` say in what the policies differ."""

    rule: Rule
    policies: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str = ""


class _CannotSayError(Exception):
    """Raised where Dogwood has no words for a part of a rule."""


def as_dogwood(exported: Sequence[Exported]) -> str:
    """Write rules as one Dogwood file. Rules that are not exported are comments that say why."""
    lines = [
        '// Tools are named Action::"tool". Put the namespace of your schema before Action, if it has one.',
        f"// A rule without a window looks back {LONGEST // 3600} h, because Dogwood has no unbounded past.",
        "",
        "// What no rule forbids is allowed.",
        "permit (principal, action, resource);",
    ]
    for number, one in enumerate(exported, 1):
        lines += ["", f"// {_on_one_line(str(one.rule))}"]
        lines += [f"// Not exported: {_on_one_line(one.reason)}."] if one.reason else []
        lines += [f"// Note: {_on_one_line(note)}." for note in one.notes]
        for part, policy in enumerate(one.policies, 1):
            suffix = f"_{part}" if len(one.policies) > 1 else ""
            because = f"@because({_quote(one.rule.because)})\n" if one.rule.because else ""
            lines.append(f'@id("rule_{number}{suffix}")\n{because}{policy}')
    return "\n".join(lines) + "\n"


def export_rule(rule: Rule, tools: Iterable[str] = ()) -> Exported:
    """Write a rule as Dogwood policies. `tools` are all tools there are, if they are known; globs stand for some."""
    writer = _Writer(rule, tuple(sorted(tools)))
    try:
        return Exported(rule, tuple(writer.write()), tuple(dict.fromkeys(writer.notes)))
    except _CannotSayError as error:
        return Exported(rule, reason=str(error))


@dataclass
class _Writer:
    rule: Rule
    tools: tuple[str, ...]
    notes: list[str] = field(default_factory=list)

    def write(self) -> Iterator[str]:
        rule = self.rule
        self._check()
        if rule.between is not None:
            return self._between(rule, *rule.between)
        match rule:
            case Requires(own=True):
                return self._requires_own(rule)
            case Requires():
                return self._requires(rule)
            case Never():
                return self._never(rule)
            case AtMost():
                return self._at_most(rule)
            case SumAtMost():
                return self._sum(rule)
        raise _CannotSayError("there is no such rule in Dogwood")

    def _check(self) -> None:
        """Raise an error if a rule of this kind cannot be said, whatever its patterns are."""
        rule = self.rule
        if isinstance(rule, (Eventually, AtLeast)):
            raise _CannotSayError("Dogwood looks only at the past, and this must still follow")
        if said := [pattern for pattern in rule.patterns if isinstance(pattern, Said)]:
            raise _CannotSayError(f"Dogwood sees tool calls and no messages such as {text_of(said[0])}")
        if not isinstance(rule, SumAtMost) and not rule.attempted:
            raise _CannotSayError("Dogwood decides before the call, when it is not known whether the call will fail")

    # Kinds of rules

    def _requires(self, rule: Requires) -> Iterator[str]:
        judged = _Judged(self, rule.then)
        window = self._window(rule.within)
        past = _Past(self, judged.pins, [rule.first, *([rule.since] if rule.since else [])])
        found = past.events(rule.first)
        if rule.since is None:
            clauses = [f"formerly {window} {one}" for one in found]
        else:
            clauses = [f"{_none_of(past.events(rule.since))} since {window} {one}" for one in found]
        yield judged.forbid(*(f"unless temporal {{ {one} }}" for one in clauses))

    def _requires_own(self, rule: Requires) -> Iterator[str]:
        if rule.since is not None or rule.within is not None:
            raise _CannotSayError("Dogwood cannot say which earlier call is used up within a window or since another")
        judged = _Judged(self, rule.then)
        shared = variables_of(rule.first) & variables_of(rule.then)
        pins = {name: path for name, path in judged.pins.items() if name in shared}
        used = self._count(_Past(self, pins, [rule.then]).event(rule.then), self._window(None))
        made = self._count(_Past(self, pins, [rule.first]).event(rule.first), self._window(None))
        self.notes.append("a call that is refused uses up nothing")
        yield judged.forbid(f"unless temporal {{ ({used}) < {made} }}")

    def _never(self, rule: Never) -> Iterator[str]:
        if rule.call is None or rule.when is not None or rule.leaves is not None:
            raise _CannotSayError("the rule is about the state of a world")
        if rule.beside is not None:
            raise _CannotSayError("Dogwood has no turns")
        judged = _Judged(self, rule.call)
        if rule.after is None:
            yield judged.forbid()
            return
        window = self._window(rule.within)
        for one in _Past(self, judged.pins, [rule.after]).events(rule.after):
            yield judged.forbid(f"when temporal {{ formerly {window} {one} }}")

    def _between(self, rule: Rule, first: Action, last: Action) -> Iterator[str]:
        if not isinstance(rule, Never) or rule.call is None or rule.after is not None or rule.beside is not None:
            raise _CannotSayError("in Dogwood only 'never A' can be limited to a part of the trace")
        if rule.call == ANY_CALL or set(self.names(rule.call)) & set(self.names(last)):
            raise _CannotSayError("the call may itself end the part of the trace, and only if it does not fail")
        judged = _Judged(self, rule.call)
        past = _Past(self, judged.pins, [first, last])
        closed = _none_of(past.events(last))
        for one in past.events(first):
            yield judged.forbid(f"when temporal {{ {closed} since {self._window(None)} {one} }}")

    def _at_most(self, rule: AtMost) -> Iterator[str]:
        judged = _Judged(self, rule.call)
        if rule.most == 0:
            yield judged.forbid()
            return
        window = self._window(rule.within, counts=True)
        number = self._count(_Past(self, judged.pins, [rule.call]).event(rule.call, "request"), window)
        yield judged.forbid(f"when temporal {{ {rule.most} < {number} }}")

    def _sum(self, rule: SumAtMost) -> Iterator[str]:
        judged = _Judged(self, rule.call)
        if not _NAME.fullmatch(rule.field):
            raise _CannotSayError(f"the name of the argument '{rule.field}' is no name in Cedar")
        if any(name == rule.field for name, _ in rule.call.arguments.fields):
            raise _CannotSayError(f"the pattern has a condition on '{rule.field}', which is added up")
        window = self._window(rule.within, counts=True)
        event = _Past(self, judged.pins, [rule.call]).event(rule.call, "request", f"input.{rule.field}: amount")
        self.notes.append("Dogwood adds up whole numbers (Long), also those of calls that fail or are refused")
        total = f"sum amount for (amount: Long), (t: Timepoint). where (formerly {window} ({event} && tp(t)))"
        yield judged.forbid(f"when temporal {{ {int(rule.most // 1)} < {total} }}")

    # Parts of rules

    def _count(self, event: str, window: str) -> str:
        return f"count for (t: Timepoint). where (formerly {window} ({event} && tp(t)))"

    def _window(self, window: Window | None, *, counts: bool = False) -> str:
        """Write a window. One in which events are counted is half open, but Dogwood's windows include their end."""
        if window is None:
            return f"within {LONGEST // 3600}h"
        if window.seconds is None:
            raise _CannotSayError("Dogwood's windows are times, not calls or turns")
        seconds = window.seconds
        if seconds != int(seconds) or seconds <= counts:
            raise _CannotSayError("Dogwood's windows are whole seconds")
        if counts:
            seconds -= 1
            self.notes.append("the window is one second shorter, because Dogwood includes its end")
        if seconds > LONGEST:
            self.notes.append(f"set max_window = {_duration(int(seconds))} in the event schema")
        return f"within {_duration(int(seconds))}"

    def names(self, pattern: Action) -> tuple[str, ...]:
        """Return the tools that a pattern is about."""
        if isinstance(pattern, CallPattern) and pattern.whole:
            raise _CannotSayError("Dogwood has no variables for whole calls")
        listed = pattern.tools if isinstance(pattern, CallPattern) and pattern.tools else (pattern.tool,)
        if not any(set(one) & set("*?[") for one in listed):
            return listed
        found = tuple(tool for tool in self.tools if pattern.fits_tool(tool))
        if not found:
            raise _CannotSayError(f"Dogwood names each tool; list the tools in the rule file for {text_of(pattern)}")
        return found


@dataclass
class _Judged:
    """The call that a policy is about. `pins` says where the values of its variables are."""

    writer: _Writer
    pattern: Action
    pins: dict[str, str] = field(default_factory=dict)
    conditions: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.pattern.result is not None or _is_failed(self.pattern):
            raise _CannotSayError("Dogwood decides before the call, when its result is not known")
        self.scope = _scope(self.writer, self.pattern)
        for name, matcher in _fields(self.pattern):
            path = f"context.input.{name}"
            self.conditions.append(f"context.input has {name}")
            if isinstance(matcher, Variable):
                if matcher.name in self.pins:
                    self.conditions.append(f"{path} == {self.pins[matcher.name]}")
                self.pins.setdefault(matcher.name, path)
            elif not isinstance(matcher, Anything):
                self.conditions.append(_condition(path, matcher, name))

    def forbid(self, *clauses: str) -> str:
        """Write the policy that forbids the call."""
        when = [f"when {{ {' && '.join(self.conditions)} }}"] if self.conditions else []
        return "\n".join([f"forbid (principal, {self.scope}, resource)", *when, *clauses]) + ";"


@dataclass(frozen=True)
class _Past:
    """Writes earlier events. `pins` says where the values of the current call's variables are."""

    writer: _Writer
    pins: dict[str, str]
    patterns: Sequence[Action]

    def event(self, pattern: Action, kind: str = "response", *more: str) -> str:
        """Write an event of a pattern for one tool."""
        found = self.events(pattern, kind, *more)
        if len(found) > 1:
            raise _CannotSayError(f"Dogwood cannot count the calls of several tools together: {text_of(pattern)}")
        return found[0]

    def events(self, pattern: Action, kind: str = "response", *more: str) -> list[str]:
        """Write an event for each tool of a pattern."""
        names = self.writer.names(pattern)
        parts = [f"input.{name}: {self._term(matcher, name)}" for name, matcher in _fields(pattern)]
        if pattern.result is not None:
            if not isinstance(pattern.result, Fields):
                raise _CannotSayError("Dogwood knows only the fields of results")
            parts += [f"output.{name}: {self._term(matcher, name)}" for name, matcher in _named(pattern.result)]
        kind = "error" if _is_failed(pattern) else kind
        return [f"{_action(name)}::{kind}{{{', '.join([*parts, *more])}}}" for name in names]

    def _term(self, matcher: Matcher, name: str) -> str:
        if isinstance(matcher, Anything):
            return "*"
        if isinstance(matcher, Literal):
            return _literal(matcher.value, name)
        if not isinstance(matcher, Variable):
            raise _CannotSayError(f"Dogwood compares earlier calls with single values only, not with {name}={matcher}")
        if matcher.name in self.pins:
            return self.pins[matcher.name]
        if sum(_occurrences(pattern, matcher.name) for pattern in self.patterns) > 1:
            raise _CannotSayError(f"${matcher.name} connects two earlier calls and is no argument of the call itself")
        return "*"


def _is_failed(pattern: Action) -> bool:
    return isinstance(pattern, CallPattern) and pattern.failed


def _fields(pattern: Action) -> Iterator[tuple[str, Matcher]]:
    if not pattern.arguments.open:
        message = f"Dogwood cannot say that there are no further arguments; write '...' in {text_of(pattern)}"
        raise _CannotSayError(message)
    return _named(pattern.arguments)


def _named(fields: Fields) -> Iterator[tuple[str, Matcher]]:
    for name, matcher in fields.fields:
        if not _NAME.fullmatch(name):
            raise _CannotSayError(f"'{name}' is no name in Cedar")
        yield name, matcher


def _occurrences(pattern: Action, variable: str) -> int:
    matchers = [*walk(pattern.arguments), *(() if pattern.result is None else walk(pattern.result))]
    return sum(isinstance(one, Variable) and one.name == variable for one in matchers)


def _scope(writer: _Writer, pattern: Action) -> str:
    if pattern == ANY_CALL:
        return "action"
    names = writer.names(pattern)
    return f"action == {_action(names[0])}" if len(names) == 1 else f"action in [{', '.join(map(_action, names))}]"


def _condition(path: str, matcher: Matcher, name: str) -> str:
    """Write a condition on an argument of the current call."""
    match matcher:
        case Literal():
            return f"{path} == {_literal(matcher.value, name)}"
        case OneOf(options=options) | NoneOf(options=options) if all(isinstance(one, Literal) for one in options):
            listed = ", ".join(_literal(one.value, name) for one in options if isinstance(one, Literal))
            return f"{'!' if isinstance(matcher, NoneOf) else ''}[{listed}].contains({path})"
        case Between(low=low, high=high) if is_number(low) and is_number(high):
            return f"{path} >= {_literal(low, name)} && {path} <= {_literal(high, name)}"
        case Search(pattern=text) if _PLAIN.fullmatch(text):
            return f'{path} like "*{_quote(text)[1:-1]}*"'
    raise _CannotSayError(f"Dogwood has no condition such as {name}={matcher}")


def _literal(value: Any, name: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return _quote(value)
    if is_number(value) and value == int(value) and abs(value) < 2**63:
        return str(int(value))
    raise _CannotSayError(f"Dogwood compares with texts, whole numbers, true and false, not with {name}={value}")


def _action(name: str) -> str:
    return f"Action::{_quote(name)}"


def _quote(text: str) -> str:
    signs = (_ESCAPES.get(sign) or (sign if sign.isprintable() else f"\\u{{{ord(sign):x}}}") for sign in text)
    return f'"{"".join(signs)}"'


def _none_of(events: Sequence[str]) -> str:
    return f"!{events[0]}" if len(events) == 1 else f"({' && '.join(f'!{one}' for one in events)})"


def _duration(seconds: int) -> str:
    unit, size = next((unit, size) for unit, size in _UNITS if seconds % size == 0)
    return f"{seconds // size}{unit}"


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
