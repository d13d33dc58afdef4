"""Loosening a crooked order: giving up pairs that few runs speak for.

An order that consists of sequences and of parts in any order is believed as it is. One that does not is suspect, since
a single pair that the runs have by chance makes a straight order crooked. Its pairs are given up one after the other,
the one with the least evidence first, and what is left is the order that is told with its evidence in the fewest words.

The evidence for a pair is how much less likely the runs are without it, in nats. It is the mean for two kinds of runs:
those that choose among all orders alike, and those that choose among the steps that are due, again and again. In the
second kind, a step that is due early rarely comes late, so that its coming before late steps says little.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import log as ln
from math import log2
from typing import Final

from corepath.authoring.learning.arrangement import Arrangement
from corepath.authoring.learning.log import Log, Order, Run, members
from corepath.authoring.learning.partial_order import as_alternatives, count_orders

_MOST_EVENTS: Final = 24
_MOST_RUNS: Final = 200
_MOST_SETS: Final = 20_000
_MOST_GIVEN_UP: Final = 16
_ENOUGH: Final = 20.0
"""Pairs are given up until there is so much evidence against it, in nats."""
_PRICE: Final = 3.0
"""What it costs to give up any pair at all: to let a wrong order through is worse than to reject a right one."""
_MANY: Final = 8.0
"""The length of an order that takes too many alternatives to write."""


@dataclass(frozen=True)
class Looser:
    """An order as an arrangement, and how long it is to tell. `found` is None if it takes too many alternatives."""

    found: Arrangement | None
    length: float


def loosen(log: Log) -> list[Looser]:
    """Return the order of a log, and looser ones, each with one pair less. There is none if there are too many events.

    The length of each is the evidence against it, plus one for each pair that does not follow from others, plus the
    bits to tell alternatives apart, plus a price if it is looser.
    """
    if len(log.events) > _MOST_EVENTS:
        return []
    return _loosen(tuple(log.sample(_MOST_RUNS).runs.items()), tuple(log.order.items()))


@lru_cache(maxsize=256)
def _loosen(runs: tuple[tuple[Run, int], ...], pairs: tuple[tuple[int, int], ...]) -> list[Looser]:
    """Return the orders for runs and the pairs that they have in one order.

    They are remembered, since each question learns from the same runs again.
    """
    log, here = Log(dict(runs)), dict(pairs)
    first = _likelihood(log, here)
    found = [_measure(log, here, 0.0)]
    if first is None:
        return found
    for _ in range(_MOST_GIVEN_UP):
        best: tuple[float, int, dict[int, int]] | None = None
        for order in _with_one_less(here):
            chance = _likelihood(log, order)
            if chance is None:
                return found
            rank = first - chance, _count_pairs(order)
            if best is None or rank < best[:2]:
                best = *rank, order
        if best is None or best[0] > _ENOUGH:
            break
        here = best[2]
        found.append(_measure(log, here, _PRICE + best[0]))
    return found


def _measure(log: Log, order: Order, evidence: float) -> Looser:
    found = as_alternatives(log.events, order)
    bits = _MANY if found is None else log2(1 + found.leaves - len(log.events))
    return Looser(found, evidence + _count_pairs(order) + bits)


def _direct_pairs(order: Order) -> Iterator[tuple[int, int]]:
    """Yield the pairs that do not follow from others."""
    for event, later in order.items():
        implied = 0
        for other in members(later):
            implied |= order[other]
        for other in members(later & ~implied):
            yield event, other


def _count_pairs(order: Order) -> int:
    return sum(1 for _ in _direct_pairs(order))


def _with_one_less(order: Order) -> Iterator[dict[int, int]]:
    for one, other in _direct_pairs(order):
        yield {**order, one: order[one] & ~(1 << other)}


def _likelihood(log: Log, order: Order) -> float | None:
    """Return the logarithm of the probability of the runs, the mean for both kinds of runs, or None if that is slow."""
    orders = count_orders(log.events, order, _MOST_SETS)
    if orders is None:
        return None
    needed = dict.fromkeys(log.events, 0)
    for event in log.events:
        for later in members(order[event]):
            needed[later] |= 1 << event
    stepwise = 0.0
    for run, times in log.runs.items():
        done, left, steps = 0, set(run), 0.0
        for event in run if times else ():
            steps -= ln(sum(1 for other in left if not needed[other] & ~done))
            done |= 1 << event
            left.discard(event)
        stepwise += times * steps
    return (stepwise - log.total * ln(orders)) / 2
