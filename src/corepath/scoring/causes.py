"""Find out which skipped step caused a harmful call, and which harmful calls are consequences of earlier ones.

The calls are run a second time. Whenever a call comes too early in the second run, the steps that were skipped before
the call are inserted. If a call is harmful in the real run but not in the second run, then the steps inserted last are
the call's cause. Steps are identified by their symbols, i.e. action numbers.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from functools import reduce

from corepath.automaton.automaton import Automaton
from corepath.automaton.condensation import Trace
from corepath.automaton.harm import HarmKind
from corepath.automaton.step import Kind, Position, Step, Take, advance

_Detour = tuple[list[int], int] | None
"""The symbols of the skipped steps and the state after these steps, or None if no steps help."""


@dataclass(frozen=True)
class Cause:
    """The steps whose omission makes a call harmful.

    `skipped` holds the names of the steps. `at` is the index of the call before which the steps should have been done.
    """

    skipped: tuple[str, ...]
    at: int


def find_causes(trace: Trace) -> dict[int, Cause]:
    """Map the index of each harmful call to the call's cause.

    Harmful calls that no skipped step explains are left out, and so are steps before the result that they must use.
    """
    found: dict[int, Cause] = {}
    early = [step.index for step in trace.condensed if step.harm is HarmKind.OUT_OF_ORDER]
    if not early:
        return found
    names = trace.automaton.alphabet.names
    detours: dict[tuple[int, int], _Detour] = {}
    cause: Cause | None = None
    position = trace.positions[early[0]]  # until then, both runs are the same
    for real in trace.steps[early[0] : _last_harm(trace) + 1]:
        # Until a step is inserted, both runs are the same.
        taken, after = (real, trace.positions[real.index + 1]) if cause is None else trace.take(position, real.call)
        if real.kind is Kind.HARM and _comes_too_early(taken):
            repaired = _insert_skipped(position, taken, detours, trace.take)
            if repaired is not None:
                skipped, taken, after = repaired
                cause = Cause(tuple(names[symbol] for symbol in skipped), real.index)
        if cause is not None and _vanishes(real, taken):
            found[real.index] = cause
        position = after
    return found


def _comes_too_early(taken: Step) -> bool:
    """Whether a call is a step at the wrong time, and does not merely lack a result that it must use."""
    return taken.harm is HarmKind.OUT_OF_ORDER and not taken.reading.early


def _vanishes(real: Step, taken: Step) -> bool:
    """Whether a call is harmful in the real run, but not in the second run, where it is `taken`."""
    return real.kind is Kind.HARM and taken.kind is not Kind.HARM and not real.only_breaks


def find_roots(trace: Trace) -> tuple[int, ...]:
    """Return the indexes of the harmful calls that would remain if the earlier ones had been repaired.

    The calls are run a second time, and each call that is harmful there is repaired. If it comes too early, the skipped
    steps are inserted before it. If its arguments are wrong, the expected step with the same tool replaces it. Any
    other harmful call is left out. A harmful call that the tool refused is assumed to succeed after the repair. A
    policy that an earlier harmful call broke too is the same mistake.
    """
    first = next((real.index for real in trace.condensed if real.kind is Kind.HARM), None)
    if first is None:
        return ()
    found: list[int] = []
    broken: set[str | None] = set()
    detours: dict[tuple[int, int], _Detour] = {}
    position = trace.positions[first]  # until then, both runs are the same
    for real in trace.steps[first : _last_harm(trace) + 1]:
        refused = real.kind is Kind.HARM and real.call.failed and real.harm is not HarmKind.FAILED
        errors = "as_called" if refused else trace.begin.errors
        if position.errors != errors:
            position = replace(position, errors=errors)
        taken, after = trace.take(position, real.call)
        if real.kind is Kind.HARM:
            if _is_new_breach(real, broken) if real.only_breaks else taken.kind is Kind.HARM:
                found.append(real.index)
            broken.add(real.why)
        if taken.harm is HarmKind.OUT_OF_ORDER:
            repaired = _insert_skipped(position, taken, detours, trace.take)
            after = after if repaired is None else repaired[2]
        elif taken.harm is HarmKind.WRONG_ARGUMENT:
            after = _replace_arguments(position, taken) or after
        position = after
    return tuple(found)


def _last_harm(trace: Trace) -> int:
    """Return the index of the last harmful call. There must be one."""
    return next(step.index for step in reversed(trace.condensed) if step.kind is Kind.HARM)


def _is_new_breach(harmful: Step, broken: set[str | None]) -> bool:
    """Whether a call breaks a policy that no earlier harmful call broke, and would do so without the earlier ones."""
    return harmful.breach is not None and not harmful.breach.consequence and harmful.why not in broken


def _replace_arguments(position: Position, harmful: Step) -> Position | None:
    """Return the position after the expected step with the same tool, or None if there is none."""
    automaton = position.automaton
    tool = harmful.call.tool
    due = [symbol for symbol in automaton.due(position.state) if automaton.alphabet.actions[symbol].tool == tool]
    return _do(position, harmful, due[0])[1] if due else None


def _do(position: Position, call: Step, symbol: int) -> tuple[Step, Position]:
    """Take a call for the step `symbol`. Return the step and the position after it."""
    state = position.automaton.delta[position.state][symbol]
    done = replace(call, kind=Kind.PROGRESS, harm=None, symbol=symbol, before=position.state, after=state)
    return done, advance(position, done)


def _insert_skipped(
    position: Position, harmful: Step, detours: dict[tuple[int, int], _Detour], take: Take
) -> tuple[list[int], Step, Position] | None:
    """Find the fewest steps that must be inserted to turn the harmful call into progress.

    Returns the symbols of these steps, the call after them, which is no longer harmful, and the position after it.
    Returns None if no steps help. `detours` is a cache, and `take` takes steps.
    """
    reading = harmful.reading
    symbol = harmful.symbol if harmful.symbol is not None else (*reading.fits, *reading.early)[0]
    if (position.state, symbol) not in detours:
        detours[position.state, symbol] = _find_detour(position.automaton, position.state, symbol)
    detour = detours[position.state, symbol]
    if detour is None:
        return None
    skipped, state = detour
    ready = replace(position, state=state, done=reduce(lambda done, symbol: done | 1 << symbol, skipped, position.done))
    taken, after = _do(ready, harmful, symbol) if reading.early else take(ready, harmful.call)
    return None if taken.kind is Kind.HARM else (skipped, taken, after)


def _find_detour(automaton: Automaton, state: int, symbol: int) -> _Detour:
    """Search breadth-first for the fewest steps from `state` after which `symbol` is progress.

    Returns the symbols of these steps and the state after them, or None if no steps help.
    """
    if not automaton.ahead[state] >> symbol & 1:
        return None
    reached_by: dict[int, tuple[int, int] | None] = {state: None}
    queue = deque([state])
    while queue:
        here = queue.popleft()
        if automaton.delta[here].get(symbol, here) != here:
            skipped: list[int] = []
            link = reached_by[here]
            while link is not None:
                skipped.append(link[1])
                link = reached_by[link[0]]
            return skipped[::-1], here
        for taken, after in automaton.delta[here].items():
            if after not in reached_by:
                reached_by[after] = (here, taken)
                queue.append(after)
    return None
