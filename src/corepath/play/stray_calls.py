"""Stray calls: plausible calls that are not steps of a task. Mistakes are built from them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import zip_longest
from typing import Any, Final

from corepath.automaton.step import begin
from corepath.notation.call import Call
from corepath.task import Simulator, Task
from corepath.world.candidates import Candidates
from corepath.world.examples import may_match, variant
from corepath.world.exploring import Edge, Node, Place, Snag, attempt, place, simulator_of
from corepath.world.recall import Memo

MOST_UNDO_TRIALS: Final = 60
"""The most stray writes for which to search for a call that undoes them."""
MOST_CACHED_STEPS: Final = 5_000
"""The most executed steps to cache per task."""
MOST_CACHED_STATES: Final = 500
"""The most states for which to cache a write that can be undone."""


class Strays:
    """A task's stray calls, and a cache of executed steps. Everything is computed on first use.

    Stray calls are plausible calls that are not steps.
    """

    def __init__(self, task: Task, world: Simulator) -> None:
        self.task, self.world = task, world
        self._undoable: dict[str, tuple[Call, Call] | None] = {}
        self._recall = Memo(MOST_CACHED_STATES)
        self._undone_at_start: list[Call | None] = []
        self._steps: dict[tuple[int, int], Edge | Snag] = {}
        self._nodes: dict[Place, Node] = {}
        self.start = Node(begin(task.automaton), task.start)

    @cached_property
    def calls(self) -> dict[str, list[Call]]:
        """The calls that an agent might plausibly make, including steps, keyed by tool name."""
        candidates = Candidates(self.task, self.world)
        return {tool: candidates.calls(tool) for tool in self.world.tools}

    @cached_property
    def wrong(self) -> dict[str, list[Call]]:
        """The plausible calls that are never a step of the task, keyed by tool name."""
        return {tool: [call for call in calls if not _is_step(self.task, call)] for tool, calls in self.calls.items()}

    @cached_property
    def every_write(self) -> list[Call]:
        """All plausible writes, including steps, grouped by tool."""
        return [call for tool, calls in self.calls.items() if self.world.tools[tool].writes for call in calls]

    @cached_property
    def writes(self) -> list[Call]:
        """All plausible writes that are not steps, grouped by tool."""
        return [call for tool, calls in self.wrong.items() if self.world.tools[tool].writes for call in calls]

    @cached_property
    def writes_without(self) -> dict[str, list[Call]]:
        """All plausible writes that are not steps and that another tool makes, keyed by tool name."""
        return {tool: [call for call in self.writes if call.tool != tool] for tool in self.world.tools}

    @cached_property
    def reads(self) -> list[Call]:
        """All plausible reads that are not steps and that succeed in the start state."""
        calls = [call for tool, calls in self.wrong.items() if not self.world.tools[tool].writes for call in calls]
        return [call for call in calls if not self.world.answer(self.task.start, call)[0].failed]

    @cached_property
    def alternating_writes(self) -> list[Call]:
        """Plausible writes that are not steps: each tool's first write, then each tool's second write, and so on."""
        by_tool: dict[str, list[Call]] = {}
        for call in self.writes:
            by_tool.setdefault(call.tool, []).append(call)
        rounds = zip_longest(*by_tool.values())
        return [call for calls in rounds for call in calls if call is not None]

    def step(self, node: Node, symbol: int) -> Edge | Snag:
        """Execute the step with the action number `symbol` from `node`, or return the cached outcome.

        Paths that lead to the same automaton state and world state share one `Node` object.
        """
        done = self._steps.get((id(node), symbol))
        if done is None:
            done = attempt(self.task, node, symbol, variant(self.task, 0))
            if len(self._steps) < MOST_CACHED_STEPS:
                if isinstance(done, Edge):
                    done = replace(done, after=self._nodes.setdefault(place(self.task, done.after), done.after))
                self._steps[id(node), symbol] = done  # `done` keeps `node` alive, so that id(node) stays unique
        return done

    def find_undoable(self, state: Any) -> tuple[Call, Call] | None:
        """Find a stray write that can be undone in `state`, and the call that undoes it. The result is cached.

        Pairs that work in the start state come first.
        """
        key: str = self._recall(self.world.key, state)
        if key not in self._undoable:
            if len(self._undoable) >= MOST_CACHED_STATES:
                self._undoable.clear()
            self._undoable[key] = next(self._pairs(state, key), None)
        return self._undoable[key]

    def _pairs(self, state: Any, key: str) -> Iterator[tuple[Call, Call]]:
        yield from (pair for pair in self._pairs_at_start() if self.undoes(state, *pair))
        if key == self.world.key(self.task.start):
            return
        for call in self.alternating_writes[:MOST_UNDO_TRIALS]:
            back = self.undo(state, call)
            if back is not None:
                yield call, back

    def _pairs_at_start(self) -> Iterator[tuple[Call, Call]]:
        """Yield pairs of a stray write and a call that undoes the write in the start state. Each is searched once."""
        for index, call in enumerate(self.alternating_writes[:MOST_UNDO_TRIALS]):
            if index == len(self._undone_at_start):
                self._undone_at_start.append(self.undo(self.task.start, call))
            back = self._undone_at_start[index]
            if back is not None:
                yield call, back

    def undoes(self, state: Any, call: Call, back: Call) -> bool:
        """Whether `call` succeeds and changes `state`, and `back` then restores `state`."""
        key = self.world.key(state)
        answered, after = self.world.answer(state, call)
        if answered.failed or self.world.key(after) == key:
            return False
        return self.world.key(self.world.answer(after, back)[1]) == key

    def undo(self, state: Any, call: Call) -> Call | None:
        """Find a write that restores `state` after `call`.

        Returns None if there is no such write, or if `call` fails or changes nothing.
        """
        key = self.world.key(state)
        answered, after = self.world.answer(state, call)
        if answered.failed or self.world.key(after) == key:
            return None
        for back in self.every_write:
            restored = self.world.answer(after, back)[1]
            if restored is not after and self.world.key(restored) == key:  # a failed call returns `after` itself
                return back
        return None


@lru_cache(maxsize=256)
def find_strays(task: Task) -> Strays:
    """Return the task's stray calls. They are cached."""
    return Strays(task, simulator_of(task))


def _is_step(task: Task, call: Call) -> bool:
    """Whether a call matches a neutral action, or matches a step for some values of the step's variables."""
    alphabet = task.automaton.alphabet
    arguments = (alphabet.tools or {})[call.tool].fill_defaults(call.arguments)
    patterns = [*(alphabet.patterns[number] for number in alphabet.steps), *alphabet.neutral]
    return any(pattern.fits_tool(call.tool) and may_match(pattern, arguments) for pattern in patterns)
