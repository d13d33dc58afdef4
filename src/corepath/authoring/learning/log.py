"""A log: the orders in which events were seen, and which events came before which others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

Run = tuple[int, ...]
"""The events of a run, in order, each at most once."""
Order = Mapping[int, int]
"""Maps each event to the events that come after it, as a bit set."""


class Log:
    """Runs, counted. Bit sets of events are integers.

    An order that was not seen in a run, but is known to be right, counts zero times.
    """

    def __init__(self, runs: Mapping[Run, int]) -> None:
        self.runs = runs
        self.total = max(1, sum(runs.values()))
        self.seen = sum(times > 0 for times in runs.values())
        self.after: dict[int, int] = {}
        for run in runs:
            later = 0
            for event in reversed(run):
                self.after[event] = self.after.get(event, 0) | later
                later |= 1 << event
        self.events = list(dict.fromkeys(event for run in runs for event in run))

    @classmethod
    def of(cls, runs: Iterable[Run], right: Iterable[Run] = ()) -> Log:
        """Make a log from runs that may repeat, and from orders that are right as well."""
        return cls({**Counter(runs), **dict.fromkeys(set(right) - set(runs), 0)})

    @cached_property
    def before(self) -> dict[int, int]:
        """Maps each event to the events that came before it in some run."""
        found = dict.fromkeys(self.events, 0)
        for event, later in self.after.items():
            for other in members(later):
                found[other] |= 1 << event
        return found

    @cached_property
    def unordered(self) -> dict[int, int]:
        """Maps each event to the events that were seen both before and after it."""
        return {event: self.after[event] & self.before[event] for event in self.events}

    @cached_property
    def exclusive(self) -> dict[int, int]:
        """Maps each event to the events that no run has together with it."""
        every = bits(self.events)
        return {event: every & ~(self.after[event] | self.before[event] | 1 << event) for event in self.events}

    @cached_property
    def ordered(self) -> dict[int, int]:
        """Maps each event to the events that were always before it, or always after it."""
        return {event: self.after[event] ^ self.before[event] for event in self.events}

    @cached_property
    def order(self) -> dict[int, int]:
        """Maps each event to the events that always came after it."""
        return {event: self.after[event] & ~self.before[event] for event in self.events}

    def project(self, events: Iterable[int]) -> Log:
        """Leave out all other events."""
        kept = set(events)
        found: Counter[Run] = Counter()
        for run, times in self.runs.items():
            found[tuple(event for event in run if event in kept)] += times
        return Log(found)

    def keep(self, wanted: Callable[[Run], bool]) -> Log:
        """Leave out all other runs."""
        return Log({run: times for run, times in self.runs.items() if wanted(run)})

    def groups(self) -> dict[frozenset[int], Log]:
        """Group the runs by their events."""
        found: dict[frozenset[int], dict[Run, int]] = {}
        for run, times in self.runs.items():
            found.setdefault(frozenset(run), {})[run] = times
        return {events: Log(runs) for events, runs in found.items()}

    def sample(self, most: int) -> Log:
        """Return a log of at most `most` runs. Each order is there as often as before, as far as there is room."""
        if self.total <= most:
            return self
        shrunk = {run: max(min(1, times), times * most // self.total) for run, times in list(self.runs.items())[:most]}
        return Log(shrunk)


def bits(events: Iterable[int]) -> int:
    """Return events as a bit set."""
    found = 0
    for event in events:
        found |= 1 << event
    return found


def members(events: int) -> Iterator[int]:
    """Iterate over the events of a bit set."""
    while events:
        lowest = events & -events
        yield lowest.bit_length() - 1
        events ^= lowest


def components(events: Iterable[int], linked: Mapping[int, int]) -> list[list[int]]:
    """Split events into groups that no link joins. `linked` maps each event to a bit set; links go both ways."""
    events = list(events)
    left, found = bits(events), []
    for event in events:
        if not left >> event & 1:
            continue
        group, front = 0, 1 << event
        while front:
            group |= front
            left &= ~front
            reached = 0
            for one in members(front):
                reached |= linked[one]
            front = reached & left
        found.append([one for one in events if group >> one & 1])
    return found
