"""Faulty variants of good runs, and the questions that they raise if a task accepts them.

What is decided is not asked: a value that fits the step's pattern, a repetition that is a self-loop, and whatever
another good run does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, NamedTuple

from corepath.automaton.condensation import Trace
from corepath.automaton.step import Kind, step
from corepath.notation.call import Call
from corepath.scoring.tracing import trace_task
from corepath.task import Task
from corepath.verification.other_ways import Path, find_edges, find_other_ways
from corepath.verification.run_variants import (
    MOST_VARIANTS,
    Fault,
    Question,
    Questions,
    Variant,
    spread,
)
from corepath.verification.task_variants import TracedRun, VariantMaker

_Occurrence = tuple[int, int]
"""A step's symbol, and how often it was done before."""
_Feature = tuple[Any, ...]
"""Something that a run shows: a step in a state, a state in which it ends, a call that the task ignores."""


def is_right(trace: Trace) -> bool:
    """Whether a path is accepted, and none of its calls is harmful."""
    return trace.end.accepted and not any(trace.harm_mask)


def find_questions(task: Task, runs: Sequence[TracedRun], others: Sequence[Call] = ()) -> Questions:
    """Make faulty variants of good runs, which `task` accepts, and collect the variants that it accepts too.

    `others` holds further calls, e.g. those of bad runs. If the task ignores calls that it does not name, such a call
    is added to good runs.
    """
    shown, maker = _Shown(runs), VariantMaker(task, runs, others)
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
    return Questions.of(_join_orders([*found.values(), *ways]), tried, missed, skipped)


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
    """Yield the variants that are faults. Those that follow from steps which can be left out are none of their own."""
    optional: set[int] = set()
    for variant in variants:
        trace = _trace(task, run, [item for item in variant.items if isinstance(item, Call)])
        if trace is None:
            yield _Finding(variant, None)
            continue
        if variant.kind == "left out":
            optional.update(variant.without)
        if _is_implied(variant, trace, optional) or _is_decided(run, variant, trace):
            continue
        if not shown.has(variant, run, trace):
            yield _Finding(variant, _path(trace))


def _trace(task: Task, run: TracedRun, calls: Sequence[Call]) -> Trace | None:
    """Return the trace of a variant, or None if the task notices it.

    Unless policies matter, only the calls from the first that differs to the first harmful one are run.
    """
    if task.policies and task.simulator is not None:
        trace = trace_task(task, calls, run.params, run.trace.begin.errors)
        return trace if is_right(trace) else None
    pairs = zip(run.trace.steps, calls, strict=False)
    same = sum(1 for _ in takewhile(lambda pair: pair[0].call is pair[1], pairs))
    steps, positions = list(run.trace.steps[:same]), list(run.trace.positions[: same + 1])
    for call in calls[same:]:
        taken, position = step(positions[-1], call)
        if taken.kind is Kind.HARM:
            return None
        steps.append(taken)
        positions.append(position)
    return Trace(tuple(steps), tuple(positions)) if positions[-1].accepted else None


def _is_implied(variant: Variant, trace: Trace, optional: set[int]) -> bool:
    """Whether a variant only lacks steps that can be left out, or has a call that changes nothing in their place."""
    if variant.kind == "stopped early":
        return optional.issuperset(variant.without)
    is_exchange = variant.kind in ("other argument", "exchanged")
    return is_exchange and optional.issuperset(variant.changed) and _are_loops(variant, trace)


def _are_loops(variant: Variant, trace: Trace) -> bool:
    """Whether all calls that are changed are self-loops that the task allows."""
    return all(one.kind is Kind.LOOP and not one.ignored for one in (trace.steps[place] for place in variant.changed))


def _is_decided(run: TracedRun, variant: Variant, trace: Trace) -> bool:
    """Whether the task says of the changed calls themselves that they are right, or that they do not matter."""
    if variant.kind in ("other argument", "exchanged"):
        return all(trace.steps[place].symbol == run.trace.steps[place].symbol for place in variant.changed)
    return bool(variant.changed) and _are_loops(variant, trace)


def _join_orders(questions: Sequence[Question]) -> list[Question]:
    """Make one question of those about the order of the same steps, e.g. of steps that may come in any order."""
    groups: list[list[Question]] = []
    others = []
    for question in questions:
        if question.kind != "swapped" or not question.missed:
            others.append(question)
            continue
        joined = [group for group in groups if any(set(one.about).intersection(question.about) for one in group)]
        groups = [group for group in groups if group not in joined]
        groups.append([*(one for group in joined for one in group), question])
    return [*others, *map(_join, groups)]


def _join(group: Sequence[Question]) -> Question:
    """Join questions. The one with the most cases gives the example."""
    if len(group) == 1:
        return group[0]
    most = max(group, key=lambda one: (one.run != "", one.missed))
    names = dict.fromkeys(name for one in group for name in one.about)
    return replace(most, about=tuple(names))


class _Shown:
    """What good runs show, so that nobody need be asked about it."""

    def __init__(self, runs: Sequence[TracedRun]) -> None:
        self._features = {feature for run in runs for feature in _features(run.trace)}
        self._times: Counter[int] = Counter()
        self._fewest: dict[int, int] = {}
        self._places: list[dict[_Occurrence, int]] = []
        for path in (_path(run.trace) for run in runs):
            self._times |= Counter(path)
            for symbol, number in Counter(path).items():
                self._fewest[symbol] = min(number, self._fewest.get(symbol, number))
            self._places.append({_occurrence(path, place): place for place in range(len(path))})

    def has(self, variant: Variant, run: TracedRun, trace: Trace) -> bool:
        """Whether good runs do each step of a variant in the same state, and end in its last state.

        A step that is done more or less often is shown by good runs that do it as often or more, and as seldom or less.
        An order of two steps is shown by a good run that has it anywhere.
        """
        if set(_features(trace)) <= self._features:
            return True
        before, path = _path(run.trace), _path(trace)
        if variant.kind == "swapped":
            return self._has_order(before, path)
        times = Counter(path)
        is_within = all(self._fewest.get(one, 0) <= number <= self._times[one] for one, number in times.items())
        return is_within and variant.kind in ("repeated", "left out") and set(times) == set(before)

    def _has_order(self, path: Path, swapped: Path) -> bool:
        """Whether a good run has the order of the two steps that are swapped."""
        pairs = enumerate(zip(path, swapped, strict=False))
        place = next((place for place, (before, after) in pairs if before != after), len(swapped))
        if place + 1 >= len(swapped):
            return False
        one, other = _occurrence(swapped, place), _occurrence(swapped, place + 1)
        return any(one in places and places[one] < places.get(other, -1) for places in self._places)

    def find_new(self, path: Path) -> int | None:
        """Return a step that no good run does, or None if there is none."""
        return next((symbol for symbol in path if symbol not in self._times), None)


def _features(trace: Trace) -> Iterator[_Feature]:
    for taken in trace.steps:
        if taken.ignored:
            yield ("ignored", taken.call.tool)
        elif taken.kind is Kind.PROGRESS:
            yield ("step", taken.before, taken.symbol)
    yield ("end", trace.end.state)


def _occurrence(path: Path, place: int) -> _Occurrence:
    return path[place], path[:place].count(path[place])


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
