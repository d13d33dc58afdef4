"""Sample events: a small alphabet of calls and messages, made from the patterns in rules.

Each argument takes the values that the patterns give as examples, two values for each variable, and one value that no
pattern names. So there are calls that match several patterns at once, and calls that just miss one. There are also
calls that fail, results that match no pattern, and a call to a tool that no rule names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import islice, product
from typing import Any, Final

from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.notation.matchers import PROBES, Matcher, Scope
from corepath.notation.matchers.references import variables
from corepath.notation.message import Message
from corepath.rules.event import bind
from corepath.rules.rule import SPEAKERS, CallPattern, Never, Rule, Said, SumAtMost, Window
from corepath.values import canonical

VALUES: Final = ("A", "B")
"""The values that variables take."""
MOST_CALLS_PER_TOOL: Final = 24
MOST_EXAMPLES: Final = 2
OTHER_TOOL: Final = "other"
OTHER_TEXT: Final = "Something else."
_ABSENT: Final = object()
_REFUSED: Final = "refused"
_PART_OF_WINDOW: Final = 0.6
"""A step in time of which one fits into a window and two do not."""

Item = Call | Message


@dataclass(frozen=True)
class Samples:
    """The events to try. `steps` are the times in seconds that can pass between two events.

    If `turns` is True, an event can be in the same turn as the one before. If `timed` is False, events have no times.
    """

    items: tuple[Item, ...]
    steps: tuple[float, ...] = (0.0,)
    turns: bool = False
    timed: bool = False

    @property
    def size(self) -> int:
        """How many ways there are to go on after an event."""
        return len(self.items) * len(self.steps) * (2 if self.turns else 1)


def make_samples(rules: Sequence[Rule]) -> Samples:
    """Make the events to try for rules."""
    patterns = [pattern for rule in rules for pattern in rule.patterns]
    said = [pattern for pattern in patterns if isinstance(pattern, Said)]
    calls = [pattern for pattern in patterns if not isinstance(pattern, Said)]
    made = [call for tool in _tools(calls) for call in _calls(tool, calls, rules)]
    items = (*made, *_failed(made, calls), *_messages(said))
    windows = [window for rule in rules if (window := _window_of(rule)) is not None]
    steps = _steps(windows)
    return Samples(items, steps, _looks_at_turns(rules), timed=len(steps) > 1)


def _looks_at_turns(rules: Iterable[Rule]) -> bool:
    return any(
        (isinstance(one, Never) and one.beside is not None) or (_window_of(one) or Window()).turn for one in rules
    )


def _steps(windows: Iterable[Window]) -> tuple[float, ...]:
    """Return the times to let pass: none, most of each window, and just more than each."""
    sizes = {window.seconds for window in windows if window.seconds is not None}
    longer = (size + min(1.0, size) if size else 1.0 for size in sizes)
    return tuple(sorted({0.0, *longer, *(size * _PART_OF_WINDOW for size in sizes)}))


def _window_of(rule: Rule) -> Window | None:
    """Return the window of a rule, if it has one."""
    found: Window | None = getattr(rule, "within", None)
    return found


def _tools(patterns: Iterable[Action]) -> list[str]:
    """Return the tools to call: those that patterns name, one for each glob, and one that no pattern names."""
    listed = list(patterns)
    names = [name for pattern in listed for name in _names_of(pattern)]
    named = [name for name in names if not _is_glob(name)]
    made = [one for name in names if _is_glob(name) for one in _tools_for(name, named)]
    specific = [pattern for pattern in listed if pattern.tool != "*"]
    other = OTHER_TOOL
    while any(pattern.fits_tool(other) for pattern in specific):
        other += "_"
    return list(dict.fromkeys([*named, *made, other]))


def _names_of(pattern: Action) -> Sequence[str]:
    """Return the tools or globs that a pattern is about. Of a group of tools, the first two stand for all."""
    return pattern.tools[:2] if isinstance(pattern, CallPattern) and pattern.tools else (pattern.tool,)


def _is_glob(name: str) -> bool:
    return any(sign in name for sign in "*?[")


def _tools_for(glob: str, named: Sequence[str]) -> Iterator[str]:
    """Yield a tool for a glob, unless the patterns name two such tools."""
    if glob == "*" or len([tool for tool in named if fnmatchcase(tool, glob)]) > 1:
        return
    made = re.sub(r"\[([^]])[^]]*\]", r"\1", glob).replace("*", "x").replace("?", "x")
    if fnmatchcase(made, glob):
        yield made


def _calls(tool: str, patterns: Sequence[Action], rules: Sequence[Rule]) -> list[Item]:
    """Return calls to a tool, the simplest first."""
    fitting = [pattern for pattern in patterns if pattern.fits_tool(tool)]
    columns = _columns(tool, fitting, rules)
    results = _distinct([*(one for pattern in fitting for one in _values(pattern.result)), "done"])
    ranks = product(*(range(len(column)) for column in columns.values()), range(len(results)))
    rows = sorted(islice(ranks, 10_000), key=lambda row: (sum(row), row))
    found: list[Item] = []
    for row in rows[:MOST_CALLS_PER_TOOL]:
        chosen = [column[rank] for column, rank in zip(columns.values(), row[:-1], strict=True)]
        given = {name: value for name, value in zip(columns, chosen, strict=True) if value is not _ABSENT}
        found.append(Call(tool, given, results[row[-1]]))
    return found


def _columns(tool: str, patterns: Sequence[Action], rules: Sequence[Rule]) -> Mapping[str, list[Any]]:
    """Return the values to try for each argument of a tool."""
    columns: dict[str, list[Any]] = {}
    for pattern in patterns:
        for name, matcher in pattern.arguments.fields:
            columns.setdefault(name, []).extend(_values(matcher))
    summed = {one.field: one.most for one in rules if isinstance(one, SumAtMost) and one.call.fits_tool(tool)}
    for name, most in summed.items():
        columns.setdefault(name, []).extend(map(_whole, (most, most / 2, most + 1)))
    for name in [name for name in columns if name not in summed]:
        matchers = [dict(pattern.arguments.fields).get(name) for pattern in patterns]
        columns[name] += _other_values(matchers)
    return {name: _distinct(column) for name, column in columns.items()}


def _whole(number: float) -> float:
    return int(number) if number == int(number) else number


def _other_values(matchers: Sequence[Matcher | None]) -> list[Any]:
    """Return a value that none of the matchers accepts, and no value if a pattern does without.

    A variable accepts every value.
    """
    named = [one for one in matchers if one is not None]
    missed = [value for value in PROBES if not any(one.matches(value, Scope()) for one in named)]
    others = [] if any(map(variables, named)) else missed[:1]
    return [*others, _ABSENT] if None in matchers else others


def _values(matcher: Matcher | None) -> list[Any]:
    """Return examples of what a matcher accepts. Variables take two values."""
    if matcher is None:
        return []
    examples = matcher.examples()[:MOST_EXAMPLES]
    names = variables(matcher)
    return [_put(example, names, value) for value in VALUES for example in examples] if names else list(examples)


def _put(example: Any, names: set[str], value: str) -> Any:
    """Put a value in the place of variables, which are examples of themselves."""
    if isinstance(example, str):
        return value if example in names else example
    if isinstance(example, list):
        return [_put(one, names, value) for one in example]
    if isinstance(example, Mapping):
        return {key: _put(one, names, value) for key, one in example.items()}
    return example


def _failed(items: Sequence[Item], patterns: Iterable[Action]) -> list[Item]:
    """Return a call that fails for each pattern."""
    found: dict[str, Item] = {}
    for pattern in patterns:
        refused = (replace(one, error=_REFUSED) for one in items if isinstance(one, Call))
        call = next((one for one in refused if bind(pattern, one) is not None), None)
        if call is not None:
            found.setdefault(str(call), call)
    return list(found.values())


def _messages(patterns: Sequence[Said]) -> list[Item]:
    """Return messages of the speakers that patterns name: some that match, and one that does not."""
    texts: dict[str, list[Any]] = {}
    for pattern in patterns:
        column = texts.setdefault(SPEAKERS[pattern.tool], [])
        for name, matcher in pattern.arguments.fields:
            column += _values(matcher) if name == "text" else []
    return [Message(role, text) for role, column in texts.items() for text in _distinct([*column, OTHER_TEXT])]


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list({id(one) if one is _ABSENT else canonical(one): one for one in values}.values())
