"""The nearest valid repair: what to leave out, replace, move and add so that the path is a valid one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from corepath.explanation.facts import Facts
from corepath.explanation.findings import Finding, FindingKind
from corepath.explanation.words import calls_text, listed, sentence
from corepath.metrics.alignment import Pair
from corepath.score import Reference
from corepath.trace import Kind

MOST_EDITS: Final = 4
"""Steps to be put in that are told one by one; a path that lacks more is repaired at its end."""
MOST_STEPS: Final = 12
"""Steps of a golden path that are listed one by one."""


@dataclass(frozen=True)
class _Slot:
    """Steps that come in before a call, or at the end; `after` is the call of the condensed path before them."""

    after: int
    before: int | None
    names: list[str]


@dataclass(frozen=True)
class _Edits:
    """How the path becomes the repaired one: calls by index, steps by name."""

    out: list[int]
    replaced: dict[int, str]
    slots: list[_Slot]


def repaired(facts: Facts) -> Iterator[Finding]:
    """What to change, and the golden path that is nearest."""
    if not facts.score.harms or facts.outside:
        return
    edits = _edits(facts)
    calls = tuple(sorted({*edits.out, *edits.replaced}))
    told, names = list(_told(facts, edits)), facts.score.reference.path
    shown = [facts.name_text(name, len(facts.steps)) for name in names[:MOST_STEPS]]
    kept = len(facts.score.condensed) - len(edits.out) - len(edits.replaced)
    put_in = {name for slot in edits.slots for name in slot.names}
    lost = [index for index in calls if index in edits.replaced or _label(facts, index) not in put_in]
    loses_steps = any(facts.steps[index].kind is Kind.PROGRESS for index in lost)
    if not kept or loses_steps or len(edits.replaced) + sum(len(slot.names) for slot in edits.slots) > MOST_EDITS:
        calls = tuple(harm.index for harm in facts.score.harms)
        told = list(_anew(facts, calls))
    if len(names) > MOST_STEPS:
        shown.append(f"{len(names) - MOST_STEPS} more")
    text = [f"nearest repair: {'; '.join(told)}"] if told else []
    text.append(f"nearest golden path: {' → '.join(shown) or 'no call at all'}")
    yield Finding(FindingKind.REPAIR, " ".join(map(sentence, text)), calls)


def _edits(facts: Facts) -> _Edits:
    names, path = facts.score.condensed, facts.score.repair.path
    edits = _Edits([], {}, [])
    waiting: list[str] = []
    last = -1
    for mine, theirs in facts.laid_out(_without_fillers(facts)):
        if mine is None:
            waiting.append(path[theirs])  # type: ignore[index]  # one of the two is there
            continue
        index = facts.score.trace.condensed[mine].index
        if waiting:
            edits.slots.append(_Slot(last, index, waiting))
            waiting = []
        last = index
        if theirs is None:
            edits.out.append(index)
        elif names[mine] != path[theirs]:
            edits.replaced[index] = path[theirs]
    if waiting:
        edits.slots.append(_Slot(last, None, waiting))
    return edits


def _without_fillers(facts: Facts) -> Reference:
    """The repaired path but for what changes nothing where it stands for a call: as good as leaving the call out."""
    names, repair = facts.score.condensed, facts.score.repair
    pairs = [
        Pair(mine, None)
        if mine is not None and theirs is not None and names[mine] != repair.path[theirs]
        and _is_filler(facts, facts.score.trace.condensed[mine].index, repair.path[theirs])
        else Pair(mine, theirs)
        for mine, theirs in repair.alignment
    ]  # fmt: skip
    return replace(repair, alignment=tuple(pairs))


def _is_filler(facts: Facts, index: int, name: str) -> bool:
    """Whether a step changes nothing where a call stands."""
    state = facts.steps[index].before
    return name not in facts.symbols or facts.automaton.delta[state].get(facts.symbols[name]) == state


def _told(facts: Facts, edits: _Edits) -> Iterator[str]:
    out, slots, moves, replaced = list(edits.out), [], [], dict(edits.replaced)
    for slot in edits.slots:
        if _there_already(facts, slot):
            continue
        name = slot.names[0]
        moved = next((index for index in out if _label(facts, index) == name), None)
        beside = next((index for index in out if index in (slot.after, slot.before)), None)
        if len(slot.names) > 1 or (moved is None and beside is None):
            slots.append(slot)
        elif moved is not None:
            out.remove(moved)
            moves.append(f"move {facts.call_text(moved)}, {_to(slot)}")
        elif beside is not None:
            out.remove(beside)
            replaced[beside] = name
    if out:
        yield f"leave out {calls_text(out)}"
    for index, name in sorted(replaced.items()):
        yield f"put {facts.name_text(name, index)} in the place of call {index + 1}"
    yield from moves
    for slot in slots:
        index = len(facts.steps) if slot.before is None else slot.before
        steps = listed([facts.name_text(name, index) for name in slot.names], most=4)
        yield f"add {steps} {'at the end' if slot.before is None else _to(slot)}"


def _anew(facts: Facts, harmful: tuple[int, ...]) -> Iterator[str]:
    """The repair that always works: none of the harmful calls, and the shortest way on from where the run stood."""
    yield f"leave out {calls_text(harmful)}"
    if facts.way_on:
        steps = [facts.step_text(symbol, len(facts.steps)) for symbol in facts.way_on]
        yield f"go on with {listed(steps, most=4)}"


def _there_already(facts: Facts, slot: _Slot) -> bool:
    """Whether the calls are made there, and would count once the rest is mended."""
    before = len(facts.steps) if slot.before is None else slot.before
    return slot.names == [_label(facts, step.index) for step in facts.early if slot.after < step.index < before]


def _label(facts: Facts, index: int) -> str:
    return facts.score.trace.label(facts.steps[index])


def _to(slot: _Slot) -> str:
    return "to the end" if slot.before is None else f"before call {slot.before + 1}"
