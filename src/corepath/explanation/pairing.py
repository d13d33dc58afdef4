"""Align two paths the way a person would, with each call next to a step that uses the same tool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from corepath.scoring.alignment import Pair

Names = tuple[str, str | None]
"""The name of a call or step, and its tool. The tool is None if the name is not an action."""


def pair_by_tool(pairs: Iterable[Pair], mine: Sequence[Names], theirs: Sequence[Names]) -> list[Pair]:
    """Improve an alignment: keep the exact matches, and pair the calls and steps between them by tool.

    If one call and one step are left over, they are paired too. `mine` and `theirs` name the calls and the steps.
    """
    result: list[Pair] = []
    calls: list[int] = []
    steps: list[int] = []
    for call, step in pairs:
        if call is not None and step is not None and mine[call][0] == theirs[step][0]:
            result += [*_pair_between(calls, steps, mine, theirs), Pair(call, step)]
            calls, steps = [], []
            continue
        if call is not None:
            calls.append(call)
        if step is not None:
            steps.append(step)
    return [*result, *_pair_between(calls, steps, mine, theirs)]


def _pair_between(
    calls: Sequence[int], steps: Sequence[int], mine: Sequence[Names], theirs: Sequence[Names]
) -> Iterator[Pair]:
    """Pair each step between two matches with the next call to the same tool, and yield all pairs."""
    used = 0
    unpaired: list[int] = []
    for step in steps:
        same = next((place for place in range(used, len(calls)) if mine[calls[place]][1] == theirs[step][1]), None)
        if same is None:
            unpaired.append(step)
            continue
        yield from _pair_rest(calls[used:same], unpaired)
        yield Pair(calls[same], step)
        used, unpaired = same + 1, []
    yield from _pair_rest(calls[used:], unpaired)


def _pair_rest(calls: Sequence[int], steps: Sequence[int]) -> Iterator[Pair]:
    """Pair the remaining call and step if there is one of each. Otherwise yield them all without partners."""
    if len(calls) == len(steps) == 1:
        yield Pair(calls[0], steps[0])
        return
    yield from (Pair(None, step) for step in steps)
    yield from (Pair(call, None) for call in calls)
