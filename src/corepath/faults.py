"""The ways a path goes wrong: faulty paths made from golden ones, and valid variants that must not be punished.

A fault is recognised by what it is, never by how it is scored: an argument is wrong if no step takes the call,
two steps depend on each other if no golden path has them the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Final

from corepath.action import Action, Call
from corepath.errors import TaskError
from corepath.explore import Edge, Node, attempt, variant
from corepath.matchers import Fields, ResultOf, Scope, Variable, every
from corepath.pool import Pool
from corepath.task import Task
from corepath.trace import begin
from corepath.world import World, same_public

PATHS_LOOKED_AT: Final = 200
"""Golden paths among which those to be made wrong are chosen."""
MOST_TRIED: Final = 20
"""Writes for which a way to undo them is looked for."""


@dataclass(frozen=True)
class GoldenRun:
    """A golden path, executed: its steps by number, the calls as they were answered, the states around them."""

    task: Task
    world: World[Any]
    symbols: tuple[int, ...]
    calls: tuple[Call, ...]
    states: tuple[Any, ...]

    @cached_property
    def pool(self) -> Pool:
        """Calls that an agent might think of."""
        return Pool(self.task, self.world)

    @cached_property
    def strange_writes(self) -> list[Call]:
        """Writes that are no step of the task, whatever comes before them."""
        tools = [tool.name for tool in self.world.tools.values() if tool.writes]
        return [call for tool in tools for call in self.pool.calls(tool) if not _is_step(self.task, call)]

    @cached_property
    def strange_reads(self) -> list[Call]:
        """Reads that are no step of the task and work from the start."""
        tools = [tool.name for tool in self.world.tools.values() if not tool.writes]
        calls = [call for tool in tools for call in self.pool.calls(tool) if not _is_step(self.task, call)]
        return [call for call in calls if not self.world.answer(self.states[0], call)[0].failed]


def golden_runs(task: Task, world: World[Any], most: int = 2) -> list[GoldenRun]:
    """A few golden paths, executed: the first, the last, and others between of those looked at."""
    paths = list(islice(task.automaton.golden.paths(), PATHS_LOOKED_AT))
    chosen = sorted({round(number * (len(paths) - 1) / max(most - 1, 1)) for number in range(most)})
    return [_run(task, world, paths[number]) for number in chosen]


def _run(task: Task, world: World[Any], path: Sequence[int]) -> GoldenRun:
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
    """Two steps in a row are swapped, and no golden path has them so; what comes too early is a write with effect."""
    for index in range(len(run.calls) - 1):
        one, other = run.calls[index], run.calls[index + 1]
        symbols = list(run.symbols)
        symbols[index], symbols[index + 1] = symbols[index + 1], symbols[index]
        if not run.world.writes(other.tool) or _accepts(run.task, symbols):
            continue
        answered, after = run.world.answer(run.states[index], other)
        if answered.failed or not same_public(run.world, run.states[index], after):
            yield (*run.calls[:index], other, one, *run.calls[index + 2 :])


def wrong_argument(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """A write has another argument, with which it is no step of the task."""
    for index, call in enumerate(run.calls):
        if run.world.writes(call.tool):
            strange = (other for other in run.pool.calls(call.tool) if not _is_step(run.task, other))
            for other in islice(strange, 1):
                yield (*run.calls[:index], other, *run.calls[index + 1 :])


def wrong_tool(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """A step is done with another tool, a write that is no step of the task."""
    for index, call in enumerate(run.calls):
        strange = [other for other in run.strange_writes if other.tool != call.tool]
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
    for call in run.strange_writes[:2]:
        yield (call, *run.calls)


def harmful_late(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """The same write comes last."""
    for call in run.strange_writes[:2]:
        yield (*run.calls, call)


def undone(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """Something is done that nobody asked for, and undone at once, so that the state shows nothing of it."""
    writes = [call for tool in run.world.tools.values() if tool.writes for call in run.pool.calls(tool.name)]
    for index in sorted({0, len(run.calls) // 2, len(run.calls)}):
        state = run.states[index]
        key = run.world.key(state)
        for call in run.strange_writes[:MOST_TRIED]:
            answered, after = run.world.answer(state, call)
            if answered.failed or run.world.key(after) == key:
                continue
            back = next((undo for undo in writes if run.world.key(run.world.answer(after, undo)[1]) == key), None)
            if back is not None:
                yield (*run.calls[:index], call, back, *run.calls[index:])
                break


def redundant_reads(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """Reads that nobody needs stand between the steps."""
    for call in run.strange_reads[:2]:
        for index in sorted({0, len(run.calls) // 2, len(run.calls)}):
            yield (*run.calls[:index], call, *run.calls[index:])
    if not run.strange_reads:
        yield from (path for path, _ in _again(run, writes=False))


def early_stop(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """The agent stops before the end."""
    for length in range(len(run.calls)):
        if not _accepts(run.task, run.symbols[:length]):
            yield run.calls[:length]


def wandering(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """Reads before every step, again and again."""
    if run.strange_reads:
        reads = run.strange_reads[:3]
        yield (*reads, *(one for call in run.calls for one in (*reads, call)))


def another_golden_path(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """A golden path as it is: valid."""
    yield run.calls


def reads_inserted(run: GoldenRun) -> Iterator[Sequence[Call]]:
    """A golden path with legal reads between its steps: valid."""
    if run.strange_reads:
        yield tuple(one for call in run.calls for one in (run.strange_reads[0], call))


def _again(run: GoldenRun, *, writes: bool = True) -> Iterator[tuple[Sequence[Call], bool]]:
    """Each write, or read, done twice where it is not due again, and whether that is known to change nothing."""
    state = run.task.automaton.start
    for index, (symbol, call) in enumerate(zip(run.symbols, run.calls, strict=True)):
        state = run.task.automaton.delta[state][symbol]
        again = run.task.automaton.delta[state].get(symbol)
        if run.world.writes(call.tool) is writes and again in (None, state):
            yield (*run.calls[: index + 1], *run.calls[index:]), again is not None


def _is_step(task: Task, call: Call) -> bool:
    """Whether some step of the task takes the call, whatever variables stand for, or it is declared neutral."""
    alphabet = task.automaton.alphabet
    arguments = (alphabet.tools or {})[call.tool].completed(call.arguments)
    patterns = [*(alphabet.patterns[number] for number in alphabet.steps), *alphabet.neutral]
    return any(pattern.fits_tool(call.tool) and _may_match(pattern, arguments) for pattern in patterns)


def _may_match(action: Action, arguments: Any) -> bool:
    """Whether the action takes the arguments, or would under other results than none."""
    settled = tuple(
        (name, pattern)
        for name, pattern in action.arguments.fields
        if not any(isinstance(one, (ResultOf, Variable)) for one in every(pattern))
    )
    return Fields(settled, open=True).matches(arguments, Scope())


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
