"""All runs of a task on one drawing: how many did each step, where runs failed, and where they parted."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from corepath.automaton.condensation import Trace
from corepath.automaton.step import Kind, Step
from corepath.drawing.placing import Places
from corepath.task import Task

START: Final = -1
"""The place of runs that have done no step yet."""
MOST_POINTS: Final = 12
"""The most points to list at which runs part or fail."""
MOST_WAYS: Final = 6
"""The most ways to list on from a point."""
MOST_RUNS: Final = 10
"""The most runs to name for a way."""
_LONGEST_LABEL: Final = 80
"""Harmful calls with longer labels are counted together by their tool."""


@dataclass(frozen=True)
class Way:
    """How a run went on from a point: with a step (`action`), with a harmful call (`label`, `harm`), or not at all."""

    kind: str
    action: int | None = None
    label: str = ""
    harm: str = ""

    @property
    def fails(self) -> bool:
        """Whether the run did something wrong here."""
        return self.kind != "step"


@dataclass
class Point:
    """A state at which runs were: how many, how many of them went wrong there, and how they went on."""

    runs: int = 0
    failed: int = 0
    ways: dict[Way, int] = field(default_factory=Counter)
    """How many runs went on in each way."""
    numbers: dict[Way, list[int]] = field(default_factory=lambda: defaultdict(list))
    """The numbers of these runs, as far as they are in the page."""

    def add(self, ways: Sequence[Way], numbers: Sequence[int], times: int) -> None:
        """Count a run that occurred several times, and went on in these ways."""
        self.runs += times
        self.failed += times * any(way.fails for way in ways)
        for way in ways:
            self.ways[way] += times
            self.numbers[way] += numbers


@dataclass
class Traffic:
    """The runs of a task, counted step by step."""

    task: Task
    places: Places
    runs: int = 0
    accepted: int = 0
    done: Counter[int] = field(default_factory=Counter)
    harmful: Counter[int] = field(default_factory=Counter)
    stopped: Counter[int] = field(default_factory=Counter)
    points: dict[int, Point] = field(default_factory=lambda: defaultdict(Point))
    _paths: Counter[frozenset[int]] = field(default_factory=Counter)

    def add(self, trace: Trace, numbers: Sequence[int] | None = None, times: int = 1) -> tuple[int, ...]:
        """Count a run, and return the place of each of its calls that advanced the task.

        If several runs are alike, `times` is their number, and `numbers` are the numbers of those in the page. By
        default, runs are numbered in the order in which they are added.
        """
        found = self.places.of([step.symbol for step in trace.steps if step.advances and step.symbol is not None])
        done, at, harmful = set[int](), START, set[int]()
        waiting = list(found)
        for step in trace.steps:
            if step.kind is Kind.HARM:
                harmful.add(at)
            if step.advances and waiting:
                at = waiting.pop(0)
                done.add(at)
        self.done.update(dict.fromkeys(done, times))
        self.harmful.update(dict.fromkeys(harmful, times))
        self._paths[frozenset(done)] += times
        if trace.end.accepted:
            self.accepted += times
        else:
            self.stopped[at] += times
        for state, ways in self._ways_from(trace.steps, accepted=trace.end.accepted).items():
            self.points[state].add(ways, [self.runs] if numbers is None else numbers, times)
        self.runs += times
        return found

    def skip(self, times: int = 1) -> None:
        """Leave out runs that cannot be drawn, but count them."""
        self.runs += times

    def _ways_from(self, steps: Iterable[Step], *, accepted: bool) -> dict[int, list[Way]]:
        """Return the ways in which a run went on from each state, each way once."""
        seen: dict[tuple[int, Way], None] = {}
        state = self.task.automaton.start
        for step in steps:
            if step.kind is Kind.HARM:
                seen[step.before, _harmful_way(step)] = None
            elif step.advances:
                seen[step.before, Way("step", step.symbol)] = None
            state = step.after
        if not accepted:
            seen[state, Way("stop")] = None
        found: dict[int, list[Way]] = {}
        for state, way in seen:
            found.setdefault(state, []).append(way)
        return found

    def to_dict(self, svg: str) -> dict[str, Any]:
        """Return the numbers for the page. `svg` is the drawing, whose lines say which places they belong to."""
        last = max((step.place for step in self.places.block.steps), default=-1)
        several = {by for by in re.findall('data-by="([0-9 ]+)"', svg) if " " in by}
        return {
            "runs": self.runs,
            "accepted": self.accepted,
            "done": [self.done[place] for place in range(last + 1)],
            "harm": [self.harmful[place] for place in range(-1, last + 1)],
            "stop": [self.stopped[place] for place in range(-1, last + 1)],
            "lines": {by: self._count(frozenset(map(int, by.split()))) for by in sorted(several)},
            "points": self._points(),
        }

    def _count(self, places: frozenset[int]) -> int:
        """Return the number of runs that did a step at one of these places."""
        return sum(times for done, times in self._paths.items() if not done.isdisjoint(places))

    def _points(self) -> list[dict[str, Any]]:
        """List the points at which runs part or fail, those with the most failures first."""
        rated = [
            (-point.failed, -point.runs, state)
            for state, point in self.points.items()
            if point.failed or len(point.ways) > 1
        ]
        return [
            {"due": list(self.task.automaton.due(state)), "runs": -passed, "failed": -failed, "ways": self._ways(state)}
            for failed, passed, state in sorted(rated)[:MOST_POINTS]
        ]

    def _ways(self, state: int) -> list[list[Any]]:
        point = self.points[state]
        ways = sorted(point.ways.items(), key=lambda pair: (-pair[1], pair[0].kind, pair[0].label))
        return [
            [way.kind, way.action if way.kind == "step" else way.label, runs,
             sorted(point.numbers[way])[:MOST_RUNS], way.harm]
            for way, runs in ways[:MOST_WAYS]
        ]  # fmt: skip


def _harmful_way(step: Step) -> Way:
    label = step.call.label
    return Way("harm", None, label if len(label) <= _LONGEST_LABEL else f"{step.call.tool}(…)", str(step.harm or ""))
