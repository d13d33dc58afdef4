"""An automaton in short: states between which there is only one way, or that lie between two others, taken as one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from corepath.automaton.automaton import Automaton
from corepath.automaton.golden_paths import lengths_of
from corepath.drawing.export import count_text, span

LONGEST_CHAIN: Final = 12
"""So many states in a row are still shown one by one."""


@dataclass(frozen=True)
class Group:
    """States that are shown as one. `words` say what goes on among them; they are empty for a state by itself."""

    states: tuple[int, ...]
    words: tuple[str, ...] = ()
    actions: tuple[int, ...] = ()
    """The actions that lead to them, among them and on from them."""


def unfolded(automaton: Automaton) -> tuple[Group, ...]:
    """Every state by itself."""
    return tuple(Group((state,)) for state in range(len(automaton.states)))


def folded(automaton: Automaton) -> tuple[Group, ...]:
    """The states that every path goes through by themselves, and those between two of them as one.

    A single state between two stays as it is. Of a long chain, the first and the last step stay.
    """
    progress = [
        [(symbol, target) for symbol, target in edges.items() if target != state]
        for state, edges in enumerate(automaton.delta)
    ]
    order = _order(progress, automaton.start)
    cuts, owner = _cuts(progress, order, automaton.accepting)
    inner: dict[int, list[int]] = defaultdict(list)
    for state in order:
        if state != owner[state]:
            inner[owner[state]].append(state)
    groups: list[Group] = []
    hidden = {state: group for group in _chains(progress, cuts, inner) for state in group.states}
    for place, cut in enumerate(cuts):
        if cut not in hidden:
            groups.append(Group((cut,)))
        elif hidden[cut].states[0] == cut:
            groups.append(hidden[cut])
        if len(inner[cut]) > 1:
            after = cuts[place + 1] if place + 1 < len(cuts) else None
            groups.append(_region(automaton, progress, cut, inner[cut], after))
        else:
            groups += (Group((state,)) for state in inner[cut])
    return tuple(groups)


Progress = list[list[tuple[int, int]]]
"""For each state the pairs of an action and the state after."""


def _order(progress: Progress, start: int) -> list[int]:
    """The states in an order that every progress keeps but that which closes a circle."""
    seen, finished = {start}, []
    path = [(start, iter(progress[start]))]
    while path:
        state, rest = path[-1]
        for _, target in rest:
            if target not in seen:
                seen.add(target)
                path.append((target, iter(progress[target])))
                break
        else:
            path.pop()
            finished.append(state)
    return finished[::-1]


def _cuts(progress: Progress, order: list[int], accepting: frozenset[int]) -> tuple[list[int], dict[int, int]]:
    """The states that every path to acceptance goes through, and for each state the last of them before it.

    They are what dominates an end that all accepting states lead to, found as Cooper, Harvey and Kennedy do.
    """
    place = {state: number for number, state in enumerate(order)}
    end = len(order)
    before: list[list[int]] = [[] for _ in range(end + 1)]
    for state in order:
        for _, target in progress[state]:
            before[place[target]].append(place[state])
        if state in accepting:
            before[end].append(place[state])
    above: list[int] = [0] + [-1] * end
    changed = True
    while changed:
        changed = False
        for number in range(1, end + 1):
            found = -1
            for one in before[number]:
                if above[one] >= 0:
                    found = one if found < 0 else _meeting(above, found, one)
            if found != above[number]:
                above[number], changed = found, True
    numbers = [above[end]]
    while numbers[-1]:
        numbers.append(above[numbers[-1]])
    is_cut = set(numbers)
    last = list(range(end))
    for number in range(end):
        if number not in is_cut:
            last[number] = last[above[number]]
    return [order[number] for number in reversed(numbers)], {
        order[number]: order[last[number]] for number in range(end)
    }


def _meeting(above: list[int], one: int, other: int) -> int:
    while one != other:
        if one > other:
            one = above[one]
        else:
            other = above[other]
    return one


def _chains(progress: Progress, cuts: list[int], inner: Mapping[int, list[int]]) -> Iterator[Group]:
    """Of long rows of states with one way from each to the next, all but the first step and the last."""
    row: list[int] = []
    for cut in cuts:
        row.append(cut)
        if len(progress[cut]) != 1 or inner[cut]:
            if len(row) > LONGEST_CHAIN:
                between = row[2:-2]
                actions = tuple(dict.fromkeys(symbol for state in row[1:-2] for symbol, _ in progress[state]))
                yield Group(tuple(between), (f"… {len(between) + 1} more steps",), actions)
            row = []


def _region(automaton: Automaton, progress: Progress, first: int, inner: list[int], after: int | None) -> Group:
    """The states between one that every path goes through and the next, or the end."""
    inside = set(inner)
    actions = tuple(
        dict.fromkeys(
            symbol
            for state in (first, *inner)
            for symbol, target in progress[state]
            if target in inside or state in inside
        )
    )
    words = _ways(automaton, progress, first, inner, after)
    return Group(tuple(sorted(inner)), (*words, f"{len(inner):,} states"), actions)


def _ways(automaton: Automaton, progress: Progress, first: int, inner: list[int], after: int | None) -> Iterator[str]:
    """How many ways there are through the inner states, and how long, in words."""
    ways, lengths = dict.fromkeys(inner, 0), dict.fromkeys(inner, 0)
    orders: dict[int, set[int]] = {state: set() for state in inner}
    ended, long, made = 0, 0, set[int]()
    passed = {first}
    for state in (first, *inner):
        passed.add(state)
        here = (1, 1, {0}) if state == first else (ways[state], lengths[state], orders[state])
        if state != first and state in automaton.accepting:
            ended, long, made = ended + here[0], long | here[1], made | here[2]
        for symbol, target in progress[state]:
            done = {sum_of + _weight(symbol) for sum_of in here[2]}
            if target in ways and target not in passed:
                ways[target] += here[0]
                lengths[target] |= here[1] << 1
                orders[target] = set(sorted(orders[target] | done)[:2])
            elif state == first:
                continue
            elif target == after:
                ended, long, made = ended + here[0], long | here[1] << 1, made | done
            else:
                yield "with ways back"
                return
    one_order = ended > 1 and len(made) == 1
    many = count_text(ended)
    to_end = " to end" if after is None else ""
    yield f"any of {many} orders" if one_order else f"{many} way{'s' * (ended != 1)}{to_end}"
    steps = lengths_of(long)
    yield f"{span(steps)} step{'s' * (steps != [1])}"


def _weight(symbol: int) -> int:
    """A number for an action, such that different collections of actions have different sums."""
    return pow(7, 101 * symbol + 997, (1 << 127) - 1)
