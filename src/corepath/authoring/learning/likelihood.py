"""How likely it is that runs show so few of the orders that would be allowed."""

from __future__ import annotations

from math import comb, exp, inf, log
from typing import Final

from corepath.authoring.learning.arrangement import Arrangement
from corepath.authoring.learning.log import Log

IMPLAUSIBLE: Final = 0.001
"""An explanation of the runs is given up if what was seen has a lower probability than this."""
_VERY_MANY: Final = 10**6


def chance_of_few(distinct: int, draws: int, orders: int) -> float:
    """Return the probability that so many draws among equally likely orders give at most `distinct` different ones."""
    if orders <= distinct or distinct >= draws:
        return 1.0
    if orders > _VERY_MANY or draws > 1000:
        exponent = log(comb(draws, distinct)) + (draws - distinct) * (log(distinct) - log(orders))
        return exp(min(0.0, exponent))
    chances = [1.0] + [0.0] * (distinct + 1)
    for _ in range(draws):
        for seen in range(distinct + 1, 0, -1):
            chances[seen] = chances[seen] * min(1.0, seen / orders) + chances[seen - 1] * (1 - (seen - 1) / orders)
        chances[0] = 0.0
    return min(1.0, sum(chances[: distinct + 1]))


def evidence(log_: Log, narrow: Arrangement, wide: Arrangement) -> float:
    """Return how much more likely the runs are with `narrow` than with `wide`, in nats.

    It is the mean for two kinds of runs: those that choose among all orders alike, and those that choose among the
    steps that are due, again and again.
    """
    evenly = sum(
        group.total * (log(wide.size(events)) - log(narrow.size(events))) for events, group in log_.groups().items()
    )
    return (evenly + _stepwise(log_, narrow) - _stepwise(log_, wide)) / 2


def _stepwise(log_: Log, arrangement: Arrangement) -> float:
    """Return the logarithm of the probability of runs that choose each step among those that are due."""
    found = 0.0
    for run, times in log_.runs.items():
        left: Arrangement | None = arrangement
        for event in run:
            if left is not None:
                found -= times * log(len(left.first) + left.is_optional)
                left = left.after(event)
    return found


def chance_in(draws: int, few: int, many: int) -> float:
    """Return the probability that all draws among `many` equally likely orders are among `few` of them."""
    return exp(draws * (log(few) - log(many))) if few < many else 1.0


def chance_within(log_: Log, narrow: Arrangement, wide: Arrangement) -> float:
    """Return the probability that all runs are within `narrow` if all orders of `wide` are equally likely."""
    exponent = 0.0
    for events, group in log_.groups().items():
        few, many = narrow.size(events), wide.size(events)
        if many and few < many:
            exponent += group.total * (log(few) - log(many)) if few else -inf
    return exp(exponent)
