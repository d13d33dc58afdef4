"""Candidates: rules that all good runs keep, or all but one, with what the runs say about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from math import comb, inf, log2

from corepath.authoring.learning.log import members
from corepath.rules.rule import Rule


class Template(StrEnum):
    """The forms of rules that are tried. `SAME` is with a shared variable, `EACH` is for each value of a variable."""

    REQUIRES = "requires"
    REQUIRES_OWN = "requires its own"
    EVENTUALLY = "eventually"
    NEVER_AFTER = "never after"
    REQUIRES_SAME = "requires, same value"
    EVENTUALLY_SAME = "eventually, same value"
    NEVER_AFTER_SAME = "never after, same value"
    AT_MOST = "at most"
    AT_MOST_EACH = "at most, each value"
    AT_LEAST = "at least"
    NEVER = "never"
    NEVER_VALUE = "never, this value"
    HABIT = "habit"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rule, and what the runs say about it. `parts` are the letters, slots or numbers of its template.

    `applied` counts the good runs in which the rule applies, and `tested` those that could have broken it. Each of
    these keeps it by chance with the probability `chance`. `misses` is 1 if a single good run breaks the rule. Of the
    bad runs, it applies in `applied_bad`, and is broken in `broken_bad`.
    """

    template: Template
    parts: tuple[int, ...]
    applied: int
    tested: int
    misses: int
    applied_bad: int
    broken_bad: int
    chance: float
    rule: Rule | None = None

    @property
    def surprise(self) -> float:
        """How unlikely it is, in bits, that all good runs keep the rule by chance."""
        return inf if self.chance <= 0 else self.tested * -log2(min(1.0, self.chance))

    @property
    def contrast(self) -> float:
        """How unlikely it is, in bits, that only bad runs break the rule if good and bad runs do not differ in this."""
        return contrast(self.applied, self.applied_bad, self.broken_bad)


def contrast(good: int, bad: int, broken: int) -> float:
    """Return the information, in bits, that all `broken` of `good + bad` runs are bad ones."""
    return log2(comb(good + bad, broken)) - log2(comb(bad, broken)) if broken else 0.0


@dataclass
class Misses:
    """Counts for pairs of numbers in how many runs they fail: in none, in one, or in more. Bit sets are integers."""

    once: dict[int, int] = field(default_factory=dict)
    more: dict[int, int] = field(default_factory=dict)

    def add(self, first: int, failing: int, times: int) -> None:
        """Count runs in which `first` fails with all members of `failing`."""
        once = self.once.get(first, 0)
        self.more[first] = self.more.get(first, 0) | (failing if times > 1 else once & failing)
        self.once[first] = once | failing

    def kept(self, first: int, every: int) -> int:
        """Return the numbers with which `first` never fails."""
        return every & ~self.once.get(first, 0)

    def nearly(self, first: int, every: int) -> int:
        """Return the numbers with which `first` fails in at most one run."""
        return every & ~self.more.get(first, 0)

    def pairs(self, first: int, every: int) -> Iterator[tuple[int, int]]:
        """Yield the numbers with which `first` fails in at most one run, each with the number of runs."""
        for other in members(self.nearly(first, every)):
            yield other, self.once.get(first, 0) >> other & 1
