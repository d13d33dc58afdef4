"""Watches of rules that hold between two events, and a function that makes the watch for any rule."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from corepath.rules.counting import AtLeastWatch, AtMostWatch, SumWatch
from corepath.rules.event import Event, bind
from corepath.rules.rule import AtLeast, AtMost, Eventually, Never, Requires, Rule, SumAtMost, variables_of
from corepath.rules.watch import EventuallyWatch, NeverWatch, Offence, RequiresWatch, Watch
from corepath.values import canonical


def make_watch(rule: Rule, variables: Mapping[str, Any] | None = None) -> Watch:
    """Make the watch for a rule."""
    if rule.between is not None and variables is None:
        return SegmentWatch(rule)
    known = variables or {}
    match rule:
        case Requires():
            return RequiresWatch(rule, known)
        case Eventually():
            return EventuallyWatch(rule, known)
        case Never():
            return NeverWatch(rule, known)
        case AtMost():
            return AtMostWatch(rule, known)
        case AtLeast():
            return AtLeastWatch(rule, known)
        case SumAtMost():
            return SumWatch(rule, known)
    raise TypeError(f"no such rule: {rule!r}")


@dataclass
class SegmentWatch(Watch):
    """Watches a rule in each segment between two events, with a watch of its own for each open segment."""

    def __post_init__(self) -> None:
        first, _ = self.rule.between
        self._names = variables_of(first)
        self._inner = replace(self.rule, between=None)
        self._open: dict[str, tuple[Watch, int]] = {}

    def see(self, event: Event) -> Iterator[Offence]:
        first, last = self.rule.between
        closing = self._bind(last, event)
        for key in self._touched(event, closing):
            watch, begun = self._open[key]
            if closing is not None and bind(last, event.item, watch.variables) is not None:
                yield from (Offence(event.mark.index, begun if owed < 0 else owed) for owed in watch.owed())
                del self._open[key]
                self._collect(watch)
            else:
                yield from watch.see(event)
        opening = self._bind(first, event)
        if opening is not None:
            key = canonical(opening)
            if key not in self._open:
                self.applied += isinstance(self._inner, Never)  # from here on something is forbidden
                self._open[key] = make_watch(self._inner, opening), event.mark.index

    def _touched(self, event: Event, closing: dict[str, Any] | None) -> list[str]:
        """Return the open segments that an event may concern."""
        if not self._names or self._inner_needs_all:
            return list(self._open)
        found: dict[str, None] = {}
        for pattern in (*self.rule.own_patterns, self.rule.between[1]):
            bound = closing if pattern is self.rule.between[1] else bind(pattern, event.item)
            if bound is None:
                continue
            if not bound.keys() >= self._names:
                return list(self._open)
            found[canonical({name: bound[name] for name in self._names})] = None
        return [key for key in found if key in self._open]

    @property
    def _inner_needs_all(self) -> bool:
        """Whether a segment's rule must see every event, because deadlines pass or no pattern says what concerns it."""
        rule = self._inner
        return (isinstance(rule, Eventually) and rule.within is not None) or (
            isinstance(rule, Never) and rule.call is None
        )

    def _collect(self, watch: Watch) -> None:
        self.applied += watch.applied
        self.unread += watch.unread
        self.unclear = self.unclear or watch.unclear

    def owed(self) -> list[int]:
        return [begun if owed < 0 else owed for watch, begun in self._open.values() for owed in watch.owed()]

    def finish(self) -> None:
        """Add what the watches of open segments have counted."""
        for watch, _ in self._open.values():
            self._collect(watch)

    def key(self, now: Event | None = None) -> Hashable:
        return frozenset((key, watch.key(now)) for key, (watch, _) in self._open.items())

    def count_applied(self) -> int:
        return self.applied + sum(watch.count_applied() for watch, _ in self._open.values())

    def pending(self) -> int:
        return max((watch.pending() for watch, _ in self._open.values()), default=0)
