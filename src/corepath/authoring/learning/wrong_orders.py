"""Learning orders from runs, and from orders that are known to be wrong.

What the runs alone suggest may allow a wrong order. Then the forks are decided otherwise, or the runs are split by
which of two events comes first, until all wrong orders are excluded. In the end, runs are listed as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import combinations, islice
from typing import Final

from corepath.authoring.learning.arrangement import Arrangement, Form, in_sequence, join
from corepath.authoring.learning.forks import Forks
from corepath.authoring.learning.log import Log, Run
from corepath.authoring.learning.orders import learn_orders

_MOST_FLIPS: Final = 3
_MOST_SPLITS: Final = 3
_MOST_EVENTS: Final = 24
_MOST_RUNS: Final = 300
"""If there are more events or different runs, they are not split."""
_MOST_TRIES: Final = 120
"""How often a half of the runs is learned from, at most."""


def learn_without(log: Log, wrong: Collection[Run], forks: Forks) -> Arrangement:
    """Learn the orders of runs, so that no order in `wrong` is among them, unless it is a run.

    `forks` gets the places where two explanations are left. What is settled there stays settled, if that is possible.
    """
    wrong = set(wrong) - set(log.runs)
    found = learn_orders(log, forks)
    if not any(order in found for order in wrong):
        return found
    return _decide_otherwise(log, wrong, forks) or _split(log, wrong, forks, _MOST_SPLITS, [_MOST_TRIES])


def _decide_otherwise(log: Log, wrong: Collection[Run], forks: Forks) -> Arrangement | None:
    """Decide otherwise at the forks that help most, one after the other. Returns None if wrong orders are left."""
    now, left = forks, len(wrong) + 1
    for _ in range(_MOST_FLIPS):
        best: tuple[int, int, Forks, Arrangement] | None = None
        for key, fork in now.found.items():
            if key in forks.settled or not fork.is_wide:
                continue
            flipped = Forks({**now.settled, key: False}, asks=now.asks)
            found = learn_orders(log, flipped)
            rank = sum(order in found for order in wrong), -found.count
            if best is None or rank < best[:2]:
                best = (*rank, flipped, found)
        if best is None or best[0] >= left:
            return None
        left, _, now, found = best
        if not left:
            forks.found = now.found
            return found
    return None


def _split(log: Log, wrong: Collection[Run], forks: Forks, most: int, tries: list[int]) -> Arrangement:
    """Split the runs by which of two events comes first, and learn the halves, so that few wrong orders are left.

    Runs that cannot be split any more, at most `most` times, are listed. `tries` says how often runs may still be
    learned from.
    """
    best: tuple[tuple[int, int], list[tuple[Log, Arrangement]]] | None = None
    if most and len(log.events) <= _MOST_EVENTS and len(log.runs) <= _MOST_RUNS:
        for halves in islice(_halves(log), max(0, tries[0] // 2)):
            tries[0] -= 2
            learned = [(half, learn_orders(half, Forks(forks.settled))) for half in halves]
            rank = sum(order in found for order in wrong for _, found in learned), -sum(one.count for _, one in learned)
            if best is None or rank < best[0]:
                best = rank, learned
    if best is None:
        return join(Form.CHOICE, map(in_sequence, log.runs))
    parts = []
    for half, found in best[1]:
        narrow: Arrangement | None = found
        if any(order in found for order in wrong):
            narrow = _decide_otherwise(half, wrong, _forks_of(half, forks))
        parts.append(narrow or _split(half, wrong, forks, most - 1, tries))
    return join(Form.CHOICE, parts)


def _forks_of(log: Log, forks: Forks) -> Forks:
    """Return the forks of some of the runs."""
    found = Forks(forks.settled)
    learn_orders(log, found)
    return found


def _halves(log: Log) -> Iterator[tuple[Log, Log]]:
    """Yield the runs in two halves, for each pair of events that come in both orders."""
    places = {run: {event: place for place, event in enumerate(run)} for run in log.runs}
    for one, other in combinations(sorted(log.events), 2):
        first = {run for run, at in places.items() if one in at and (other not in at or at[one] < at[other])}
        if 0 < len(first) < len(log.runs):
            yield log.keep(first.__contains__), log.keep(lambda run, first=first: run not in first)  # type: ignore[misc]
