"""The ways a path goes wrong: faulty paths made from golden ones, and valid variants that must not be punished.

A fault is recognised by what it is, never by how it is scored: an argument is wrong if no step takes the call,
two steps depend on each other if no golden path has them the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import islice, zip_longest
from random import Random
from typing import Any, Final

from corepath.automaton.step import begin
from corepath.errors import TaskError
from corepath.notation.call import Call
from corepath.task import Simulator, Task
from corepath.world.candidates import Pool
from corepath.world.examples import may_match, variant
from corepath.world.exploring import Edge, Node, Snag, attempt, place, simulator_of

PATHS_LOOKED_AT: Final = 200
"""Golden paths among which those to be made wrong are chosen."""
MOST_TRIED: Final = 30
"""Writes for which a way to undo them is looked for."""


MOST_STEPS_KEPT: Final = 5_000
"""Steps of golden paths that need not be executed again."""


class Strays:
    """Calls beside the steps of a task, looked for once."""

    def __init__(self, task: Task, world: Simulator) -> None:
        self.task, self.world = task, world
        self._undone: dict[tuple[str, str], Call | None] = {}
        self._steps: dict[tuple[int, int], Edge | Snag] = {}
        self._places: dict[tuple[int, str, str], Node] = {}
        self.start = Node(begin(task.automaton), task.start)

    @cached_property
    def calls(self) -> dict[str, list[Call]]:
        """For each tool the calls of it that an agent might think of."""
        pool = Pool(self.task, self.world)
        return {tool: pool.calls(tool) for tool in self.world.tools}

    @cached_property
    def wrong(self) -> dict[str, list[Call]]:
        """For each tool those that are no step of the task, whatever comes before them."""
        return {tool: [call for call in calls if not _is_step(self.task, call)] for tool, calls in self.calls.items()}

    @cached_property
    def every_write(self) -> list[Call]:
        """Writes, of one tool after the other."""
        return [call for tool, calls in self.calls.items() if self.world.tools[tool].writes for call in calls]

    @cached_property
    def writes(self) -> list[Call]:
        """Writes that are no step."""
        return [call for tool, calls in self.wrong.items() if self.world.tools[tool].writes for call in calls]

    @cached_property
    def reads(self) -> list[Call]:
        """Reads that are no step and work from the start."""
        calls = [call for tool, calls in self.wrong.items() if not self.world.tools[tool].writes for call in calls]
        return [call for call in calls if not self.world.answer(self.task.start, call)[0].failed]

    @cached_property
    def in_turns(self) -> list[Call]:
        """Writes that are no step, of each tool one, then of each tool another."""
        by_tool: dict[str, list[Call]] = {}
        for call in self.writes:
            by_tool.setdefault(call.tool, []).append(call)
        turns = zip_longest(*by_tool.values())
        return [call for turn in turns for call in turn if call is not None]

    def step(self, node: Node, symbol: int) -> Edge | Snag:
        """A step from a place that is reached from the start by steps; many golden paths lead to the same places."""
        done = self._steps.get((id(node), symbol))
        if done is None:
            done = attempt(self.task, node, symbol, variant(self.task, 0))
            if len(self._steps) < MOST_STEPS_KEPT:
                if isinstance(done, Edge):
                    done = replace(done, after=self._places.setdefault(place(self.task, done.after), done.after))
                self._steps[id(node), symbol] = done  # which holds the node, so that its id stays its own
        return done

    @cached_property
    def undoable(self) -> list[tuple[Call, Call]]:
        """Writes that are no step, each with what takes it back, as they are found in the start state."""
        found = ((call, self.undo(self.task.start, call)) for call in self.in_turns[:MOST_TRIED])
        return [(call, back) for call, back in found if back is not None]

    def undoes(self, state: Any, call: Call, back: Call) -> bool:
        """Whether the call changes something in a state, and the other takes it back."""
        key = self.world.key(state)
        answered, after = self.world.answer(state, call)
        if answered.failed or self.world.key(after) == key:
            return False
        return self.world.key(self.world.answer(after, back)[1]) == key

    def undo(self, state: Any, call: Call) -> Call | None:
        """What takes the world back to where it was before the call; None where nothing does or nothing was done."""
        key = self.world.key(state)
        asked = (key, str(call))
        if asked not in self._undone:
            answered, after = self.world.answer(state, call)
            changed = not answered.failed and self.world.key(after) != key
            ways = (undo for undo in self.every_write if self.world.key(self.world.answer(after, undo)[1]) == key)
            self._undone[asked] = next(ways, None) if changed else None
        return self._undone[asked]


@dataclass(frozen=True)
class GoldenRun:
    """A golden path, executed: its steps by number, the calls as they were answered, the states around them."""

    task: Task
    world: Simulator
    symbols: tuple[int, ...]
    calls: tuple[Call, ...]
    states: tuple[Any, ...]

    @property
    def strays(self) -> Strays:
        """Calls beside the steps."""
        return strays_of(self.task)


@lru_cache(maxsize=256)
def strays_of(task: Task) -> Strays:
    """The stray calls of a task; they are looked for once."""
    return Strays(task, simulator_of(task))


def golden_runs(task: Task, world: Simulator, most: int = 2) -> list[GoldenRun]:
    """A few golden paths, executed: the first, the last, and others between of those looked at."""
    paths = list(islice(task.automaton.golden.paths(), PATHS_LOOKED_AT))
    chosen = sorted({round(number * (len(paths) - 1) / max(most - 1, 1)) for number in range(most)})
    return [_run(task, world, paths[number]) for number in chosen]


def golden_run(task: Task, world: Simulator, random: Random) -> GoldenRun:
    """A golden path by chance, executed: at each place any of the steps that are due there and work."""
    if task.automaton.rule == "simple_paths":  # steps by chance might go in circles
        return _run(task, world, random.choice(list(islice(task.automaton.golden.paths(), PATHS_LOOKED_AT))))
    strays = strays_of(task)
    way: list[tuple[Node, Iterator[Edge]]] = [(strays.start, _steps(strays, strays.start, random))]
    edges: list[Edge] = []
    while way:
        node, steps = way[-1]
        ends = node.position.accepted and (len(task.automaton.due(node.position.state)) == 0 or random.random() < 0.5)
        edge = None if ends else next(steps, None)
        if edge is not None:
            edges.append(edge)
            way.append((edge.after, _steps(strays, edge.after, random)))
        elif node.position.accepted:
            states = tuple(one.state for one, _ in way)
            symbols, calls = tuple(edge.symbol for edge in edges), tuple(edge.call for edge in edges)
            return GoldenRun(task, world, symbols, calls, states)
        else:
            way.pop()
            del edges[-1:]
    raise TaskError.of(f"task '{task.id}': no golden path runs")


def _steps(strays: Strays, node: Node, random: Random) -> Iterator[Edge]:
    """The steps that are due at a place and work, in an order by chance."""
    due = list(strays.task.automaton.due(node.position.state))
    random.shuffle(due)
    for symbol in due:
        done = strays.step(node, symbol)
        if isinstance(done, Edge):
            yield done


def _run(task: Task, world: Simulator, path: Sequence[int]) -> GoldenRun:
    node = Node(begin(task.automaton), task.start)
    states = [task.start]
    for symbol in path:
        done = attempt(task, node, symbol, variant(task, 0))
        if not isinstance(done, Edge):
            raise TaskError.of(f"task '{task.id}': a golden path does not run: {done.why}")
        node = done.after
        states.append(node.state)
    return GoldenRun(task, world, tuple(path), tuple(node.calls), tuple(states))


Fault = Callable[[GoldenRun], Iterator[Sequence[Call]]]


def left_out(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """A step is missing, and no golden path lacks it."""
    for index in range(len(run.calls)):
        if not _accepts(run.task, run.symbols[:index] + run.symbols[index + 1 :]):
            yield run.calls[:index] + run.calls[index + 1 :]


def swapped(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """Two steps are swapped, and no golden path has them so; what comes too early is a write with effect.

    Steps in a row, and only where there are none others; reads only in a task that writes nothing.
    """
    places = range(len(run.calls))
    pairs = [(one, other) for one in places for other in places[one + 1 :]]
    in_a_row = [(one, other) for one, other in pairs if other == one + 1]
    found = False
    for way in (in_a_row, pairs):
        for one, other in way:
            if not found or way is in_a_row:
                for path in _swap(run, one, other):
                    found = True
                    yield path


def _swap(run: GoldenRun, one: int, other: int) -> Iterator[Sequence[Call]]:
    symbols, calls = list(run.symbols), list(run.calls)
    symbols[one], symbols[other] = symbols[other], symbols[one]
    calls[one], calls[other] = calls[other], calls[one]
    early = run.calls[other]
    if _accepts(run.task, symbols) or (_writes_something(run) and not run.world.tools[early.tool].writes):
        return
    answered, after = run.world.answer(run.states[one], early)
    if not _writes_something(run) or answered.failed or not run.world.same_public(run.states[one], after):
        yield tuple(calls)


def _writes_something(run: GoldenRun) -> bool:
    return any(run.world.tools[call.tool].writes for call in run.calls)


def wrong_argument(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """A write has another argument, with which it is no step of the task; a read, where no write can have one."""
    for writes in (True, False):
        found = False
        for index, call in enumerate(run.calls):
            if run.world.tools[call.tool].writes is writes and run.strays.wrong[call.tool]:
                found = True
                yield (*run.calls[:index], run.strays.wrong[call.tool][0], *run.calls[index + 1 :])
        if found:
            return


def wrong_tool(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """A step is done with another tool, a write that is no step of the task."""
    for index, call in enumerate(run.calls):
        strange = [other for other in run.strays.writes if other.tool != call.tool]
        if strange:
            yield (*run.calls[:index], strange[index % len(strange)], *run.calls[index + 1 :])


def repeated(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """A write is done again at once, though it is not due again, and that changes something or fails."""
    yield from (path for path, preserving in _again(run) if not preserving)


def repeated_without_effect(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """A write is done again at once, and that is proven to change nothing."""
    yield from (path for path, preserving in _again(run) if preserving)


def harmful_early(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """A write that nobody asked for comes first."""
    for call in run.strays.writes[:2]:
        yield (call, *run.calls)


def harmful_late(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """The same write comes last."""
    for call in run.strays.writes[:2]:
        yield (*run.calls, call)


def undone(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """Something is done that nobody asked for, and undone at once, so that the state shows nothing of it."""
    for index in sorted({0, len(run.calls) // 2, len(run.calls)}):
        both = next(_ways_back(run, run.states[index]), None)
        if both is not None:
            yield (*run.calls[:index], *both, *run.calls[index:])


def _ways_back(run: GoldenRun, state: Any) -> Iterator[tuple[Call, Call]]:
    """Writes that are no step with what takes them back; what works in the start state is tried first."""
    yield from (pair for pair in run.strays.undoable if run.strays.undoes(state, *pair))
    for call in run.strays.in_turns[:MOST_TRIED]:
        back = run.strays.undo(state, call)
        if back is not None:
            yield call, back


def redundant_reads(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """Reads that nobody needs stand between the steps."""
    for call in run.strays.reads[:2]:
        for index in sorted({0, len(run.calls) // 2, len(run.calls)}):
            yield (*run.calls[:index], call, *run.calls[index:])
    if not run.strays.reads:
        yield from (path for path, _ in _again(run, writes=False))


def early_stop(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """The agent stops before the end."""
    for length in range(len(run.calls)):
        if not _accepts(run.task, run.symbols[:length]):
            yield run.calls[:length]


def wandering(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """Reads before every step, again and again."""
    if run.strays.reads:
        reads = run.strays.reads[:3]
        yield (*reads, *(one for call in run.calls for one in (*reads, call)))


def another_golden_path(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """A golden path as it is: valid."""
    yield run.calls


def reads_inserted(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """A golden path with legal reads between its steps: valid."""
    if run.strays.reads:
        yield tuple(one for call in run.calls for one in (run.strays.reads[0], call))


def _again(run: GoldenRun, *, writes: bool = True) -> Iterator[tuple[Sequence[Call], bool]]:
    """Each write, or read, done twice where it is not due again, and whether that is known to change nothing."""
    state = run.task.automaton.start
    for index, (symbol, call) in enumerate(zip(run.symbols, run.calls, strict=True)):
        state = run.task.automaton.delta[state][symbol]
        again = run.task.automaton.delta[state].get(symbol)
        if run.world.tools[call.tool].writes is writes and again in (None, state):
            yield (*run.calls[: index + 1], *run.calls[index:]), again is not None


def _is_step(task: Task, call: Call) -> bool:
    """Whether some step of the task takes the call, whatever variables stand for, or it is declared neutral."""
    alphabet = task.automaton.alphabet
    arguments = (alphabet.tools or {})[call.tool].fill_defaults(call.arguments)
    patterns = [*(alphabet.patterns[number] for number in alphabet.steps), *alphabet.neutral]
    return any(pattern.fits_tool(call.tool) and may_match(pattern, arguments) for pattern in patterns)


def _accepts(task: Task, symbols: Sequence[int]) -> bool:
    """Whether the steps, as they are named, are a golden path."""
    automaton = task.automaton
    state: int | None = automaton.start
    for symbol in symbols:
        after = automaton.delta[state].get(symbol) if state is not None else None
        state = None if after == state else after
        if state is None:
            return False
    return state in automaton.accepting
