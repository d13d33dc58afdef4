"""Collapse parts of an automaton into single boxes, so that its drawing stays small."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from corepath.automaton.automaton import Automaton
from corepath.automaton.golden_paths import lengths_of, topological_order
from corepath.drawing.export import count_text, span

LONGEST_CHAIN: Final = 12
"""Maximum length of a chain in which every state is drawn."""


@dataclass(frozen=True)
class Group:
    """States that are drawn as one box. `caption` describes a collapsed box, and is empty for a single state."""

    states: tuple[int, ...]
    caption: tuple[str, ...] = ()
    actions: tuple[int, ...] = ()
    """The actions into, within and out of the group."""


def keep_all(automaton: Automaton) -> tuple[Group, ...]:
    """Return one group per state, so that nothing is collapsed."""
    return tuple(Group((state,)) for state in range(len(automaton.states)))


def collapse(automaton: Automaton) -> tuple[Group, ...]:
    """Return the groups for a collapsed drawing.

    A state is unavoidable if every path to acceptance goes through it. Unavoidable states keep their own boxes, and the
    states between two unavoidable states share a box. In a long chain of unavoidable states, all but the first two and
    the last two share a box.
    """
    progress = _progress(automaton)
    order = topological_order(progress, automaton.start)
    unavoidable, owner = unavoidable_states(progress, order, automaton.accepting)
    regions: dict[int, list[int]] = defaultdict(list)
    for state in order:
        if state != owner[state]:
            regions[owner[state]].append(state)
    groups: list[Group] = []
    in_chain = {state: group for group in _long_chains(progress, unavoidable, regions) for state in group.states}
    for state, after in zip(unavoidable, (*unavoidable[1:], None), strict=True):
        if state not in in_chain:
            groups.append(Group((state,)))
        elif in_chain[state].states[0] == state:
            groups.append(in_chain[state])
        if len(regions[state]) > 1:
            groups.append(_region(automaton, progress, state, regions[state], after))
        else:
            groups += (Group((inner,)) for inner in regions[state])
    return tuple(groups)


Progress = list[list[tuple[int, int]]]
"""The progress edges from each state, as pairs of an action and the next state."""


def _progress(automaton: Automaton) -> Progress:
    return [
        [(symbol, target) for symbol, target in edges.items() if target != state]
        for state, edges in enumerate(automaton.delta)
    ]


def unavoidable_states(
    progress: Progress, order: list[int], accepting: frozenset[int]
) -> tuple[list[int], dict[int, int]]:
    """Return the unavoidable states in order, and map each state to the last unavoidable state before it.

    An unavoidable state is mapped to itself. The unavoidable states are the dominators of an extra end state that
    follows all accepting states.
    """
    place = {state: number for number, state in enumerate(order)}
    end = len(order)
    before: list[list[int]] = [[] for _ in range(end + 1)]
    for state in order:
        for _, target in progress[state]:
            before[place[target]].append(place[state])
        if state in accepting:
            before[end].append(place[state])
    dominator = _immediate_dominators(before)
    numbers = [dominator[end]]
    while numbers[-1]:
        numbers.append(dominator[numbers[-1]])
    unavoidable = set(numbers)
    last = list(range(end))
    for number in range(end):
        if number not in unavoidable:
            last[number] = last[dominator[number]]
    owner = {order[number]: order[last[number]] for number in range(end)}
    return [order[number] for number in reversed(numbers)], owner


def _immediate_dominators(before: list[list[int]]) -> list[int]:
    """Find the immediate dominator of each vertex (Cooper, Harvey and Kennedy 2001).

    Vertices are numbered in topological order from the root 0. `before` lists the predecessors of each vertex.
    """
    dominator = [0] + [-1] * (len(before) - 1)
    changed = True
    while changed:
        changed = False
        for number in range(1, len(before)):
            found = -1
            for one in before[number]:
                if dominator[one] >= 0:
                    found = one if found < 0 else _common_dominator(dominator, found, one)
            if found != dominator[number]:
                dominator[number], changed = found, True
    return dominator


def _common_dominator(dominator: list[int], one: int, other: int) -> int:
    while one != other:
        if one > other:
            one = dominator[one]
        else:
            other = dominator[other]
    return one


def _long_chains(progress: Progress, unavoidable: list[int], regions: Mapping[int, list[int]]) -> Iterator[Group]:
    """Yield one group per long chain of unavoidable states, without the chain's first two and last two states."""
    chain: list[int] = []
    for state in unavoidable:
        chain.append(state)
        if len(progress[state]) != 1 or regions[state]:
            if len(chain) > LONGEST_CHAIN:
                inner = chain[2:-2]
                actions = tuple(dict.fromkeys(symbol for state in chain[1:-2] for symbol, _ in progress[state]))
                yield Group(tuple(inner), (f"… {len(inner) + 1} more steps",), actions)
            chain = []


def _region(automaton: Automaton, progress: Progress, first: int, inner: list[int], after: int | None) -> Group:
    """Group the `inner` states, which are between the unavoidable states `first` and `after`.

    If `after` is None, `first` is the last unavoidable state.
    """
    inside = set(inner)
    actions = tuple(
        dict.fromkeys(
            symbol
            for state in (first, *inner)
            for symbol, target in progress[state]
            if target in inside or state in inside
        )
    )
    caption = _describe_ways(automaton, progress, first, inner, after)
    return Group(tuple(sorted(inner)), (*caption, f"{len(inner):,} states"), actions)


@dataclass
class _Ways:
    """The different ways to reach a state.

    `count` is the number of ways. Bit n in `lengths` is set if one of the ways has n steps. Each way has a sum of
    action weights, and `sums` keeps at most two different sums. If there is only one, all ways consist of the same
    actions.
    """

    count: int = 0
    lengths: int = 0
    sums: frozenset[int] = frozenset()

    def add(self, other: _Ways) -> None:
        self.count += other.count
        self.lengths |= other.lengths
        self.sums = frozenset(sorted(self.sums | other.sums)[:2])

    def extend(self, symbol: int) -> _Ways:
        """Return these ways, each extended by the action `symbol`."""
        return _Ways(self.count, self.lengths << 1, frozenset(total + _weight(symbol) for total in self.sums))


def _describe_ways(
    automaton: Automaton, progress: Progress, first: int, inner: list[int], after: int | None
) -> Iterator[str]:
    """Yield caption lines that say how many ways lead through a region, and how long they are."""
    through = _ways_through(automaton, progress, first, inner, after)
    if through is None:
        yield "with ways back"
        return
    is_one_set = through.count > 1 and len(through.sums) == 1
    many = count_text(through.count)
    to_end = " to end" if after is None else ""
    yield f"any of {many} orders" if is_one_set else f"{many} way{'s' * (through.count != 1)}{to_end}"
    steps = lengths_of(through.lengths)
    yield f"{span(steps)} step{'s' * (steps != [1])}"


def _ways_through(
    automaton: Automaton, progress: Progress, first: int, inner: list[int], after: int | None
) -> _Ways | None:
    """Return the ways from `first` through the `inner` states to `after`, or to acceptance if `after` is None.

    Returns None if an edge leads back to an earlier state.
    """
    ways = {first: _Ways(1, 1, frozenset({0})), **{state: _Ways() for state in inner}}
    through = _Ways()
    passed = {first}
    for state, here in ways.items():
        passed.add(state)
        if state != first and state in automaton.accepting:
            through.add(here)
        for symbol, target in progress[state]:
            if target in ways and target not in passed:
                ways[target].add(here.extend(symbol))
            elif state == first:
                continue
            elif target == after:
                through.add(here.extend(symbol))
            else:
                return None
    return through


def _weight(symbol: int) -> int:
    """Return an action's weight. Different multisets of actions have different sums of weights."""
    return pow(7, 101 * symbol + 997, (1 << 127) - 1)
