"""Find the mistakes in an episode: what the repair mends, and the harmful calls that follow from it.

A skipped step and its nine consequences are one mistake, not ten. Headline, cause, notes and findings all speak of the
same mistakes, and so agree with the fix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from corepath.automaton.harm import HarmKind
from corepath.explanation.arguments import differing_arguments
from corepath.explanation.edits import PathEdit, Repair
from corepath.explanation.facts import Facts
from corepath.explanation.mistake import SPREADING, Mistake, MistakeKind
from corepath.explanation.necessity import times_needed
from corepath.explanation.undo import UndoPair
from corepath.scoring.evidence import Harm


def find_mistakes(facts: Facts, repair: Repair | None, undone: Sequence[UndoPair]) -> tuple[Mistake, ...]:
    """Find the mistakes that a repair mends, in the order in which they were made."""
    builder = _Builder(facts, {harm.index: harm for harm in facts.score.harms})
    if repair is not None:
        builder.read(repair)
    builder.assign_harms()
    builder.assign_failures()
    builder.tell_apart()
    return tuple(_merge(facts, sorted(builder.found, key=lambda one: one.call), undone))


@dataclass
class _Builder:
    """Turns edits into mistakes."""

    facts: Facts
    harms: dict[int, Harm]
    found: list[Mistake] = field(default_factory=list)
    _path: tuple[PathEdit, ...] = ()
    _mended: set[int] = field(default_factory=set)
    _broken: frozenset[int] | None = None
    _needs: dict[int, frozenset[int]] = field(default_factory=dict)
    _open: set[int] = field(default_factory=set)
    """The calls that several ways lead to, with no step in common."""

    @property
    def _end(self) -> int:
        return len(self.facts.steps)

    def read(self, repair: Repair) -> None:
        """Find the mistake that each edit mends. Steps that are missing before one call are one mistake."""
        self._path, self._broken = repair.path, repair.broken
        self._mended = {edit.call for edit in repair.edits if edit.call is not None}
        for place, edit in enumerate(repair.path):
            if edit.kind == "add":
                call = self._call_after(place)
                before = edit.place if edit.place < self._end == call else None
                before_it = (one.call for one in repair.path[:place] if one.kind == "keep" and one.call is not None)
                after = max((one for one in before_it if one < call), default=None)
                self._add(Mistake(_kind_of_gap(call, self._end), call, _steps(edit), other=before, after=after))
            elif edit.kind == "move" and edit.call is not None:
                self.found.append(self._read_move(place, edit.call, edit))
            elif edit.kind != "keep" and edit.call is not None:
                kind = self._kind_of_call(edit.call, edit.symbol)
                self.found.append(Mistake(kind, edit.call, _steps(edit), self._harms_of(edit.call)))
        early = {one.call for one in self.found if one.kind is MistakeKind.SKIPPED}
        self.found = [
            replace(one, is_early=one.kind is MistakeKind.WRONG_ARGUMENT and one.call in early,
                    has_choice=one.call in self._open) for one in self.found
        ]  # fmt: skip
        for one in [one for one in self.found if one.kind is MistakeKind.WRONG_ARGUMENT and self._is_vague(one)]:
            self._drop_comparison(one)
        self._gather_tries()

    def _is_vague(self, one: Mistake) -> bool:
        """Whether a call with wrong arguments came too early for its step, and may not have been meant for it.

        The tool may have refused it, no other call may be a step, or it may be as much like another step.
        """
        automaton, symbol = self.facts.automaton, one.steps[0]
        state = self.facts.score.trace.begin.state
        for edit in self._path:
            if edit.call == one.call:
                break
            if edit.symbol is not None and edit.kind != "add":
                state = automaton.delta[state].get(edit.symbol, state)
        if symbol in automaton.due(state):
            return False
        if self.facts.is_refused(one.call) or not any(edit.kind in ("keep", "move") for edit in self._path):
            return True
        ahead = automaton.ahead[self.facts.positions[one.call].state]
        like = [other for other in automaton.alphabet.steps - {symbol}
                if ahead >> other & 1 and self._is_same_tool(one.call, other)]  # fmt: skip
        far = len(differing_arguments(self.facts, one.call, symbol))
        return any(len(differing_arguments(self.facts, one.call, other)) <= far for other in like)

    def _drop_comparison(self, one: Mistake) -> None:
        """Take a call with wrong arguments for an unwanted one if it is harmful, and its step for a missing one."""
        missing = [
            *(other for other in self.found if other.kind is MistakeKind.SKIPPED and other.call == one.call),
            one,
        ]
        self.found = [other for other in self.found if other not in missing]
        if one.harms:
            self.found.append(replace(one, kind=MistakeKind.EXTRA, steps=(), is_early=False, has_choice=False))
        for other in missing:
            self._add(Mistake(MistakeKind.UNFINISHED, self._end, other.steps))

    def _gather_tries(self) -> None:
        """Tell calls that are left out with the one that is changed, if they tried the same step."""
        for number, one in enumerate(self.found):
            if one.kind is MistakeKind.WRONG_ARGUMENT:
                same = [other for other in self.found if self._tried_the_same(one, other)]
                harms = sorted((*one.harms, *(harm for other in same for harm in other.harms)), key=_index)
                tries = sorted((one.call, *(other.call for other in same))) if same else ()
                self.found[number] = replace(one, harms=tuple(harms), tries=tuple(tries))
        told = {call for one in self.found for call in one.tries if call != one.call}
        self.found = [one for one in self.found if one.call not in told]

    def _tried_the_same(self, one: Mistake, other: Mistake) -> bool:
        """Whether `other` is a call that is left out, and that is more like the step of `one` than like other steps."""
        symbol = one.steps[0]
        if other.kind is not MistakeKind.EXTRA or not other.harms or not self._is_same_tool(other.call, symbol):
            return False
        alphabet = self.facts.automaton.alphabet
        like = {step: len(differing_arguments(self.facts, other.call, step)) for step in sorted(alphabet.steps)
                if alphabet.actions[step].tool == alphabet.actions[symbol].tool}  # fmt: skip
        fields = len(alphabet.actions[symbol].arguments.fields)
        is_like = like[symbol] < fields or fields == 1
        return is_like and symbol == min(like, key=lambda step: (like[step], step != symbol))

    def _add(self, made: Mistake) -> None:
        for number, one in enumerate(self.found):
            if (one.kind, one.call) == (made.kind, made.call):
                other = made.other if one.other is None else one.other
                self.found[number] = replace(one, steps=(*one.steps, *made.steps), other=other)
                return
        self.found.append(made)

    def _call_after(self, place: int) -> int:
        """Return the next call of the old path that needs what is put in at a place of the new one.

        That is a call that stays, or that ran with wrong arguments. Return the number of calls if there is none.
        """
        for number, one in enumerate(self._path[place + 1 :], place + 1):
            if one.call is None or not self._lacks_steps(one.call, one.symbol):
                continue
            is_wrong = one.kind == "change" and self._is_same_tool(one.call, one.symbol)
            stays = one.kind == "keep" or (is_wrong and not self.facts.is_refused(one.call))
            if stays and place in self._needed(number, one.call, one.symbol):
                return one.call
        return self._end

    def _needed(self, number: int, call: int, symbol: int | None) -> frozenset[int]:
        """Return the places of the new path with steps that must come before the step that `call` is, at `number`.

        No right path can do that step before them, given what the agent had done by then. If there are several ways
        to go on and they have no step in common, these are the steps of the way that the repair takes.
        """
        if number not in self._needs:
            state, places = self.facts.positions[call].state, self._undone_before(number, call)
            same = [self._path[place].call for place in places.get(-1 if symbol is None else symbol, ())]
            times = 1 + sum(made is not None and made < call for made in same)
            needed = {
                place for step, listed in places.items() if symbol is not None
                for place in listed[: times_needed(self.facts.automaton, state, step, symbol, times)]
            }  # fmt: skip
            if not needed:
                self._open.add(call)
            self._needs[number] = frozenset(needed or set(range(number)) - self._not_needed(number))
        return self._needs[number]

    def _undone_before(self, number: int, call: int) -> dict[int, list[int]]:
        """Return the places of the new path before `number` with steps that were not done before `call`, by step."""
        found: dict[int, list[int]] = {}
        for place, one in enumerate(self._path[:number]):
            is_done = one.kind == "keep" and one.call is not None and one.call < call
            if one.symbol is not None and not (is_done and self.facts.steps[one.call or 0].advances):
                found.setdefault(one.symbol, []).append(place)
        return found

    def _not_needed(self, number: int) -> frozenset[int]:
        """Return the places before a step of the new path where steps are added without which it would do as well."""
        found: frozenset[int] = frozenset()
        for place in reversed(range(number)):
            if self._path[place].kind == "add" and self._goes_without(found | {place}, number):
                found |= {place}
        return found

    def _goes_without(self, places: frozenset[int], number: int) -> bool:
        """Whether the new path is right up to a step if nothing is put in at `places`."""
        automaton, state = self.facts.automaton, self.facts.score.trace.begin.state
        for place, one in enumerate(self._path[: number + 1]):
            if one.symbol is not None and place not in places:
                before, state = state, automaton.delta[state].get(one.symbol, state)
                if before == state:
                    return False
        return True

    def _lacks_steps(self, index: int, symbol: int | None) -> bool:
        """Whether a call could not have been this step when it was made, because other steps must come first."""
        return symbol is None or symbol not in self.facts.automaton.due(self.facts.positions[index].state)

    def _read_move(self, place: int, call: int, edit: PathEdit) -> Mistake:
        """Return the mistake of a call that came too late, or too early.

        Either way the call at fault is the one that came too early, and `other` is the one that must come first. If
        only calls that are no steps must come first, there is no other call, and there are no steps.
        """
        if edit.place < call:
            early = self._call_after(place)
            if early > call:  # calls that are no steps came too early
                early = next((one for one in range(edit.place, call) if one in self.harms), edit.place)
            return Mistake(MistakeKind.TOO_EARLY, early, _steps(edit), self._harms_of(call), call)
        first = self._needed_step(place, call, edit.symbol)
        if first is None:
            return Mistake(MistakeKind.TOO_EARLY, call, (), self._harms_of(call))
        other = None if first.kind in ("add", "change") else first.call
        return Mistake(MistakeKind.TOO_EARLY, call, _steps(first), self._harms_of(call), other)

    def _needed_step(self, place: int, call: int, symbol: int | None) -> PathEdit | None:
        """Return the step after which a call is expected that is moved to a later place, or None if there is none.

        Of the steps that come before the call only in the new path, it is the first one after which the call fits. If
        there are steps without which the call cannot be right, it is one of them.
        """
        automaton, state = self.facts.automaton, self.facts.positions[call].state
        new = [one for one in self._path[:place] if one.symbol is not None and (one.call is None or one.call > call)]
        must = [one for one in new if one.symbol is not None and symbol is not None
                and times_needed(automaton, state, one.symbol, symbol)]  # fmt: skip
        if not must:
            self._open.add(call)
        for one in new:
            if one.symbol is not None:
                state = automaton.delta[state].get(one.symbol, state)
            if symbol in automaton.due(state) and (one in must or not must):
                return one
        return (must or new)[-1] if new else None

    def _kind_of_call(self, index: int, symbol: int | None) -> MistakeKind:
        if symbol is None:
            return MistakeKind.EXTRA
        return MistakeKind.WRONG_ARGUMENT if self._is_same_tool(index, symbol) else MistakeKind.OTHER_CALL

    def _is_same_tool(self, index: int, symbol: int | None) -> bool:
        call = self.facts.steps[index].call
        if symbol is None or call.malformed:
            return False
        return call.tool == self.facts.automaton.alphabet.actions[symbol].tool

    def _harms_of(self, index: int) -> tuple[Harm, ...]:
        return (self.harms[index],) if index in self.harms else ()

    def assign_harms(self) -> None:
        """Assign the harmful calls that the repair keeps to the mistakes that they follow from."""
        for index, harm in self.harms.items():
            if index in self._mended:
                continue
            earlier = [place for place, one in enumerate(self.found) if one.kind in SPREADING and one.call <= index]
            if not earlier or self._breaks_anyway(index):
                self.found.append(Mistake(self._kind_of_rest(index), index, (), (harm,)))
                continue
            place = max(earlier, key=lambda place: (self.found[place].call, place))
            harms = sorted((*self.found[place].harms, harm), key=lambda one: one.index)
            self.found[place] = replace(self.found[place], harms=tuple(harms))

    def assign_failures(self) -> None:
        """Assign calls that failed, are no harms, and are steps in the repaired path, to the mistakes before them."""
        kept = [edit.call for edit in self._path if edit.kind == "keep" and edit.call is not None]
        for index in kept:
            earlier = [place for place, one in enumerate(self.found) if one.kind in _DECIDING and one.call < index]
            if self.facts.is_refused(index) and index not in self.harms and earlier:
                place = max(earlier, key=lambda place: (self.found[place].call, place))
                self.found[place] = replace(self.found[place], failed=(*self.found[place].failed, index))

    def _kind_of_rest(self, index: int) -> MistakeKind:
        """Return the kind of a harmful call that the repair keeps and that follows from no missing step."""
        unwanted = any(one.kind is MistakeKind.EXTRA and one.call < index for one in self.found)
        return MistakeKind.FOLLOWS if unwanted and not self._breaks_anyway(index) else MistakeKind.BREACH

    def _breaks_anyway(self, index: int) -> bool:
        """Whether a call breaks a policy even after the repair."""
        step = self.facts.steps[index]
        if not step.only_breaks or (step.breach is not None and step.breach.consequence):
            return False
        return self._broken is None or index in self._broken

    def tell_apart(self) -> None:
        """Take calls that have little to do with the step in their place for unwanted calls and missing steps.

        A call that is the only mistake, or that others follow from, stands for the step.
        """
        is_alone = len(self.found) == 1
        for number, one in enumerate(self.found):
            if not is_alone and len(one.harms) + len(one.failed) <= 1 and self._has_little_to_do(one):
                self.found[number] = replace(one, kind=MistakeKind.EXTRA, steps=())
                self._add(Mistake(MistakeKind.UNFINISHED, self._end, one.steps))
        self.found = [replace(one, steps=self._in_order(one.steps)) for one in self.found]

    def _in_order(self, steps: tuple[int, ...]) -> tuple[int, ...]:
        """Return missing steps in the order in which the repair puts them in."""
        left = Counter(steps)
        put_in = [edit.symbol for edit in self._path if edit.symbol is not None and edit.kind != "keep"]
        found: list[int] = []
        for symbol in put_in:
            if left[symbol]:
                left[symbol] -= 1
                found.append(symbol)
        return tuple(found) if len(found) == len(steps) else steps

    def _has_little_to_do(self, one: Mistake) -> bool:
        if one.kind is MistakeKind.OTHER_CALL:
            return True
        if one.kind is not MistakeKind.WRONG_ARGUMENT:
            return False
        fields = self.facts.automaton.alphabet.actions[one.steps[0]].arguments.fields
        return 1 < len(fields) <= len(differing_arguments(self.facts, one.call, one.steps[0]))


_DECIDING: Final = (*SPREADING, MistakeKind.EXTRA)
"""The mistakes that make later calls fail."""


def _index(harm: Harm) -> int:
    return harm.index


def _steps(edit: PathEdit) -> tuple[int, ...]:
    return () if edit.symbol is None else (edit.symbol,)


def _kind_of_gap(call: int, end: int) -> MistakeKind:
    return MistakeKind.UNFINISHED if call == end else MistakeKind.SKIPPED


def _merge(facts: Facts, mistakes: Iterable[Mistake], undone: Sequence[UndoPair]) -> Iterator[Mistake]:
    """Merge calls that are wrong for the same reason, and calls with those that undid them."""
    backs = {pair.back: pair.done for pair in undone}
    merged: dict[Hashable, Mistake] = {}
    for one in mistakes:
        key = _reason(facts, one, backs)
        if key not in merged:
            merged[key] = one
        elif one.call in backs:
            merged[key] = _join(merged[key], one, other=one.call)
        else:
            merged[key] = _join(merged[key], one, other=merged[key].other)
    undone_by = {pair.done: pair.back for pair in undone}
    for one in merged.values():
        is_undone = one.kind is MistakeKind.EXTRA and one.other is None and one.call in undone_by
        yield replace(one, other=undone_by[one.call]) if is_undone else _lead(facts, one)


def _join(one: Mistake, more: Mistake, other: int | None) -> Mistake:
    """Join two mistakes that are told together."""
    return replace(one, harms=(*one.harms, *more.harms), failed=(*one.failed, *more.failed), other=other)


def _lead(facts: Facts, one: Mistake) -> Mistake:
    """Blame the first of several like calls that took effect, rather than one that did not."""
    if one.kind not in (MistakeKind.EXTRA, MistakeKind.BREACH) or one.other is not None:
        return one
    took = next((harm.index for harm in one.harms if facts.took_effect(harm)), None)
    return one if took is None else replace(one, call=took)


def _reason(facts: Facts, one: Mistake, backs: dict[int, int]) -> Hashable:
    """Return a key that is the same for mistakes that are told together."""
    first = one.first
    if one.kind not in (MistakeKind.EXTRA, MistakeKind.BREACH, MistakeKind.FOLLOWS) or first is None:
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
