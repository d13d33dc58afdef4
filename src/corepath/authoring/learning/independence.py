"""Steps about different things, which may come in another order although few runs show only one.

One run shows one order. Whether another one is right is a guess, and the runs say what is likely: if the same steps are
done to several things, e.g. cancelling three orders, any order of the things is right as a rule. So it is if the
answers are records of different things. Steps that share a value, or of which one uses what the other returned, keep
their order, and so do all others about which nothing is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from itertools import combinations, permutations
from math import prod
from operator import or_
from typing import Any, Final

from corepath.authoring.learning.events import Events
from corepath.authoring.learning.good_run import GoodRun
from corepath.authoring.learning.log import Run, bits, components, members
from corepath.authoring.learning.told_apart import as_json
from corepath.notation.call import Call
from corepath.values import is_number

MOST_RUNS: Final = 4
"""So many runs may all have the same one of two orders by chance, with a probability above 5 %."""
_MOST_STEPS: Final = 100
_MOST_STATES: Final = 5_000
"""With more ways to have done some of it, as with thirteen things, the order stays: the task would be too large."""
_SHORTEST: Final = 3
"""A shorter value is not looked for within texts."""
_MOST_WORDS: Final = 3
_LONGEST: Final = 200
"""A text with more words or letters names nothing."""
_MOST_NAMES: Final = 500
"""Of so many values of a call, and no more, it is found out whether they are a part of another one."""


def guess_orders(runs: Sequence[GoodRun], events: Events) -> list[Run]:
    """Return further orders of few runs that are likely to be right: the things that the steps are about, swapped.

    For each thing, there is an order in which its steps come as early as possible, without any others in between.
    """
    found: dict[Run, None] = {}
    if len(runs) <= MOST_RUNS:
        for run, order, places in zip(runs, events.runs, events.places, strict=True):
            if 1 < len(order) <= _MOST_STEPS:
                calls = [run.calls[place] for place in places]
                groups = _group_by_thing(run, places)
                found |= dict.fromkeys(tuple(order[one] for one in other) for other in _reorder(calls, groups))
    return [order for order in found if order not in events.runs]


def _reorder(calls: Sequence[Call], groups: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yield for each group the order in which it comes first, after the steps that it needs."""
    needed = _find_needed(calls, groups)
    for group in groups:
        first = [*members(bits(group) | reduce(or_, (needed[step] for step in group)))]
        yield [*first, *(step for step in range(len(calls)) if step not in first)]


def _find_needed(calls: Sequence[Call], groups: Sequence[Sequence[int]]) -> list[int]:
    """Return for each step the steps that must come before it, as a bit set."""
    of = {step: number for number, group in enumerate(groups) for step in group}
    free = {
        (one, other)
        for one, other in permutations(range(len(groups)), 2)
        if _are_independent([calls[step] for step in groups[one]], [calls[step] for step in groups[other]])
    }
    moved = {number for pair in free for number in pair}
    if prod(len(groups[number]) + 1 for number in moved) > _MOST_STATES:
        free = set()
    needed = [0] * len(calls)
    for first, second in combinations(range(len(calls)), 2):
        if (of[first], of[second]) not in free:
            needed[second] |= needed[first] | 1 << first
    return needed


def _group_by_thing(run: GoodRun, places: Sequence[int]) -> list[list[int]]:
    """Group steps by the thing that they are about."""
    linked = dict.fromkeys(range(len(places)), 0)
    known: set[str] = set()
    told = [set[str]()] * len(places)
    step_at = {place: step for step, place in enumerate(places)}
    for place, call in enumerate(run.calls):
        known |= _names(call.arguments)
        fresh = _names(call.result) - known
        known |= fresh
        if place in step_at:
            told[step_at[place]] = fresh
    for first, second in combinations(range(len(places)), 2):
        one, other = run.calls[places[first]], run.calls[places[second]]
        if told[first] & _names(other.arguments) or _share_thing(one, other):
            linked[first] |= 1 << second
            linked[second] |= 1 << first
    return components(linked, linked)


def _share_thing(one: Call, other: Call) -> bool:
    """Whether two calls have a value in common. Calls of one tool may have the same value of the same argument."""
    if _are_of_different_records(one, other):
        return False
    if one.tool != other.tool:
        return _overlap(_names(one.arguments), _names(other.arguments))
    if not any(_differ(one.arguments[name], other.arguments[name]) for name in one.arguments.keys() & other.arguments):
        return True
    return any(
        _overlap(_names(value), _names(theirs))
        for name, value in one.arguments.items()
        for theirs_name, theirs in other.arguments.items()
        if name != theirs_name
    )


def _overlap(mine: set[str], theirs: set[str]) -> bool:
    """Whether two sets of values have one in common, or one that is a part of another, as a folder is of a path."""
    if mine & theirs:
        return True
    return len(mine) + len(theirs) <= _MOST_NAMES and any(
        (len(one) >= _SHORTEST and one in other) or (len(other) >= _SHORTEST and other in one)
        for one in mine
        for other in theirs
    )


def _differ(mine: Any, theirs: Any) -> bool:
    """Whether two values are different names of things."""
    return isinstance(mine, str) and isinstance(theirs, str) and mine != theirs


def _are_independent(ones: Sequence[Call], others: Sequence[Call]) -> bool:
    """Whether the same is done to two things, or the answers show that they are different records."""
    if [call.tool for call in ones] == [call.tool for call in others]:
        return True
    return all(_are_of_different_records(one, other) for one in ones for other in others)


def _are_of_different_records(one: Call, other: Call) -> bool:
    """Whether both answers are records that have the same argument of the calls as their key, with different values."""
    mine, theirs = as_json(one.result), as_json(other.result)
    if not isinstance(mine, Mapping) or not isinstance(theirs, Mapping):
        return False
    return any(
        _differ(value, other.arguments.get(name)) and mine.get(name) == value
        and theirs.get(name) == other.arguments[name]
        for name, value in one.arguments.items()
    )  # fmt: skip


def _names(value: Any) -> set[str]:
    """Return the numbers and the short texts in a value. A text that is JSON stands for its value."""
    found: set[str] = set()
    waiting = [as_json(value)]
    while waiting:
        here = waiting.pop()
        if isinstance(here, Mapping):
            waiting.extend(here.values())
        elif isinstance(here, list):
            waiting.extend(here)
        elif (isinstance(here, str) and len(here) <= _LONGEST and 0 < len(here.split()) <= _MOST_WORDS) or is_number(
            here
        ):
            found.add(str(here))
    return found
