"""A world as the judge of a path: its calls are executed, and policies and goal say whether it is right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from corepath.authoring.learning.early import Early
from corepath.authoring.learning.learn import Judge, Question
from corepath.episode import Episode
from corepath.errors import TaskError
from corepath.notation.call import Call
from corepath.rules.monitor import Monitor
from corepath.task import Task
from corepath.values import canonical
from corepath.world.exploring import Replay, replay, simulator_of


def judge_by_world(task: Task) -> Judge:
    """Return a judge that executes the examples of a question in the world of a task."""

    def judge(question: Question) -> list[bool | None]:
        return [judge_path(task, calls, early) for calls, early in zip(question.examples, question.early, strict=True)]

    return judge


def check_world(task: Task, runs: Iterable[Episode]) -> None:
    """Raise `TaskError` if no run is right in the world of a task: then they are runs of something else.

    Calls that were refused, and those of tools that the world does not have, are left out.
    """
    tools = simulator_of(task).tools
    if not any(is_right(task, [call for call in run.calls if not call.failed and call.tool in tools]) for run in runs):
        raise TaskError.of(f"the world of {task.id} finds none of the runs right, so that it cannot answer for them")


def judge_path(task: Task, calls: Sequence[Call], early: Early) -> bool | None:
    """Return whether a path is right, or None if the world cannot tell, because some calls may come too early.

    A read that is earlier than in any run, but is answered as there, is right.
    """
    done = replay(task, calls)
    if not _is_right(task, done):
        return False
    stale = any(canonical(done.calls[place].result) != canonical(calls[place].result) for place in early.reads)
    return None if early.is_sure or stale else True


def is_right(task: Task, calls: Sequence[Call]) -> bool:
    """Whether calls reach the goal of a world's task, while none fails and every policy is kept.

    The task's own procedure is not looked at.
    """
    return _is_right(task, replay(task, calls))


def _is_right(task: Task, done: Replay) -> bool:
    if any(call.failed for call in done.calls):
        return False
    monitor = Monitor(task.policies)
    memory = monitor.begin()
    for index, call in enumerate(done.calls):
        broken, memory = monitor.observe(memory, call, done.states[index], done.states[index + 1])
        if broken:
            return False
    return not monitor.owed(memory) and (task.goal is None or bool(task.goal(done.end)))
