"""Parts that are left out together, or that are there only if another part is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from corepath.authoring.learning.log import Log

_UNLIKELY: Final = 0.05
"""Two parts are taken to be left out independently of each other if that has a higher probability than this."""


@dataclass(frozen=True)
class _Part:
    """Events, and the numbers of the runs that have none of them."""

    events: Sequence[int]
    without: frozenset[int]


def join_neighbours(log: Log, parts: Iterable[Sequence[int]]) -> list[Sequence[int]]:
    """Join parts in sequence that follow each other, if one is there only if the other is."""
    times = [*log.runs.values()]
    joined: list[_Part] = []
    for part in _with_runs(log, parts):
        last = joined[-1] if joined else part
        if joined and (_depends(part, last, times) or _depends(last, part, times)):
            joined[-1] = _Part([*last.events, *part.events], last.without & part.without)
        else:
            joined.append(part)
    return [part.events for part in joined]


def join_dependent(log: Log, parts: Iterable[Sequence[int]]) -> list[Sequence[int]]:
    """Join parts in any order, if one is there only if the other is."""
    times = [*log.runs.values()]
    joined: list[_Part] = []
    for part in sorted(_with_runs(log, parts), key=lambda part: len(part.without)):
        for number in range(len(joined) - 1, -1, -1):
            if _depends(part, joined[number], times):
                joined[number] = _Part([*joined[number].events, *part.events], joined[number].without)
                break
        else:
            joined.append(part)
    return [part.events for part in joined]


def _with_runs(log: Log, parts: Iterable[Sequence[int]]) -> list[_Part]:
    """Return the parts with the runs that leave them out."""
    parts = list(parts)
    of = {event: number for number, part in enumerate(parts) for event in part}
    without = [set(range(len(log.runs))) for _ in parts]
    for number, run in enumerate(log.runs):
        for event in run:
            without[of[event]].discard(number)
    return [_Part(part, frozenset(runs)) for part, runs in zip(parts, without, strict=True)]


def _depends(part: _Part, other: _Part, times: Sequence[int]) -> bool:
    """Whether `part` is there only if `other` is, and that would be unlikely if they were independent."""
    if not other.without or not other.without <= part.without:
        return False
    if other.without == part.without:
        return True
    without_part, without_other = (sum(times[run] for run in one.without) for one in (part, other))
    return (without_part / max(1, sum(times))) ** without_other < _UNLIKELY
