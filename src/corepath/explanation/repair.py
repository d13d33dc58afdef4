"""Find the nearest repair: the fewest edits that make a path with harm valid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from corepath.automaton.step import Kind
from corepath.explanation.edits import Edits, Row, apply, failed_after_harm, repeat_call, take_step
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Edit, EditKind, Finding, FindingKind
from corepath.explanation.sentences import calls_text, join, sentence
from corepath.scoring.alignment import Pair
from corepath.scoring.evidence import Reference

MOST_EDITS: Final = 4
"""Maximum number of new steps in a repair that follows the nearest valid path.

A path that lacks more steps is repaired in another way.
"""
MOST_STEPS: Final = 12
"""Maximum number of steps listed by name for a golden path."""


@dataclass(frozen=True)
class Repair:
    """Edits that make a path valid. `rows` shows the old path side by side with the new one."""

    edits: Edits
    rows: tuple[Row, ...]


def repair_path(facts: Facts) -> Repair | None:
    """Find the repair with the fewest edits.

    Return None if the path has no harm, if the episode failed outside the agent, or if no repair was found.
    """
    if not facts.score.harms or facts.outside_failure:
        return None
    candidates = (*_follow_nearest_path(facts), *_insert_one_step(facts), _continue_without_harm(facts))
    repairs = [repair for edits in candidates if edits.size for repair in _validate(facts, edits)]
    return min(repairs, key=lambda repair: repair.edits.size, default=None)


def _validate(facts: Facts, edits: Edits) -> Iterator[Repair]:
    """Yield a repair if `edits` make the path valid.

    If they do not, try again and also leave out the calls that failed after the first harmful call.
    """
    failed = set(failed_after_harm(facts)).difference(edits.calls)
    without = replace(edits, out=tuple(sorted({*edits.out, *failed})))
    for candidate in (edits, without) if failed else (edits,):
        rows = apply(facts, candidate)
        if rows is not None and apply(facts, candidate, retry=True) is not None:
            yield Repair(candidate, rows)
            return


def find_repair(facts: Facts, repair: Repair | None) -> Iterator[Finding]:
    """Yield a finding that describes the repair, if there is one, and the nearest golden path."""
    if not facts.score.harms or facts.outside_failure:
        return
    names = facts.score.reference.path
    shown = [facts.name_text(name, len(facts.steps)) for name in names[:MOST_STEPS]]
    if len(names) > MOST_STEPS:
        shown.append(f"{len(names) - MOST_STEPS} more")
    text = [] if repair is None else [f"nearest repair: {'; '.join(_describe(facts, repair.edits))}"]
    text.append(f"nearest golden path: {' → '.join(shown) or 'no call at all'}")
    yield Finding(FindingKind.REPAIR, " ".join(map(sentence, text)), () if repair is None else repair.edits.calls)


def _describe(facts: Facts, edits: Edits) -> Iterator[str]:
    """Yield a description of each edit."""
    end = len(facts.steps)
    if edits.out:
        yield f"leave out {calls_text(edits.out)}"
    for index, symbol in sorted(edits.replaced.items()):
        yield f"put {facts.step_text(symbol, index)} in the place of call {index + 1}"
    for index, before in edits.moved.items():
        yield f"move {facts.call_text(index)}, {'to the end' if before == end else f'before call {before + 1}'}"
    continues = set(edits.out) >= set(_continue_without_harm(facts).out) and not edits.replaced
    for before, symbols in edits.added.items():
        steps = join([facts.step_text(symbol, before) for symbol in symbols], most=4)
        where = "at the end" if before == end else f"before call {before + 1}"
        yield f"go on with {steps}" if continues and before == end else f"add {steps} {where}"


def write_fix(facts: Facts, repair: Repair | None) -> tuple[Edit, ...]:
    """Write the smallest repair as instructions. A path without harm that stopped early is continued."""
    if facts.score.accepted and not facts.score.harms:
        return ()
    if not facts.score.harms and not facts.outside_failure:
        repair = Repair(Edits(added={len(facts.steps): facts.steps_left}), ())
    return () if repair is None else tuple(_write_edits(facts, repair.edits))


def _write_edits(facts: Facts, edits: Edits) -> Iterator[Edit]:
    """Yield the edits of a repair as instructions."""
    end = len(facts.steps)
    for index in edits.out:
        yield Edit(EditKind.LEAVE_OUT, index, None, sentence(f"leave out {facts.call_text(index)}"))
    for index, symbol in sorted(edits.replaced.items()):
        text = f"change call {index + 1} to {facts.step_text(symbol, index)}"
        yield Edit(EditKind.CHANGE, index, symbol, sentence(text))
    for index, before in edits.moved.items():
        where = "to the end" if before == end else f"before call {before + 1}"
        yield Edit(EditKind.MOVE, index, facts.steps[index].symbol, sentence(f"move {facts.call_text(index)}, {where}"))
    for before, symbols in edits.added.items():
        where = "at the end" if before == end else f"before call {before + 1}"
        for symbol in symbols:
            text = f"call {facts.step_text(symbol, before)} {where}"
            yield Edit(EditKind.ADD, before, symbol, sentence(text))


# Candidates


def _continue_without_harm(facts: Facts) -> Edits:
    """Return edits that leave out every harmful call and add a shortest path to an accepting state at the end."""
    added = {len(facts.steps): facts.steps_left} if facts.steps_left else {}
    return Edits(tuple(harm.index for harm in facts.score.harms), added=added)


def _insert_one_step(facts: Facts) -> Iterator[Edits]:
    """Yield edits that add one step before the first harmful call and so make that call legal."""
    first = facts.score.harms[0].index
    before = facts.positions[first]
    for symbol in facts.automaton.due(before.state):
        after = take_step(before, symbol)
        if after is not None and repeat_call(facts, after, first)[1] is not None:
            yield Edits(added={first: (symbol,)})


@dataclass(frozen=True)
class _Gap:
    """Steps that are missing from the condensed path between the calls `after` and `before`."""

    after: int
    before: int
    names: tuple[str, ...]


@dataclass(frozen=True)
class _Differences:
    """How the condensed path differs from the nearest valid path."""

    extra: tuple[int, ...]
    """Indexes of the calls that the valid path does not have."""
    replaced: Mapping[int, int]
    """The step that the valid path has instead of each call, keyed by the call's index."""
    gaps: tuple[_Gap, ...]


def _follow_nearest_path(facts: Facts) -> Iterator[Edits]:
    """Yield edits that turn the path into the nearest valid path, unless they would change too much."""
    found = _find_differences(facts)
    if _keeps_the_path(facts, found):
        yield _shorten(facts, found)
        yield Edits(found.extra, found.replaced, added={gap.before: _symbols(facts, gap) for gap in found.gaps})


def _find_differences(facts: Facts) -> _Differences:
    """Compare the condensed path with the nearest valid path."""
    names, path = facts.score.condensed, facts.score.repair.path
    extra: list[int] = []
    replaced: dict[int, int] = {}
    gaps: list[_Gap] = []
    missing: list[str] = []
    last = -1
    for mine, theirs in [*facts.pair_up(_drop_fillers(facts)), Pair(None, None)]:
        if mine is None and theirs is not None:
            missing += [path[theirs]] if path[theirs] in facts.symbols else []
            continue
        index = len(facts.steps) if mine is None else facts.score.trace.condensed[mine].index
        if missing:
            gaps.append(_Gap(last, index, tuple(missing)))
            missing = []
        last = index
        if mine is not None and theirs is None:
            extra.append(index)
        elif mine is not None and theirs is not None and names[mine] != path[theirs]:
            replaced[index] = facts.symbols[path[theirs]]
    return _Differences(tuple(extra), replaced, tuple(gaps))


def _keeps_the_path(facts: Facts, found: _Differences) -> bool:
    """Whether the differences leave enough of the path: some calls stay, few steps are new and no progress is lost."""
    new = [name for gap in found.gaps for name in gap.names]
    if len(facts.score.condensed) <= len(found.extra) + len(found.replaced):
        return False
    if len(found.replaced) + len(new) > MOST_EDITS:
        return False
    lost = [*found.replaced, *(index for index in found.extra if _label(facts, index) not in new)]
    return not any(facts.steps[index].kind is Kind.PROGRESS for index in lost)


def _shorten(facts: Facts, found: _Differences) -> Edits:
    """Convert the differences to edits, saving edits where possible.

    A call that would be left out is moved or replaced to fill a gap. If early calls already fill a gap, nothing is
    added there.
    """
    out, replaced = list(found.extra), dict(found.replaced)
    moved: dict[int, int] = {}
    added: dict[int, tuple[int, ...]] = {}
    for gap in found.gaps:
        if _is_filled(facts, gap):
            continue
        name = gap.names[0]
        same = next((index for index in out if _label(facts, index) == name), None)
        beside = next((index for index in out if index in (gap.after, gap.before)), None)
        if len(gap.names) > 1 or (same is None and beside is None):
            added[gap.before] = _symbols(facts, gap)
        elif same is not None:
            out.remove(same)
            moved[same] = gap.before
        elif beside is not None:
            out.remove(beside)
            replaced[beside] = facts.symbols[name]
    return Edits(tuple(out), replaced, moved, added)


def _drop_fillers(facts: Facts) -> Reference:
    """Return the nearest valid path, realigned so that no call is replaced by a self-loop.

    Such a call is left out instead.
    """
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
    """Whether action `name` would be a self-loop in place of call `index`."""
    state = facts.steps[index].before
    return name not in facts.symbols or facts.automaton.delta[state].get(facts.symbols[name]) == state


def _is_filled(facts: Facts, gap: _Gap) -> bool:
    """Whether the agent called the missing steps within the gap, but too early for them to count."""
    made = [facts.label(step.index) for step in facts.early_calls if gap.after < step.index < gap.before]
    return list(gap.names) == made


def _symbols(facts: Facts, gap: _Gap) -> tuple[int, ...]:
    return tuple(facts.symbols[name] for name in gap.names)


def _label(facts: Facts, index: int) -> str:
    return facts.score.trace.label(facts.steps[index])
