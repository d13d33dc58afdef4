"""A world as the judge of a path: its calls are executed, and policies and goal say whether it is right."""

from __future__ import annotations

from collections.abc import Sequence

from corepath.authoring.learning.learn import Judge, Question
from corepath.notation.call import Call
from corepath.rules.monitor import Monitor
from corepath.task import Task
from corepath.world.exploring import replay


def judge_by_world(task: Task) -> Judge:
    """Return a judge that executes the examples of a question in the world of a task.

    If a read comes earlier than in any run, what it tells may not be known yet, so that only a failure tells.
    """

    def judge(question: Question) -> list[bool | None]:
        executed = (is_right(task, calls) for calls in question.examples)
        return [None if right and moves else right for right, moves in zip(executed, question.moves_read, strict=True)]

    return judge


def is_right(task: Task, calls: Sequence[Call]) -> bool:
    """Whether calls reach the goal of a world's task, while none fails and every policy is kept.

    The task's own procedure is not looked at.
    """
    done = replay(task, calls)
    if any(call.failed for call in done.calls):
        return False
    monitor = Monitor(task.policies)
    memory = monitor.begin()
    for index, call in enumerate(done.calls):
        broken, memory = monitor.observe(memory, call, done.states[index], done.states[index + 1])
        if broken:
            return False
    return not monitor.owed(memory) and (task.goal is None or bool(task.goal(done.end)))
