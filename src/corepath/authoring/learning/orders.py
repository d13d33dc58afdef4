"""Learning in which orders the events of runs may come.

The events are cut recursively. What is always before something else is in sequence with it. What was seen in both
orders is in any order, or one by one where the parts never interleave. What never comes together is an alternative, and
what is missing in some runs is optional. A wide explanation gives way to a narrower one if it is implausible that the
runs show so few of its orders.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Final

from corepath.authoring.learning.arrangement import Arrangement, Form, in_sequence, join, optional
from corepath.authoring.learning.forks import ForkKind, Forks
from corepath.authoring.learning.left_out import join_dependent, join_neighbours
from corepath.authoring.learning.likelihood import IMPLAUSIBLE, chance_in, chance_of_few, chance_within, evidence
from corepath.authoring.learning.log import Log, Order, Run, components
from corepath.authoring.learning.loosening import loosen
from corepath.authoring.learning.partial_order import (
    as_alternatives,
    count_orders,
    drop_weak_pairs,
)
from corepath.notation.procedure import MOST_IN_TURN

_UNLIKELY: Final = 0.05
"""Steps that might interleave but never did are one by one if that has a lower probability than this."""
_ABSURD: Final = 1e-9
"""A looser order is not even asked about if what was seen has a lower probability than this."""
_SPLIT: Final = 1e-5
_MOST_ALONE: Final = 0.3
_WORTH: Final = 2.0
"""Halves must make the runs more likely by so many nats for each event, since each is told twice."""
_FEWEST_TO_SPLIT: Final = 6
_FEWEST_IN_HALF: Final = 3
_MOST_EVENTS_TO_SPLIT: Final = 24
_MOST_RUNS_TO_SPLIT: Final = 200


def learn_orders(runs: Iterable[Run] | Log, forks: Forks | None = None) -> Arrangement:
    """Learn the orders of runs. Every run is among them. Raises `ValueError` if there are no runs.

    `forks` decides where the runs allow two explanations, and gets all such places.
    """
    log = runs if isinstance(runs, Log) else Log.of(runs)
    if not log.runs:
        raise ValueError("no runs to learn from")
    return _learn(log, Forks() if forks is None else forks)


def _learn(log: Log, forks: Forks) -> Arrangement:
    if () in log.runs:
        rest = log.keep(bool)
        return optional(_learn(rest, forks)) if rest.runs else join(Form.SEQ, ())
    if len(log.runs) == 1:
        return in_sequence(next(iter(log.runs)))
    groups = log.groups()
    if len(groups) == 1:
        return _learn_group(log, forks)
    apart = join(Form.CHOICE, [_learn(group, forks) for group in groups.values()])
    together = _cut(log, forks)
    if together is None:
        return apart
    likely = chance_within(log, apart, together) >= IMPLAUSIBLE
    return forks.choose(ForkKind.GROUPS, log, apart, together, is_wide=likely)


def _learn_group(log: Log, forks: Forks) -> Arrangement:
    """Learn the orders of runs that all have the same events."""
    listed = join(Form.CHOICE, map(in_sequence, log.runs))
    found = _cut(log, forks)
    if found is None:
        found = _as_partial_order(log, forks)
    elif forks.asks and (loose := drop_weak_pairs(log)) is not None and _are_few(log, loose):
        found = forks.choose(ForkKind.PAIRS, log, found, loose, is_wide=False)
    if found is None:
        return listed
    two = None if found.form is Form.SEQ else _split(log, found, forks)
    if two is not None:
        return forks.choose(ForkKind.HALVES, log, two, found, is_wide=False)
    likely = chance_of_few(len(log.runs), log.total, found.size(frozenset(log.events))) >= IMPLAUSIBLE
    if likely:
        return found
    return forks.choose(ForkKind.LISTED, log, listed, found, is_wide=False)


def _are_few(log: Log, loose: Arrangement) -> bool:
    """Whether a looser order is not absurdly looser: the runs might all be within the narrower one by chance."""
    kept = count_orders(log.events, log.order)
    return kept is not None and chance_in(log.total, kept, loose.size(frozenset(log.events))) >= _ABSURD


def _cut(log: Log, forks: Forks) -> Arrangement | None:
    """Cut the events into alternatives, parts in sequence, or parts in any order. Returns None if there is no cut."""
    together = {event: log.after[event] | log.before[event] for event in log.events}
    if len(parts := components(log.events, together)) > 1:
        inner = [_learn(log.keep(lambda run, part=frozenset(part): run[0] in part), forks) for part in parts]  # type: ignore[misc]
        return join(Form.CHOICE, inner)
    if len(parts := components(log.events, _either(log.unordered, log.exclusive))) > 1:
        return _in_sequence(log, parts, forks)
    if len(parts := components(log.events, _either(log.ordered, log.exclusive))) > 1:
        return _in_any_order(log, parts, forks)
    return None


def _in_sequence(log: Log, parts: Sequence[Sequence[int]], forks: Forks) -> Arrangement | None:
    """Put the parts in sequence, or return None if no sequence of them was kept by all runs."""
    firsts = {min(part): part for part in parts}
    of = {event: first for first, part in firsts.items() for event in part}
    order: list[int] = []
    for run in log.runs:
        order.extend(dict.fromkeys(of[event] for event in run if of[event] not in order))
    ranks = {first: rank for rank, first in enumerate(_sort_parts(log, firsts, order))}
    for run in log.runs:
        seen = [ranks[of[event]] for event in run]
        if seen != sorted(seen):
            return None
    joined = join_neighbours(log, [firsts[first] for first in ranks])
    return join(Form.SEQ, [_learn(log.project(part), forks) for part in joined])


def _sort_parts(log: Log, firsts: dict[int, Sequence[int]], order: Sequence[int]) -> list[int]:
    """Sort parts by how many other parts come before them."""
    masks = {first: sum(1 << event for event in part) for first, part in firsts.items()}

    def earlier(first: int) -> int:
        before = 0
        for event in firsts[first]:
            before |= log.before[event]
        return sum(1 for other, mask in masks.items() if other != first and before & mask)

    return sorted(order, key=earlier)


def _in_any_order(log: Log, parts: Sequence[Sequence[int]], forks: Forks) -> Arrangement:
    """Put the parts in any order, or one by one if they never interleave although that was to be expected."""
    parts = join_dependent(log, parts)
    inner = [_learn(log.project(part), forks) for part in parts]
    free = join(Form.ANY_ORDER, inner)
    whole = all(_is_whole(run, set(part)) for run in log.runs for part in parts if len(part) > 1)
    if whole and len(parts) <= MOST_IN_TURN and any(len(part) > 1 for part in parts):
        turns = join(Form.ONE_BY_ONE, inner)
        is_wide = log.seen > 1 and chance_within(log, turns, free) >= _UNLIKELY
        return forks.choose(ForkKind.TURNS, log, turns, free, is_wide=is_wide)
    return free


def _is_whole(run: Run, part: set[int]) -> bool:
    """Whether nothing else comes between the events of `part`."""
    places = [place for place, event in enumerate(run) if event in part]
    return not places or places[-1] - places[0] + 1 == len(places)


def _as_partial_order(log: Log, forks: Forks) -> Arrangement | None:
    """Learn a partial order that is neither a sequence nor parts in any order.

    Pairs that few runs speak for are dropped if that makes it series-parallel and is plausible. Returns None if only a
    list of the orders is left.
    """
    looser = loosen(log)
    if not looser:
        return as_alternatives(log.events, log.order)
    exact = looser[0].found or join(Form.CHOICE, map(in_sequence, log.runs))
    best = min(looser, key=lambda one: one.length)
    wide = best if best is not looser[0] else min(looser[1:], key=lambda one: one.length, default=best)
    if wide.found is None:
        return looser[0].found
    return forks.choose(ForkKind.PAIRS, log, exact, wide.found, is_wide=best is wide)


def _split(log: Log, found: Arrangement, forks: Forks) -> Arrangement | None:
    """Learn two halves of the runs, by which of two events comes first, if they explain the runs far better.

    Returns None if they do not, or if too many runs are the only one that shows some freedom of a half.
    """
    if log.total < _FEWEST_TO_SPLIT or len(log.events) > _MOST_EVENTS_TO_SPLIT:
        return None
    sample = log.sample(_MOST_RUNS_TO_SPLIT)
    best = _find_split(tuple(sample.runs.items()))
    if best is None:
        return None
    chance = (best.orders / found.size(frozenset(log.events))) ** best.runs * best.pairs
    if chance >= _SPLIT or best.alone > _MOST_ALONE * best.runs:
        return None
    two = join(Form.CHOICE, [_learn(half, forks) for half in _halves(log, *best.pair)])
    return two if evidence(sample, two, found) > _WORTH * len(log.events) else None


@dataclass(frozen=True)
class _Split:
    """The pair of events that splits runs into halves with the fewest `orders`, out of `pairs` pairs.

    `alone` is the number of runs that are the only one to show some freedom of their half.
    """

    pair: tuple[int, int]
    orders: int
    runs: int
    pairs: int
    alone: int


@lru_cache(maxsize=256)
def _find_split(runs: tuple[tuple[Run, int], ...]) -> _Split | None:
    """Find the best pair to split runs by. It is remembered, since each question learns from the same runs again."""
    log = Log(dict(runs))
    pairs = [pair for pair in combinations(log.events, 2) if log.unordered[pair[0]] >> pair[1] & 1]
    best: tuple[int, tuple[int, int]] | None = None
    for pair in pairs:
        halves = _halves(log, *pair)
        if min(half.total for half in halves) < _FEWEST_IN_HALF:
            continue
        numbers = [count_orders(half.events, half.order) for half in halves]
        total = sum(number or 0 for number in numbers)
        if None not in numbers and (best is None or total < best[0]):
            best = (total, pair)
    if best is None:
        return None
    alone = sum(map(_count_alone, _halves(log, *best[1])))
    return _Split(best[1], best[0], log.total, len(pairs), alone)


def _halves(log: Log, one: int, other: int) -> tuple[Log, Log]:
    first = log.keep(lambda run: run.index(one) < run.index(other))
    return first, log.keep(lambda run: run.index(one) > run.index(other))


def _count_alone(log: Log) -> int:
    """Count the runs that are the only one in which some pair of events is in that order."""
    alone: set[Run] = set()
    for one, other in combinations(log.events, 2):
        if not log.unordered[one] >> other & 1:
            continue
        ways: tuple[list[Run], list[Run]] = ([], [])
        for run in log.runs:
            ways[run.index(one) < run.index(other)].append(run)
        alone.update(way[0] for way in ways if len(way) == 1 and log.runs[way[0]] == 1)
    return len(alone)


def _either(one: Order, other: Order) -> dict[int, int]:
    return {event: one[event] | other[event] for event in one}
