"""The automaton of a task: a partial deterministic automaton over actions, checked when it is made."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Final, Literal

from corepath.automaton.alphabet import Alphabet, Forbidden, Listing, Unlisted
from corepath.automaton.derivatives import compiled
from corepath.automaton.golden_paths import Golden, fold, lengths_of, minimal
from corepath.errors import Fault, TaskError, nearest
from corepath.notation.action import Action, Tool
from corepath.notation.procedure import Procedure, leaves

MOST_SIMPLE_PATHS: Final = 10_000
"""With `golden="simple_paths"`, a task with more golden paths is refused."""
MOST_LOOKED_AT: Final = 500_000
"""And one in which so many transitions must be looked at to list them."""

GoldenRule = Literal["acyclic", "simple_paths"]


@dataclass(frozen=True)
class Automaton:
    """Numbered states with names, and a partial transition function: `delta[state][action]` is the next state.

    Build one with `from_procedure` or `from_transitions`, which raise `TaskError` if it cannot be right. `procedure` is
    what it was compiled from, if anything.
    """

    alphabet: Alphabet
    states: tuple[str, ...]
    delta: tuple[Mapping[int, int], ...]
    start: int
    accepting: frozenset[int]
    rule: GoldenRule = "acyclic"
    procedure: Procedure | None = field(default=None, compare=False, repr=False)
    _ready: Golden | None = field(default=None, compare=False, repr=False)
    _folded: dict[int, Golden | None] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def from_procedure(
        cls, procedure: Procedure, declared: Sequence[Action] = (), listing: Listing | None = None
    ) -> Automaton:
        """The smallest automaton that accepts exactly the orders that the procedure allows.

        `declared` are further actions, which need not be steps.
        """
        # An action under two names is two, so that it is found that the second can never match.
        used: dict[tuple[Action, str | None], Action] = {}
        for leaf in leaves(procedure):
            if not isinstance(leaf, Action):
                raise TaskError.of(f"a procedure is made of actions, not of {leaf!r}", "procedure")
            used.setdefault((leaf, leaf.name), leaf)
        numbers = {key: number for number, key in enumerate(used)}
        graph = compiled(procedure, lambda action: numbers[action, action.name])
        actions = {**used, **{(action, action.name): action for action in declared}}
        alphabet = Alphabet(tuple(actions.values()), frozenset(range(len(used))), listing or Listing())
        names = tuple(f"q{number}" for number in range(len(graph.edges)))
        delta = tuple(dict(edges) for edges in graph.edges)
        return cls(alphabet, names, _with_reads(delta, alphabet), 0, graph.accepting, procedure=procedure, _ready=graph)

    @classmethod
    def from_transitions(
        cls,
        actions: Mapping[str, Action],
        start: str,
        accept: Iterable[str],
        transitions: Mapping[str, Mapping[str, str]],
        *,
        golden: GoldenRule = "acyclic",
        reads: Sequence[Action] = (),
        neutral: Sequence[Action] = (),
        forbid: Sequence[Forbidden] = (),
        unlisted: Unlisted = "harm",
        tools: Mapping[str, Tool] | None = None,
    ) -> Automaton:
        """An automaton given outright: `transitions[state][action]` is the next state."""
        listing = Listing(tuple(reads), tuple(neutral), tuple(forbid), unlisted, tools)
        accept = list(accept)
        numbers = {name: number for number, name in enumerate(actions)}
        targets = [target for edges in transitions.values() for target in edges.values()]
        states = {name: number for number, name in enumerate(dict.fromkeys([start, *transitions, *targets, *accept]))}
        if faults := list(_unknown(numbers, start, accept, transitions)):
            raise TaskError(faults)
        delta: list[dict[int, int]] = [{} for _ in states]
        for state, edges in transitions.items():
            delta[states[state]] = {numbers[action]: states[target] for action, target in edges.items()}
        steps = frozenset(number for edges in delta for number in edges)
        alphabet = Alphabet(tuple(action.named(name) for name, action in actions.items()), steps, listing)
        made = cls(
            alphabet,
            tuple(states),
            _with_reads(delta, alphabet),
            states[start],
            frozenset(states[name] for name in accept),
            golden,
        )
        if faults := list(made._faults()):
            raise TaskError(faults)
        return made

    def with_listing(self, listing: Listing) -> Automaton:
        """The same transitions with another listing of calls that are not steps."""
        alphabet = Alphabet(self.alphabet.actions, self.alphabet.steps, listing)
        delta = [dict(edges) for edges in self.delta]
        return replace(self, alphabet=alphabet, delta=_with_reads(delta, alphabet), _folded={})

    def with_loops(self, loops: Mapping[int, Iterable[int]]) -> Automaton:
        """The automaton with more self-loops: for a state, actions that have no transition there."""
        delta = [dict(edges) for edges in self.delta]
        for state, symbols in loops.items():
            for symbol in symbols:
                delta[state].setdefault(symbol, state)
        return replace(self, delta=tuple(delta), _folded=self._folded)

    # What the metrics ask

    @cached_property
    def golden(self) -> Golden:
        """The graph of the golden paths."""
        if self._ready is not None:
            return self._ready
        if self.rule == "simple_paths":
            return fold(path for path, _ in self._ways(self.start))
        return self._numbered[0]

    def golden_from(self, state: int) -> Golden | None:
        """The graph of what golden paths have left at a state; None where no golden path goes through it."""
        if self._ready is not None:
            return self._ready.beginning_at(state)
        if self.rule == "simple_paths":
            if state not in self._folded:
                ways = (path for path, _ in self._ways(state))
                self._folded[state] = fold(ways) if state in self._on_golden else None
            return self._folded[state]
        graph, node_of = self._numbered
        return graph.beginning_at(node_of[state])

    @cached_property
    def missing(self) -> tuple[int, ...]:
        """For each state the fewest progress steps to acceptance."""
        before: list[list[int]] = [[] for _ in self.delta]
        for state, target in self._progress():
            before[target].append(state)
        distance = dict.fromkeys(self.accepting, 0)
        queue = deque(self.accepting)
        while queue:
            state = queue.popleft()
            for earlier in before[state]:
                if earlier not in distance:
                    distance[earlier] = distance[state] + 1
                    queue.append(earlier)
        return tuple(distance.get(state, -1) for state in range(len(self.delta)))

    @cached_property
    def ahead(self) -> tuple[int, ...]:
        """For each state the actions that can still be progress, there or later, as bits."""
        bits = [0] * len(self.delta)
        before: list[list[int]] = [[] for _ in self.delta]
        for state, edges in enumerate(self.delta):
            for symbol, target in edges.items():
                if target != state:
                    bits[state] |= 1 << symbol
                    before[target].append(state)
        queue = deque(range(len(self.delta) - 1, -1, -1))
        waiting = set(queue)
        while queue:
            state = queue.popleft()
            waiting.discard(state)
            for earlier in before[state]:
                if bits[state] & ~bits[earlier]:
                    bits[earlier] |= bits[state]
                    if earlier not in waiting:
                        waiting.add(earlier)
                        queue.append(earlier)
        return tuple(bits)

    def due(self, state: int) -> tuple[int, ...]:
        """The actions that are progress in a state."""
        return tuple(symbol for symbol, target in self.delta[state].items() if target != state)

    def loops(self, state: int) -> tuple[int, ...]:
        """The actions that are self-loops in a state."""
        return tuple(symbol for symbol, target in self.delta[state].items() if target == state)

    @property
    def count(self) -> int:
        """How many golden paths there are, exactly."""
        return self.golden.count

    @property
    def lengths(self) -> list[int]:
        """The lengths that golden paths have, the shortest first."""
        return lengths_of(self.golden.lengths)

    def golden_paths(self) -> Iterator[tuple[str, ...]]:
        """The golden paths as names of actions, one after the other."""
        names = self.alphabet.names
        return (tuple(names[symbol] for symbol in path) for path in self.golden.paths())

    @cached_property
    def read_warnings(self) -> tuple[str, ...]:
        """Where a read, which changes nothing, takes away a way to go on that there was before it."""
        return tuple(islice(_removed_by_reads(self), 20))

    # How it is checked

    def _progress(self) -> Iterator[tuple[int, int]]:
        for state, edges in enumerate(self.delta):
            for target in edges.values():
                if target != state:
                    yield state, target

    def _faults(self) -> Iterator[Fault]:
        reached = self._reached()
        for number, name in enumerate(self.states):
            if number not in reached:
                yield Fault(f"state '{name}' is unreachable: no progress leads to it from '{self.states[self.start]}'",
                            ("transitions", name))  # fmt: skip
            elif self.missing[number] < 0:
                if number == self.start:
                    yield Fault("no golden path: no progress leads from start to an accepting state", ("accept",))
                else:
                    yield Fault(f"state '{name}' is dead: no progress leads from it to an accepting state",
                                ("transitions", name))  # fmt: skip
        if self.rule == "acyclic" and (cycle := self._cycle()):
            yield Fault(
                f"progress goes in a circle: {cycle}; undo it, or ask for golden: simple_paths",
                ("transitions",),
            )
        elif self.rule == "simple_paths":
            try:
                for state in {self.start, *self._on_golden}:
                    deque(self._ways(state), maxlen=0)
            except TaskError as error:
                yield from error.problems

    def _reached(self) -> set[int]:
        reached = {self.start}
        waiting = [self.start]
        while waiting:
            for target in self.delta[waiting.pop()].values():
                if target not in reached:
                    reached.add(target)
                    waiting.append(target)
        return reached

    def _cycle(self) -> str | None:
        """A progress cycle in words, or None."""
        path: list[int] = []
        done: set[int] = set()
        on_path: set[int] = set()
        waiting = [(self.start, iter(self.delta[self.start].items()))]
        on_path.add(self.start)
        path.append(self.start)
        while waiting:
            state, edges = waiting[-1]
            for _, target in edges:
                if target in on_path and target != state:
                    circle = [*path[path.index(target) :], target]
                    return " → ".join(self.states[one] for one in circle)
                if target not in done and target not in on_path:
                    waiting.append((target, iter(self.delta[target].items())))
                    on_path.add(target)
                    path.append(target)
                    break
            else:
                waiting.pop()
                on_path.discard(path.pop())
                done.add(state)
        return None

    @cached_property
    def _numbered(self) -> tuple[Golden, dict[int, int]]:
        """The progress edges as a golden graph, and the node of each state."""
        edges = [
            tuple((symbol, target) for symbol, target in edges.items() if target != state)
            for state, edges in enumerate(self.delta)
        ]
        return minimal(edges, self.accepting, self.start)

    @cached_property
    def _on_golden(self) -> frozenset[int]:
        """The states that some golden path goes through, where golden paths are simple paths."""
        return frozenset(state for _, states in self._ways(self.start) for state in states)

    def _ways(self, start: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """The ways from a state to acceptance that visit no state twice, with their states; past the cap it raises."""
        symbols: list[int] = []
        states = [start]
        found = int(start in self.accepting)
        if found:
            yield (), (start,)
        waiting = [iter(self.delta[start].items())]
        looked_at = 0
        while waiting:
            looked_at += 1
            if found > MOST_SIMPLE_PATHS or looked_at > MOST_LOOKED_AT:
                raise TaskError.of(
                    f"golden: simple_paths lists at most {MOST_SIMPLE_PATHS:,} golden paths from a state, and looks at "
                    f"{MOST_LOOKED_AT:,} transitions for them; from '{self.states[start]}' there are more. "
                    "An automaton without progress cycles has no limit",
                    "golden",
                )
            edge = next(waiting[-1], None)
            if edge is None:
                waiting.pop()
                states.pop()
                if symbols:
                    symbols.pop()
            elif edge[1] not in states:
                symbols.append(edge[0])
                states.append(edge[1])
                if edge[1] in self.accepting:
                    found += 1
                    yield tuple(symbols), tuple(states)
                waiting.append(iter(self.delta[edge[1]].items()))


def _with_reads(delta: Sequence[dict[int, int]], alphabet: Alphabet) -> tuple[Mapping[int, int], ...]:
    """δ with a self-loop for every step that is a read, wherever it is not progress."""
    reads = [number for number in sorted(alphabet.steps) if alphabet.is_read(number)]
    for state, edges in enumerate(delta):
        for number in reads:
            edges.setdefault(number, state)
    return tuple(delta)


def _unknown(
    numbers: Mapping[str, int], start: str, accept: list[str], transitions: Mapping[str, Mapping[str, str]]
) -> Iterator[Fault]:
    known = {start, *transitions, *accept}
    targets = {target for edges in transitions.values() for target in edges.values()}
    if start not in transitions and start not in accept:
        yield Fault(f"start: no state '{start}'{nearest(start, transitions)}", ("start",))
    for place, name in enumerate(accept):
        if name not in transitions and name not in targets and name != start:
            yield Fault(f"accept: no state '{name}'{nearest(name, known - {name})}", ("accept", place))
    for state, edges in transitions.items():
        for action, target in edges.items():
            if action not in numbers:
                message = (
                    f"state '{state}' has a transition by '{action}', which is no action{nearest(action, numbers)}"
                )
                yield Fault(message, ("transitions", state, action), at_key=True)
            if target not in known:
                message = (
                    f"'{action}' in state '{state}' leads to '{target}', which is no state{nearest(target, known)}"
                )
                yield Fault(message, ("transitions", state, action))
    if not accept:
        yield Fault("accept is empty: no golden path can end; name at least one accepting state", ("accept",))


def _removed_by_reads(automaton: Automaton) -> Iterator[str]:
    """Follow, after a read that is a step, everything that could have been done without it."""
    names = automaton.alphabet.names
    reads = {number for number in automaton.alphabet.steps if automaton.alphabet.is_read(number)}
    seen: set[tuple[int, int]] = set()
    for state, edges in enumerate(automaton.delta):
        for read in reads:
            after = edges.get(read, state)
            if after != state and (state, after) not in seen:
                lost = _lost(automaton, state, after, read, seen)
                if lost:
                    yield (
                        f"in state '{automaton.states[state]}' the read '{names[read]}' takes away a way to go on: "
                        f"after it, '{lost}' is no longer allowed"
                    )


def _lost(automaton: Automaton, state: int, after: int, read: int, seen: set[tuple[int, int]]) -> str | None:
    """What could be done in `state` without the read and cannot be done in `after`, if anything."""
    waiting = [(state, after)]
    seen.add((state, after))
    while waiting:
        one, other = waiting.pop()
        if one in automaton.accepting and other not in automaton.accepting:
            return "to end here"
        for symbol, target in automaton.delta[one].items():
            if target == one or (one == state and other == after and symbol == read):
                continue
            follows = automaton.delta[other].get(symbol)
            if follows is None:
                return automaton.alphabet.names[symbol]
            if (target, follows) not in seen and target != follows and len(seen) < 1_000_000:
                seen.add((target, follows))
                waiting.append((target, follows))
    return None
