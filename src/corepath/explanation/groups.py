"""Group harmful calls by reason: one skipped step and its nine consequences are one problem, not ten."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from corepath.automaton.harm import HarmKind
from corepath.automaton.step import Kind, Position, Step
from corepath.automaton.step import step as run_step
from corepath.explanation.edits import take_step
from corepath.explanation.facts import Facts
from corepath.explanation.undo import UndoPair
from corepath.scoring.evidence import Harm

_STAND_INS: Final = (HarmKind.WRONG_ARGUMENT, HarmKind.UNLISTED, HarmKind.OUT_OF_ORDER, HarmKind.FORBIDDEN)
"""The kinds of harmful calls that an agent may have made instead of a step."""


@dataclass(frozen=True)
class Group:
    """Harmful calls with the same reason. The first call is the one to explain.

    If a call was made instead of a skipped step, that call comes first.
    """

    harms: tuple[Harm, ...]
    skipped: tuple[int, ...] = ()
    """The skipped steps that make the calls harmful."""
    back: int | None = None
    """The index of the call that undid the first call, or None if no call did."""

    @property
    def first(self) -> Harm:
        """The group's first harm, which is the one to explain."""
        return self.harms[0]

    @property
    def calls(self) -> tuple[int, ...]:
        """The indexes of the group's calls."""
        return tuple(harm.index for harm in self.harms)


def group_harms(facts: Facts, undone: tuple[UndoPair, ...]) -> tuple[Group, ...]:
    """Group the episode's harms by reason, in the order of the groups' first calls."""
    by_reason: dict[Hashable, list[Harm]] = {}
    undo = _undone_harms(facts, undone)
    for harm in facts.score.harms:
        by_reason.setdefault(undo.get(harm.index) or _reason(facts, harm), []).append(harm)
    groups = [
        Group(
            tuple(harms),
            () if harms[0].cause is None else tuple(facts.symbols[name] for name in harms[0].cause.skipped),
            reason.back if isinstance(reason, UndoPair) else None,
        )
        for reason, harms in by_reason.items()
    ]
    return tuple(_merge_failed_attempts(facts, _merge_stand_ins(facts, groups)))


def _undone_harms(facts: Facts, undone: tuple[UndoPair, ...]) -> dict[int, UndoPair]:
    """Find harmful calls that were undone and that no skipped step explains.

    Each undo pair is stored under the indexes of both of its calls.
    """
    own = {harm.index for harm in facts.score.harms if harm.cause is None}
    return {index: pair for pair in undone if pair.done in own for index in (pair.done, pair.back)}


def _reason(facts: Facts, harm: Harm) -> Hashable:
    """Return the key by which a harm is grouped."""
    step = facts.steps[harm.index]
    match harm.kind:
        case _ if harm.cause is not None:
            return harm.cause
        case HarmKind.FORBIDDEN:
            return harm.kind, step.call.tool, harm.why
        case HarmKind.UNLISTED:
            return harm.kind, step.call.tool
        case HarmKind.UNKNOWN_TOOL | HarmKind.MALFORMED | HarmKind.AFTER_COMPLETION:
            return harm.kind
    return harm.kind, step.token


def _merge_stand_ins(facts: Facts, groups: list[Group]) -> list[Group]:
    """Move each call that was made instead of a skipped step to the front of the group that lacks the step."""
    single = [group.first for group in groups if len(group.harms) == 1 and group.first.cause is None]
    free = {harm.index: harm for harm in single if harm.kind in _STAND_INS}
    merged: dict[int, Group] = {}
    used: set[int] = set()
    for group in groups:
        extended = _with_stand_in(facts, group, free.values())
        if extended is not None:
            used.add(extended.first.index)
            del free[extended.first.index]
            merged[extended.first.index] = extended
        elif group.first.index not in used:
            merged[group.first.index] = group
    return [merged[index] for index in sorted(merged)]


def _with_stand_in(facts: Facts, group: Group, candidates: Iterable[Harm]) -> Group | None:
    """Return `group` with the call that was made instead of a skipped step added at the front.

    Return None if no candidate is such a call.
    """
    if not group.skipped:
        return None
    path = facts.score.reference.path
    instead = {index: facts.symbols[path[place]] for place, index in facts.comparison.instead.items()}
    extended = (
        replace(group, harms=(harm, *group.harms))
        for harm in candidates
        if _was_made_instead(facts, harm.index, group, instead)
    )
    return next((one for one in extended if is_sole_cause(facts, one)), None)


def _was_made_instead(facts: Facts, index: int, group: Group, instead: Mapping[int, int]) -> bool:
    """Whether call `index` was made instead of one of the group's skipped steps."""
    if index > group.calls[0]:
        return False
    if index in instead:
        return instead[index] in group.skipped
    tool = facts.steps[index].call.tool
    return any(facts.automaton.alphabet.actions[symbol].tool == tool for symbol in group.skipped)


def _merge_failed_attempts(facts: Facts, groups: list[Group]) -> list[Group]:
    """Merge each group into an earlier one that contains a failed attempt at one of its skipped steps, if any."""
    merged: list[Group] = []
    for group in groups:
        attempts = {
            step.index for step in facts.steps[: group.first.index]
            if step.kind is Kind.HARM and step.call.failed and step.symbol in group.skipped
            and not _done_between(facts, step, group)
        }  # fmt: skip
        cause = next((place for place, earlier in enumerate(merged) if attempts.intersection(earlier.calls)), None)
        if cause is None:
            merged.append(group)
        else:
            harms = sorted((*merged[cause].harms, *group.harms), key=lambda harm: harm.index)
            merged[cause] = replace(merged[cause], harms=tuple(harms))
    return merged


def _done_between(facts: Facts, step: Step, group: Group) -> bool:
    """Whether the step that the call `step` attempted was done later, but before the group's first call."""
    later = facts.steps[step.index : group.first.index]
    return any(other.kind is Kind.PROGRESS and other.symbol == step.symbol for other in later)


def is_sole_cause(facts: Facts, group: Group) -> bool:
    """Whether none of the group's calls would be harmful if the skipped steps had been done.

    To find out, the steps are inserted before the first call. If no skipped step explains the first call, the
    steps replace that call.
    """
    first, last = group.calls[0], group.calls[-1]
    begin: Position | None = facts.positions[first]
    for symbol in group.skipped:
        begin = None if begin is None else take_step(begin, symbol)
    if begin is None:
        return False
    position = begin
    for step in facts.steps[first + (group.first.cause is None) : last + 1]:
        taken, position = run_step(position, step.call)
        if taken.kind is Kind.HARM and step.index in group.calls:
            return False
    return True


def late_steps(facts: Facts, group: Group) -> dict[int, int]:
    """Map each skipped step that was done later to the index of the first call that did it."""
    found: dict[int, int] = {}
    for step in facts.steps[group.first.index :]:
        if step.kind is Kind.PROGRESS and step.symbol in group.skipped:
            found.setdefault(step.symbol, step.index)
    return found


def failed_attempts(facts: Facts, steps: frozenset[int]) -> dict[int, int]:
    """Return the index of the last failed call for each step in `steps` that was expected and failed."""
    return {
        symbol: step.index for step in facts.steps
        if step.call.failed and step.kind is Kind.LOOP
        for symbol in step.reading.fits if symbol in steps
    }  # fmt: skip


def last_unexpected_result(facts: Facts, steps: frozenset[int], before: int) -> int | None:
    """Return the index of the last call before call `before` that matched a step in `steps` except for its result.

    Return None if there is no such call.
    """
    tried = (
        step.index for step in facts.steps[:before]
        if step.kind is Kind.LOOP and step.symbol is None and not step.call.failed
        and steps.intersection(step.reading.fits)
    )  # fmt: skip
    return max(tried, default=None)
