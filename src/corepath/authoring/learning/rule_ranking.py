"""Rank candidates: how much each tells good runs from bad ones, and how likely an unseen good run breaks it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log2
from typing import Final

from corepath.authoring.learning.log import members
from corepath.authoring.learning.rule_candidate import Candidate, Template

MOST_UNSEEN: Final = 0.05
"""The largest estimated share of unseen good runs that break a rule."""
LEAST_EVIDENCE: Final = log2(20)
"""How many bits of evidence a rule needs beyond those that the best of all candidates has by chance.

So about one of twenty sets of random runs has a rule.
"""
_CHAINED: Final = (Template.REQUIRES, Template.EVENTUALLY, Template.REQUIRES_SAME, Template.EVENTUALLY_SAME)
_ORDER: Final = {template: place for place, template in enumerate(Template)}


@dataclass(frozen=True)
class Ranked:
    """A candidate with the estimated share of unseen good runs that break it."""

    candidate: Candidate
    unseen: float
    evidence: float


@dataclass(frozen=True)
class Ranking:
    """The candidates that may be proposed, the best first.

    `doubtful` counts those that are left out only because too many unseen good runs may break them.
    """

    kept: Sequence[Ranked]
    doubtful: int


def rank(candidates: Iterable[Candidate], good: int, *, bad: int) -> Ranking:
    """Rank the candidates that all good runs keep and that are not there by chance.

    With bad runs, only candidates count that some of them break, and the best tell good from bad the most. Without, the
    best are the most surprising.
    """
    listed = [one for one in candidates if one.broken_bad or not bad]
    tried = log2(max(1, len(listed)))
    groups: dict[Template, list[Candidate]] = {}
    for one in listed:
        groups.setdefault(one.template, []).append(one)
    found = []
    for group in groups.values():
        estimate = _Unseen.of(group, good, bad=bad)
        for one in group:
            evidence = one.surprise + (one.contrast if bad else 0.0) - tried
            if not one.misses:
                found.append(Ranked(one, estimate.share(strength(one, bad=bad)), evidence))
    likely = [one for one in found if one.evidence >= LEAST_EVIDENCE]
    kept = [one for one in likely if one.unseen <= MOST_UNSEEN]
    ordered = sorted(_drop_chained(kept), key=lambda one: _key(one.candidate, bad=bad))
    return Ranking(ordered, len(likely) - len(kept))


def _drop_chained(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Leave out `A requires C` where `A requires B` and `B requires C` are there, and so for `eventually`."""
    after: dict[tuple[Template, int], int] = {}
    for one in ranked:
        if one.candidate.template in _CHAINED:
            key = (one.candidate.template, one.candidate.parts[0])
            after[key] = after.get(key, 0) | 1 << one.candidate.parts[1]
    reached: dict[tuple[Template, int], int] = dict.fromkeys(after, 0)
    for (template, first), others in after.items():
        for other in members(others):
            reached[template, first] |= after.get((template, other), 0)
    return [
        one
        for one in ranked
        if one.candidate.template not in _CHAINED
        or not reached[one.candidate.template, one.candidate.parts[0]] >> one.candidate.parts[1] & 1
    ]


def strength(one: Candidate, *, bad: int) -> float:
    """How much a candidate tells good from bad in bits or, without bad runs, how surprising it is."""
    return one.contrast if bad else one.surprise


def _key(one: Candidate, *, bad: int) -> tuple[float, float, int, tuple[int, ...]]:
    return (-round(strength(one, bad=bad), 6), -round(one.surprise, 6), _ORDER[one.template], one.parts)


@dataclass(frozen=True)
class _Unseen:
    """Estimates which share of unseen good runs breaks candidates of one template (after Good and Turing).

    If m candidates are broken in exactly one of n good runs and k in none, an unseen run breaks each of those k with a
    probability of about m / (k n). With few runs m may be too low, so one is added. Only candidates that are at least
    as strong are compared.
    """

    runs: int
    kept: Sequence[float]
    missed: Sequence[float]

    @classmethod
    def of(cls, group: Iterable[Candidate], runs: int, *, bad: int) -> _Unseen:
        listed = list(group)
        kept, missed = (sorted(strength(one, bad=bad) for one in listed if one.misses == misses) for misses in (0, 1))
        return cls(runs, kept, missed)

    def share(self, least: float) -> float:
        """Return the estimate for a candidate of this strength."""
        kept = len(self.kept) - bisect_left(self.kept, least)
        missed = len(self.missed) - bisect_left(self.missed, least)
        return (missed + 1) / max(1, kept) / self.runs
