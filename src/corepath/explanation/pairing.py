"""Two paths side by side as a person would lay them: where an alignment leaves a choice, like stands beside like."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from corepath.scoring.alignment import Pair

Names = tuple[str, str | None]
"""The name of a call or a step, and its tool."""


def laid_out(pairs: Iterable[Pair], mine: Sequence[Names], theirs: Sequence[Names]) -> list[Pair]:
    """The alignment with what lies between two matches paired anew.

    First a call stands beside a step of its tool, then one call beside one step where nothing else is left.
    """
    laid: list[Pair] = []
    calls: list[int] = []
    steps: list[int] = []
    for call, step in pairs:
        if call is not None and step is not None and mine[call][0] == theirs[step][0]:
            laid += [*_between(calls, steps, mine, theirs), Pair(call, step)]
            calls, steps = [], []
            continue
        if call is not None:
            calls.append(call)
        if step is not None:
            steps.append(step)
    return [*laid, *_between(calls, steps, mine, theirs)]


def _between(
    calls: Sequence[int], steps: Sequence[int], mine: Sequence[Names], theirs: Sequence[Names]
) -> Iterator[Pair]:
    used = 0
    waiting: list[int] = []
    for step in steps:
        like = next((n for n in range(used, len(calls)) if mine[calls[n]][1] == theirs[step][1]), None)
        if like is None:
            waiting.append(step)
            continue
        yield from _rest(calls[used:like], waiting)
        yield Pair(calls[like], step)
        used, waiting = like + 1, []
    yield from _rest(calls[used:], waiting)


def _rest(calls: Sequence[int], steps: Sequence[int]) -> Iterator[Pair]:
    if len(calls) == len(steps) == 1:
        yield Pair(calls[0], steps[0])
        return
    yield from (Pair(None, step) for step in steps)
    yield from (Pair(call, None) for call in calls)
