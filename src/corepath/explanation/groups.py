"""Harmful calls by their reason: one skipped step and its consequences are one thing to know, not nine."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from corepath.automaton.harm import HarmKind
from corepath.automaton.step import Kind, Position, Step
from corepath.automaton.step import step as run_step
from corepath.explanation.edits import with_step
from corepath.explanation.facts import Facts
from corepath.explanation.undone import Pair
from corepath.scoring.evidence import Harm

_OTHER_CALLS: Final = (HarmKind.WRONG_ARGUMENT, HarmKind.UNLISTED, HarmKind.OUT_OF_ORDER, HarmKind.FORBIDDEN)
"""Kinds of calls that may stand in the place of a step."""


@dataclass(frozen=True)
class Group:
    """Harmful calls that have one reason; the first of them is what it is about.

    `skipped` are the steps without which they are harmful. Where another call stands in the place of such a step, that
    call is the first of the group. `back` is the call that undid the first.
    """

    harms: tuple[Harm, ...]
    skipped: tuple[int, ...] = ()
    back: int | None = None

    @property
    def first(self) -> Harm:
        """The harm that it is about."""
        return self.harms[0]

    @property
    def calls(self) -> tuple[int, ...]:
        """The indices of its calls."""
        return tuple(harm.index for harm in self.harms)


def groups(facts: Facts, undone: tuple[Pair, ...]) -> tuple[Group, ...]:
    """The harms of an episode by their reason, in the order in which they begin."""
    by_reason: dict[Hashable, list[Harm]] = {}
    back = _taken_back(facts, undone)
    for harm in facts.score.harms:
        by_reason.setdefault(back.get(harm.index) or _reason(facts, harm), []).append(harm)
    made = [
        Group(
            tuple(harms),
            () if harms[0].cause is None else tuple(facts.symbols[name] for name in harms[0].cause.skipped),
            reason.back if isinstance(reason, Pair) else None,
        )
        for reason, harms in by_reason.items()
    ]
    return tuple(_chained(facts, _with_stand_ins(facts, made)))


def _taken_back(facts: Facts, undone: tuple[Pair, ...]) -> dict[int, Pair]:
    """The harmful calls that belong to a pair of which the first is harmful of itself."""
    own = {harm.index for harm in facts.score.harms if harm.cause is None}
    return {index: pair for pair in undone if pair.done in own for index in (pair.done, pair.back)}


def _reason(facts: Facts, harm: Harm) -> Hashable:
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


def _with_stand_ins(facts: Facts, made: list[Group]) -> list[Group]:
    """Put a call that stands in the place of a skipped step before the consequences of the skipping."""
    alone = {group.first.index: group.first for group in made if _is_alone(group) and group.first.kind in _OTHER_CALLS}
    path = facts.score.reference.path
    stands_for = {index: facts.symbols[path[place]] for place, index in facts.beside.instead.items()}
    merged: dict[int, Group] = {}
    taken: set[int] = set()
    for group in made:
        root = next(
            (
                one for one in alone
                if one not in taken and _is_for(facts, one, group, stands_for)
                and is_enough(facts, replace(group, harms=(alone[one], *group.harms)))
            ),
            None,
        )  # fmt: skip
        if root is not None:
            taken.add(root)
            group = replace(group, harms=(alone[root], *group.harms))  # noqa: PLW2901
        if root is not None or group.first.index not in taken:
            merged[group.first.index] = group
    return [merged[index] for index in sorted(merged)]


def _chained(facts: Facts, made: list[Group]) -> list[Group]:
    """Put harms for want of a step that a harmful call tried in vain to that call: one thing led to the next."""
    chained: list[Group] = []
    for group in made:
        vain = {
            step.index for step in facts.steps[: group.first.index]
            if step.kind is Kind.HARM and step.call.failed and step.symbol in group.skipped
            and not _done_between(facts, step, group)
        }  # fmt: skip
        cause = next((place for place, one in enumerate(chained) if vain.intersection(one.calls)), None)
        if cause is None:
            chained.append(group)
        else:
            harms = sorted((*chained[cause].harms, *group.harms), key=lambda harm: harm.index)
            chained[cause] = replace(chained[cause], harms=tuple(harms))
    return chained


def _done_between(facts: Facts, step: Step, group: Group) -> bool:
    later = facts.steps[step.index : group.first.index]
    return any(one.kind is Kind.PROGRESS and one.symbol == step.symbol for one in later)


def _is_alone(group: Group) -> bool:
    return len(group.harms) == 1 and group.first.cause is None


def _is_for(facts: Facts, index: int, group: Group, stands_for: Mapping[int, int]) -> bool:
    """Whether a call stands in the place of a step that the group lacks."""
    if not group.skipped or index > group.calls[0]:
        return False
    if index in stands_for:
        return stands_for[index] in group.skipped
    tool = facts.steps[index].call.tool
    return any(facts.automaton.alphabet.actions[symbol].tool == tool for symbol in group.skipped)


def is_enough(facts: Facts, group: Group) -> bool:
    """Whether none of the group's calls is harmful once the steps are done that it lacks.

    They are done before its first call; in the place of it, where it is harmful of itself.
    """
    first, last = group.calls[0], group.calls[-1]
    begin: Position | None = facts.positions[first]
    for symbol in group.skipped:
        begin = None if begin is None else with_step(begin, symbol)
    if begin is None:
        return False
    position = begin
    for one in facts.steps[first + (group.first.cause is None) : last + 1]:
        taken, position = run_step(position, one.call)
        if taken.kind is Kind.HARM and one.index in group.calls:
            return False
    return True


def done_later(facts: Facts, group: Group) -> dict[int, int]:
    """Of the steps that a group lacks, those that came after all, and at which call."""
    found: dict[int, int] = {}
    for step in facts.steps[group.first.index :]:
        if step.kind is Kind.PROGRESS and step.symbol in group.skipped:
            found.setdefault(step.symbol, step.index)
    return found


def returned_else(facts: Facts, steps: frozenset[int], before: int) -> int | None:
    """The last call before another that was one of these steps but for what it returned."""
    tried = (
        step.index for step in facts.steps[:before]
        if step.kind is Kind.LOOP and step.symbol is None and not step.call.failed
        and steps.intersection(step.reading.fits)
    )  # fmt: skip
    return max(tried, default=None)


def refused(facts: Facts, steps: frozenset[int]) -> dict[int, int]:
    """Of these steps those that were tried where they were due and failed, and the last such call."""
    return {
        symbol: step.index for step in facts.steps
        if step.call.failed and step.kind is Kind.LOOP
        for symbol in step.reading.fits if symbol in steps
    }  # fmt: skip
