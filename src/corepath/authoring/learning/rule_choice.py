"""Choose the rules to propose: exact verdicts, no rule that others imply, and first those that notice other runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from corepath.authoring.learning.rule_candidate import Template
from corepath.authoring.learning.rule_log import RuleLog
from corepath.authoring.learning.rule_making import join_variables, make_rule
from corepath.authoring.learning.rule_ranking import Ranked
from corepath.authoring.learning.rule_verdicts import Counts, Verdicts
from corepath.rules.implication import is_implied
from corepath.rules.rule import Eventually, Never, Requires, Rule

MOST_JUDGED: Final = 100
"""How many of the best candidates are judged exactly."""
ENOUGH: Final = 40
"""Among how many rules those to propose are chosen."""
MOST_TOGETHER: Final = 4
"""How many rules are tried together as a reason why another one is implied."""
_PAIRED: Final = (Requires, Eventually, Never)


@dataclass(frozen=True)
class Choice:
    """A rule to propose, and what the runs say about it.

    `adds` is False if every bad run that breaks the rule breaks a rule before it too or, without bad runs, if a rule
    before it is about the same tools.
    """

    counts: Counts
    unseen: float
    adds: bool = True

    @property
    def rule(self) -> Rule:
        """The rule."""
        return self.counts.rule


def choose(ranked: Sequence[Ranked], log: RuleLog, verdicts: Verdicts, least: int) -> list[Choice]:
    """Return the rules to propose, the best first."""
    chosen: list[Choice] = []
    for one in _judge(ranked, log, verdicts, least):
        _add(chosen, one)
        if len(chosen) == ENOUGH:
            break
    for one in reversed(chosen):
        others = [other for other in chosen if other is not one]
        if _follows(one, others):
            chosen = others
    return _order(chosen, with_bad=bool(verdicts.bad))


def _judge(ranked: Sequence[Ranked], log: RuleLog, verdicts: Verdicts, least: int) -> Iterable[Choice]:
    """Judge all runs by the best candidates. Where rules about the same two tools can be joined, the whole is tried."""
    joined: dict[tuple[Any, ...], Rule] = dict(join_variables([one.candidate for one in ranked], log))
    tried: set[str] = set()
    for one in islice(ranked, MOST_JUDGED):
        rules = [joined.get((one.candidate.template, *_letters(one, log))), make_rule(one.candidate, log)]
        for rule in rules:
            if rule is None or str(rule) in tried:
                continue
            tried.add(str(rule))
            counts = verdicts.count(rule)
            if counts is not None and counts.applied >= least and (counts.broken_bad or not verdicts.bad):
                yield Choice(counts, one.unseen)


def _letters(one: Ranked, log: RuleLog) -> tuple[int, ...]:
    if one.candidate.template not in (Template.REQUIRES_SAME, Template.EVENTUALLY_SAME):
        return ()
    return tuple(log.slots[slot][0] for slot in one.candidate.parts)


def _add(chosen: list[Choice], one: Choice) -> None:
    """Add a rule unless it follows from others. It takes the place of a weaker rule that is supported no better."""
    for place, other in enumerate(chosen):
        if _is_weaker(other, one):
            chosen[place] = one
            chosen[place + 1 :] = [later for later in chosen[place + 1 :] if not _is_weaker(later, one)]
            return
    if not _follows(one, chosen):
        chosen.append(one)


def _is_weaker(one: Choice, other: Choice) -> bool:
    """Whether a rule follows from another one, which applies in as many good runs."""
    return other.counts.applied >= one.counts.applied and _follows(one, [other])


def _follows(one: Choice, others: Sequence[Choice]) -> bool:
    """Whether a rule follows from others that share a tool with it, alone or together."""
    near = [other for other in others if _tools(other.rule) & _tools(one.rule)]
    covering = [other for other in near if one.counts.broken_bad <= other.counts.broken_bad]
    if any(_is_special(one, other) or is_implied(one.rule, [other.rule]) for other in covering):
        return True
    noticed = frozenset[int]().union(*(other.counts.broken_bad for other in near))
    if len(near) < 2 or not one.counts.broken_bad <= noticed:
        return False
    return is_implied(one.rule, [other.rule for other in near[:MOST_TOGETHER]])


def _is_special(one: Choice, other: Choice) -> bool:
    """Whether two rules differ only in arguments, and the other one names more of them and applies as often."""
    if type(one.rule) is not type(other.rule) or not isinstance(one.rule, _PAIRED):
        return False
    same = str(_open(one.rule)) == str(_open(other.rule))
    names = [sum(len(pattern.arguments.fields) for pattern in rule.patterns) for rule in (one.rule, other.rule)]
    return same and names[0] < names[1] and one.counts.applied == other.counts.applied


def _open(rule: Rule) -> Rule:
    """Return a rule without its arguments."""
    bare = {
        name: replace(pattern, arguments=replace(pattern.arguments, fields=(), open=True))
        for name in ("first", "then", "call", "after")
        if (pattern := getattr(rule, name, None)) is not None
    }
    return replace(rule, **bare)


def _tools(rule: Rule) -> frozenset[str]:
    return frozenset(pattern.tool for pattern in rule.patterns)


def _order(chosen: Sequence[Choice], *, with_bad: bool) -> list[Choice]:
    """Put rules last that add nothing to those before them."""
    noticed: set[int] = set()
    about: set[frozenset[str]] = set()
    found: list[Choice] = []
    for one in chosen if with_bad else _prefer_required(chosen):
        tools = _tools(one.rule)
        adds = bool(one.counts.broken_bad - noticed) if with_bad else tools not in about
        noticed |= one.counts.broken_bad
        about.add(tools)
        found.append(replace(one, adds=adds))
    return sorted(found, key=lambda one: not one.adds)


def _prefer_required(chosen: Sequence[Choice]) -> list[Choice]:
    """Of rules about the same tools, put those first that say what is required, and not what is forbidden."""
    groups: dict[frozenset[str], list[Choice]] = {}
    for one in chosen:
        groups.setdefault(_tools(one.rule), []).append(one)
    return [one for group in groups.values() for one in sorted(group, key=lambda one: isinstance(one.rule, Never))]
