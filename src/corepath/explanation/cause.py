"""Describe in a few words what made calls harmful, for the headline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from corepath.automaton.harm import HarmKind
from corepath.automaton.step import Kind
from corepath.errors import count
from corepath.explanation.arguments import NearestStep, nearest_step
from corepath.explanation.facts import Facts
from corepath.explanation.groups import Group, failed_attempts, last_unexpected_result, late_steps
from corepath.explanation.harms import displaced_text
from corepath.explanation.reasons import reason_text, repeated_call
from corepath.explanation.sentences import MOST_LISTED, calls_text, capitalise, join, times_text
from corepath.explanation.value_text import step_text, tool_name
from corepath.scoring.evidence import Harm

_MISMATCHES: Final = (HarmKind.WRONG_ARGUMENT, HarmKind.UNLISTED)
"""The kinds of harm in which a call matches no step of the task."""


def cause_text(facts: Facts, group: Group) -> str:
    """Describe what made the calls in `group` harmful, without a full stop."""
    first = group.first
    if first.cause is not None and repeated_call(facts, first) is None:
        return _skipped_text(facts, group)
    if first.kind is HarmKind.REPEATED and (text := _repetition_text(facts, group)):
        return text
    return f"{_missing_result_text(facts, group) or _call_text(facts, group)}{_consequences_text(facts, group)}"


def _is_mismatch(facts: Facts, harm: Harm) -> bool:
    """Whether a call fits no step, or fits one only except for a result that is not known yet."""
    return harm.kind in _MISMATCHES or bool(facts.steps[harm.index].reading.early)


def _call_text(facts: Facts, group: Group) -> str:
    """Describe the group's first call and why it is harmful."""
    first, nearest = group.first, nearest_step(facts, group.first.index)
    is_far = _is_mismatch(facts, first) and nearest is not None and not nearest.due
    reason = "is no step of this task" if is_far else reason_text(facts, first)
    return f"{capitalise(facts.call_text(first.index))}, {reason}"


def _consequences_text(facts: Facts, group: Group) -> str:
    """Name the call that undid the group's first call, or the other harmful calls in the group.

    Return an empty string if there is no such call.
    """
    rest = len(group.harms) - 1
    be = "is" if rest == 1 else "are"
    if group.skipped and group.first.cause is None:
        return f"; {displaced_text(facts, group)}{count(rest, 'later call')} {be} harmful for that"
    if group.back is not None:
        return f"; call {group.back + 1} took it back"
    if not rest:
        return ""
    others = calls_text(group.calls[1:])
    return f"; {others} {be} harmful for the same reason" if group.skipped else f"; the same goes for {others}"


# Steps that were not done in time


@dataclass(frozen=True)
class _Omission:
    """The skipped steps that made a group's calls harmful, split by whether they were done late, never, or failed."""

    late: Mapping[int, int]
    """Steps that were done later, each with the index of its call."""
    never: tuple[int, ...]
    """Steps that were not done later."""
    failed: Mapping[int, int]
    """Steps that were tried and failed, each with the index of its last failed call."""
    skipped: tuple[int, ...]
    """Steps in `never` that were neither tried nor called too early."""

    @property
    def last_failure(self) -> int | None:
        """The index of the last failed call if every step in `never` was tried and failed, otherwise None."""
        if self.skipped or not self.failed.keys() >= set(self.never):
            return None
        return max(self.failed[symbol] for symbol in self.never)


def _find_omission(facts: Facts, group: Group) -> _Omission:
    """Find out which of the group's skipped steps were done late, were never done, or failed."""
    late, failed = late_steps(facts, group), failed_attempts(facts, frozenset(group.skipped))
    never = tuple(symbol for symbol in group.skipped if symbol not in late)
    early = {facts.symbol(step) for step in facts.early_calls if step.index < group.first.index}
    skipped = tuple(symbol for symbol in never if symbol not in failed and symbol not in early)
    return _Omission(late, never, failed, skipped)


def _skipped_text(facts: Facts, group: Group) -> str:
    """Describe which steps were skipped, done too late or failed."""
    omission, index, harmful = _find_omission(facts, group), group.first.index, count(len(group.harms), "harmful call")
    subject = omission.skipped or omission.never or group.skipped
    names, were = facts.missing_text(subject, index), "was" if len(subject) == 1 else "were"
    early = f"{_tool_and_number(facts, index)} came too early: {names} {were} due first"
    if not omission.never:
        others = "" if len(group.harms) == 1 else f": {harmful}"
        return f"{early} and came only at {calls_text(sorted(omission.late.values()))}{others}"
    if (last := omission.last_failure) is not None:
        if last < index:
            return f"{names} failed at call {last + 1} and {were} never done: {harmful} after that"
        return f"{early} and failed at call {last + 1}: {harmful}"
    if text := _unexpected_result_text(facts, frozenset(omission.never), index):
        return text
    if not omission.skipped or len(omission.skipped) > MOST_LISTED:
        return f"{early}: {harmful}"
    return _never_done_text(facts, group, omission.skipped, names)


def _never_done_text(facts: Facts, group: Group, skipped: tuple[int, ...], names: str) -> str:
    """Describe the cause if the steps in `skipped` were never done. `names` lists these steps as text."""
    index, one = group.first.index, len(skipped) == 1
    skip = "Skipped" if facts.steps_called(index).isdisjoint(skipped) else "Did not do"
    if len(group.harms) == 1:
        tool = tool_name(facts.steps[index].call.tool)
        return f"{skip} {names}: {tool} was called without {'it' if one else 'them'}"
    steps = "one skipped step" if one else count(len(skipped), "skipped step")
    return f"{skip} {names} before call {index + 1}: {steps}, {count(len(group.harms), 'harmful call')}"


def _unexpected_result_text(facts: Facts, steps: frozenset[int], index: int) -> str:
    """Say that a check in `steps` returned an unexpected result and the agent went on anyway.

    Return an empty string if there was no such check before call `index`.
    """
    check = last_unexpected_result(facts, steps, index)
    if check is None:
        return ""
    how = "went out in the same turn" if facts.in_one_turn(check, index) else "went on all the same"
    call = capitalise(facts.call_text(check))
    return f"{call}, returned something else than the procedure asks for, and {_tool_and_number(facts, index)} {how}"


# Missing results


def _missing_result_text(facts: Facts, group: Group) -> str:
    """Say that the group's first call needs the result of a step that had not been done.

    Return an empty string if no such result is missing.
    """
    index = group.first.index
    nearest = nearest_step(facts, index) if _is_mismatch(facts, group.first) else None
    if nearest is None or not nearest.needs:
        return ""
    needed = _symbols(facts, nearest)
    if needed.intersection(facts.positions[index].done):
        return ""
    call = _tool_and_number(facts, index)
    names = join([step_text(action, facts.scope(index)) for action in nearest.needs])
    late = [step.index for step in facts.steps[index:] if step.kind is Kind.PROGRESS and step.symbol in needed]
    if late:
        return f"{call} came too early: it needs what {names} returns, done only at {calls_text(late)}"
    if text := _unexpected_result_text(facts, needed, index):
        return text
    returns = "it returns" if len(nearest.needs) == 1 else "they return"
    return f"{_not_done_text(facts, needed, names, index)} {call} needs what {returns}"


def _symbols(facts: Facts, nearest: NearestStep) -> frozenset[int]:
    """Return the numbers of the steps in `nearest.needs`, i.e. the steps whose results are missing."""
    alphabet = facts.automaton.alphabet
    return frozenset(symbol for symbol in alphabet.steps if alphabet.actions[symbol] in nearest.needs)


def _not_done_text(facts: Facts, needed: frozenset[int], names: str, index: int) -> str:
    """Start a sentence that says why the `needed` steps were not done before call `index`, e.g. `Skipped check():`."""
    failed = failed_attempts(facts, needed)
    if needed <= failed.keys():
        last = max(failed.values())
        when = f"failed at call {last + 1}" if last < index else f"came only at call {last + 1} and failed"
        return f"{names} {when}, and"
    if facts.steps_called(index).isdisjoint(needed):
        return f"Skipped {names}:"
    return f"{names} had not been done where it was due:"


# Repetitions


def _repetition_text(facts: Facts, group: Group) -> str:
    """Describe a step that was done too often, e.g. `send was called twice, and once was due: call 2 repeats it`.

    Return an empty string if the step was not done too often.
    """
    symbol = facts.steps[group.first.index].symbol
    if symbol is None:
        return ""
    alphabet = facts.automaton.alphabet
    due = facts.score.reference.path.count(alphabet.names[symbol])
    made = sum(step.symbol == symbol and step.kind is not Kind.LOOP for step in facts.steps)
    if not 0 < due < made:
        return ""
    tool = alphabet.actions[symbol].tool
    is_only_step = sum(action.tool == tool for action in alphabet.actions) == 1
    name = tool if is_only_step else facts.step_text(symbol, group.first.index)
    expected = "once was" if due == 1 else f"{due} were"
    repeat = "repeats" if len(group.harms) == 1 else "repeat"
    return f"{name} was called {times_text(made)}, and {expected} due: {calls_text(group.calls)} {repeat} it"


def _tool_and_number(facts: Facts, index: int) -> str:
    """Return a call's tool and number, e.g. `pick (call 3)`."""
    return f"{tool_name(facts.steps[index].call.tool)} (call {index + 1})"
