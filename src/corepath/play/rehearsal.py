"""Remember what built-in agents do on a task, since they make the same calls again and again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

from corepath.automaton.step_memory import StepMemory
from corepath.memory import remember
from corepath.notation.call import Call
from corepath.rules.monitor import Memory, Monitor
from corepath.rules.rule import Rule
from corepath.scoring.options import Scoring
from corepath.scoring.score import score
from corepath.task import Task
from corepath.values import canonical
from corepath.world.exploring import Replay, simulator_of
from corepath.world.recall import Memo
from corepath.world.state import encode_in_order

MOST_CALLS: Final = 5_000
"""The most executed calls that are remembered per task, and the most judgements of them."""
MOST_EPISODES: Final = 1_000
"""The most episodes whose scores are remembered per task."""
MOST_TASKS: Final = 2
"""The most tasks of which anything is remembered. A run plays one task after the other."""

Executed = tuple[Call, Call, Any]
"""A call as it was sent, with its result; the same call with the arguments that the tool got; and the state after."""


class Situation(NamedTuple):
    """All that decides what a call does: the world's state, and what the policies remember."""

    state: Any
    memory: Memory


class Move(NamedTuple):
    """A call that was made: as it was sent, with the arguments that the tool got, what it breaks, and what came of it.

    `broken` is the first policy that the call breaks, or None.
    """

    sent: Call
    answered: Call
    broken: Rule | None
    after: Situation


class Rehearsal:
    """Executes, judges and scores calls on a task, and remembers the outcome.

    A world has no clock, no chance and no memory, so the same call in the same state does the same again.
    """

    def __init__(self, task: Task) -> None:
        self._task, self._world, self._monitor = task, simulator_of(task), Monitor(task.policies)
        self._steps, self._recall = StepMemory(), Memo(MOST_CALLS)
        self._moves: dict[tuple[int, int], tuple[Situation, Call, Move]] = {}
        self._situations: dict[tuple[int, int], Situation] = {}
        self._answered: dict[tuple[int, str, str], tuple[Any, Executed]] = {}
        self._calls: dict[str, Call] = {}
        self._states: dict[str, Any] = {encode_in_order(task.start): task.start}
        self._scores: dict[tuple[Any, ...], tuple[tuple[Call, ...], Mapping[str, Any]]] = {}
        self.start = Situation(task.start, self._monitor.begin())

    def move(self, situation: Situation, call: Call) -> Move:
        """Make a call in a situation. Equal outcomes are the same objects, as long as they are remembered."""
        key = (id(situation), id(call))
        found = self._moves.get(key)
        if found is None:
            state, memory = situation
            sent, answered, after = self.execute(state, call)
            broken, reached = self._monitor.observe(memory, answered, state, after)
            there = remember(self._situations, (id(after), id(reached)), Situation(after, reached), MOST_CALLS)
            made = Move(sent, answered, broken[0] if broken else None, there)
            found = remember(self._moves, key, (situation, call, made), MOST_CALLS)  # with them their ids stay unique
        return found[2]

    def execute(self, state: Any, call: Call) -> Executed:
        """Execute a call in a state. Equal outcomes are the same objects, as long as they are remembered."""
        key = (id(state), call.tool, repr(call.arguments))
        found = self._answered.get(key)
        if found is None:
            answered, after = self._world.answer(state, Call(call.tool, call.arguments))
            if after is not state:
                after = remember(self._states, encode_in_order(after), after, MOST_CALLS)
            sent = Call(call.tool, call.arguments, *_answer_of(answered))
            done = self._share(sent), self._share(answered), after
            found = remember(self._answered, key, (state, done), MOST_CALLS)
        return found[1]

    def _share(self, call: Call) -> Call:
        """Return the first executed call that is equal to this one, down to types of numbers and the order of keys."""
        return remember(self._calls, repr((call.tool, call.arguments, _answer_of(call))), call, MOST_CALLS)

    def complies(self, calls: Iterable[Call]) -> bool:
        """Whether none of these calls, from the start state on, breaks a policy."""
        return all(made.broken is None for made in self._run(calls))

    def breaks(self, calls: Iterable[Call]) -> bool:
        """Whether the last of these calls, from the start state on, breaks a policy. There must be one."""
        *_, last = self._run(calls)
        return last.broken is not None

    def _run(self, calls: Iterable[Call]) -> Iterator[Move]:
        """Make calls one after the other from the start state on."""
        situation = self.start
        for call in calls:
            made = self.move(situation, call)
            yield made
            situation = made.after

    def public(self, state: Any) -> Any:
        """Return a state as JSON, without private fields."""
        return self._recall(self._world.public, state)

    def score(self, calls: tuple[Call, ...], answer: Any, scoring: Scoring, replayed: Replay) -> Mapping[str, Any]:
        """Score calls that were all made here. The same calls with the same answer score the same."""
        key = (*map(id, calls), canonical(answer), scoring)
        found = self._scores.get(key)
        if found is None:
            known = replace(replayed, take=self._steps.step, recall=self._recall, breaks=self.breaks)
            scores = score(self._task, calls, scoring, answer=answer, replayed=known).to_dict()
            found = remember(self._scores, key, (calls, scores), MOST_EPISODES)  # their ids stay unique
        return found[1]


def _answer_of(call: Call) -> tuple[Any, ...]:
    """Return all fields of a call but its tool and its arguments."""
    return call.result, call.error, call.id, call.turn, call.time, call.extra


@lru_cache(maxsize=MOST_TASKS)
def rehearsal_of(task: Task) -> Rehearsal:
    """Return the task's rehearsal, the same one as before if the task was played not long ago."""
    return Rehearsal(task)
