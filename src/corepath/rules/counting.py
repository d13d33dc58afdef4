"""Watches of rules that count events or add up their values."""

from __future__ import annotations

from abc import ABC
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from corepath.notation.call import Call
from corepath.rules.event import Event, Mark, distance
from corepath.rules.rule import AtMost, SumAtMost, Window, variables_of
from corepath.rules.watch import Offence, Watch
from corepath.values import canonical, is_number


@dataclass
class _WindowWatch(Watch, ABC):
    """A watch that remembers the events in a window."""

    def _ages(self, seen: Iterable[tuple[Any, ...]], now: Event) -> tuple[Hashable, ...]:
        """Return the ages of the events that are still in the window, each with what is known of it."""
        window: Window = self.rule.within
        near = [one for one in seen if self._shares_window(one[0], one[1], now)]
        return tuple((None if window.turn else distance(window, one[0], now.mark), *one[2:]) for one in near)


@dataclass
class AtMostWatch(_WindowWatch):
    """Remembers the last events of each kind that is counted."""

    def __post_init__(self) -> None:
        self._seen: dict[str, deque[tuple[Mark, int]]] = {}

    def see(self, event: Event) -> Iterator[Offence]:
        rule: AtMost = self.rule
        bound = self._bind(rule.call, event, failed=rule.attempted)
        if bound is None:
            return
        self.applied += 1
        seen = self._seen.setdefault(canonical(bound), deque())
        while seen and not self._shares_window(*seen[0], event):
            seen.popleft()
        if len(seen) >= rule.most:
            yield Offence(event.mark.index, seen[0][0].index if seen else None)
        seen.append((event.mark, event.turn))
        if len(seen) > rule.most:
            seen.popleft()

    def key(self, now: Event | None = None) -> Hashable:
        if self.rule.within is None:
            return frozenset((key, len(seen)) for key, seen in self._seen.items())
        if now is not None:
            return frozenset((key, ages) for key, seen in self._seen.items() if (ages := self._ages(seen, now)))
        return frozenset(
            (key, tuple((mark.calls, mark.time, turn) for mark, turn in seen)) for key, seen in self._seen.items()
        )


@dataclass
class AtLeastWatch(Watch):
    """Counts the events of each kind that is required."""

    def __post_init__(self) -> None:
        self._names = variables_of(self.rule.call) if self.rule.each else frozenset()
        free = self._names - self.variables.keys()
        self._seen: dict[str, int] = {} if free else {canonical(self._known({})): 0}
        self._first: dict[str, int] = dict.fromkeys(self._seen, -1)

    def see(self, event: Event) -> Iterator[Offence]:
        bound = self._bind(self.rule.call, event)
        if bound is not None:
            self.applied += 1
            key = canonical(self._known(bound))
            self._seen[key] = min(self._seen.get(key, 0) + 1, self.rule.least)
            self._first.setdefault(key, event.mark.index)
        yield from ()

    def _known(self, bound: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in {**self.variables, **bound}.items() if name in self._names}

    def owed(self) -> list[int]:
        return [self._first[key] for key, number in self._seen.items() if number < self.rule.least]

    def key(self, now: Event | None = None) -> Hashable:  # noqa: ARG002  # counts have no times
        return frozenset(self._seen.items())


@dataclass
class SumWatch(_WindowWatch):
    """Adds up an argument of the calls in a window."""

    def __post_init__(self) -> None:
        self._seen: dict[str, deque[tuple[Mark, int, Fraction]]] = {}
        self._totals: dict[str, Fraction] = {}

    def see(self, event: Event) -> Iterator[Offence]:
        rule: SumAtMost = self.rule
        bound = self._bind(rule.call, event)
        if bound is None or not isinstance(event.item, Call) or event.item.malformed:
            return
        value = event.item.arguments.get(rule.field)
        if not is_number(value):
            self.unread += 1
            return
        self.applied += 1
        key, added = canonical(bound), Fraction(str(value))
        seen = self._seen.setdefault(key, deque())
        while rule.within is not None and seen and not self._shares_window(*seen[0][:2], event):
            self._totals[key] -= seen.popleft()[2]
        if rule.within is not None:
            seen.append((event.mark, event.turn, added))
        self._totals[key] = self._totals.get(key, Fraction(0)) + added
        if self._totals[key] > Fraction(str(rule.most)):
            yield Offence(event.mark.index, seen[0][0].index if len(seen) > 1 else None)

    def key(self, now: Event | None = None) -> Hashable:
        if self.rule.within is None:
            return frozenset(self._totals.items())
        if now is not None:
            return frozenset((key, ages) for key, seen in self._seen.items() if (ages := self._ages(seen, now)))
        return frozenset(
            (key, tuple((mark.calls, mark.time, turn, value) for mark, turn, value in seen))
            for key, seen in self._seen.items()
        )
