"""Exact verdicts of rules on many runs.

A rule without a window sees only the calls that its patterns name, and of values only which are equal. So each rule is
judged once for all runs that look the same to it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from corepath.authoring.learning.rule_log import Run
from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.notation.matchers import Scope
from corepath.notation.matchers.references import Variable
from corepath.rules.rule import ANY_CALL, CallPattern, Rule, Said
from corepath.rules.verdict import State, judge
from corepath.rules.witness import forbids_outright
from corepath.values import canonical


@dataclass(frozen=True)
class Counts:
    """A rule that all good runs keep: in how many runs it applies, and which of the bad ones break it."""

    rule: Rule
    applied: int
    applied_bad: int
    broken_bad: frozenset[int]


class Verdicts:
    """Judges runs by rules."""

    def __init__(self, good: Sequence[Run], bad: Sequence[Run]) -> None:
        self.good, self.bad = ([IndexedRun(run) for run in runs] for runs in (good, bad))

    def count(self, rule: Rule) -> Counts | None:
        """Judge all runs by a rule. Return None if a good run breaks it."""
        view = _View(rule)
        good: list[Answer] = []
        for run in self.good:
            good.append(view.judge(run))
            if good[-1][1]:
                return None
        bad = [view.judge(run) for run in self.bad]
        everywhere = forbids_outright(rule) and rule.between is None
        return Counts(
            rule,
            len(good) if everywhere else sum(applied for applied, _ in good),
            len(bad) if everywhere else sum(applied for applied, _ in bad),
            frozenset(place for place, (_, broken) in enumerate(bad) if broken),
        )


@dataclass(frozen=True)
class IndexedRun:
    """A run, and the places of the calls to each tool."""

    items: Run

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Where each tool is called."""
        found: dict[str, list[int]] = {}
        for place, item in enumerate(self.items):
            if isinstance(item, Call):
                found.setdefault(item.tool, []).append(place)
        return found


Answer = tuple[bool, bool]
"""Whether a rule applies in a run, and whether the run breaks it."""


@dataclass
class _View:
    """What a rule sees of runs. `known` has the answers for what was seen already."""

    rule: Rule
    known: dict[Hashable, Answer] = field(default_factory=dict)

    def judge(self, run: IndexedRun) -> Answer:
        if not self._is_simple:
            return judge_run([self.rule], run.items)[0]
        items, key = self._look(run)
        if key not in self.known:
            self.known[key] = judge_run([self.rule], items)[0]
        return self.known[key]

    @cached_property
    def _is_simple(self) -> bool:
        """Whether the rule sees only calls that its patterns name, and no results, times or turns."""
        windows = getattr(self.rule, "within", None) or getattr(self.rule, "beside", None) or self.rule.between
        plain = all(
            not isinstance(one, (Said, CallPattern)) and one.result is None and (one == ANY_CALL or not one.is_glob)
            for one in self.rule.patterns
        )
        return windows is None and plain

    @cached_property
    def _named(self) -> dict[str, list[Action]]:
        found: dict[str, list[Action]] = {}
        for pattern in self.rule.patterns:
            found.setdefault(pattern.tool, []).append(pattern)
        return found

    def _look(self, run: IndexedRun) -> tuple[list[Call], Hashable]:
        """Return the calls of a run that the rule sees, and a key that is the same for runs that look alike."""
        named = self._named
        tools = run.places if ANY_CALL.tool in named else named
        items = [run.items[place] for place in sorted(place for tool in tools for place in run.places.get(tool, ()))]
        values: dict[str, int] = {}
        calls = [item for item in items if isinstance(item, Call)]
        return calls, tuple(
            (item.tool, item.failed, *(_look_at(one, item, values) for one in named[item.tool]))
            if item.tool in named
            else item.failed
            for item in calls
        )


def _look_at(pattern: Action, call: Call, values: dict[str, int]) -> Hashable:
    """Return what a pattern sees of a call: the numbers of values, and whether others are those that it names."""
    if not pattern.arguments.fields:
        return call.malformed
    if call.malformed:
        return None
    return tuple(_see(matcher, name, call.arguments, values) for name, matcher in pattern.arguments.fields)


def _see(matcher: Any, name: str, arguments: Any, values: dict[str, int]) -> Hashable:
    if name not in arguments:
        return None
    if isinstance(matcher, Variable):
        return values.setdefault(canonical(arguments[name]), len(values))
    return bool(matcher.matches(arguments[name], Scope()))


def judge_run(rules: Sequence[Rule], run: Iterable[Any]) -> list[Answer]:
    """Return for each rule whether it applies in a run, and whether the run breaks it."""
    found = judge(rules, tuple(run))
    return [(one.applied > 0, one.state in (State.BROKEN, State.OWED)) for one in found]
