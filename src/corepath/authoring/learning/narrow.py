"""Narrowing a task by a bad run that it accepts: questions about which step was missing or wrong.

Every question comes with a narrower task that rejects the bad run and still accepts all good runs that are given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from typing import Any, Final

from corepath.authoring.learning.version import Version, begin_version, compare_versions
from corepath.authoring.learning.widen import accepts, check_run
from corepath.automaton.condensation import Trace
from corepath.automaton.reading import Role
from corepath.automaton.step import Kind
from corepath.episode import Episode
from corepath.errors import TaskError, count
from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.notation.matchers import Fields, Matcher, OneOf, Scope, depends_on_calls
from corepath.notation.parts import Rebuild, is_nullable, walk_parts
from corepath.notation.patterns import ANY, as_matcher, one_of
from corepath.notation.procedure import AnyOrder, Choice, Procedure, Repeat, Seq, any_order, choice, leaves, repeat, seq
from corepath.scoring.tracing import trace_task
from corepath.task import Task
from corepath.values import canonical

MOST_DOUBTS: Final = 8
"""The most questions about one bad run."""
_MOST_VALUES: Final = 5
"""With more different values in good runs, an argument is not narrowed to them."""


@dataclass(frozen=True)
class Doubt:
    """A question about a bad run, and the task if the answer is yes."""

    question: str
    before: Version
    after: Version
    task: Task

    @property
    def diff(self) -> str:
        """What changes in the procedure and the actions, as lines that begin with `-` or `+`."""
        return compare_versions(self.before, self.after)

    @cached_property
    def result(self) -> str:
        """How many golden paths remain, in words."""
        now, then = self.after.automaton.count, self.before.automaton.count
        return f"{count(now, 'golden path')}, {then:,} before."


def find_doubts(task: Task, bad: Episode, good: Sequence[Episode] = ()) -> list[Doubt]:
    """Return questions about what was missing or wrong in a bad run. If the task rejects the run, there are none.

    Steps that were missing come first, then wrong values, then wrong ways and orders. Raises `TaskError` if a good run
    is not accepted as it is.
    """
    before = begin_version(task)
    check_run(task, bad)
    trace = trace_task(task, bad.calls, bad.params)
    if not accepts(trace):
        return []
    traces = []
    for number, run in enumerate(good, 1):
        check_run(task, run)
        traces.append(trace_task(task, run.calls, run.params))
        if not accepts(traces[-1]):
            raise TaskError.of(f"good run {number} is not accepted by the task; widen it first with --add")
    found: dict[object, Doubt] = {}
    asked: set[str] = set()
    for question, version in _suggest(before, trace, traces):
        if len(found) < MOST_DOUBTS and version.key not in found and question not in asked:
            made = _check(version, bad, good)
            if made is not None:
                asked.add(question)
                found[version.key] = Doubt(question, before, version, made)
    return list(found.values())


def _check(version: Version, bad: Episode, good: Sequence[Episode]) -> Task | None:
    """Return the version as a task if it rejects the bad run and accepts the good ones, or None if it does not."""
    try:
        made = version.finish()
    except TaskError:
        return None
    if accepts(trace_task(made, bad.calls, bad.params)):
        return None
    return made if all(accepts(trace_task(made, run.calls, run.params)) for run in good) else None


def _suggest(before: Version, bad: Trace, good: Sequence[Trace]) -> Iterator[tuple[str, Version]]:
    yield from _require_reads(before, bad, good)
    for change in (_require_steps, _drop_branches, _order, _repeat_less):
        for part, rebuild in walk_parts(before.procedure):
            for question, made in change(part, rebuild):
                yield question, before.change(made, question)
        if change is _require_steps:
            yield from _narrow_values(before, bad, good)


# Missing steps


def _require_reads(before: Version, bad: Trace, good: Sequence[Trace]) -> Iterator[tuple[str, Version]]:
    """Suggest calls that all good runs have before a step, and that are no steps: reads, mostly."""
    if not good:
        return
    runs = {1: "the good run", 2: "both good runs"}.get(len(good), f"all {len(good)} good runs")
    for action in _shared_calls(before, good):
        ending = "." if _has(bad, action) else ", and not in this one."
        for part, rebuild in walk_parts(before.procedure):
            for step, made in _before_steps(part, action):
                question = f"Is {action.notation} required before {step}? It is in {runs}{ending}"
                yield question, before.change(rebuild(made), question, action)


def _before_steps(part: Procedure, action: Action) -> Iterator[tuple[Procedure, Procedure]]:
    """Yield steps before which an action may be required, and the part with the action at any time before the step."""
    if isinstance(part, Action):
        yield part, seq(action, part)
    if isinstance(part, Seq):
        for place in range(len(part.parts)):
            later = part.parts[place:]
            step = next((one for one in later if not is_nullable(one)), later[0])
            yield step, seq(any_order(action, seq(*part.parts[:place])) if place else action, *later)


def _shared_calls(before: Version, good: Sequence[Trace]) -> list[Action]:
    """Return an action for each call that is no step and that all good runs have. Values that differ become ANY."""
    runs = [
        [step.call for step in trace.steps if step.kind is Kind.LOOP and _is_beside(step.reading.role, step.call)]
        for trace in good
    ]
    found: dict[Action, None] = {}
    for call in runs[0]:
        same = [[other for other in run if _is_alike(call, other)] for run in runs]
        if not all(same):
            continue
        equal = all(any(canonical(other.arguments) == canonical(call.arguments) for other in run) for run in same)
        others = [call] if equal else [run[0] for run in same]
        arguments: dict[str, Any] = {}
        for name, value in call.arguments.items():
            is_same = all(canonical(other.arguments[name]) == canonical(value) for other in others)
            arguments[name] = value if is_same else ANY
        found.setdefault(before.name_action(Call(call.tool, arguments)), None)
    return list(found)


def _is_beside(role: Role, call: Call) -> bool:
    return role is not Role.STEP and not call.failed and not call.malformed


def _is_alike(one: Call, other: Call) -> bool:
    return one.tool == other.tool and one.arguments.keys() == other.arguments.keys()


def _has(trace: Trace, action: Action) -> bool:
    return any(
        step.call.tool == action.tool and action.arguments.matches(step.call.arguments, Scope())
        for step in trace.steps
        if not step.call.malformed
    )


def _require_steps(part: Procedure, rebuild: Rebuild) -> Iterator[tuple[str, Procedure]]:
    if isinstance(part, Repeat) and part.least < part.most:
        for least in range(part.least + 1, part.most + 1):
            often = "" if least == 1 else f" {least} times"
            yield (
                f"Is {part.step} required{often}? So far it is optional.",
                rebuild(_repeated(part.step, least, part.most)),
            )


def _repeat_less(part: Procedure, rebuild: Rebuild) -> Iterator[tuple[str, Procedure]]:
    if isinstance(part, Repeat) and part.least < part.most:
        for most in range(part.most - 1, part.least - 1, -1):
            question = f"Was it wrong to do {part.step} more than {count(most, 'time')}?"
            yield question, rebuild(_repeated(part.step, part.least, most) if most else seq())


def _repeated(step: Procedure, least: int, most: int) -> Procedure:
    return step if least == most == 1 else repeat(step, least, most)


# Wrong values, ways and orders


def _narrow_values(before: Version, bad: Trace, good: Sequence[Trace]) -> Iterator[tuple[str, Version]]:
    """Suggest that an argument must have one of the values that good runs have, or one that the bad run has not."""
    names = before.automaton.alphabet.actions
    for step in bad.steps:
        if step.kind is not Kind.PROGRESS or step.symbol is None:
            continue
        action = bad.automaton.alphabet.actions[step.symbol]
        if action not in names or action not in set(leaves(before.procedure)):
            continue
        for name, pattern in action.arguments.fields:
            value = step.call.arguments.get(name)
            narrower = _narrow_pattern(name, pattern, value, action, good)
            if narrower is not None:
                fields = tuple((key, narrower if key == name else one) for key, one in action.arguments.fields)
                changed = replace(action, arguments=Fields(fields, action.arguments.open))
                said = as_matcher(value)
                question = f"Was {name}={said} wrong in {action} (call {step.index + 1})? Then it must be {narrower}."
                yield question, before.swap(action, changed, question)


def _narrow_pattern(name: str, pattern: Matcher, value: Any, action: Action, good: Sequence[Trace]) -> Matcher | None:
    if depends_on_calls(pattern):
        return None
    if good:
        seen = {
            canonical(step.call.arguments[name]): step.call.arguments[name]
            for trace in good
            for step in trace.steps
            if step.kind is Kind.PROGRESS
            and step.symbol is not None
            and trace.automaton.alphabet.actions[step.symbol] == action
            and name in step.call.arguments
        }
        if not 0 < len(seen) <= _MOST_VALUES:
            return None
        values = list(seen.values())
        return as_matcher(values[0] if len(values) == 1 else one_of(*values))
    if not isinstance(pattern, OneOf):
        return None
    others = tuple(option for option in pattern.options if not option.matches(value, Scope()))
    return None if not others else others[0] if len(others) == 1 else OneOf(others)


def _drop_branches(part: Procedure, rebuild: Rebuild) -> Iterator[tuple[str, Procedure]]:
    if isinstance(part, Choice):
        for index, branch in enumerate(part.parts):
            others = choice(*part.parts[:index], *part.parts[index + 1 :])
            yield f"Was it wrong to do {branch} instead of {others}?", rebuild(others)


def _order(part: Procedure, rebuild: Rebuild) -> Iterator[tuple[str, Procedure]]:
    if isinstance(part, AnyOrder):
        for first, second in permutations(range(len(part.parts)), 2):
            one, other = part.parts[first], part.parts[second]
            rest = [each for place, each in enumerate(part.parts) if place not in (first, second)]
            yield f"Must {one} come before {other}?", rebuild(any_order(seq(one, other), *rest))
