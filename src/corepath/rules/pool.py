"""Pools: the events that a watch remembers, by the values of the variables that it shares with other events."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.notation.message import Message
from corepath.rules.event import Event, Mark, bind
from corepath.rules.rule import is_plain, variables_of
from corepath.values import canonical


@dataclass
class Pool:
    """Events that match `pattern`, by the values of the variables that they share with other patterns.

    `names` are the variables of the pattern that the events are looked up with. Unless `keep_all` is True, only the
    last event with the same values is kept.
    """

    pattern: Action
    names: frozenset[str]
    keep_all: bool = False
    _marks: dict[Hashable, deque[Mark]] = field(default_factory=dict)
    _items: dict[Hashable, Call | Message] = field(default_factory=dict)
    """An event for each key, if the values of variables do not decide whether it can be used."""

    def __post_init__(self) -> None:
        self._plain = is_plain(self.pattern)
        self._shared = tuple(sorted(self.names & variables_of(self.pattern)))

    def __iter__(self) -> Iterator[Mark]:
        return (mark for marks in self._marks.values() for mark in marks)

    def add(self, bound: Mapping[str, Any], event: Event) -> Hashable:
        """Remember an event, and return its key."""
        key = self._key(bound) if self._plain else canonical(bound)
        if not self._plain:
            self._items.setdefault(key, event.item)
        marks = self._marks.setdefault(key, deque())
        if not self.keep_all:
            marks.clear()
        marks.append(event.mark)
        return key

    def find(self, bound: Mapping[str, Any]) -> list[Hashable]:
        """Return the keys of the events that fit the values of variables in `bound`."""
        if not self._plain:
            return [key for key, item in self._items.items() if bind(self.pattern, item, bound) is not None]
        if all(name in bound for name in self._shared):
            key = self._key(bound)
            return [key] if key in self._marks else []
        return [key for key in self._marks if self._fits(key, bound)]

    def marks(self, key: Hashable) -> deque[Mark]:
        """Return when the events with a key happened, oldest first."""
        return self._marks[key]

    def marks_of(self, bound: Mapping[str, Any] | None) -> list[Mark]:
        """Return when the events happened that fit the values of variables in `bound`, or nothing for None."""
        return [] if bound is None else [mark for key in self.find(bound) for mark in self._marks[key]]

    def take(self, key: Hashable) -> None:
        """Remove the oldest event with a key."""
        self._marks[key].popleft()
        if not self._marks[key]:
            self.remove(key)

    def discard(self, key: Hashable, mark: Mark) -> bool:
        """Remove the event at `mark`, which is the oldest with its key. Return False if it is gone already."""
        if key not in self._marks or self._marks[key][0] != mark:
            return False
        self.take(key)
        return True

    def remove(self, key: Hashable) -> None:
        """Remove all events with a key."""
        del self._marks[key]
        self._items.pop(key, None)

    def drop(self, bound: Mapping[str, Any], names: frozenset[str]) -> None:
        """Remove all events that fit the values of the variables `names`."""
        values = {name: value for name, value in bound.items() if name in names}
        for key in self.find(values) if values.keys() & set(self._shared) or not self._plain else list(self._marks):
            self.remove(key)

    def clear(self) -> None:
        """Remove everything."""
        self._marks.clear()
        self._items.clear()

    def key(self, *, with_times: bool, counted: bool = True) -> Hashable:
        """Return what is remembered: the times of the events, or else their number if it is `counted`."""
        if with_times:
            return frozenset((key, tuple((mark.calls, mark.time) for mark in one)) for key, one in self._marks.items())
        return frozenset((key, len(marks) if counted else 1) for key, marks in self._marks.items())

    def ages(self, age: Callable[[Mark], float | None], *, oldest: bool = False) -> Hashable:
        """Return what is remembered, with the ages of the events. Events without an age are left out.

        If `oldest` is True, only the oldest event with each key counts.
        """
        found = {key: [one for one in map(age, marks) if one is not None] for key, marks in self._marks.items()}
        return frozenset((key, tuple(ages[:1] if oldest else ages)) for key, ages in found.items() if ages)

    @property
    def most(self) -> int:
        """The largest number of events with one key."""
        return max(map(len, self._marks.values()), default=0)

    def fork(self) -> Self:
        """Return a copy that can be changed."""
        made = object.__new__(type(self))
        marks = {key: deque(marks) for key, marks in self._marks.items()}
        vars(made).update(vars(self), _marks=marks, _items=dict(self._items))
        return made

    def _key(self, bound: Mapping[str, Any]) -> Hashable:
        return tuple(canonical(bound[name]) for name in self._shared)

    def _fits(self, key: Hashable, bound: Mapping[str, Any]) -> bool:
        assert isinstance(key, tuple)
        pairs = zip(self._shared, key, strict=True)
        return all(name not in bound or canonical(bound[name]) == value for name, value in pairs)
