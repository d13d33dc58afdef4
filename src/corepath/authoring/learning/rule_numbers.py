"""Candidates about the number of calls: `at most n A`, `at least n A`, `never A`, and `A requires its own B`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from corepath.authoring.learning.log import members
from corepath.authoring.learning.rule_candidate import Candidate, Misses, Template
from corepath.authoring.learning.rule_log import CONSENT, OTHER, Event, RuleLog, Run, Shape, count_tools
from corepath.authoring.learning.rule_values import count_slots, highest
from corepath.notation.action import Tool
from corepath.rules.rule import Never

MOST_SINGLE: Final = 0.1
"""The largest share of values that occur in one good run only, if the values of an argument are a small choice."""


@dataclass
class Numbers:
    """How often the runs call each tool."""

    log: RuleLog
    least: int
    required: Misses
    """The tools that the good runs require others to come before."""

    def find(self) -> Iterator[Candidate]:
        """Yield the candidates."""
        yield from self._find_most()
        yield from self._find_least()
        yield from self._find_own()

    def _find_most(self) -> Iterator[Candidate]:
        """Yield `at most n A`. A run tests it if it reaches n."""
        good, bad = self._count_calls(self.log.good_shapes), self._count_calls(self.log.bad_shapes)
        for letter, counted in good.items():
            for most, misses in highest(counted):
                if counted[most] >= self.least:
                    found = bad.get(letter, Counter())
                    broken = sum(times for number, times in found.items() if number > most)
                    yield Candidate(Template.AT_MOST, (letter, most), counted.total(), counted[most], misses,
                                    found.total(), broken, _chance_to_stop(good, most))  # fmt: skip

    def _find_least(self) -> Iterator[Candidate]:
        """Yield `at least n A`, which every run tests."""
        good = self._count_calls(self.log.good_shapes, succeeded=True)
        bad = self._count_calls(self.log.bad_shapes, succeeded=True)
        runs, bad_runs = len(self.log.good), len(self.log.bad)
        share = sum(counted.total() for counted in good.values()) / max(1, len(good) * runs)
        for letter, counted in good.items():
            absent = runs - counted.total()
            fewest = min(counted)
            if absent > 1 or (absent == 1 and fewest > 1):
                continue
            found = bad.get(letter, Counter())
            kept = sum(times for number, times in found.items() if number >= fewest)
            yield Candidate(Template.AT_LEAST, (letter, fewest), counted.total(), runs, absent,
                            bad_runs, bad_runs - kept, share)  # fmt: skip

    def _find_own(self) -> Iterator[Candidate]:
        """Yield `A requires its own B`. A run tests it if it calls A at least twice."""
        misses, tested, applied = Misses(), Counter[int](), Counter[int]()
        for shape, times in self.log.good_shapes.items():
            for letter, number in Counter(letter for letter, _ in shape).items():
                if letter in (OTHER, CONSENT):
                    continue
                applied[letter] += times
                if number > 1:
                    tested[letter] += times
                    pairs = members(self.required.nearly(letter, self._every & ~(1 << letter)))
                    failing = sum(1 << other for other in pairs if not _has_own(shape, letter, other))
                    misses.add(letter, failing, times)
        wanted = {
            letter: self.required.kept(letter, misses.nearly(letter, self._every & ~(1 << letter)))
            for letter, times in tested.items()
            if times >= self.least
        }
        broken, applied_bad = self._count_bad(wanted)
        for letter, others in wanted.items():
            for other in members(others):
                missed = misses.once.get(letter, 0) >> other & 1
                yield Candidate(Template.REQUIRES_OWN, (letter, other), applied[letter], tested[letter], missed,
                                applied_bad[letter], broken[letter, other], 0.5)  # fmt: skip

    def _count_bad(self, wanted: dict[int, int]) -> tuple[Counter[tuple[int, int]], Counter[int]]:
        broken, applied = Counter[tuple[int, int]](), Counter[int]()
        for shape, times in self.log.bad_shapes.items():
            for letter in {letter for letter, _ in shape if letter in wanted}:
                applied[letter] += times
                for other in members(wanted[letter]):
                    broken[letter, other] += 0 if _has_own(shape, letter, other) else times
        return broken, applied

    @property
    def _every(self) -> int:
        return (1 << len(self.log.tools)) - (1 << CONSENT)

    def _count_calls(self, shapes: Counter[Shape], *, succeeded: bool = False) -> dict[int, Counter[int]]:
        """Map each tool to how many runs call it how often. Runs that do not call it are left out."""
        found: dict[int, Counter[int]] = {}
        for shape, times in shapes.items():
            counted = Counter(letter for letter, failed in shape if not (succeeded and failed))
            for letter, number in counted.items():
                if letter not in (OTHER, CONSENT):
                    found.setdefault(letter, Counter())[number] += times
        return found


def _chance_to_stop(counts: Mapping[int, Counter[int]], number: int) -> float:
    """Of all runs that call a tool at least so often, over all tools, the share that call it no more often."""
    reached = sum(times for counted in counts.values() for one, times in counted.items() if one >= number)
    return sum(counted[number] for counted in counts.values()) / max(1, reached)


def _has_own(shape: Shape, letter: int, other: int) -> bool:
    """Whether each call to a tool uses up an earlier event of its own."""
    waiting = 0
    for one, failed in shape:
        if one == letter:
            if not waiting:
                return False
            waiting -= not failed
        elif one == other:
            waiting += not failed
    return True


def find_values(log: RuleLog, least: int) -> Iterator[Candidate]:
    """Yield `never A(x=v, ...)`: the values of an argument are a small choice, and v occurs in bad runs only."""
    good, bad = _count_values(log, log.good), _count_values(log, log.bad)
    applied, applied_bad = (count_slots(runs, succeeded=False) for runs in (log.good, log.bad))
    for slot, (seen, found) in enumerate(zip(good, bad, strict=True)):
        single = sum(times == 1 for times in seen.values())
        if applied[slot] < least or single > MOST_SINGLE * seen.total():
            continue
        letter, name = log.slots[slot]
        for value, times in found.items():
            if seen[value] <= 1:
                rule = Never(Tool(log.tools[letter]).where(**{name: value}))
                yield Candidate(Template.NEVER_VALUE, (), applied[slot], 0, seen[value],
                                applied_bad[slot], times, 1.0, rule)  # fmt: skip


def _count_values(log: RuleLog, runs: Sequence[Sequence[Event]]) -> list[Counter[Any]]:
    """Count in how many runs each slot has each value."""
    found = [Counter[Any]() for _ in log.slots]
    for run in runs:
        for slot, value in dict.fromkeys(pair for _, _, slots in run for pair in slots):
            found[slot][value] += 1
    return found


def find_unused(good: Sequence[Run], bad: Sequence[Run], wanted: Callable[[str], bool]) -> Iterator[Candidate]:
    """Yield `never A` for tools that bad runs call and good ones do not."""
    seen, found = count_tools(good), count_tools(bad)
    for tool, times in found.items():
        if seen[tool] <= 1 and wanted(tool):
            rule = Never(Tool(tool).any())
            yield Candidate(Template.NEVER, (), len(good), 0, seen[tool], len(bad), times, 1.0, rule)
