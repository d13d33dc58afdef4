"""The nearest valid repair: what to leave out, replace, move and add so that the path is a valid one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from corepath.automaton.step import Kind
from corepath.explanation.edits import Edits, Row, changed, kept, refused_after_harm, with_step
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Finding, FindingKind
from corepath.explanation.words import calls_text, listed, sentence
from corepath.scoring.alignment import Pair
from corepath.scoring.evidence import Reference

MOST_EDITS: Final = 4
"""Steps to be put in that are told one by one; a path that lacks more is repaired at its end."""
MOST_STEPS: Final = 12
"""Steps of a golden path that are listed one by one."""


@dataclass(frozen=True)
class Repair:
    """Edits that make the path valid, and the old path beside the new one."""

    edits: Edits
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class _Slot:
    """Steps that come in before a call; `after` is the call of the condensed path before them."""

    after: int
    before: int
    names: tuple[str, ...]


def repair(facts: Facts) -> Repair | None:
    """The repair with the fewest edits of those that are tried, each run to see that it is one."""
    if not facts.score.harms or facts.outside:
        return None
    tried = (*_beside_the_repaired(facts), *_one_more_step(facts), _anew(facts))
    found = [one for edits in tried if edits.size for one in _checked(facts, edits)]
    return min(found, key=lambda one: one.edits.size, default=None)


def _checked(facts: Facts, edits: Edits) -> Iterator[Repair]:
    """The edits if they make the path valid; if need be without the calls that failed after the harm."""
    refused = set(refused_after_harm(facts)).difference(edits.calls)
    without = replace(edits, out=tuple(sorted({*edits.out, *refused})))
    for one in (edits, without) if refused else (edits,):
        rows = changed(facts, one)
        if rows is not None and changed(facts, one, mended=True) is not None:
            yield Repair(one, rows)
            return


def repaired(facts: Facts, found: Repair | None) -> Iterator[Finding]:
    """What to change, and the golden path that is nearest."""
    if not facts.score.harms or facts.outside:
        return
    names = facts.score.reference.path
    shown = [facts.name_text(name, len(facts.steps)) for name in names[:MOST_STEPS]]
    if len(names) > MOST_STEPS:
        shown.append(f"{len(names) - MOST_STEPS} more")
    text = [] if found is None else [f"nearest repair: {'; '.join(_told(facts, found.edits))}"]
    text.append(f"nearest golden path: {' → '.join(shown) or 'no call at all'}")
    yield Finding(FindingKind.REPAIR, " ".join(map(sentence, text)), () if found is None else found.edits.calls)


def _anew(facts: Facts) -> Edits:
    """None of the harmful calls, and the shortest way on from where the run stood."""
    added = {len(facts.steps): facts.way_on} if facts.way_on else {}
    return Edits(tuple(harm.index for harm in facts.score.harms), added=added)


def _one_more_step(facts: Facts) -> Iterator[Edits]:
    """A step put in before the first harmful call, where that call is then a step."""
    first = facts.score.harms[0].index
    before = facts.positions[first]
    for symbol in facts.automaton.due(before.state):
        after = with_step(before, symbol)
        if after is not None and kept(facts, after, first)[1] is not None:
            yield Edits(added={first: (symbol,)})


def _beside_the_repaired(facts: Facts) -> Iterator[Edits]:
    """What the path lacks and has too much beside the repaired one; none where little of the path would stay."""
    names, path = facts.score.condensed, facts.score.repair.path
    out: list[int] = []
    replaced: dict[int, int] = {}
    slots: list[_Slot] = []
    waiting: list[str] = []
    last = -1
    for mine, theirs in [*facts.laid_out(_without_fillers(facts)), Pair(None, None)]:
        if mine is None and theirs is not None:
            waiting += [path[theirs]] if path[theirs] in facts.symbols else []
            continue
        index = len(facts.steps) if mine is None else facts.score.trace.condensed[mine].index
        if waiting:
            slots.append(_Slot(last, index, tuple(waiting)))
            waiting = []
        last = index
        if mine is not None and theirs is None:
            out.append(index)
        elif mine is not None and theirs is not None and names[mine] != path[theirs]:
            replaced[index] = facts.symbols[path[theirs]]
    put_in = {name for slot in slots for name in slot.names}
    lost = [*replaced, *(index for index in out if _label(facts, index) not in put_in)]
    few = len(replaced) + sum(len(slot.names) for slot in slots) <= MOST_EDITS
    if (
        len(names) > len(out) + len(replaced)
        and few
        and not any(facts.steps[index].kind is Kind.PROGRESS for index in lost)
    ):
        yield _shorter(facts, out, replaced, slots)
        yield Edits(tuple(out), replaced, added={slot.before: _symbols(facts, slot) for slot in slots})


def _shorter(facts: Facts, dropped: list[int], put: dict[int, int], slots: list[_Slot]) -> Edits:
    """The same with calls moved rather than left out and made again, and with what is there already."""
    out, replaced, moved, added = list(dropped), dict(put), dict[int, int](), dict[int, tuple[int, ...]]()
    for slot in slots:
        if _there_already(facts, slot):
            continue
        name = slot.names[0]
        like = next((index for index in out if _label(facts, index) == name), None)
        beside = next((index for index in out if index in (slot.after, slot.before)), None)
        if len(slot.names) > 1 or (like is None and beside is None):
            added[slot.before] = _symbols(facts, slot)
        elif like is not None:
            out.remove(like)
            moved[like] = slot.before
        elif beside is not None:
            out.remove(beside)
            replaced[beside] = facts.symbols[name]
    return Edits(tuple(out), replaced, moved, added)


def _without_fillers(facts: Facts) -> Reference:
    """The repaired path but for what changes nothing where it stands for a call: as good as leaving the call out."""
    names, path = facts.score.condensed, facts.score.repair.path
    pairs = [
        Pair(mine, None)
        if mine is not None and theirs is not None and names[mine] != path[theirs]
        and _is_filler(facts, facts.score.trace.condensed[mine].index, path[theirs])
        else Pair(mine, theirs)
        for mine, theirs in facts.score.repair.alignment
    ]  # fmt: skip
    return replace(facts.score.repair, alignment=tuple(pairs))


def _is_filler(facts: Facts, index: int, name: str) -> bool:
    """Whether a step changes nothing where a call stands."""
    state = facts.steps[index].before
    return name not in facts.symbols or facts.automaton.delta[state].get(facts.symbols[name]) == state


def _told(facts: Facts, edits: Edits) -> Iterator[str]:
    end = len(facts.steps)
    if edits.out:
        yield f"leave out {calls_text(edits.out)}"
    for index, symbol in sorted(edits.replaced.items()):
        yield f"put {facts.step_text(symbol, index)} in the place of call {index + 1}"
    for index, before in edits.moved.items():
        yield f"move {facts.call_text(index)}, {'to the end' if before == end else f'before call {before + 1}'}"
    on = set(edits.out) >= set(_anew(facts).out) and not edits.replaced
    for before, symbols in edits.added.items():
        steps = listed([facts.step_text(symbol, before) for symbol in symbols], most=4)
        where = "at the end" if before == end else f"before call {before + 1}"
        yield f"go on with {steps}" if on and before == end else f"add {steps} {where}"


def _there_already(facts: Facts, slot: _Slot) -> bool:
    """Whether the calls are made there, and would count once the rest is mended."""
    made = [facts.label(step.index) for step in facts.early if slot.after < step.index < slot.before]
    return list(slot.names) == made


def _symbols(facts: Facts, slot: _Slot) -> tuple[int, ...]:
    return tuple(facts.symbols[name] for name in slot.names)


def _label(facts: Facts, index: int) -> str:
    return facts.score.trace.label(facts.steps[index])
