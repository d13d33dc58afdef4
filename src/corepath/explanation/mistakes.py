"""Find the mistakes in an episode: what the repair mends, and the harmful calls that follow from it.

A skipped step and its nine consequences are one mistake, not ten. Headline, cause, notes and findings all speak of the
same mistakes, and so agree with the fix.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from corepath.automaton.harm import HarmKind
from corepath.automaton.step import Kind
from corepath.explanation.edits import PathEdit, Repair
from corepath.explanation.facts import Facts
from corepath.explanation.undo import UndoPair
from corepath.scoring.evidence import Harm


class MistakeKind(StrEnum):
    """What is wrong: the edit that would mend it."""

    SKIPPED = "skipped"
    """Steps are missing before a call."""
    TOO_EARLY = "too early"
    """A call came before a step that must come first, and that came later."""
    WRONG_ARGUMENT = "wrong argument"
    """A call differs from a step only in its arguments."""
    OTHER_CALL = "other call"
    """A call to another tool was made instead of a step."""
    EXTRA = "extra"
    """A call should not have been made."""
    UNFINISHED = "unfinished"
    """Steps are missing at the end."""
    BREACH = "breach"
    """A step broke a rule. No edit of the path mends that."""


@dataclass(frozen=True)
class Mistake:
    """A mistake and what follows from it.

    `call` is the index of the call at fault, or the number of calls if steps are missing at the end. `steps` holds the
    numbers of the steps that are missing or expected instead. `harms` holds the harmful calls that the mistake
    explains, in order. `other` is the index of the call that was made too late, or of the call that undid this one.
    """

    kind: MistakeKind
    call: int
    steps: tuple[int, ...] = ()
    harms: tuple[Harm, ...] = ()
    other: int | None = None

    @property
    def first(self) -> Harm | None:
        """The harm of the call at fault, or None if that call is not harmful."""
        return next((harm for harm in self.harms if harm.index == self.call), None)

    @property
    def calls(self) -> tuple[int, ...]:
        """The indexes of the harmful calls, or of the call at fault if none is harmful."""
        if self.harms:
            return tuple(harm.index for harm in self.harms)
        return () if self.kind is MistakeKind.UNFINISHED else (self.call,)

    @property
    def effected(self) -> bool:
        """Whether one of the harmful calls took effect."""
        return any(harm.effected for harm in self.harms)


def find_mistakes(facts: Facts, repair: Repair | None, undone: Sequence[UndoPair]) -> tuple[Mistake, ...]:
    """Find the mistakes that a repair mends, in the order in which they were made."""
    builder = _Builder(facts, {harm.index: harm for harm in facts.score.harms})
    for edit in () if repair is None else repair.edits:
        builder.add(edit)
    builder.assign_harms()
    return tuple(_merge(facts, sorted(builder.found, key=lambda one: one.call), undone))


@dataclass
class _Builder:
    """Turns edits into mistakes."""

    facts: Facts
    harms: dict[int, Harm]
    found: list[Mistake] = field(default_factory=list)
    _mended: set[int] = field(default_factory=set)

    def add(self, edit: PathEdit) -> None:
        """Add the mistake that an edit mends. Steps that are added in one place are one mistake."""
        made = self._make(edit)
        last = self.found[-1] if self.found else None
        if edit.kind == "add" and last is not None and (last.kind, last.call) == (made.kind, made.call):
            self.found[-1] = replace(last, steps=(*last.steps, *made.steps))
        else:
            self.found.append(made)

    def _make(self, edit: PathEdit) -> Mistake:
        steps: tuple[int, ...] = () if edit.symbol is None else (edit.symbol,)
        if edit.kind == "add":
            kind = MistakeKind.UNFINISHED if edit.place == len(self.facts.steps) else MistakeKind.SKIPPED
            return Mistake(kind, edit.place, steps)
        assert edit.call is not None
        self._mended.add(edit.call)
        if edit.kind == "move":
            return self._make_move(edit.call, edit.place, steps)
        own = self._harms_of(edit.call)
        if edit.kind == "leave out":
            return Mistake(MistakeKind.EXTRA, edit.call, (), own)
        call, action = self.facts.steps[edit.call].call, self.facts.automaton.alphabet.actions[steps[0]]
        same = call.tool == action.tool and not call.malformed
        return Mistake(MistakeKind.WRONG_ARGUMENT if same else MistakeKind.OTHER_CALL, edit.call, steps, own)

    def _make_move(self, call: int, place: int, steps: tuple[int, ...]) -> Mistake:
        """Return the mistake of a call that came too late, or too early.

        Either way the call at fault is the one that came too early, and `other` is the one that must come first.
        """
        if place > call:
            between = [step.index for step in self.facts.steps[call + 1 : place] if step.kind is not Kind.LOOP]
            needed = between[-1] if between else call
            symbol = self.facts.symbol(self.facts.steps[needed])
            return Mistake(MistakeKind.TOO_EARLY, call, steps if symbol is None else (symbol,),
                           self._harms_of(call), needed)  # fmt: skip
        between = [step.index for step in self.facts.steps[place:call] if step.kind is not Kind.LOOP]
        return Mistake(MistakeKind.TOO_EARLY, between[0] if between else place, steps, self._harms_of(call), call)

    def _harms_of(self, index: int) -> tuple[Harm, ...]:
        return (self.harms[index],) if index in self.harms else ()

    def assign_harms(self) -> None:
        """Assign the harmful calls that the repair keeps to the mistakes that they follow from."""
        for index, harm in self.harms.items():
            if index in self._mended:
                continue
            earlier = [
                place for place, one in enumerate(self.found)
                if one.kind is not MistakeKind.EXTRA and one.call <= index
            ]  # fmt: skip
            if not earlier or self.facts.steps[index].only_breaks:
                self.found.append(Mistake(MistakeKind.BREACH, index, (), (harm,)))
                continue
            place = max(earlier, key=lambda place: (self.found[place].call, place))
            harms = sorted((*self.found[place].harms, harm), key=lambda one: one.index)
            self.found[place] = replace(self.found[place], harms=tuple(harms))


def _merge(facts: Facts, mistakes: Iterable[Mistake], undone: Sequence[UndoPair]) -> Iterator[Mistake]:
    """Merge calls that are wrong for the same reason, and calls with those that undid them."""
    backs = {pair.back: pair.done for pair in undone}
    merged: dict[Hashable, Mistake] = {}
    for one in mistakes:
        key = _reason(facts, one, backs)
        if key not in merged:
            merged[key] = one
        elif one.call in backs:
            merged[key] = replace(merged[key], harms=(*merged[key].harms, *one.harms), other=one.call)
        else:
            merged[key] = replace(merged[key], harms=(*merged[key].harms, *one.harms))
    yield from merged.values()


def _reason(facts: Facts, one: Mistake, backs: dict[int, int]) -> Hashable:
    """Return a key that is the same for mistakes that are told together."""
    first = one.first
    if one.kind not in (MistakeKind.EXTRA, MistakeKind.BREACH) or first is None:
        return one.kind, one.call
    step = facts.steps[one.call]
    if one.call in backs:
        return "undone", backs[one.call]
    if one.call in backs.values():
        return "undone", one.call
    match first.kind:
        case HarmKind.FORBIDDEN:
            return one.kind, first.kind, step.call.tool, first.why
        case HarmKind.UNLISTED:
            return one.kind, first.kind, step.call.tool
        case HarmKind.UNKNOWN_TOOL | HarmKind.MALFORMED | HarmKind.AFTER_COMPLETION:
            return one.kind, first.kind
    return one.kind, first.kind, step.token
