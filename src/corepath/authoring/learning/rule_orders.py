"""Candidates about the order of two tools: `A requires B`, `after A eventually B`, `never A after B`.

For each tool, the tools that came before it in all runs are one bit set, so that a run costs one operation for each of
its tools, whatever the number of tools.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import exp, lgamma

from corepath.authoring.learning.log import bits, members
from corepath.authoring.learning.rule_candidate import Candidate, Misses, Template
from corepath.authoring.learning.rule_log import CONSENT, OTHER, RuleLog, Shape

Relation = Callable[[Shape], dict[int, int]]
"""Maps each letter of a run to the letters that are connected with it."""


def before_first(shape: Shape) -> dict[int, int]:
    """Map each tool to the letters that came before its first call. Calls that failed do not count there."""
    found: dict[int, int] = {}
    seen = 0
    for letter, failed in shape:
        if letter not in (OTHER, CONSENT):
            found.setdefault(letter, seen)
        if not failed and letter != OTHER:
            seen |= 1 << letter
    return found


def after_last(shape: Shape) -> dict[int, int]:
    """Map each tool to the tools that came after its last call. Calls that failed do not count."""
    found: dict[int, int] = {}
    seen = 0
    for letter, failed in reversed(shape):
        if not failed and letter not in (OTHER, CONSENT):
            found.setdefault(letter, seen)
            seen |= 1 << letter
    return found


def before_last(shape: Shape) -> dict[int, int]:
    """Map each tool, and `OTHER` for any call, to the tools that came before its last call.

    Calls that failed do not count there.
    """
    found: dict[int, int] = {}
    seen = 0
    for letter, failed in shape:
        if letter == CONSENT:
            continue
        found[letter] = found[OTHER] = seen
        if not failed and letter != OTHER:
            seen |= 1 << letter
    return found


@dataclass
class Orders:
    """Which orders of two tools the runs keep."""

    log: RuleLog
    least: int
    required: Misses = field(default_factory=Misses)

    def __post_init__(self) -> None:
        said = [CONSENT] if self.log.presence[CONSENT] else []
        self.every = bits([*said, *range(CONSENT + 1, len(self.log.tools))])
        self.applied = Counter[int]()
        """In how many good runs a tool was called with success."""
        for shape, times in self.log.good_shapes.items():
            for letter in {letter for letter, failed in shape if not failed}:
                self.applied[letter] += times

    def find(self) -> Iterator[Candidate]:
        """Yield the candidates."""
        yield from self._find_required()
        yield from self._find_eventual()
        yield from self._find_forbidden()

    def _find_required(self) -> Iterator[Candidate]:
        self.required = self._count(before_first, absent_fails=True)
        broken, applied = self._count_bad(before_first, self.required, absent_fails=True)
        for first, other, misses in self._pairs(self.required):
            tested = self.log.presence[first]
            chance = self._share(other) * self._chance_first(other, first)
            yield Candidate(Template.REQUIRES, (first, other), tested, tested, misses,
                            applied[first], broken[first, other], chance)  # fmt: skip

    def _find_eventual(self) -> Iterator[Candidate]:
        found = self._count(after_last, absent_fails=True)
        broken, applied = self._count_bad(after_last, found, absent_fails=True)
        for first, other, misses in self._pairs(found):
            tested = self.applied[first]
            if tested >= self.least and other != CONSENT:
                chance = self._share(other) * self._chance_first(other, first)
                yield Candidate(Template.EVENTUALLY, (first, other), tested, tested, misses,
                                applied[first], broken[first, other], chance)  # fmt: skip

    def _find_forbidden(self) -> Iterator[Candidate]:
        """Yield `never A after B`. A run tests it if both occur."""
        found = self._count(before_last, absent_fails=False)
        tested = self._count_both(found)
        broken, _ = self._count_bad(before_last, found, absent_fails=False)
        applied_bad = Counter[int]()
        for shape, times in self.log.bad_shapes.items():
            for letter in {letter for letter, failed in shape if not failed}:
                applied_bad[letter] += times
        for (call, after), times in tested.items():
            if times >= self.least and call != after:
                misses = found.once.get(call, 0) >> after & 1
                yield Candidate(Template.NEVER_AFTER, (call, after), self.applied[after], times, misses,
                                applied_bad[after], broken[call, after], self._chance_apart(call, after))  # fmt: skip

    def _count(self, relation: Relation, *, absent_fails: bool) -> Misses:
        """Count in how many good runs a pair fails: it is connected, or it is not and `absent_fails` is True."""
        found = Misses()
        for shape, times in self.log.good_shapes.items():
            for letter, others in relation(shape).items():
                found.add(letter, self.every & ~others if absent_fails else others, times)
        return found

    def _count_bad(
        self, relation: Relation, found: Misses, *, absent_fails: bool
    ) -> tuple[Counter[tuple[int, int]], Counter[int]]:
        """Count in how many bad runs each pair fails that at most one good run does, and where it applies."""
        broken, applied = Counter[tuple[int, int]](), Counter[int]()
        for shape, times in self.log.bad_shapes.items():
            for letter, others in relation(shape).items():
                applied[letter] += times
                failing = self.every & ~others if absent_fails else others
                for other in members(found.nearly(letter, failing)):
                    broken[letter, other] += times
        return broken, applied

    def _count_both(self, found: Misses) -> Counter[tuple[int, int]]:
        """Count the good runs in which both tools of a pair occur."""
        both = Counter[tuple[int, int]]()
        for shape, times in self.log.good_shapes.items():
            after = bits({letter for letter, failed in shape if not failed and letter not in (OTHER, CONSENT)})
            calls = {letter for letter, _ in shape if letter != CONSENT}
            for call in calls | ({OTHER} if len(shape) > 1 else set()):
                for other in members(found.nearly(call, after)):
                    both[call, other] += times
        return both

    def _pairs(self, found: Misses) -> Iterator[tuple[int, int, int]]:
        for first in range(CONSENT + 1, len(self.log.tools)):
            for other, misses in found.pairs(first, self.every & ~(1 << first)):
                yield first, other, misses

    def _share(self, letter: int) -> float:
        return self.log.presence[letter] / len(self.log.good)

    def _chance_first(self, first: int, other: int) -> float:
        """The chance that the first of all calls to two tools is one to `first`, if their order is random."""
        count: Mapping[int, float] = self.log.mean_count
        return count[first] / (count[first] + count[other])

    def _chance_apart(self, one: int, other: int) -> float:
        """The chance that all calls to a tool come before all calls to another one, if their order is random."""
        first, last = self.log.mean_count[one], self.log.mean_count[other]
        if one == OTHER:
            first = max(1.0, first - last)
        return exp(lgamma(first + 1) + lgamma(last + 1) - lgamma(first + last + 1))
