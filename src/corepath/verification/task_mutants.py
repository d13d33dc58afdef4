"""Faulty variants of good runs, and the questions that they raise if a task accepts them.

Only steps of the task are changed, since reads and neutral calls are no mistakes by themselves. What is decided is not
asked: a value that fits the step's pattern, a repetition that is a self-loop, and whatever another good run does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from typing import Any, Final, NamedTuple

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
from corepath.verification.other_ways import Path, find_edges, find_other_ways
from corepath.verification.run_variants import (
    MOST_VARIANTS,
    Fault,
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
_Occurrence = tuple[int, int]
"""A step's symbol, and how often it was done before."""
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
    paths: list[Path] = [_path(run.trace) for run in runs]
    tried = missed = skipped = 0
    for run in runs:
        variants = list(maker.make(run))
        chosen = spread(variants, most)
        skipped += len(variants) - len(chosen)
        faults = list(_judge(task, run, chosen, shown))
        accepted = [path for _, path in faults if path is not None]
        tried, missed = tried + len(faults), missed + len(accepted)
        paths += [path for path in accepted if shown.find_new(path) is None]
        _count(run, [fault for fault in faults if fault.path is None or shown.find_new(fault.path) is None], found)
    ways = [*_unused_steps(task, runs), *_other_ways(task, paths, len(runs))]
    return Questions.of([*found.values(), *ways], tried, missed, skipped)


class _Finding(NamedTuple):
    """A faulty variant. `path` holds the symbols of its steps if the task accepts it, and is None otherwise."""

    variant: Variant
    path: Path | None


def _count(run: TracedRun, faults: Sequence[_Finding], found: dict[tuple[str, ...], Question]) -> None:
    """Count each question once for a run: as missed if one of its variants is accepted."""
    by_question: dict[tuple[str, ...], list[_Finding]] = {}
    for fault in faults:
        by_question.setdefault((fault.variant.kind, *fault.variant.about), []).append(fault)
    for key, group in by_question.items():
        first = next((fault for fault in group if fault.path is not None), group[0])
        question = found.setdefault(key, Question(first.variant.kind, first.variant.about))
        question.add(first.variant.example, run.name, noticed=first.path is None)


def _judge(task: Task, run: TracedRun, variants: Sequence[Variant], shown: _Shown) -> Iterator[_Finding]:
    """Yield the variants that are faults.

    Stopping early is no fault of its own if each of the steps that are then missing can be left out.
    """
    optional: set[int] = set()
    for variant in variants:
        calls = [item for item in variant.items if isinstance(item, Call)]
        trace = trace_task(task, calls, run.params, run.trace.begin.errors)
        if not is_right(trace):
            yield _Finding(variant, None)
            continue
        if variant.kind == "left out":
            optional.update(variant.without)
        implied = variant.kind == "stopped early" and optional.issuperset(variant.without)
        if not implied and not _is_decided(run, variant, trace) and not shown.has(variant, trace):
            yield _Finding(variant, _path(trace))


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
        self._orders: set[tuple[_Occurrence, _Occurrence]] = set()
        for path in (_path(run.trace) for run in runs):
            self._times |= Counter(path)
            self._orders.update(_orders(path))

    def has(self, variant: Variant, trace: Trace) -> bool:
        """Whether good runs do each step of a variant in the same state, and end in its last state.

        A step that is done again is shown by a good run that does it as often, and an order of two steps by a good run
        that has it anywhere.
        """
        if set(_features(trace)) <= self._features:
            return True
        if variant.kind == "repeated":
            return Counter(_path(trace)) <= self._times
        return variant.kind == "swapped" and self._orders.issuperset(_orders(_path(trace)))

    def find_new(self, path: Path) -> int | None:
        """Return a step that no good run does, or None if there is none."""
        return next((symbol for symbol in path if symbol not in self._times), None)


def _features(trace: Trace) -> Iterator[_Feature]:
    for step in trace.steps:
        if step.ignored:
            yield ("ignored", step.call.tool)
        elif step.kind is Kind.PROGRESS:
            yield ("step", step.before, step.symbol)
    yield ("end", trace.end.state)


def _orders(path: Path) -> Iterator[tuple[_Occurrence, _Occurrence]]:
    """Yield which step comes before which, for all pairs of steps."""
    occurrences = [(symbol, path[:place].count(symbol)) for place, symbol in enumerate(path)]
    return combinations(occurrences, 2)


def _path(trace: Trace) -> tuple[int, ...]:
    """Return the symbols of the steps that are progress."""
    return tuple(step.symbol for step in trace.steps if step.kind is Kind.PROGRESS and step.symbol is not None)


def _unused_steps(task: Task, runs: Sequence[TracedRun]) -> Iterator[Question]:
    """Yield a question for each step that no good run does, although it is legal after steps that good runs do."""
    automaton = task.automaton
    done = {step.symbol for run in runs for step in run.steps.values() if step.symbol is not None}
    legal = {symbol for state in find_edges(automaton, done) for symbol in automaton.due(state)}
    for symbol in sorted(legal - done):
        name, example = automaton.alphabet.names[symbol], automaton.alphabet.actions[symbol].notation
        yield Question("not shown", (name,), example, missed=len(runs), tried=len(runs))


def _other_ways(task: Task, paths: Sequence[Path], runs: int) -> Iterator[Question]:
    """Yield questions on ways that differ more from good runs than variants do, e.g. in the order of all steps."""
    names = task.automaton.alphabet.names
    for path, missing, order in find_other_ways(task.automaton, paths):
        text = " → ".join(names[symbol] for symbol in path) or "no call"
        if missing is not None:
            yield Question("left out", (names[missing],), text, missed=runs, tried=runs)
        elif order is not None:
            one, other = order
            kind: Fault = "repeated" if one == other else "swapped"
            about = (names[one],) if one == other else (names[one], names[other])
            yield Question(kind, about, text, missed=runs, tried=runs)


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
