"""Recombination: other orders of the steps of runs, in which steps only follow each other as they do in some run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from random import Random
from typing import Final

from corepath.authoring.learning.log import Run

_TRIES: Final = 1_000


def recombine(runs: Sequence[Run], steps: Sequence[int], seed: int = 0) -> Iterator[Run]:
    """Yield random orders of the events of some run. A step follows another one only if it does so in some run.

    `steps` says which step each event is an occurrence of. The same order may come more than once.
    """
    follows: dict[int, set[int]] = {}
    for run in runs:
        for one, other in pairwise((-1, *(steps[event] for event in run), -2)):
            follows.setdefault(one, set()).add(other)
    sets = sorted({tuple(sorted(run)) for run in runs})
    random = Random(seed)  # noqa: S311  # the same orders every time
    for number in range(_TRIES if sets else 0):
        found = _walk(sets[number % len(sets)], steps, follows, random)
        if found is not None:
            yield found


def _walk(events: Run, steps: Sequence[int], follows: dict[int, set[int]], random: Random) -> Run | None:
    """Order events at random, or return None if some are left that may not follow. Equal steps keep their order."""
    left: dict[int, list[int]] = {}
    for event in reversed(events):
        left.setdefault(steps[event], []).append(event)
    order: list[int] = []
    last = -1
    while left:
        choices = sorted(follows.get(last, set()) & left.keys())
        if not choices:
            return None
        last = random.choice(choices)
        order.append(left[last].pop())
        if not left[last]:
            del left[last]
    return tuple(order) if -2 in follows.get(last, set()) else None
