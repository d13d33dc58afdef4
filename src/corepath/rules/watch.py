"""Watches: what each rule means, event by event.

A watch sees the events of one episode in order. It says which events break its rule, and what the rule still requires.
Watches take time and memory in proportion to the events, whatever the number of values that variables take.

`key` identifies what a watch remembers. Two watches of one rule with equal keys say the same from then on. If `now` is
the last event, the key holds ages in place of times, so that it can occur again later in the same episode.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Hashable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Self

from corepath.notation.call import Call
from corepath.rules.event import Event, Mark, bind, distance
from corepath.rules.pool import Pool
from corepath.rules.private_fields import fields_of
from corepath.rules.rule import CallPattern, Eventually, Never, Requires, Window, variables_of


@dataclass(frozen=True)
class Offence:
    """An event that breaks a rule: its index, and the index of an earlier event that the rule connects it with."""

    event: int
    cause: int | None = None


@dataclass
class Watch(ABC):
    """Watches one rule. `variables` holds values that are known beforehand, from the beginning of a `between`.

    `applied` counts the events that the rule says something about. `unclear` is True if a window in time could not be
    judged because the times of events are not known. `unread` counts values that cannot be added because they are no
    numbers.
    """

    rule: Any
    variables: Mapping[str, Any] = field(default_factory=dict)
    applied: int = 0
    unclear: bool = False
    unread: int = 0

    @abstractmethod
    def see(self, event: Event) -> Iterator[Offence]:
        """Take in the next event, and yield the offences that are known now."""

    def owed(self) -> list[int]:
        """Return the events after which the rule still requires something, or -1 if it is required anyway."""
        return []

    @abstractmethod
    def key(self, now: Event | None = None) -> Hashable:
        """Return what the watch remembers. If `now` is the last event, ages stand in place of times."""

    def count_applied(self) -> int:
        """Return the number of events so far that the rule says something about."""
        return self.applied

    def pending(self) -> int:
        """Return the largest number of equal events that the watch counts one by one, until others use them up."""
        return 0

    def fork(self) -> Self:
        """Return a copy that can see other events."""
        made = object.__new__(type(self))
        vars(made).update({name: _fork(one) if name.startswith("_") else one for name, one in vars(self).items()})
        return made

    def _bind(self, pattern: Any, event: Event, *, failed: bool = False) -> dict[str, Any] | None:
        """Match an event with a pattern.

        A call that failed matches only if `failed` is True, or if the pattern asks for failed calls.
        """
        if event.failed and not failed and not (isinstance(pattern, CallPattern) and pattern.failed):
            return None
        return bind(pattern, event.item, self.variables)

    def _age(self, mark: Mark, now: Event) -> float | None:
        """Return the age of an earlier event, or None if it is outside the rule's window for good."""
        return distance(self.rule.within, mark, now.mark) if self._near(self.rule.within, mark, now.mark) else None

    def _near(self, window: Window | None, first: Mark, last: Mark) -> bool:
        """Whether two events are not further apart than a window. Sets `unclear` if that is not known."""
        if window is None:
            return True
        if window.turn:
            return False
        gap = distance(window, first, last)
        self.unclear = self.unclear or gap is None
        size = window.calls if window.calls is not None else window.seconds
        return gap is not None and size is not None and gap <= size

    def _shares_window(self, mark: Mark, turn: int, event: Event) -> bool:
        """Whether an earlier event is in one window with this one. Sets `unclear` if that is not known."""
        window: Window | None = self.rule.within
        if window is None:
            return True
        if window.turn:
            return turn == event.turn
        gap = distance(window, mark, event.mark)
        self.unclear = self.unclear or gap is None
        size = window.calls if window.calls is not None else window.seconds
        return gap is not None and size is not None and gap < size


def _fork(value: Any) -> Any:
    """Copy what a watch remembers, as far as it can change."""
    if isinstance(value, (Pool, Watch)):
        return value.fork()
    if isinstance(value, dict):
        return {key: _fork(one) for key, one in value.items()}
    if isinstance(value, tuple):
        return tuple(map(_fork, value))
    return copy(value) if isinstance(value, deque) else value


@dataclass
class RequiresWatch(Watch):
    """Remembers the events that permit later ones."""

    def __post_init__(self) -> None:
        rule: Requires = self.rule
        self._permits = Pool(rule.first, variables_of(rule.then), keep_all=rule.own)

    def see(self, event: Event) -> Iterator[Offence]:
        rule: Requires = self.rule
        then = self._bind(rule.then, event, failed=rule.attempted)
        if then is not None:
            self.applied += 1
            found = self._find_permit(then, event)
            if found is None:
                yield Offence(event.mark.index)
            elif rule.own and not event.failed:
                self._permits.take(found)
        if rule.since is not None and (since := self._bind(rule.since, event)) is not None:
            self._permits.drop(since, variables_of(rule.since))
        if (first := self._bind(rule.first, event)) is not None:
            self._permits.add(first, event)

    def _find_permit(self, then: dict[str, Any], event: Event) -> Hashable | None:
        """Return the key of the oldest event that permits this one, or None if there is none.

        Events that are too far away are forgotten, because time does not run backwards.
        """
        found: dict[Hashable, int] = {}
        for key in self._permits.find(then):
            marks = self._permits.marks(key)
            while marks and not self._near(self.rule.within, marks[0], event.mark):
                marks.popleft()
            if marks:
                found[key] = marks[0].index
            else:
                self._permits.remove(key)
        return min(found, key=lambda key: found[key]) if found else None

    def key(self, now: Event | None = None) -> Hashable:
        if now is not None and self.rule.within is not None:
            return self._permits.ages(lambda mark: self._age(mark, now))
        return self._permits.key(with_times=self.rule.within is not None)

    def pending(self) -> int:
        return self._permits.most if self.rule.own else 0


@dataclass
class EventuallyWatch(Watch):
    """Remembers the events that still require a later one."""

    def __post_init__(self) -> None:
        rule: Eventually = self.rule
        self._open = Pool(rule.first, variables_of(rule.then), keep_all=True)
        self._due: deque[tuple[Mark, Hashable]] = deque()

    def see(self, event: Event) -> Iterator[Offence]:
        rule: Eventually = self.rule
        while self._due and not self._near(rule.within, self._due[0][0], event.mark):
            mark, key = self._due.popleft()
            if self._open.discard(key, mark):
                yield Offence(mark.index, event.mark.index)
        if (then := self._bind(rule.then, event)) is not None:
            self._settle(then)
        if (first := self._bind(rule.first, event)) is not None:
            self.applied += 1
            key = self._open.add(first, event)
            if rule.within is not None:
                self._due.append((event.mark, key))

    def _settle(self, then: dict[str, Any]) -> None:
        found = self._open.find(then)
        if not self.rule.own:
            for key in found:
                self._open.remove(key)
        elif found:
            oldest = min(found, key=lambda key: self._open.marks(key)[0].index)
            self._open.take(oldest)

    def owed(self) -> list[int]:
        return sorted(mark.index for mark in self._open)

    def key(self, now: Event | None = None) -> Hashable:
        if now is not None and self.rule.within is not None:
            return self._open.ages(lambda mark: self._age(mark, now), oldest=not self.rule.own)
        return self._open.key(with_times=self.rule.within is not None, counted=self.rule.own)

    def pending(self) -> int:
        return self._open.most if self.rule.own else 0


@dataclass
class NeverWatch(Watch):
    """Remembers the events after which, or beside which, others are forbidden."""

    def __post_init__(self) -> None:
        rule: Never = self.rule
        names = frozenset() if rule.call is None else variables_of(rule.call)
        self._turn = 0
        self._before = None if rule.after is None else Pool(rule.after, names)
        self._beside = None if rule.beside is None else Pool(rule.beside, names)
        self._here = None if rule.beside is None or rule.call is None else Pool(rule.call, variables_of(rule.beside))

    def see(self, event: Event) -> Iterator[Offence]:
        rule: Never = self.rule
        if event.turn != self._turn:
            self._turn = event.turn
            self._forget_turn()
        bound = self._bind_call(event)
        if bound is not None:
            yield from self._judge(bound, event)
        if rule.after is not None and self._before is not None and (first := self._bind(rule.after, event)) is not None:
            self.applied += 1
            self._before.add(first, event)
        if rule.beside is not None and self._beside is not None and self._here is not None:
            yield from self._see_beside(bound, event)

    def _bind_call(self, event: Event) -> dict[str, Any] | None:
        rule: Never = self.rule
        if rule.call is not None:
            return self._bind(rule.call, event, failed=rule.attempted)
        return {} if isinstance(event.item, Call) and (rule.attempted or not event.failed) else None

    def _judge(self, bound: dict[str, Any], event: Event) -> Iterator[Offence]:
        rule: Never = self.rule
        if rule.beside is not None:
            return
        if self._before is None:
            self.applied += 1
            if is_forbidden(rule, event.state, event.after):
                yield Offence(event.mark.index)
            return
        near = [mark for mark in self._before.marks_of(bound) if self._near(rule.within, mark, event.mark)]
        if near:
            yield Offence(event.mark.index, near[-1].index)

    def _see_beside(self, bound: dict[str, Any] | None, event: Event) -> Iterator[Offence]:
        """Judge an event that may not be in one turn with others, and remember it."""
        assert self._beside is not None
        assert self._here is not None
        beside = self._bind(self.rule.beside, event)
        if bound is None and beside is None:
            return
        self.applied += 1
        others = [*self._beside.marks_of(bound), *self._here.marks_of(beside)]
        if others:
            yield Offence(event.mark.index, max(mark.index for mark in others))
        if bound is not None and not event.failed:
            self._here.add(bound, event)
        if beside is not None:
            self._beside.add(beside, event)

    def _forget_turn(self) -> None:
        for pool in (self._beside, self._here):
            if pool is not None:
                pool.clear()

    def key(self, now: Event | None = None) -> Hashable:
        timed = self.rule.within is not None
        if now is not None and timed and self._before is not None:
            return self._before.ages(lambda mark: self._age(mark, now))
        if now is not None and now.turn != self._turn:
            return None if self._before is None else self._before.key(with_times=False)
        pools = (self._before, self._beside, self._here)
        return tuple(None if pool is None else pool.key(with_times=timed) for pool in pools)


def is_forbidden(rule: Never, state: Any, after: Any) -> bool:
    """Whether a matching call is forbidden between these two states of a world.

    A rule about every call forbids entering a state, so it is not broken by calls made after that. If it looks at
    private fields, which record breaches, each call that changes one of these fields breaks it again.
    """
    if rule.when is not None and not rule.when(state):
        return False
    if rule.leaves is None:
        return True
    if not rule.leaves(after):
        return False
    if rule.call is not None or not rule.leaves(state):
        return True
    return any(getattr(state, name) != getattr(after, name, None) for name in fields_of(rule.leaves, after))
