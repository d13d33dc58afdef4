"""Widening a task by one more good run: the smallest change of its procedure that accepts the run.

The new task accepts everything that the old one does. The search changes the procedure at any place, in a few steps:
each change lets the run get further than before. The change that adds the fewest golden paths is chosen, then the one
with the fewest new actions, and then the one with the shortest text. If no small change helps, or only one that takes
more words than the run itself or multiplies the golden paths, the run becomes an alternative of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from corepath.authoring.learning.inclusion import includes
from corepath.authoring.learning.version import Version, begin_version, compare_versions
from corepath.authoring.learning.widenings import LONGEST_DETOUR, Failure, list_widenings
from corepath.automaton.automaton import Automaton
from corepath.automaton.condensation import Trace, trace_calls
from corepath.automaton.derivatives import follow
from corepath.automaton.harm import HarmKind
from corepath.automaton.reading import Role
from corepath.automaton.step import Kind, Step
from corepath.episode import Episode
from corepath.errors import TaskError, count
from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.notation.procedure import choice, leaves, seq
from corepath.scoring.tracing import trace_task
from corepath.task import Task

MOST_CHANGES: Final = 4
"""The most changes that are combined."""
MOST_GROWTH: Final = 10
"""A change that multiplies the golden paths by more than this is not small."""
MOST_KEPT: Final = 5
"""How many versions are changed further at each step of the search."""
MOST_STATES: Final = 20_000
"""The search ends when the automata that it compiled have so many states together."""
MOST_SKIPPED: Final = 4
"""How many sets of steps that a run left out are looked at."""

_HOPELESS: Final = {
    HarmKind.MALFORMED: "its arguments are no object",
    HarmKind.UNKNOWN_TOOL: "the task's tools have none of this name; add it to them",
    HarmKind.FORBIDDEN: "the task forbids it; change that first, if it is right",
}
"""Harmful calls that no procedure can accept, and why."""


@dataclass(frozen=True)
class Widened:
    """A task before and after it was widened by a run."""

    before: Version
    after: Version
    task: Task

    @property
    def changed(self) -> bool:
        """Whether the run needed a change."""
        return self.after is not self.before

    @property
    def diff(self) -> str:
        """What changed in the procedure and the actions, as lines that begin with `-` or `+`."""
        return compare_versions(self.before, self.after)

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """What changed and why, in words."""
        if not self.changed:
            return ("The task accepts the run already, so nothing changes.",)
        now, then = self.after.automaton.count, self.before.automaton.count
        return (*self.after.reasons, f"{count(now, 'golden path')}, {then:,} before.")


def widen(task: Task, episode: Episode) -> Widened:
    """Widen a task as little as possible, so that it accepts a run without harm, and everything that it did.

    Raises `TaskError` if the run cannot be accepted, or if the task has no procedure.
    """
    before = begin_version(task)
    check_run(task, episode)
    trace = trace_task(task, episode.calls, episode.params)
    if accepts(trace):
        return Widened(before, before, task)
    if not episode.calls:
        raise TaskError.of("the run has no calls, so there is nothing to learn from it")
    _check_hope(trace)
    run = _Run(task, episode, trace)
    last_resort = run.add_as_alternative(before)
    longest = max(len(version.text) for version in last_resort)
    most = MOST_GROWTH * before.weight
    found = [version for version in run.search(before) if version.copies or len(version.text) <= longest]
    small = [version for version in found if version.weight <= most]
    large = [version for version in found if version.weight > most]
    for version in (*sorted(small, key=_cost), *last_resort, *sorted(large, key=_cost)):
        made = run.check(version, before)
        if made is not None:
            return Widened(before, version, made)
    raise TaskError.of(run.explain_refusals(last_resort[-1]))


def check_run(task: Task, episode: Episode) -> None:
    """Raise `TaskError` if a run is of another task."""
    if episode.task != task.id:
        raise TaskError.of(f"the run is of task '{episode.task[:120]}', not of '{task.id}'")


def accepts(trace: Trace) -> bool:
    """Whether a run was accepted without harm."""
    return trace.end.accepted and not any(trace.harm_mask)


def _check_hope(trace: Trace) -> None:
    for step in trace.steps:
        if step.harm in _HOPELESS:
            why = step.why or _HOPELESS[step.harm]
            raise TaskError.of(f"call {step.index + 1}, {step.call.label}, cannot be part of a good run: {why}")


def _cost(version: Version) -> tuple[int, int, int]:
    """Return what a version costs: golden paths, different actions, and the length of its text.

    A part that is written twice must have less than half as many paths.
    """
    return version.weight << version.copies, len(set(leaves(version.procedure))), len(version.text)


class _Run:
    """A run to be accepted.

    `calls` holds the calls that matter to the search, each with its number: those that were not refused, without
    steps that were done again and changed nothing in the world.
    """

    def __init__(self, task: Task, episode: Episode, trace: Trace) -> None:
        self.task, self.episode, self.trace = task, episode, trace
        self.states = 0
        self.tried: set[object] = set()
        self.calls: list[tuple[int, Call]] = []
        done: set[int | None] = set()
        for step in trace.steps:
            if not step.call.failed and not (_is_harmless_write(step) and step.symbol in done):
                self.calls.append((step.index + 1, step.call))
            done.add(step.symbol)
        actions, procedure = task.automaton.alphabet.actions, begin_version(task).procedure
        times = Counter(leaves(procedure))
        self.kept = frozenset(actions[one] for one in done if one is not None and times[actions[one]] == 1)

    # Search

    def search(self, start: Version) -> list[Version]:
        """Return the versions that accept the run after a few changes."""
        found: list[Version] = []
        kept = [(start, self._reach(start))]
        for _ in range(MOST_CHANGES):
            is_last = bool(found)  # one more change is tried after the first that helps
            further = [pair for version, reach in kept for pair in self._go_further(version, reach)]
            found += [version for version, reach in further if reach > len(self.calls)]
            best = min((version.weight for version in found), default=None)
            waiting = [
                (version, reach)
                for version, reach in further
                if reach <= len(self.calls) and (best is None or version.weight < best)
            ]
            kept = sorted(waiting, key=lambda pair: (-pair[1], _cost(pair[0])))[:MOST_KEPT]
            if is_last or not kept or self.states > MOST_STATES:
                break
        return found

    def _go_further(self, version: Version, reach: int) -> Iterator[tuple[Version, int]]:
        """Yield versions with one more change that let the run get further, and how far it gets."""
        trace = trace_calls(version.automaton, [call for _, call in self.calls], self.episode.params)
        failure = self._failure(version, trace, reach)
        run = _Symbols(version, trace, reach)
        for made in list_widenings(version, failure):
            if made.key not in self.tried and (made.image != version.image or run.follow(made) > reach):
                self.tried.add(made.key)
                reached = self._try(made)
                if reached is not None and reached > reach:
                    yield made, reached

    def _try(self, version: Version) -> int | None:
        """Return how far the run gets, or None if the version is no valid task or the search took too long."""
        if self.states > MOST_STATES:
            return None
        try:
            self.states += len(version.automaton.states)
        except TaskError:
            return None
        return self._reach(version)

    def _reach(self, version: Version) -> int:
        """Return how many calls are taken without harm, and one more if the run is then accepted."""
        trace = trace_calls(version.automaton, [call for _, call in self.calls], self.episode.params)
        for step in trace.steps:
            if step.kind is Kind.HARM:
                return step.index
        return len(self.calls) + trace.end.accepted

    def _failure(self, version: Version, trace: Trace, reach: int) -> Failure:
        if reach == len(self.calls):
            skipped = _find_skipped(version.automaton, trace.end.state, None)
            return Failure(None, skipped=skipped, early=_find_early(trace, reach), kept=self.kept)
        named = _name_steps(version, [step for step in trace.steps[reach:] if step.kind is not Kind.LOOP])
        number, call = self.calls[reach]
        action, actions = named[0], trace.automaton.alphabet.actions
        times = sum(one.symbol is not None and actions[one.symbol] == action for one in trace.steps)
        done = frozenset(actions[step.symbol] for step in trace.steps if step.symbol is not None)
        symbol, state = _symbol_of(trace.steps[reach]), trace.steps[reach].before
        skipped = () if symbol is None else _find_skipped(version.automaton, state, symbol)
        detour, later = tuple(named[:LONGEST_DETOUR]), frozenset(named[1:])
        early = _find_early(trace, reach)
        return Failure(number, call, action, symbol is not None, detour, times, skipped, early, later, done, self.kept)

    # Last resort

    def add_as_alternative(self, before: Version) -> list[Version]:
        """Return versions with the run as another way: first without its self-loops, then with all its steps."""
        steps = [step for step in self.trace.steps if not step.call.failed]
        found = []
        for kept in (
            [step for step in steps if step.kind is not Kind.LOOP],
            [step for step in steps if step.kind is not Kind.LOOP or step.reading.role is Role.STEP],
        ):
            named = _name_steps(before, kept)
            reason = "The run is another way now, because no small change of the procedure accepts it."
            found.append(before.change(choice(before.procedure, seq(*named)), reason, *named))
        return found

    # Checks

    def check(self, version: Version, before: Version) -> Task | None:
        """Return the version as a task if it accepts the run and all that the task did, or None if it does not."""
        try:
            if not includes(version.automaton, before.automaton, version.image):
                return None
            made = version.finish()
        except TaskError:
            return None
        trace = trace_task(made, self.episode.calls, self.episode.params)
        return made if accepts(trace) else None

    def explain_refusals(self, last_resort: Version) -> str:
        """Say why the run cannot be accepted, not even as a way of its own."""
        refused = [step for step in self.trace.steps if step.call.failed and step.kind is Kind.HARM]
        if not refused:
            why = self._explain(last_resort)
            return f"no change of the procedure accepts the run and all that the task accepts: {why}"
        one = refused[0]
        advice = "leave it out of the run"
        if self.task.automaton.alphabet.listing.refused == "harm":
            advice = f"add 'refused: try' to the task, if such tries are harmless, or {advice}"
        return (
            f"call {one.index + 1}, {one.call.label}, was refused, and it is not a try of a step that is due; "
            f"a refused call cannot be a step: {advice}"
        )

    def _explain(self, version: Version) -> str:
        """Say where the run fails, or that the task would lose paths."""
        try:
            trace = trace_task(version.finish(), self.episode.calls, self.episode.params)
        except TaskError as error:
            return str(error)
        harm = next((step for step in trace.steps if step.kind is Kind.HARM), None)
        if harm is not None:
            why = f" ({harm.harm.value.replace('_', ' ')})" if harm.harm is not None else ""
            return f"as a way of its own, it fails at call {harm.index + 1}, {harm.call.label}{why}"
        if not trace.end.accepted:
            return "as a way of its own, it is not complete: a step may refer to a result that comes only later"
        return "as a way of its own, it would change how other calls are read"


class _Symbols:
    """A run as symbols, by which most changes are sorted out before they are compiled."""

    def __init__(self, version: Version, trace: Trace, reach: int) -> None:
        named = iter(_name_steps(version, [step for step in trace.steps[reach:] if step.kind is not Kind.LOOP]))
        self.numbers: dict[Action, int] = {}
        for known in trace.automaton.alphabet.actions:
            self.numbers.setdefault(known, len(self.numbers))
        self.run: list[tuple[int | None, bool]] = []
        for step in trace.steps:
            action = None if step.symbol is None else trace.automaton.alphabet.actions[step.symbol]
            if step.index >= reach and step.kind is not Kind.LOOP:
                action = next(named)
            symbol = None if action is None else self.numbers.setdefault(action, len(self.numbers))
            self.run.append((symbol, step.reading.loops or step.kind is Kind.LOOP))

    def follow(self, version: Version) -> int:
        """Return how far the run gets in a version, if its calls are read as before."""
        return follow(version.procedure, self.numbers, self.run)


def _find_skipped(automaton: Automaton, state: int, symbol: int | None) -> tuple[frozenset[Action], ...]:
    """Return the smallest sets of actions after which a symbol is due, or the task is done if there is no symbol."""
    reached: dict[int, set[frozenset[int]]] = {state: {frozenset()}}
    seen = {state}
    while reached:
        due = [
            one
            for one in reached
            if (one in automaton.accepting if symbol is None else automaton.delta[one].get(symbol, one) != one)
        ]
        if due:
            found = sorted({skipped for one in due for skipped in reached[one] if skipped}, key=sorted)
            actions = automaton.alphabet.actions
            return tuple(frozenset(actions[number] for number in skipped) for skipped in found[:MOST_SKIPPED])
        further: dict[int, set[frozenset[int]]] = {}
        for one, sets in reached.items():
            for number in automaton.due(one):
                after = automaton.delta[one][number]
                if after not in seen:
                    further.setdefault(after, set()).update(
                        [skipped | {number} for skipped in sorted(sets, key=sorted)[:MOST_SKIPPED]]
                    )
        seen |= further.keys()
        reached = further
    return ()


def _find_early(trace: Trace, reach: int) -> frozenset[Action]:
    """Return the steps that a run did before they were due, up to a call, and not again when they were."""
    actions = trace.automaton.alphabet.actions
    done = {step.symbol for step in trace.steps[:reach] if step.kind is Kind.PROGRESS}
    loops = {step.symbol for step in trace.steps[:reach] if step.reading.role is Role.STEP} - done
    return frozenset(actions[symbol] for symbol in loops if symbol is not None)


def _is_harmless_write(step: Step) -> bool:
    """Whether a step is a write that changes nothing in the world, which makes it a self-loop."""
    return step.kind is Kind.LOOP and step.reading.role is Role.STEP and not step.reading.loops


def _symbol_of(step: Step) -> int | None:
    """Return the number of a call's action, also if the action refers to a result that was not known yet."""
    return step.symbol if step.symbol is not None or not step.reading.early else step.reading.early[0]


def _name_steps(version: Version, steps: Sequence[Step]) -> list[Action]:
    """Return the actions of steps. Equal calls that were no step are one new action."""
    alphabet = version.automaton.alphabet
    named: list[Action] = []
    for step in steps:
        symbol = _symbol_of(step)
        if symbol is not None:
            named.append(alphabet.actions[symbol])
            continue
        if step.kind is Kind.LOOP or step.call.failed or step.call.malformed:
            continue
        action = version.name_action(step.call)
        known = next((one for one in named if one == action), None)
        named.append(known or action)
        version = version if known else replace(version, actions=(*version.actions, action)) if action.name else version
    return named
