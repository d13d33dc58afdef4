"""Remember what built-in agents do on a task, since they make the same calls again and again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

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


class Rehearsal:
    """Executes, judges and scores calls on a task, and remembers the outcome.

    A world has no clock, no chance and no memory, so the same call in the same state does the same again.
    """

    def __init__(self, task: Task) -> None:
        self._task, self._world, self._monitor = task, simulator_of(task), Monitor(task.policies)
        self._steps, self._recall = StepMemory(), Memo(MOST_CALLS)
        self._executed: dict[tuple[int, int], tuple[Any, Call, Executed]] = {}
        self._answered: dict[tuple[int, str, str], tuple[Any, Executed]] = {}
        self._calls: dict[str, Call] = {}
        self._states: dict[str, Any] = {}
        self._judged: dict[tuple[Memory, int, int], tuple[Any, Call, Rule | None, Memory]] = {}
        self._scores: dict[tuple[Any, ...], tuple[tuple[Call, ...], Mapping[str, Any]]] = {}

    def execute(self, state: Any, call: Call) -> Executed:
        """Execute a call in a state. Equal outcomes are the same objects, as long as they are remembered."""
        key = (id(state), id(call))
        found = self._executed.get(key)
        if found is None:
            done = self._answer(state, call)
            found = remember(self._executed, key, (state, call, done), MOST_CALLS)  # with them their ids stay unique
        return found[2]

    def _answer(self, state: Any, call: Call) -> Executed:
        key = (id(state), call.tool, repr(call.arguments))
        found = self._answered.get(key)
        if found is None:
            answered, after = self._world.answer(state, Call(call.tool, call.arguments))
            after = remember(self._states, encode_in_order(after), after, MOST_CALLS)
            sent = replace(answered, arguments=call.arguments)
            done = self._share(sent), self._share(answered), after
            found = remember(self._answered, key, (state, done), MOST_CALLS)
        return found[1]

    def _share(self, call: Call) -> Call:
        """Return the first executed call that is equal to this one."""
        return remember(self._calls, encode_in_order(call), call, MOST_CALLS)

    def complies(self, calls: Iterable[Call]) -> bool:
        """Whether none of these calls, from the start state on, breaks a policy."""
        return all(rule is None for rule in self._judge(self._run(calls)))

    def _run(self, calls: Iterable[Call]) -> Iterator[tuple[Any, Call, Any]]:
        """Execute calls, and yield each with the states before and after it."""
        state = self._task.start
        for call in calls:
            _, answered, after = self.execute(state, call)
            yield state, answered, after
            state = after

    def _judge(self, run: Iterable[tuple[Any, Call, Any]]) -> Iterator[Rule | None]:
        """Yield the first policy that each executed call breaks, or None. Calls have the states before and after."""
        memory = self._monitor.begin()
        for state, call, after in run:
            key = (memory, id(state), id(call))
            found = self._judged.get(key)
            if found is None:
                broken, reached = self._monitor.observe(memory, call, state, after)
                judged = (state, call, broken[0] if broken else None, reached)  # the first two keep their ids unique
                found = remember(self._judged, key, judged, MOST_CALLS)
            _, _, rule, memory = found
            yield rule

    def public(self, state: Any) -> Any:
        """Return a state as JSON, without private fields."""
        return self._recall(self._world.public, state)

    def score(self, calls: tuple[Call, ...], answer: Any, scoring: Scoring, replayed: Replay) -> Mapping[str, Any]:
        """Score calls that were all executed here. The same calls with the same answer score the same."""
        key = (*map(id, calls), canonical(answer), scoring)
        found = self._scores.get(key)
        if found is None:
            run = zip(replayed.states, replayed.calls, replayed.states[1:], strict=False)
            breaches = {index: rule for index, rule in enumerate(self._judge(run)) if rule is not None}
            known = Replay(replayed.calls, replayed.states, breaches, self._steps.step, self._recall)
            scores = score(self._task, calls, scoring, answer=answer, replayed=known).to_dict()
            found = remember(self._scores, key, (calls, scores), MOST_EPISODES)  # their ids stay unique
        return found[1]


@lru_cache(maxsize=MOST_TASKS)
def rehearsal_of(task: Task) -> Rehearsal:
    """Return the task's rehearsal, the same one as before if the task was played not long ago."""
    return Rehearsal(task)
