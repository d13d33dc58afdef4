"""Find calls whose effect on the public state is completely undone by a later call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from corepath.automaton.step import Kind
from corepath.errors import count
from corepath.explanation.changes import Change, describe_change, find_change
from corepath.explanation.facts import Facts
from corepath.explanation.findings import Finding, FindingKind
from corepath.explanation.sentences import sentence
from corepath.values import canonical

MOST_PAIRS: Final = 5
"""Maximum number of pairs that get their own finding."""


@dataclass(frozen=True, eq=False)
class UndoPair:
    """A pair of calls where the second undoes everything the first changed, and does nothing else.

    `done` and `back` are the calls' indexes.
    """

    done: int
    back: int
    change: Change


def undo_pairs(facts: Facts) -> tuple[UndoPair, ...]:
    """Find pairs of calls where the second undoes the first. Each call is in at most one pair.

    Pairs in which both calls are steps of the procedure are left out.
    """
    found: dict[int, UndoPair] = {}
    for pair in _ranked_candidates(facts):
        if pair.done not in found and pair.back not in found:
            found[pair.done] = found[pair.back] = pair
    return tuple(found[index] for index in sorted(found) if found[index].done == index)


def _ranked_candidates(facts: Facts) -> list[UndoPair]:
    """List possible undo pairs with at least one call that is not a procedure step, the most plausible first."""
    changing = [index for index, changed in enumerate(facts.changed_state) if changed]
    asked = _asked_for(facts)
    if asked.issuperset(changing):
        return []
    candidates = [pair for pair in _candidates(facts, changing) if not {pair.done, pair.back} <= asked]
    steps = {step.index for step in facts.steps if step.kind is Kind.PROGRESS}
    return sorted(
        candidates, key=lambda pair: (pair.back in steps, pair.done in asked, pair.back - pair.done, pair.done)
    )


def _candidates(facts: Facts, changing: list[int]) -> Iterator[UndoPair]:
    """Yield a pair for each call that exactly reverses an earlier call.

    If several earlier calls qualify, the latest one is chosen.
    """
    latest: dict[str, tuple[int, Change]] = {}
    for index in changing:
        change = find_change(facts, index)
        opposite = latest.get(canonical([[path, new, old] for path, (old, new) in change.items()]))
        if opposite is not None:
            yield UndoPair(opposite[0], index, opposite[1])
        latest[canonical([[path, old, new] for path, (old, new) in change.items()])] = index, change


def _asked_for(facts: Facts) -> set[int]:
    """Return the indexes of the calls that are steps of the procedure, including calls that came too early."""
    early = {harm.index for harm in facts.score.harms if harm.cause is not None}
    early.update(step.index for step in facts.early_calls)
    return early.union(step.index for step in facts.steps if step.kind is Kind.PROGRESS)


def find_undone(facts: Facts, pairs: tuple[UndoPair, ...]) -> Iterator[Finding]:
    """Yield a finding for each undo pair. If there are many, the last finding sums up the rest."""
    for pair in pairs[:MOST_PAIRS]:
        yield Finding(FindingKind.UNDONE, sentence(_describe(facts, pair)), (pair.done, pair.back))
    if rest := pairs[MOST_PAIRS:]:
        calls = tuple(sorted(index for pair in rest for index in (pair.done, pair.back)))
        text = f"{count(len(rest), 'more pair')} of calls did something and took it back."
        yield Finding(FindingKind.UNDONE, text, calls)


def _describe(facts: Facts, pair: UndoPair) -> str:
    """Describe what the pair changed and how long the change lasted."""
    done, back = facts.call_text(pair.done), facts.call_text(pair.back)
    what = describe_change(pair.change)
    if facts.steps[pair.done].kind is Kind.PROGRESS:
        return f"{back}, put back what {done}, a step of the procedure, had done: that {what}"
    between = pair.back - pair.done - 1
    if not between:
        return f"{done}, {what}, and {back}, put that back at once; the final state shows nothing of it"
    return f"{done}, {what}, and {back}, put that back; in between the world stood wrong for {_duration(facts, pair)}"


def _duration(facts: Facts, pair: UndoPair) -> str:
    """Say how many calls and, if times were recorded, how many seconds lie between the two calls."""
    calls = count(pair.back - pair.done - 1, "call")
    began, ended = (facts.steps[index].call.extra.get("at") for index in (pair.done, pair.back))
    if isinstance(began, (int, float)) and isinstance(ended, (int, float)):
        return f"{calls} ({ended - began:.3g} s)"
    return calls
