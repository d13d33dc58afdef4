"""Small tasks for the tests, and the labels of calls on them."""

from __future__ import annotations

from typing import Any

from corepath import (
    Call,
    Kind,
    Procedure,
    Task,
    Trace,
    call,
    score,
    tool,
    trace_calls,
)

a, b, c, d = (tool(name)() for name in "abcd")
CHECK = tool("check")


def task_of(procedure: Procedure, **rules: Any) -> Task:
    return Task("t", procedure=procedure, **rules)


def trace(task: Task, calls: list[Call | str], **options: Any) -> Trace:
    return trace_calls(task.automaton, [call(one) if isinstance(one, str) else one for one in calls], **options)


def kinds(task: Task, calls: list[Call | str], **options: Any) -> list[Kind]:
    return [one.kind for one in trace(task, calls, **options).steps]


def harms(task: Task, calls: list[Call | str], **options: Any) -> list[str]:
    return [str(harm.kind) for harm in score(task, calls, **options).harms]
