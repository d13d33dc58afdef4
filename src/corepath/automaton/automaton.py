"""A task's automaton: a partial deterministic finite automaton over actions, checked on construction.

States and actions are numbered. An action's number is called its symbol.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Final, Literal

from corepath.automaton.alphabet import Alphabet, Listing, Refused, Unlisted
from corepath.automaton.derivatives import compile_procedure
from corepath.automaton.golden_paths import GoldenGraph, fold, lengths_of, minimise
from corepath.automaton.reading import Forbidden
from corepath.errors import Fault, TaskError, nearest
from corepath.notation.action import Action, Tool
from corepath.notation.procedure import Procedure, leaves

MOST_SIMPLE_PATHS: Final = 10_000
"""The most golden paths that a task with `golden="simple_paths"` may have."""
MOST_LOOKED_AT: Final = 500_000
"""The most transitions to look at while listing the golden paths of a task with `golden="simple_paths"`."""

_MOST_PAIRS: Final = 1_000_000
"""The most pairs of states to visit in the search for restrictive reads."""

GoldenRule = Literal["acyclic", "simple_paths"]
"""Which accepted paths are golden.

With "acyclic", all of them are, and progress must not have cycles. With "simple_paths", only paths that visit no state
twice are golden.
"""


@dataclass(frozen=True)
class Automaton:
    """An automaton with a partial transition function: `delta[state][symbol]` is the next state.

    `states` holds the names of the states. Build an automaton with `from_procedure` or `from_transitions`, which raise
    `TaskError` if the input is invalid. `procedure` is None if the automaton was built from transitions.
    """

    alphabet: Alphabet
    states: tuple[str, ...]
    delta: tuple[Mapping[int, int], ...]
    start: int
    accepting: frozenset[int]
    rule: GoldenRule = "acyclic"
    procedure: Procedure | None = field(default=None, compare=False, repr=False)
    _compiled: GoldenGraph | None = field(default=None, compare=False, repr=False)
    _graphs: dict[int, GoldenGraph | None] = field(default_factory=dict, compare=False, repr=False)
    _due: dict[int, tuple[int, ...]] = field(default_factory=dict, init=False, compare=False, repr=False)

    @classmethod
    def from_procedure(
        cls, procedure: Procedure, declared: Sequence[Action] = (), listing: Listing | None = None
    ) -> Automaton:
        """Compile a procedure to the minimal automaton that accepts exactly the step orders that the procedure allows.

        `declared` lists additional actions that need not be steps. `listing` holds the rules for calls that are not
        steps.
        """
        # One action with two names counts as two actions, so that the second is reported as shadowed.
        used: dict[tuple[Action, str | None], Action] = {}
        for leaf in leaves(procedure):
            if not isinstance(leaf, Action):
                raise TaskError.of(f"a procedure is made of actions, not of {leaf!r}", "procedure")
            used.setdefault((leaf, leaf.name), leaf)
        numbers = {key: number for number, key in enumerate(used)}
        graph = compile_procedure(procedure, lambda action: numbers[action, action.name])
        actions = {**used, **{(action, action.name): action for action in declared}}
        alphabet = Alphabet(tuple(actions.values()), frozenset(range(len(used))), listing or Listing())
        names = tuple(f"q{number}" for number in range(len(graph.edges)))
        delta = tuple(dict(edges) for edges in graph.edges)
        return cls(
            alphabet, names, _add_read_loops(delta, alphabet), 0, graph.accepting, procedure=procedure, _compiled=graph
        )

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
        refused: Refused = "harm",
    ) -> Automaton:
        """Build an automaton from named transitions: `transitions[state][action]` is the next state.

        `golden` says which accepted paths are golden. `reads` and the parameters after it are the rules for calls that
        are not steps.
        """
        listing = Listing(tuple(reads), tuple(neutral), tuple(forbid), unlisted, tools, refused)
        accept = list(accept)
        symbols = {name: number for number, name in enumerate(actions)}
        if faults := list(_name_faults(symbols, start, accept, transitions)):
            raise TaskError(faults)
        targets = [target for edges in transitions.values() for target in edges.values()]
        states = {name: number for number, name in enumerate(dict.fromkeys([start, *transitions, *targets, *accept]))}
        delta = _number_transitions(transitions, states, symbols)
        steps = frozenset(number for edges in delta for number in edges)
        alphabet = Alphabet(tuple(action.named(name) for name, action in actions.items()), steps, listing)
        accepting = frozenset(states[name] for name in accept)
        delta_with_reads = _add_read_loops(delta, alphabet)
        automaton = cls(alphabet, tuple(states), delta_with_reads, states[start], accepting, golden)
        if faults := list(automaton._faults()):
            raise TaskError(faults)
        return automaton

    def with_listing(self, listing: Listing) -> Automaton:
        """Return a copy with different rules for calls that are not steps."""
        alphabet = Alphabet(self.alphabet.actions, self.alphabet.steps, listing)
        delta = [dict(edges) for edges in self.delta]
        return replace(self, alphabet=alphabet, delta=_add_read_loops(delta, alphabet), _graphs={})

    def with_loops(self, loops: Mapping[int, Iterable[int]]) -> Automaton:
        """Return a copy with additional self-loops.

        `loops` maps each state to the symbols that become self-loops. A symbol that already has a transition in the
        state keeps it.
        """
        delta = [dict(edges) for edges in self.delta]
        for state, symbols in loops.items():
            for symbol in symbols:
                delta[state].setdefault(symbol, state)
        return replace(self, delta=tuple(delta), _graphs=self._graphs)

    # Queries

    @cached_property
    def golden(self) -> GoldenGraph:
        """The graph of all golden paths."""
        if self._compiled is not None:
            return self._compiled
        if self.rule == "simple_paths":
            return fold(path for path, _ in self._simple_paths(self.start))
        return self._minimal[0]

    def golden_from(self, state: int) -> GoldenGraph | None:
        """Return the graph of all golden paths from `state` onwards, or None if no golden path visits `state`."""
        if self._compiled is not None:
            return self._compiled.with_start(state)
        if self.rule == "simple_paths":
            if state not in self._graphs:
                paths = (path for path, _ in self._simple_paths(state))
                self._graphs[state] = fold(paths) if state in self._golden_states else None
            return self._graphs[state]
        graph, node_of = self._minimal
        return graph.with_start(node_of[state])

    @cached_property
    def missing(self) -> tuple[int, ...]:
        """For each state, the minimum number of progress steps to an accepting state, or -1 if none is reachable."""
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
        """For each state, a bit set of the symbols that are progress in the state or in a state reachable from it."""
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
        """Return the symbols that are progress in `state`."""
        found = self._due.get(state)
        if found is None:
            found = tuple(symbol for symbol, target in self.delta[state].items() if target != state)
            self._due[state] = found
        return found

    def loops(self, state: int) -> tuple[int, ...]:
        """Return the symbols that are self-loops in `state`."""
        return tuple(symbol for symbol, target in self.delta[state].items() if target == state)

    @property
    def count(self) -> int:
        """The exact number of golden paths."""
        return self.golden.count

    @property
    def lengths(self) -> list[int]:
        """The lengths of the golden paths, shortest first."""
        return lengths_of(self.golden.lengths)

    def golden_paths(self) -> Iterator[tuple[str, ...]]:
        """Yield each golden path as a tuple of action names."""
        names = self.alphabet.names
        return (tuple(names[symbol] for symbol in path) for path in self.golden.paths())

    @cached_property
    def read_warnings(self) -> tuple[str, ...]:
        """Up to 20 warnings about reads after which some step is no longer allowed.

        Such reads are suspicious because reads should change nothing.
        """
        return tuple(islice(_find_restrictive_reads(self), 20))

    # Checks

    def _progress(self) -> Iterator[tuple[int, int]]:
        """Yield each progress transition as a pair: the state before and the state after it."""
        for state, edges in enumerate(self.delta):
            for target in edges.values():
                if target != state:
                    yield state, target

    def _faults(self) -> Iterator[Fault]:
        reached = self._reachable()
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
                for state in {self.start, *self._golden_states}:
                    deque(self._simple_paths(state), maxlen=0)
            except TaskError as error:
                yield from error.problems

    def _reachable(self) -> set[int]:
        reached = {self.start}
        waiting = [self.start]
        while waiting:
            for target in self.delta[waiting.pop()].values():
                if target not in reached:
                    reached.add(target)
                    waiting.append(target)
        return reached

    def _cycle(self) -> str | None:
        """Search depth-first for a cycle of progress transitions.

        Returns the cycle as a string, e.g. `a → b → a`, or None if there is no cycle.
        """
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
    def _minimal(self) -> tuple[GoldenGraph, dict[int, int]]:
        """The minimal graph of all progress transitions, and a mapping from states to nodes in this graph."""
        edges = [
            tuple((symbol, target) for symbol, target in edges.items() if target != state)
            for state, edges in enumerate(self.delta)
        ]
        return minimise(edges, self.accepting, self.start)

    @cached_property
    def _golden_states(self) -> frozenset[int]:
        """The states that golden paths visit under the rule "simple_paths"."""
        return frozenset(state for _, states in self._simple_paths(self.start) for state in states)

    def _simple_paths(self, start: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """Yield each path from `start` to an accepting state that visits no state twice, as its symbols and its states.

        Raises `TaskError` if there are more than `MOST_SIMPLE_PATHS` paths or if listing them takes too long.
        """
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


def _add_read_loops(delta: Sequence[dict[int, int]], alphabet: Alphabet) -> tuple[Mapping[int, int], ...]:
    """Add a self-loop for each read step to every state that has no transition for the step."""
    reads = [number for number in sorted(alphabet.steps) if alphabet.is_read(number)]
    for state, edges in enumerate(delta):
        for number in reads:
            edges.setdefault(number, state)
    return tuple(delta)


def _number_transitions(
    transitions: Mapping[str, Mapping[str, str]], states: Mapping[str, int], symbols: Mapping[str, int]
) -> list[dict[int, int]]:
    """Replace the names of states and actions in `transitions` with their numbers."""
    delta: list[dict[int, int]] = [{} for _ in states]
    for state, edges in transitions.items():
        delta[states[state]] = {symbols[action]: states[target] for action, target in edges.items()}
    return delta


def _name_faults(
    actions: Mapping[str, int], start: str, accept: list[str], transitions: Mapping[str, Mapping[str, str]]
) -> Iterator[Fault]:
    """Yield a fault for each unknown state or action, and one if `accept` is empty."""
    known = {start, *transitions, *accept}
    targets = {target for edges in transitions.values() for target in edges.values()}
    if start not in transitions and start not in accept:
        yield Fault(f"start: no state '{start}'{nearest(start, transitions)}", ("start",))
    for place, name in enumerate(accept):
        if name not in transitions and name not in targets and name != start:
            yield Fault(f"accept: no state '{name}'{nearest(name, known - {name})}", ("accept", place))
    for state, edges in transitions.items():
        yield from _edge_faults(state, edges, actions, known)
    if not accept:
        yield Fault("accept is empty: no golden path can end; name at least one accepting state", ("accept",))


def _edge_faults(state: str, edges: Mapping[str, str], actions: Mapping[str, int], states: set[str]) -> Iterator[Fault]:
    """Yield a fault for each transition from `state` that has an unknown action or leads to an unknown state."""
    for action, target in edges.items():
        if action not in actions:
            message = f"state '{state}' has a transition by '{action}', which is no action{nearest(action, actions)}"
            yield Fault(message, ("transitions", state, action), at_key=True)
        if target not in states:
            message = f"'{action}' in state '{state}' leads to '{target}', which is no state{nearest(target, states)}"
            yield Fault(message, ("transitions", state, action))


def _find_restrictive_reads(automaton: Automaton) -> Iterator[str]:
    """Yield a warning for each read after which some step is no longer allowed."""
    names = automaton.alphabet.names
    reads = {number for number in automaton.alphabet.steps if automaton.alphabet.is_read(number)}
    seen: set[tuple[int, int]] = set()
    for state, edges in enumerate(automaton.delta):
        for read in reads:
            after = edges.get(read, state)
            if after != state and (state, after) not in seen:
                lost = _find_lost_step(automaton, state, after, read, seen)
                if lost:
                    yield (
                        f"in state '{automaton.states[state]}' the read '{names[read]}' takes away a way to go on: "
                        f"after it, '{lost}' is no longer allowed"
                    )


def _find_lost_step(automaton: Automaton, state: int, after: int, read: int, seen: set[tuple[int, int]]) -> str | None:
    """Find a step that is possible if the read is skipped, but not after the read.

    `read` leads from `state` to `after`. The search compares the states reached by the same steps from `state` and from
    `after`, and adds each pair of states that it compares to `seen`. Returns the step's name, or None if no step is
    lost. Returns `to end here` if the run could end without the read but not after it.
    """
    waiting = [(state, after)]
    seen.add((state, after))
    while waiting:
        without_read, with_read = waiting.pop()
        if without_read in automaton.accepting and with_read not in automaton.accepting:
            return "to end here"
        skip = read if (without_read, with_read) == (state, after) else None
        for symbol, target in automaton.delta[without_read].items():
            if target == without_read or symbol == skip:
                continue
            follows = automaton.delta[with_read].get(symbol)
            if follows is None:
                return automaton.alphabet.names[symbol]
            if (target, follows) not in seen and target != follows and len(seen) < _MOST_PAIRS:
                seen.add((target, follows))
                waiting.append((target, follows))
    return None
