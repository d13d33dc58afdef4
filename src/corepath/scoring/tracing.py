"""Trace an agent's calls on a task: run the automaton, and apply the task's policies in its world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final
from weakref import WeakKeyDictionary

from corepath.automaton.condensation import Trace, trace_calls
from corepath.automaton.harm import Breach
from corepath.automaton.step import Errors, Kind, step
from corepath.notation.call import Call
from corepath.rules.monitor import Monitor, find_breaches
from corepath.rules.rule import Rule
from corepath.task import Task
from corepath.world.exploring import Replay, replay

_MONITORS: Final[WeakKeyDictionary[Task, Monitor]] = WeakKeyDictionary()


def trace_task(
    task: Task,
    calls: Sequence[Call],
    params: Mapping[str, Any] | None = None,
    errors: Errors = "no_effect",
    replayed: Replay | None = None,
    by_rules: Mapping[int, Breach] = MappingProxyType({}),
) -> Trace:
    """Run the task's automaton on all calls. A call that breaks one of the task's policies is harmful.

    `params` holds initial values for variables. `errors` says how failed calls count. If the task's world has already
    executed the calls, pass the outcome as `replayed`. Otherwise the calls are executed again if the task has policies.
    `by_rules` holds the calls that break rules apart from the task, keyed by the call's index.
    """
    take = step if replayed is None else replayed.take
    if not task.policies or task.simulator is None:
        return trace_calls(task.automaton, calls, params, errors, by_rules, take)
    run = replay(task, calls) if replayed is None else replayed
    broken = run.breaches
    if broken is None:
        broken = find_breaches(monitor_of(task), run.calls, run.states)
    breaches = {**by_rules, **{index: as_breach(policy) for index, policy in broken.items()}}
    trace = trace_calls(task.automaton, calls, params, errors, breaches, take)
    late = [index for index in breaches if trace.steps[index].only_breaks and _is_consequence(task, trace, index, run)]
    if not late:
        return trace
    breaches |= {index: replace(breaches[index], consequence=True) for index in late}
    return trace_calls(task.automaton, calls, params, errors, breaches, take)


def _is_consequence(task: Task, trace: Trace, index: int, run: Replay) -> bool:
    """Whether a call would not break its policy without the harmful calls before it."""
    kept = [step.call for step in trace.steps[:index] if step.kind is not Kind.HARM]
    if len(kept) == index:
        return False
    calls = [*kept, trace.steps[index].call]
    return not (_breaks(task, calls) if run.breaks is None else run.breaks(calls))


def _breaks(task: Task, calls: Sequence[Call]) -> bool:
    """Whether the last of these calls breaks a policy."""
    run = replay(task, calls)
    return len(calls) - 1 in find_breaches(monitor_of(task), run.calls, run.states)


def monitor_of(task: Task) -> Monitor:
    """Return the monitor for the task's policies. It is cached, because it remembers how calls match."""
    if task not in _MONITORS:
        _MONITORS[task] = Monitor(task.policies)
    return _MONITORS[task]


def as_breach(rule: Rule) -> Breach:
    """Convert a rule to the reason and severity that are recorded for a harmful call."""
    return Breach(rule.because or str(rule), rule.severity)
