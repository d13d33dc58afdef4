"""Execute golden paths in the task's world."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from random import Random
from typing import Any, Final

from corepath.automaton.step import begin
from corepath.errors import TaskError
from corepath.notation.call import Call
from corepath.play.stray_calls import Strays, find_strays
from corepath.task import Simulator, Task
from corepath.world.examples import variant
from corepath.world.exploring import Edge, Node, attempt

MOST_PATHS: Final = 200
"""Golden paths are chosen from the first ones only, at most this many."""


@dataclass(frozen=True)
class GoldenRun:
    """A golden path that was executed.

    `symbols` holds the steps' action numbers, `calls` the calls with their results, and `states` the start state
    followed by the state after each call.
    """

    task: Task
    world: Simulator
    symbols: tuple[int, ...]
    calls: tuple[Call, ...]
    states: tuple[Any, ...]

    @property
    def strays(self) -> Strays:
        """The task's stray calls, i.e. plausible calls that are not steps."""
        return find_strays(self.task)

    @cached_property
    def has_writes(self) -> bool:
        """Whether some call is a write."""
        return any(self.world.tools[call.tool].writes for call in self.calls)


def golden_runs(task: Task, world: Simulator, most: int = 2) -> list[GoldenRun]:
    """Execute up to `most` golden paths, evenly spaced from the first to the last."""
    paths = list(islice(task.automaton.golden.paths(), MOST_PATHS))
    chosen = sorted({round(number * (len(paths) - 1) / max(most - 1, 1)) for number in range(most)})
    return [_run(task, world, paths[number]) for number in chosen]


def random_golden_run(task: Task, world: Simulator, random: Random) -> GoldenRun:
    """Execute a random golden path.

    In each state, the next step is chosen at random among those that make progress and succeed.
    """
    if task.automaton.rule == "simple_paths":  # random steps could go in circles
        return _run(task, world, random.choice(list(islice(task.automaton.golden.paths(), MOST_PATHS))))
    strays = find_strays(task)
    path: list[tuple[Node, Iterator[int]]] = [(strays.start, _shuffle_steps(task, strays.start, random))]
    edges: list[Edge] = []
    while path:
        node, steps = path[-1]
        ends = node.position.accepted and (len(task.automaton.due(node.position.state)) == 0 or random.random() < 0.5)
        edge = None if ends else _take_first(strays, node, steps)
        if edge is not None:
            edges.append(edge)
            path.append((edge.after, _shuffle_steps(task, edge.after, random)))
        elif node.position.accepted:
            states = tuple(one.state for one, _ in path)
            symbols, calls = tuple(edge.symbol for edge in edges), tuple(edge.call for edge in edges)
            return GoldenRun(task, world, symbols, calls, states)
        else:
            path.pop()
            del edges[-1:]
    raise TaskError.of(f"task '{task.id}': no golden path runs")


def _shuffle_steps(task: Task, node: Node, random: Random) -> Iterator[int]:
    """Return the action numbers of the steps that are expected at `node`, in random order."""
    due = list(task.automaton.due(node.position.state))
    if len(due) > 1:
        random.shuffle(due)
    return iter(due)


def _take_first(strays: Strays, node: Node, steps: Iterator[int]) -> Edge | None:
    """Execute steps at `node` until one succeeds, and return it. Return None if none does."""
    for symbol in steps:
        done = strays.step(node, symbol)
        if isinstance(done, Edge):
            return done
    return None


def _run(task: Task, world: Simulator, path: Sequence[int]) -> GoldenRun:
    """Execute the golden path whose steps have the action numbers in `path`."""
    node = Node(begin(task.automaton), task.start)
    states = [task.start]
    for symbol in path:
        done = attempt(task, node, symbol, variant(task, 0))
        if not isinstance(done, Edge):
            raise TaskError.of(f"task '{task.id}': a golden path does not run: {done.why}")
        node = done.after
        states.append(node.state)
    return GoldenRun(task, world, tuple(path), tuple(node.calls), tuple(states))
