"""The two final-state baselines from BFCL: whether the final state is right, and whether the responses are right.

The episode and the golden paths are executed in a fresh world. Comparing path metrics with these baselines shows what
path metrics add.

A step is called open if more than one call fits it. An open step is bound if its arguments depend on earlier calls, and
settled otherwise.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from corepath.automaton.step import Position, begin
from corepath.notation.call import Call
from corepath.notation.matchers import Fields, Scope, depends_on_calls
from corepath.task import Simulator, Task
from corepath.values import canonical, equal
from corepath.world.examples import arguments_at, settled_part
from corepath.world.exploring import MOST_PAIRS, Choose, Explored, Node, Replay, explore, replay, simulator_of
from corepath.world.recall import Recall

MOST_KEPT: Final = 200
"""The most explorations that are cached per task, and the most matches with responses per exploration."""


def baselines(
    task: Task, calls: Sequence[Call], params: Mapping[str, Any] | None = None, replayed: Replay | None = None
) -> tuple[bool | None, bool | None]:
    """Compute `state_match` and `response_match` for an agent's calls.

    Both are None if the golden paths reach too many states to explore. `response_match` alone is None if there are too
    many combinations of responses.
    """
    world = simulator_of(task)
    run = replay(task, calls) if replayed is None else replayed
    done = [call for call in run.calls if not call.failed]
    references = _references(task, done, params or {}, run.recall)
    if not references.explored.whole:
        return None, None
    state = run.recall(_state_text, world, run.end) in references.ends
    return state, references.match_responses(run.recall(_result_text, call) for call in done)


def _state_text(world: Simulator, state: Any) -> str:
    return canonical(world.public(state))


def _result_text(call: Call) -> str:
    return canonical(call.result)


class _References:
    """The golden paths as executed in the world, with their final states and their responses."""

    def __init__(self, world: Simulator, explored: Explored) -> None:
        self.explored = explored
        accepted = (node for node in explored.nodes if node.position.accepted)
        self.ends = {_state_text(world, node.state) for node in accepted}
        self._steps: dict[int, list[tuple[str, Node]]] = defaultdict(list)
        for edge in explored.edges:
            self._steps[id(edge.node)].append((_result_text(edge.call), edge.after))
        self._texts = {text for steps in self._steps.values() for text, _ in steps}
        self._matched: dict[tuple[str, ...], bool | None] = {}

    def match_responses(self, responses: Iterable[str]) -> bool | None:
        """Whether some golden path has no response that the agent got less often or not at all.

        Returns None if there are too many combinations of responses to check. The result is cached.
        """
        key = tuple(sorted(text for text in responses if text in self._texts))
        if key not in self._matched:
            if len(self._matched) >= MOST_KEPT:
                self._matched.clear()
            self._matched[key] = self._match(Counter(key))
        return self._matched[key]

    def _match(self, responses: Counter[str]) -> bool | None:
        first: tuple[Node, tuple[str, ...]] = (self.explored.nodes[0], ())
        seen = {(id(first[0]), first[1])}
        waiting = [first]
        while waiting:
            node, used = waiting.pop()
            if node.position.accepted:
                return True
            for text, after in self._steps[id(node)]:
                if used.count(text) < responses[text]:
                    key = (id(after), tuple(sorted((*used, text))))
                    if key not in seen:
                        if len(seen) >= MOST_PAIRS:
                            return None
                        seen.add(key)
                        waiting.append((after, key[1]))
        return False


def _references(task: Task, done: Sequence[Call], params: Mapping[str, Any], recall: Recall) -> _References:
    """Execute the golden paths. Each step uses the arguments of the agent's matching call, or example arguments.

    The agent's arguments are ignored if they equal the example arguments, so more episodes share a cached result.
    """
    cache = _cache_of(task)
    own = recall(_collect_own, recall, task, *(call for call in done if call.tool in cache.open_tools))
    return cache.get(params, own.text, lambda: _explore_own(task, own, params))


class _Own(NamedTuple):
    """The agent's arguments for the settled steps and for the bound steps, by the step's number, and both as text."""

    settled: Mapping[int, Sequence[Any]]
    bound: Mapping[int, Sequence[Any]]
    text: str


def _collect_own(recall: Recall, task: Task, *done: Call) -> _Own:
    settled: dict[int, Sequence[Any]] = {}
    bound: dict[int, Sequence[Any]] = {}
    for step in _cache_of(task).open_steps:
        own = step.collect_arguments(done, recall)
        if own and step.bound:
            bound[step.symbol] = own
        elif own and not equal(own[0], step.example):
            settled[step.symbol] = own[:1]
    return _Own(settled, bound, _own_text(settled, bound) if bound else _own_text(settled))


def _own_text(*own: Mapping[int, Sequence[Any]]) -> str:
    return canonical([{str(symbol): given for symbol, given in one.items()} for one in own])


def _explore_own(task: Task, own: _Own, params: Mapping[str, Any]) -> _References:
    """Explore the golden paths with the agent's own arguments.

    If the arguments for bound steps equal the example arguments everywhere, the exploration with example arguments is
    reused.
    """
    settled, bound, _ = own
    if not bound:
        return _explore(task, settled, params)
    by_example = _cache_of(task).get(params, _own_text(settled), lambda: _explore(task, settled, params))
    attempts: list[tuple[Node, int, Call | None]] = [
        (edge.node, edge.symbol, edge.call) for edge in by_example.explored.edges
    ]
    attempts += [(snag.node, snag.symbol, snag.call) for snag in by_example.explored.snags]
    choose = _choose_own(task, bound)
    if all(
        call is not None and equal(choose(node.position, symbol), call.arguments)
        for node, symbol, call in attempts
        if symbol in bound
    ):
        return by_example
    both = {**settled, **bound}
    return _cache_of(task).get(params, _own_text(both), lambda: _explore(task, both, params))


@dataclass(frozen=True, eq=False)
class _OpenStep:
    """A step that more than one call fits.

    `bound` is True if the step's arguments depend on earlier calls. `may_be` is the part of the argument pattern that
    does not. `example` holds the arguments to use if the agent made no fitting call. It is None if `bound` is True.
    """

    symbol: int
    tool: str
    may_be: Fields
    bound: bool
    example: Any

    def collect_arguments(self, done: Sequence[Call], recall: Recall) -> list[Any]:
        """Return the distinct arguments from the agent's calls that may fit this step."""
        fitting = [call for call in done if call.tool == self.tool and recall(self.may_fit, call)]
        if len(fitting) < 2:
            return [call.arguments for call in fitting]
        found: dict[str, Any] = {}
        for call in fitting:
            found.setdefault(recall(_arguments_text, call), call.arguments)
        return list(found.values())

    def may_fit(self, call: Call) -> bool:
        """Whether a call to the step's tool may fit the step."""
        return self.may_be.matches(call.arguments, Scope())


def _arguments_text(call: Call) -> str:
    return canonical(call.arguments)


def _open_steps(task: Task) -> list[_OpenStep]:
    """Return the steps that more than one call fits."""
    alphabet = task.automaton.alphabet
    numbers = [number for number in sorted(alphabet.steps) if not alphabet.actions[number].is_literal]
    return [_open_step(task, number) for number in numbers]


def _open_step(task: Task, number: int) -> _OpenStep:
    pattern = task.automaton.alphabet.patterns[number]
    if depends_on_calls(pattern.arguments):
        return _OpenStep(number, pattern.tool, settled_part(pattern), bound=True, example=None)
    example = arguments_at(task, begin(task.automaton), number)
    return _OpenStep(number, pattern.tool, pattern.arguments, bound=False, example=example)


def _explore(task: Task, own: Mapping[int, Sequence[Any]], params: Mapping[str, Any]) -> _References:
    """Explore the golden paths, using the agent's own arguments for the steps in `own`."""
    explored = explore(task, _choose_own(task, own), MOST_PAIRS, params=params)
    return _References(simulator_of(task), explored)


class _Cache:
    """A cache for a task's open steps and explored golden paths, shared by all episodes of the task."""

    def __init__(self, task: Task) -> None:
        self.open_steps = _open_steps(task)
        self.open_tools = frozenset(step.tool for step in self.open_steps)
        self.references: dict[tuple[str, str], _References] = {}

    def get(self, params: Mapping[str, Any], own: str, explore: Callable[[], _References]) -> _References:
        """Return the references for the agent's own arguments as text, calling `explore` first if there are none."""
        key = (canonical(params) if params else "", own)
        if key not in self.references:
            found = explore()
            if len(self.references) >= MOST_KEPT:
                self.references.clear()
            self.references[key] = found
        return self.references[key]


_CACHES: Final[WeakKeyDictionary[Task, _Cache]] = WeakKeyDictionary()


def _cache_of(task: Task) -> _Cache:
    if task not in _CACHES:
        _CACHES[task] = _Cache(task)
    return _CACHES[task]


def _choose_own(task: Task, own: Mapping[int, Sequence[Any]]) -> Choose:
    """Return a function that chooses a step's arguments: the agent's own if they fit, otherwise example arguments."""

    def choose(position: Position, symbol: int) -> Any:
        pattern = task.automaton.alphabet.patterns[symbol]
        for arguments in own.get(symbol, ()):
            if pattern.arguments.matches(arguments, Scope(dict(position.variables), position.results)):
                return arguments
        return arguments_at(task, position, symbol)

    return choose
