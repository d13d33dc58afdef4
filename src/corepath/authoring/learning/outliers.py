"""Outliers: single runs that contradict all others, so that they may not be good."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Final

from corepath.authoring.learning.log import Run

_FEWEST: Final = 7
"""So many other runs must agree."""
_MOST_PAIRS: Final = 1_000_000
_MOST_FOUND: Final = 3


def find_outliers(runs: Sequence[Run]) -> list[tuple[int, int, int]]:
    """Return runs that are the only one with two events in that order, if most others have them next to each other.

    Each comes with these two events, at most three runs in all. Events that are far apart may come in the rarer order
    by chance, so that they say little. Returns nothing if there are too many runs to look at.
    """
    orders: dict[tuple[int, int], list[int]] = defaultdict(list)
    close: Counter[tuple[int, int]] = Counter()
    if sum(len(run) ** 2 for run in runs) > _MOST_PAIRS:
        return []
    for number, run in enumerate(runs):
        for pair in combinations(run, 2):
            orders[pair].append(number)
        close.update(pairwise(run))
    found: dict[int, tuple[int, int]] = {}
    for pair, numbers in orders.items():
        usual = len(orders.get(pair[::-1], ()))
        if len(numbers) == 1 and usual >= _FEWEST and 2 * close[pair[::-1]] >= usual:
            found.setdefault(numbers[0], pair)
    return [(number, *pair) for number, pair in found.items()][:_MOST_FOUND]
