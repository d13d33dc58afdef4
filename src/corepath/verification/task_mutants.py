"""Faulty variants of good runs, and the questions that they raise if a task accepts them.

Only steps of the task are changed, since reads and neutral calls are no mistakes by themselves. What is decided is not
asked: a value that fits the step's pattern, a repetition that is a self-loop, and whatever another good run does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from typing import Any, Final

from corepath.automaton.alphabet import Alphabet
from corepath.automaton.condensation import Trace
from corepath.automaton.reading import Role
from corepath.automaton.step import Kind, Step
from corepath.notation.action import Tool
from corepath.notation.call import REQUIRED, Call
from corepath.notation.matchers import Literal
from corepath.play import edits
from corepath.scoring.tracing import trace_task
from corepath.task import Task
from corepath.values import canonical
from corepath.verification.run_variants import (
    MOST_VARIANTS,
    Question,
    Questions,
    Values,
    Variant,
    argument_values,
    end_of_turn,
    make_variants,
    other_arguments,
    spread,
)

MOST_VALUES: Final = 3
"""How many other values each argument gets."""
_Feature = tuple[Any, ...]
"""Something that a run shows: a step in a state, a state in which it ends, a call that the task ignores."""


@dataclass(frozen=True)
class TracedRun:
    """A recorded run, with its trace on the task. `params` holds the initial values of variables."""

    name: str
    trace: Trace
    params: Mapping[str, Any] = field(default_factory=dict)

    @property
    def calls(self) -> tuple[Call, ...]:
        """All calls of the run."""
        return tuple(step.call for step in self.trace.steps)

    @property
    def steps(self) -> dict[int, Step]:
        """The calls that are progress, by their place."""
        return {step.index: step for step in self.trace.steps if step.kind is Kind.PROGRESS}


def is_right(trace: Trace) -> bool:
    """Whether a path is accepted, and none of its calls is harmful."""
    return trace.end.accepted and not any(trace.harm_mask)


def find_questions(task: Task, runs: Sequence[TracedRun], others: Sequence[Call] = ()) -> Questions:
    """Make faulty variants of good runs, which `task` accepts, and collect the variants that it accepts too.

    `others` holds further calls, e.g. those of bad runs. If the task ignores calls that it does not name, such a call
    is added to good runs.
    """
    shown, maker = _Shown(runs), _Maker(task, runs, others)
    most = max(1, MOST_VARIANTS // max(1, len(runs)))
    found: dict[tuple[str, ...], Question] = {}
    tried = missed = skipped = 0
    for run in runs:
        variants = list(maker.make(run))
        chosen = spread(variants, most)
        skipped += len(variants) - len(chosen)
        faults = list(_judge(task, run, chosen, shown))
        tried += len(faults)
        missed += sum(not noticed for _, noticed in faults)
        _count(run, faults, found)
    return Questions.of([*found.values(), *_not_shown(task, runs)], tried, missed, skipped)


def _count(run: TracedRun, faults: Sequence[tuple[Variant, bool]], found: dict[tuple[str, ...], Question]) -> None:
    """Count each question once for a run: as missed if one of its variants is accepted."""
    by_question: dict[tuple[str, ...], list[tuple[Variant, bool]]] = {}
    for variant, noticed in faults:
        if variant.kind == "not shown":
            continue  # see `_not_shown`
        by_question.setdefault((variant.kind, *variant.about), []).append((variant, noticed))
    for key, group in by_question.items():
        first, noticed = min(group, key=lambda one: one[1])
        question = found.setdefault(key, Question(first.kind, first.about))
        question.add(first.example, run.name, noticed=noticed)


def _judge(task: Task, run: TracedRun, variants: Sequence[Variant], shown: _Shown) -> Iterator[tuple[Variant, bool]]:
    """Yield the variants that are faults, and whether the task notices them.

    Stopping early is no fault of its own if each of the steps that are then missing can be left out. A variant that
    does a step which no good run does belongs to the question about that step.
    """
    optional: set[int] = set()
    for variant in variants:
        calls = [item for item in variant.items if isinstance(item, Call)]
        trace = trace_task(task, calls, run.params, run.trace.begin.errors)
        if not is_right(trace):
            yield variant, True
            continue
        if variant.kind == "left out":
            optional.update(variant.without)
        implied = variant.kind == "stopped early" and optional.issuperset(variant.without)
        if not implied and not _is_decided(run, variant, trace) and not shown.has(variant, trace):
            new = shown.find_new(trace)
            yield variant if new is None else replace(variant, kind="not shown", about=new), False


def _is_decided(run: TracedRun, variant: Variant, trace: Trace) -> bool:
    """Whether the task says of the changed calls themselves that they are right, or that they do not matter."""
    now = [trace.steps[place] for place in variant.changed]
    if variant.kind in ("other argument", "exchanged"):
        return all(step.symbol == run.trace.steps[step.index].symbol for step in now)
    return bool(now) and all(step.kind is Kind.LOOP and not step.ignored for step in now)


class _Shown:
    """What good runs show, so that nobody need be asked about it."""

    def __init__(self, runs: Sequence[TracedRun]) -> None:
        self._features = {feature for run in runs for feature in _features(run.trace)}
        self._times: Counter[int] = Counter()
        for run in runs:
            self._times |= _count_steps(run.trace)

    def has(self, variant: Variant, trace: Trace) -> bool:
        """Whether good runs do each step of a variant in the same state, and end in its last state.

        A step that is done again is shown by a good run that does it as often.
        """
        if set(_features(trace)) <= self._features:
            return True
        return variant.kind == "repeated" and _count_steps(trace) <= self._times

    def find_new(self, trace: Trace) -> tuple[str] | None:
        """Return the name of a step that no good run does, or None if there is none."""
        symbols = (symbol for symbol in _count_steps(trace) if symbol not in self._times)
        return next(((trace.automaton.alphabet.names[symbol],) for symbol in symbols), None)


def _features(trace: Trace) -> Iterator[_Feature]:
    for step in trace.steps:
        if step.ignored:
            yield ("ignored", step.call.tool)
        elif step.kind is Kind.PROGRESS:
            yield ("step", step.before, step.symbol)
    yield ("end", trace.end.state)


def _count_steps(trace: Trace) -> Counter[int]:
    """Count how often each step is done."""
    return Counter(step.symbol for step in trace.steps if step.kind is Kind.PROGRESS and step.symbol is not None)


def _not_shown(task: Task, runs: Sequence[TracedRun]) -> Iterator[Question]:
    """Yield a question for each step that no good run does, although it could have been done in some."""
    automaton = task.automaton
    done = {step.symbol for run in runs for step in run.steps.values()}
    for symbol in sorted(automaton.alphabet.steps - done):
        question = Question("not shown", (automaton.alphabet.names[symbol],))
        for run in runs:
            visited = {run.trace.begin.state, *(step.after for step in run.steps.values())}
            legal = any(automaton.delta[state].get(symbol, state) != state for state in visited)
            question.add(automaton.alphabet.actions[symbol].notation, run.name, noticed=not legal)
        yield question


class _Maker:
    """Makes the faulty variants of the runs of one task."""

    def __init__(self, task: Task, runs: Sequence[TracedRun], others: Sequence[Call]) -> None:
        self._alphabet = task.automaton.alphabet
        calls = [*_literal_calls(self._alphabet), *(call for run in runs for call in run.calls)]
        self._values = argument_values(calls)
        self._stranger = _find_stranger(self._alphabet, others, self._values)

    def make(self, run: TracedRun) -> Iterator[Variant]:
        """Yield the faulty variants of a run."""
        calls = run.calls
        names = {place: self._alphabet.names[step.symbol or 0] for place, step in run.steps.items()}
        yield from make_variants(calls, names, self._values, MOST_VALUES)
        yield from _repeat_at_end(calls, names)
        yield from _exchange(calls, names)
        yield from self._add(calls, names)
        yield from _stop(calls, names)

    def _add(self, calls: Sequence[Call], names: Mapping[int, str]) -> Iterator[Variant]:
        """Yield variants with a call that is no step of the run."""
        for place in names:
            for _, other in islice(other_arguments(calls[place], self._values), 1):
                at = end_of_turn(calls, place)
                made = edits.insert(calls, at, replace(other, turn=None))
                yield Variant("added", (other.tool,), made, f"{other.label} after {calls[place].label}", (at,))
        if self._stranger is not None:
            yield Variant("added", (), (*calls, self._stranger), f"{self._stranger.label} at the end", (len(calls),))


def _literal_calls(alphabet: Alphabet) -> Iterator[Call]:
    """Yield the values that steps ask for, as calls."""
    for action in (alphabet.actions[symbol] for symbol in sorted(alphabet.steps)):
        literals = {name: one.value for name, one in action.arguments.fields if isinstance(one, Literal)}
        yield Call(action.tool, literals)


def _find_stranger(alphabet: Alphabet, others: Sequence[Call], values: Values) -> Call | None:
    """Return a call of a tool that the task does not name, or None if none is known."""
    made = (_make_call(tool, values) for tool in (alphabet.tools or {}).values())
    steps = {alphabet.actions[symbol].tool for symbol in alphabet.steps}
    for call in (*others, *made):
        is_named = call.tool in steps or alphabet.read(call, {}, {}, failed=False).role is not Role.UNLISTED
        if not is_named and not call.failed:
            return replace(call, turn=None)
    return None


def _make_call(tool: Tool, values: Values) -> Call:
    """Make a call of a tool, with values that other calls have for arguments of the same name."""
    known = {name: found[0] for (_, name), found in values.items() if found}
    needed = [name for name, default in (tool.parameters or {}).items() if default is REQUIRED]
    return Call(tool.name, {name: known.get(name, "x") for name in needed})


def _repeat_at_end(calls: Sequence[Call], names: Mapping[int, str]) -> Iterator[Variant]:
    """Yield variants in which a step is done again at the end."""
    for place, name in names.items():
        if end_of_turn(calls, place) < len(calls):
            call = calls[place]
            made = (*calls, replace(call, turn=None))
            yield Variant("repeated", (name,), made, f"{call.label} again at the end", (len(calls),))


def _exchange(calls: Sequence[Call], names: Mapping[int, str]) -> Iterator[Variant]:
    """Yield variants in which two calls of a tool have each other's value of one argument.

    Calls that differ in this argument alone would be swapped, which is another fault.
    """
    for one, other in combinations(names, 2):
        first, second = calls[one], calls[other]
        if first.tool != second.tool or names[one] == names[other]:
            continue
        differing = [name for name in first.arguments if name in second.arguments
                     and canonical(first.arguments[name]) != canonical(second.arguments[name])]  # fmt: skip
        for name in differing if len(differing) > 1 else ():
            made = list(calls)
            made[one] = replace(first, arguments={**first.arguments, name: second.arguments[name]})
            made[other] = replace(second, arguments={**second.arguments, name: first.arguments[name]})
            text = f"{made[one].label} and {made[other].label}"
            yield Variant("exchanged", (names[one], names[other], name), tuple(made), text, (one, other))


def _stop(calls: Sequence[Call], names: Mapping[int, str]) -> Iterator[Variant]:
    """Yield variants that stop when two or more steps are missing. If only one is, it is left out."""
    places = list(names)
    for done in range(len(places) - 1):
        end, missing = (places[done - 1] + 1 if done else 0), tuple(places[done:])
        made = tuple(call for call in calls[:end])
        about = (names[places[done - 1]],) if done else ()
        text = f"nothing after {calls[places[done - 1]].label}" if done else "no call"
        yield Variant("stopped early", about, made, text, without=missing)
