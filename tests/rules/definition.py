"""The meaning of rules by definition: every formula is evaluated on the whole trace, pair by pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.rules.event import Event, bind
from corepath.rules.rule import AtLeast, AtMost, Eventually, Never, Requires, Rule, SumAtMost, Window, variables_of
from corepath.values import canonical, is_number

Judged = tuple[set[int], list[int]]
"""The events that break a rule, and those after which it still requires something (-1: required anyway)."""


def judge(rule: Rule, events: Sequence[Event], variables: Mapping[str, Any] | None = None) -> Judged:
    """What breaks a rule in a trace, and what it still requires at the end."""
    if rule.between is not None:
        return _segments(rule, events)
    known = dict(variables or {})
    match rule:
        case Requires():
            return _requires(rule, events, known), []
        case Eventually():
            return _eventually(rule, events, known)
        case Never():
            return _never(rule, events, known), []
        case AtMost():
            return _at_most(rule, events, known), []
        case AtLeast():
            return set(), _at_least(rule, events, known)
        case SumAtMost():
            return _sums(rule, events, known), []
    raise AssertionError


def fits(pattern: Action, event: Event, known: Mapping[str, Any], *, failed: bool = False) -> dict[str, Any] | None:
    return None if event.failed and not failed else bind(pattern, event.item, known)


def apart(window: Window, one: Event, other: Event) -> float:
    if window.calls is not None:
        return other.mark.calls - one.mark.calls
    assert one.mark.time is not None
    assert other.mark.time is not None
    return other.mark.time - one.mark.time


def near(window: Window | None, one: Event, other: Event) -> bool:
    if window is None:
        return True
    size = window.calls if window.calls is not None else window.seconds
    assert size is not None
    return apart(window, one, other) <= size


def together(window: Window | None, one: Event, other: Event) -> bool:
    if window is None:
        return True
    if window.turn:
        return one.turn == other.turn
    size = window.calls if window.calls is not None else window.seconds
    assert size is not None
    return apart(window, one, other) < size


def _requires(rule: Requires, events: Sequence[Event], known: dict[str, Any]) -> set[int]:
    broken: set[int] = set()
    taken: set[int] = set()
    shared = variables_of(rule.first) & variables_of(rule.then)
    for place, event in enumerate(events):
        then = fits(rule.then, event, known, failed=rule.attempted)
        if then is None:
            continue
        for earlier in range(place):
            first = fits(rule.first, events[earlier], then)
            if first is None or (rule.own and earlier in taken) or not near(rule.within, events[earlier], event):
                continue
            if any(_clears(rule, events[middle], first, shared, known) for middle in range(earlier + 1, place)):
                continue
            if rule.own and not event.failed:
                taken.add(earlier)
            break
        else:
            broken.add(event.mark.index)
    return broken


def _clears(
    rule: Requires, event: Event, first: Mapping[str, Any], shared: frozenset[str], known: Mapping[str, Any]
) -> bool:
    since = None if rule.since is None else fits(rule.since, event, known)
    if since is None or rule.since is None:
        return False
    return all(canonical(since[name]) == canonical(first[name]) for name in variables_of(rule.since) & shared)


def _eventually(rule: Eventually, events: Sequence[Event], known: dict[str, Any]) -> Judged:
    broken: set[int] = set()
    owed: list[int] = []
    taken: set[int] = set()
    for place, event in enumerate(events):
        first = fits(rule.first, event, known)
        if first is None:
            continue
        later = range(place + 1, len(events))
        if rule.own:
            settles = (one for one in later if one not in taken and fits(rule.then, events[one], first) is not None)
        else:
            settles = (one for one in later if fits(rule.then, events[one], first) is not None)
        found = next((one for one in settles if near(rule.within, event, events[one])), None)
        if found is not None:
            taken.add(found)
        elif rule.within is not None and any(not near(rule.within, event, events[one]) for one in later):
            broken.add(event.mark.index)
        else:
            owed.append(event.mark.index)
    return broken, owed


def _never(rule: Never, events: Sequence[Event], known: dict[str, Any]) -> set[int]:
    assert rule.call is not None
    broken: set[int] = set()
    for place, event in enumerate(events):
        bound = fits(rule.call, event, known, failed=rule.attempted)
        beside = None if rule.beside is None else fits(rule.beside, event, known)
        if rule.beside is not None:
            others = [one for one in events[:place] if one.turn == event.turn]
            clash = bound is not None and any(fits(rule.beside, one, bound) is not None for one in others)
            if clash or (beside is not None and any(fits(rule.call, one, beside) is not None for one in others)):
                broken.add(event.mark.index)
        elif bound is not None and (
            rule.after is None
            or any(fits(rule.after, one, bound) is not None and near(rule.within, one, event) for one in events[:place])
        ):
            broken.add(event.mark.index)
    return broken


def _at_most(rule: AtMost, events: Sequence[Event], known: dict[str, Any]) -> set[int]:
    bound = [(event, fits(rule.call, event, known, failed=rule.attempted)) for event in events]
    found = [(event, canonical(one)) for event, one in bound if one is not None]
    return {
        event.mark.index
        for place, (event, key) in enumerate(found)
        if sum(other == key and together(rule.within, one, event) for one, other in found[:place]) >= rule.most
    }


def _at_least(rule: AtLeast, events: Sequence[Event], known: dict[str, Any]) -> list[int]:
    counted: dict[str, list[int]] = {}
    names = variables_of(rule.call) if rule.each else frozenset()
    if not names - known.keys():
        counted[canonical({name: known[name] for name in names})] = []
    for event in events:
        bound = fits(rule.call, event, known)
        if bound is not None:
            counted.setdefault(canonical({name: bound[name] for name in names}), []).append(event.mark.index)
    always = not names - known.keys()
    return [-1 if always else seen[0] for seen in counted.values() if len(seen) < rule.least]


def _sums(rule: SumAtMost, events: Sequence[Event], known: dict[str, Any]) -> set[int]:
    found: list[tuple[Event, str, Fraction]] = []
    for event in events:
        bound = fits(rule.call, event, known)
        if bound is not None and isinstance(event.item, Call):
            value = event.item.arguments.get(rule.field)
            if is_number(value):
                found.append((event, canonical(bound), Fraction(str(value))))
    broken = set()
    for place, (event, key, value) in enumerate(found):
        earlier = [(one, more) for one, other, more in found[:place] if other == key]
        total = value + sum(more for one, more in earlier if together(rule.within, one, event))
        if total > Fraction(str(rule.most)):
            broken.add(event.mark.index)
    return broken


def _segments(rule: Rule, events: Sequence[Event]) -> Judged:
    assert rule.between is not None
    first, last = rule.between
    inner = replace(rule, between=None)
    broken: set[int] = set()
    owed: list[int] = []
    end_of: dict[str, int] = {}
    for place, event in enumerate(events):
        opening = fits(first, event, {})
        if opening is None or end_of.get(canonical(opening), -1) > place:
            continue
        closes = (one for one in range(place + 1, len(events)) if fits(last, events[one], opening) is not None)
        end = next(closes, None)
        end_of[canonical(opening)] = len(events) + 1 if end is None else end
        found, left = judge(inner, events[place + 1 : end], opening)
        broken |= found
        if end is None:
            owed += [event.mark.index if one < 0 else one for one in left]
        elif left:
            broken.add(events[end].mark.index)
    return broken, owed
