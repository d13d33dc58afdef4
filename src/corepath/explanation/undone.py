"""Do and undo: a call whose whole effect on the public state a later one takes back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from corepath.automaton.step import Kind
from corepath.errors import count
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Finding, FindingKind
from corepath.explanation.values import value_text
from corepath.explanation.words import cut, listed, sentence
from corepath.values import canonical, equal

MOST_PAIRS: Final = 5
"""Pairs that are told one by one."""


class _Absent:
    """The value of a field that is not there."""

    def __repr__(self) -> str:
        return "<absent>"


_ABSENT: Final = _Absent()

Change = Mapping[str, tuple[Any, Any]]
"""The fields that a call changed, by their dotted path: the value before and after."""


@dataclass(frozen=True, eq=False)
class Pair:
    """Two calls by index: the second takes back all that the first changed, and changes nothing else."""

    done: int
    back: int
    change: Change


def pairs(facts: Facts) -> tuple[Pair, ...]:
    """The closest pairs, each call in one of them, but for those that the procedure itself asks for."""
    changing = [index for index, changed in enumerate(facts.changed) if changed]
    asked = _asked_for(facts)
    if asked.issuperset(changing):
        return ()
    possible = [pair for pair in _possible(facts, changing) if not {pair.done, pair.back} <= asked]
    steps = {step.index for step in facts.steps if step.kind is Kind.PROGRESS}
    possible.sort(key=lambda pair: (pair.back in steps, pair.done in asked, pair.back - pair.done, pair.done))
    found: dict[int, Pair] = {}
    for pair in possible:
        if pair.done not in found and pair.back not in found:
            found[pair.done] = found[pair.back] = pair
    return tuple(found[index] for index in sorted(found) if found[index].done == index)


def _possible(facts: Facts, changing: list[int]) -> Iterator[Pair]:
    """Every call that takes back the latest one with just the opposite effect."""
    world, run = facts.task.simulator, facts.replay
    if world is None or run is None:
        return
    latest: dict[str, tuple[int, Change]] = {}
    for index in changing:
        change = dict(sorted(_changes(world.public(run.states[index]), world.public(run.states[index + 1]), "")))
        opposite = latest.get(canonical([[path, new, old] for path, (old, new) in change.items()]))
        if opposite is not None:
            yield Pair(opposite[0], index, opposite[1])
        latest[canonical([[path, old, new] for path, (old, new) in change.items()])] = index, change


def _asked_for(facts: Facts) -> set[int]:
    """The calls that are steps of the procedure, also those that came without what must come first."""
    early = {harm.index for harm in facts.score.harms if harm.cause is not None}
    early.update(step.index for step in facts.early)
    return early.union(step.index for step in facts.steps if step.kind is Kind.PROGRESS)


def _changes(before: Any, after: Any, path: str) -> Iterator[tuple[str, tuple[Any, Any]]]:
    if before is after:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in {**before, **after}:
            inner = f"{path}.{name}" if path else str(name)
            yield from _changes(before.get(name, _ABSENT), after.get(name, _ABSENT), inner)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _changes(one, other, f"{path}.{place}")
    elif not equal(before, after):
        yield path, (before, after)


def undone(facts: Facts, found: tuple[Pair, ...]) -> Iterator[Finding]:
    """What was done and taken back."""
    for pair in found[:MOST_PAIRS]:
        yield Finding(FindingKind.UNDONE, sentence(_told(facts, pair)), (pair.done, pair.back))
    if rest := found[MOST_PAIRS:]:
        calls = tuple(sorted(index for pair in rest for index in (pair.done, pair.back)))
        text = f"{count(len(rest), 'more pair')} of calls did something and took it back."
        yield Finding(FindingKind.UNDONE, text, calls)


def _told(facts: Facts, pair: Pair) -> str:
    done, back = facts.call_text(pair.done), facts.call_text(pair.back)
    what = _change_text(pair.change)
    if facts.steps[pair.done].kind is Kind.PROGRESS:
        return f"{back}, put back what {done}, a step of the procedure, had done: that {what}"
    between = pair.back - pair.done - 1
    if not between:
        return f"{done}, {what}, and {back}, put that back at once; the final state shows nothing of it"
    return f"{done}, {what}, and {back}, put that back; in between the world stood wrong for {_how_long(facts, pair)}"


def _how_long(facts: Facts, pair: Pair) -> str:
    calls = count(pair.back - pair.done - 1, "call")
    began, ended = (facts.steps[index].call.extra.get("at") for index in (pair.done, pair.back))
    if isinstance(began, (int, float)) and isinstance(ended, (int, float)):
        return f"{calls} ({ended - began:.3g} s)"
    return calls


def _change_text(change: Change) -> str:
    """`changed at from "base" to "C"`."""
    return listed([_field_text(cut(path, 40), old, new) for path, (old, new) in change.items()], most=2)


def _field_text(path: str, old: Any, new: Any) -> str:
    if old is _ABSENT:
        return f"added {path}"
    if new is _ABSENT:
        return f"removed {path}"
    return f"changed {path} from {value_text(old, 30)} to {value_text(new, 30)}"
