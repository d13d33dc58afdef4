"""Partial orders of events as arrangements.

A partial order that consists of sequences and of parts in any order alone is called series-parallel. Such an order is
an arrangement as it is. Any other one is split into alternatives, or loses pairs that few runs speak for.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import Final

from corepath.authoring.learning.arrangement import Arrangement, Form, join, leaf
from corepath.authoring.learning.log import Log, Order, bits, components, members

MOST_ALTERNATIVES: Final = 24
_MOST_EVENTS: Final = 100
"""A larger part that is neither a sequence nor in any order is not looked at: that would take minutes."""
_MOST_RUNS: Final = 500
_MOST_LIMITS: Final = 60


def count_orders(events: Sequence[int], order: Order, most_sets: int = 3_000) -> int | None:
    """Count the total orders that keep a partial order, or return None if that takes more than `most_sets` sets."""
    needed = dict.fromkeys(events, 0)
    for event in events:
        for later in members(order[event]):
            needed[later] |= 1 << event
    pairs = [(1 << event, needed[event]) for event in events]
    ways, made = {0: 1}, 0
    for _ in events:
        longer: dict[int, int] = {}
        for done, number in ways.items():
            left = ~done
            for event, before in pairs:
                if event & left and not before & left:
                    longer[done | event] = longer.get(done | event, 0) + number
        ways, made = longer, made + len(longer)
        if made > most_sets:
            return None
    return sum(ways.values())


def as_series_parallel(events: Sequence[int], order: Order) -> Arrangement | None:
    """Return the partial order as an arrangement, or None if it is not series-parallel."""
    if len(events) == 1:
        return leaf(events[0])
    form, parts = _cut(events, order)
    if len(parts) == 1:
        return None
    inner = [as_series_parallel(part, order) for part in parts]
    return None if None in inner else join(form, (part for part in inner if part is not None))


def as_alternatives(events: Sequence[int], order: Order, left: list[int] | None = None) -> Arrangement | None:
    """Return any partial order as an arrangement, with alternatives where it is not series-parallel.

    Returns None if that takes more than `MOST_ALTERNATIVES`, or too long. `left` counts how many more there may be.
    """
    left = [MOST_ALTERNATIVES] if left is None else left
    if len(events) == 1:
        return leaf(events[0])
    form, parts = _cut(events, order)
    if len(parts) > 1:
        inner = [as_alternatives(part, order, left) for part in parts]
    else:
        left[0] -= 1
        if left[0] < 0 or len(events) > _MOST_EVENTS:
            return None
        one, other = _ends_of_zigzag(events, order)
        form = Form.CHOICE
        inner = [as_alternatives(events, _put(order, *pair), left) for pair in ((one, other), (other, one))]
    return None if None in inner else join(form, (part for part in inner if part is not None))


def drop_weak_pairs(log: Log) -> Arrangement | None:
    """Return the narrowest series-parallel order that keeps the pairs that the runs speak for.

    A pair is weak if the second event would usually come later anyway, even if the two had nothing to do with each
    other: because it tends to be late and the first one early. Returns None if there is no such order,
    or if there are too many events.
    """
    if len(log.events) > _MOST_EVENTS:
        return None
    log = log.sample(_MOST_RUNS)
    order, chances = log.order, _chances_of_pairs(log)
    limits = sorted(set(chances.values()), reverse=True)
    for limit in limits[:: 1 + len(limits) // _MOST_LIMITS]:
        strong = dict.fromkeys(log.events, 0)
        for (one, other), chance in chances.items():
            if chance < limit:
                strong[one] |= 1 << other
        kept = _close(log.events, strong)
        if kept != order and (found := as_series_parallel(log.events, kept)) is not None:
            return found
    return None


def _chances_of_pairs(log: Log) -> dict[tuple[int, int], float]:
    """Return for each ordered pair how likely that order is in all runs if the two are independent."""
    places: dict[int, list[int]] = {event: [] for event in log.events}
    for run, times in log.runs.items():
        for place, event in enumerate(run):
            places[event].extend([place] * times)
    for found in places.values():
        found.sort()
    chances = {}
    for one in log.events:
        for other in members(log.order[one]):
            later = sum(log.total - bisect_right(places[other], place) for place in places[one])
            chances[one, other] = (later / log.total**2) ** log.total
    return chances


def _cut(events: Sequence[int], order: Order) -> tuple[Form, list[list[int]]]:
    """Split events into parts in sequence or into parts in any order. There is one part if neither is possible."""
    every = bits(events)
    before = dict.fromkeys(events, 0)
    for event in events:
        for later in members(order[event] & every):
            before[later] |= 1 << event
    related = {event: order[event] & every | before[event] for event in events}
    parts = components(events, {event: every & ~related[event] for event in events})
    if len(parts) > 1:
        return Form.SEQ, sorted(parts, key=lambda part: before[part[0]].bit_count())
    return Form.ANY_ORDER, components(events, related)


def _ends_of_zigzag(events: Sequence[int], order: Order) -> tuple[int, int]:
    """Find events a and d with a < c, b < c, b < d and no other order among the four: the most frequent such pair."""
    found: Counter[tuple[int, int]] = Counter()
    every = bits(events)
    before = dict.fromkeys(events, 0)
    for event in events:
        for later in members(order[event] & every):
            before[later] |= 1 << event
    apart = {event: every & ~(order[event] | before[event] | 1 << event) for event in events}
    for b in events:
        for c in members(order[b] & every):
            for a in members(before[c] & apart[b]):
                for d in members(order[b] & apart[c] & apart[a] & every):
                    found[a, d] += 1
    return max(found, key=lambda pair: found[pair])


def _put(order: Order, one: int, other: int) -> dict[int, int]:
    """Return the order with one more pair, and all that follows from it."""
    later = order[other] | 1 << other
    return {event: after | later if event == one or after >> one & 1 else after for event, after in order.items()}


def _close(events: Sequence[int], order: Order) -> dict[int, int]:
    """Add the pairs that follow from others."""
    closed = dict(order)
    for middle in events:
        for event in events:
            if closed[event] >> middle & 1:
                closed[event] |= closed[middle]
    return closed
