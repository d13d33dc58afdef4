"""All runs of a task on one drawing: how many did each step, where runs failed, and where they parted."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
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
class Traffic:
    """The runs of a task, counted step by step. Each run has a number."""

    task: Task
    places: Places
    runs: int = 0
    accepted: int = 0
    done: Counter[int] = field(default_factory=Counter)
    harmful: Counter[int] = field(default_factory=Counter)
    stopped: Counter[int] = field(default_factory=Counter)
    points: dict[int, dict[Way, list[int]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(list)))
    _paths: Counter[frozenset[int]] = field(default_factory=Counter)

    def add(self, trace: Trace, runs: Sequence[int]) -> tuple[int, ...]:
        """Count runs with the same calls, and return the place of each of their calls that advanced the task."""
        found = self.places.of([step.symbol for step in trace.steps if step.advances and step.symbol is not None])
        done, at, harmful = set[int](), START, set[int]()
        waiting = list(found)
        for step in trace.steps:
            if step.kind is Kind.HARM:
                harmful.add(at)
            if step.advances and waiting:
                at = waiting.pop(0)
                done.add(at)
        times = len(runs)
        self.done.update(dict.fromkeys(done, times))
        self.harmful.update(dict.fromkeys(harmful, times))
        self._paths[frozenset(done)] += times
        if trace.end.accepted:
            self.accepted += times
        else:
            self.stopped[at] += times
        self._add_points(trace.steps, runs, accepted=trace.end.accepted)
        self.runs += times
        return found

    def _add_points(self, steps: Iterable[Step], runs: Sequence[int], *, accepted: bool) -> None:
        """Add runs to the points that they passed. Each way on from a point is counted once a run."""
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
        for state, way in seen:
            self.points[state][way] += runs

    def to_dict(self, svg: str, shown: Sequence[int]) -> dict[str, Any]:
        """Return the numbers for the page. `svg` is the drawing, whose lines say which places they belong to.

        Of the runs, only those in `shown` are named, by their index there.
        """
        last = max((step.place for step in self.places.block.steps), default=-1)
        several = {by for by in re.findall('data-by="([0-9 ]+)"', svg) if " " in by}
        return {
            "runs": self.runs,
            "accepted": self.accepted,
            "done": [self.done[place] for place in range(last + 1)],
            "harm": [self.harmful[place] for place in range(-1, last + 1)],
            "stop": [self.stopped[place] for place in range(-1, last + 1)],
            "lines": {by: self._count(frozenset(map(int, by.split()))) for by in sorted(several)},
            "points": self._points({run: place for place, run in enumerate(shown)}),
        }

    def _count(self, places: frozenset[int]) -> int:
        """Return the number of runs that did a step at one of these places."""
        return sum(times for done, times in self._paths.items() if not done.isdisjoint(places))

    def _points(self, names: Mapping[int, int]) -> list[dict[str, Any]]:
        """List the points at which runs part or fail, those with the most failures first."""
        rated = []
        for state, ways in self.points.items():
            failed = {number for way, runs in ways.items() if way.fails for number in runs}
            if failed or len(ways) > 1:
                passed = {number for runs in ways.values() for number in runs}
                rated.append((-len(failed), -len(passed), state))
        return [
            {
                "due": list(self.task.automaton.due(state)),
                "runs": -passed,
                "failed": -failed,
                "ways": self._ways(state, names),
            }
            for failed, passed, state in sorted(rated)[:MOST_POINTS]
        ]

    def _ways(self, state: int, names: Mapping[int, int]) -> list[list[Any]]:
        ways = sorted(self.points[state].items(), key=lambda pair: (-len(pair[1]), pair[0].kind, pair[0].label))
        return [
            [way.kind, way.action if way.kind == "step" else way.label, len(runs), _named(runs, names), way.harm]
            for way, runs in ways[:MOST_WAYS]
        ]


def _named(runs: Iterable[int], names: Mapping[int, int]) -> list[int]:
    return [names[run] for run in sorted(runs) if run in names][:MOST_RUNS]


def _harmful_way(step: Step) -> Way:
    label = step.call.label
    return Way("harm", None, label if len(label) <= _LONGEST_LABEL else f"{step.call.tool}(…)", str(step.harm or ""))
