"""Candidates with a variable, such as `refund(order=$o, ...) requires check_order(order=$o, ...)`.

For each value in a run, the slots in which it was seen are one bit set, so that a run costs one operation for each of
its arguments, whatever the number of tools.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from corepath.authoring.learning.log import bits, members
from corepath.authoring.learning.rule_candidate import Candidate, Misses, Template
from corepath.authoring.learning.rule_log import Event, RuleLog

Relation = Callable[[Sequence[Event]], dict[int, int]]
"""Maps each slot of a run to the slots with which it fails."""


@dataclass
class Values:
    """Which slots of two tools share their values in all runs."""

    log: RuleLog
    least: int

    def __post_init__(self) -> None:
        letters = [letter for letter, _ in self.log.slots]
        own: dict[int, int] = {}
        for slot, letter in enumerate(letters):
            own[letter] = own.get(letter, 0) | 1 << slot
        self.every = bits(range(len(letters)))
        self.foreign = [self.every & ~own[letter] for letter in letters]
        """For each slot, the slots of other tools."""
        self.letters = letters

    def find(self) -> Iterator[Candidate]:
        """Yield the candidates."""
        yield from self._find_connected(Template.REQUIRES_SAME, self._not_before, succeeded=False)
        yield from self._find_connected(Template.EVENTUALLY_SAME, self._not_after, succeeded=True)
        yield from self._find_forbidden()
        yield from self._find_counts()

    def _find_connected(self, template: Template, relation: Relation, *, succeeded: bool) -> Iterator[Candidate]:
        found, broken, applied_bad = self._count(relation)
        applied = count_slots(self.log.good, succeeded=succeeded)
        for slot in range(len(self.letters)):
            if applied[slot] < self.least:
                continue
            for other, misses in found.pairs(slot, self.foreign[slot]):
                chance = self._share(other) * min(1.0, self._alike(slot) * self.log.mean_count[self.letters[other]])
                yield Candidate(template, (slot, other), applied[slot], applied[slot], misses,
                                applied_bad[slot], broken[slot, other], chance)  # fmt: skip

    def _find_forbidden(self) -> Iterator[Candidate]:
        """Yield `never A(x=$v) after B(y=$v)`. A run tests it if both occur with the same value."""
        found, broken, _ = self._count(self._before)
        tested = Counter[tuple[int, int]]()
        for run in self.log.good:
            tested.update(self._meet(run, found))
        applied, applied_bad = (count_slots(runs, succeeded=True) for runs in (self.log.good, self.log.bad))
        for (slot, after), times in tested.items():
            if times >= self.least:
                misses = found.once.get(slot, 0) >> after & 1
                yield Candidate(Template.NEVER_AFTER_SAME, (slot, after), applied[after], times, misses,
                                applied_bad[after], broken[slot, after], 0.5)  # fmt: skip

    def _find_counts(self) -> Iterator[Candidate]:
        """Yield `at most n A(x=$v, ...)` where a run may have more calls to A than that."""
        numbers: dict[int, Counter[int]] = {}
        several: Counter[int] = Counter()
        for run in self.log.good:
            for slot, (most, total) in _repeats(run).items():
                numbers.setdefault(slot, Counter())[most] += 1
                several[slot] += total > most
        bad = [_repeats(run) for run in self.log.bad]
        for slot, counted in numbers.items():
            for most, misses in highest(counted):
                if several[slot] < self.least or counted[most] < self.least:
                    continue
                found = [one[slot][0] for one in bad if slot in one]
                applied = counted.total()
                yield Candidate(Template.AT_MOST_EACH, (slot, most), applied, several[slot], misses,
                                len(found), sum(number > most for number in found), 1 - self._alike(slot))  # fmt: skip

    def _count(self, relation: Relation) -> tuple[Misses, Counter[tuple[int, int]], Counter[int]]:
        """Count in how many good and bad runs each pair of slots fails, and in how many bad runs a slot occurs."""
        found, broken, applied = Misses(), Counter[tuple[int, int]](), Counter[int]()
        for run in self.log.good:
            for slot, failing in relation(run).items():
                found.add(slot, failing, 1)
        for run in self.log.bad:
            for slot, failing in relation(run).items():
                applied[slot] += 1
                for other in members(found.nearly(slot, failing & self.foreign[slot])):
                    broken[slot, other] += 1
        return found, broken, applied

    def _not_before(self, run: Sequence[Event]) -> dict[int, int]:
        """Map each slot to the slots in which its value was not seen before."""
        found: dict[int, int] = {}
        seen: dict[Any, int] = {}
        for _, failed, slots in run:
            for slot, value in slots:
                found[slot] = found.get(slot, 0) | (self.every & ~seen.get(value, 0))
            _remember(seen, slots, failed=failed)
        return found

    def _not_after(self, run: Sequence[Event]) -> dict[int, int]:
        """Map each slot to the slots in which its value is not seen later. Calls that failed do not count."""
        return self._not_before([event for event in reversed(run) if not event[1]])

    def _before(self, run: Sequence[Event]) -> dict[int, int]:
        """Map each slot to the slots in which its value was seen before."""
        found: dict[int, int] = {}
        seen: dict[Any, int] = {}
        for _, failed, slots in run:
            for slot, value in slots:
                found[slot] = found.get(slot, 0) | seen.get(value, 0)
            _remember(seen, slots, failed=failed)
        return found

    def _meet(self, run: Sequence[Event], found: Misses) -> set[tuple[int, int]]:
        """Return the pairs of slots that have the same value in a run, the first of them earlier."""
        pairs: set[tuple[int, int]] = set()
        seen: dict[Any, int] = {}
        for _, failed, slots in run:
            for slot, value in slots if not failed else ():
                for other in members(seen.get(value, 0) & self.foreign[slot]):
                    if not found.more.get(other, 0) >> slot & 1:
                        pairs.add((other, slot))
            _remember(seen, slots, failed=False)
        return pairs

    def _share(self, slot: int) -> float:
        return self.log.presence[self.letters[slot]] / len(self.log.good)

    def _alike(self, slot: int) -> float:
        """The chance that two good runs have the same value in a slot."""
        return self._chances[slot]

    @cached_property
    def _chances(self) -> list[float]:
        counted = [Counter[Any]() for _ in self.letters]
        for run in self.log.good:
            for slot, value in dict.fromkeys(pair for _, _, slots in run for pair in slots):
                counted[slot][value] += 1
        return [sum((times / max(1, one.total())) ** 2 for times in one.values()) for one in counted]


def _remember(seen: dict[Any, int], slots: Iterable[tuple[int, Any]], *, failed: bool) -> None:
    if not failed:
        for slot, value in slots:
            seen[value] = seen.get(value, 0) | 1 << slot


def count_slots(runs: Iterable[Sequence[Event]], *, succeeded: bool) -> Counter[int]:
    """Count in how many runs each slot has a value."""
    found = Counter[int]()
    for run in runs:
        found.update({slot for _, failed, slots in run if not (succeeded and failed) for slot, _ in slots})
    return found


def _repeats(run: Sequence[Event]) -> dict[int, tuple[int, int]]:
    """Map each slot to the largest number of calls with one value, and to the number of all its calls."""
    pairs = Counter(pair for _, _, slots in run for pair in slots)
    found: dict[int, tuple[int, int]] = {}
    for (slot, _), times in pairs.items():
        most, total = found.get(slot, (0, 0))
        found[slot] = (max(most, times), total + times)
    return found


def highest(counted: Counter[int]) -> Iterator[tuple[int, int]]:
    """Yield the highest number with 0 misses, and the next one with 1 miss if a single run has the highest."""
    numbers = sorted(counted, reverse=True)
    yield numbers[0], 0
    if counted[numbers[0]] == 1 and len(numbers) > 1:
        yield numbers[1], 1
