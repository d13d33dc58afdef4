"""Small tasks, and shorthands for what an explanation says."""

from __future__ import annotations

import corepath
from corepath import (
    Call,
    Task,
    action,
    result_of,
    seq,
    tool,
    var,
)
from corepath.explanation import Explanation, FindingKind, explain

CHECK, APPROVE = tool("check")(policy="P1"), tool("approve")(policy="P1")
LEGAL = Task("legal/approve", procedure=seq(CHECK, APPROVE))
ABC = Task("abc", procedure=seq(tool("a")(), tool("b")(x=1), tool("c")()), reads=[action("get_*(...)")])
CHECKED = tool("check")(policy=var("p")).returns({"status": "ok"})
BOUND = Task("bound", procedure=seq(CHECKED, tool("approve")(policy=var("p"), rule=result_of(CHECKED, "rule"))))
ANSWERED = Call("check", {"policy": "P1"}, result={"status": "ok", "rule": "R1"}, turn=1)


def chain(*names: str) -> Task:
    return Task("chain", procedure=seq(*(tool(name)() for name in names)))


def called(*names: str) -> list[str]:
    return [f"{name}()" for name in names]


def texts(found: Explanation, kind: FindingKind) -> list[str]:
    return [finding.text for finding in found.findings if finding.kind is kind]


def kinds(found: Explanation) -> list[FindingKind]:
    return [finding.kind for finding in found.findings]


def everything(found: Explanation) -> str:
    return " ".join([found.headline, *(finding.text for finding in found.findings)])


def explain_steps(name: str, *steps: int) -> Explanation:
    """Execute actions of a task by number in its world, and explain them."""
    task = corepath.task(name)
    calls = [one.examples()[0] for one in task.automaton.alphabet.actions]
    return explain(task, corepath.replay(task, [calls[number] for number in steps]).calls)


def explain_calls(name: str, *calls: str) -> Explanation:
    """Execute calls in the world of a task, and explain them."""
    task = corepath.task(name)
    return explain(task, corepath.replay(task, calls).calls)


def is_repaired(task: Task, found: Explanation) -> bool:
    """Whether the task accepts the repaired path, with every step of it progress."""
    state = task.automaton.start
    for _, symbol in found.repair:
        if symbol is not None:
            before, state = state, task.automaton.delta[state].get(symbol, state)
            if before == state:
                return False
    return state in task.automaton.accepting
