"""The drawings of a task on the page: its procedure as lanes, and its automaton, folded or in full."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from corepath.automaton.condensation import Trace
from corepath.automaton.step import Kind
from corepath.drawing.draw import STYLE, Drawing, draw
from corepath.drawing.lane_shapes import LANES_STYLE
from corepath.drawing.lanes import ROOM, draw_lanes, find_lanes
from corepath.drawing.placing import Places
from corepath.report.traffic import Traffic
from corepath.rules.rule import Rule
from corepath.task import Task

SMALL: Final = 30
"""Automata with more states than this are also drawn folded. The page shows the folded drawing first."""
MOST_STATES: Final = 400
"""Automata with more states than this are only drawn folded. Full drawings would be too large to read."""
MOST_BESIDE_LANES: Final = 150
"""If a task has lanes, only one drawing of its automaton is kept: folded if it has more states than this."""
NARROW: Final = 450
"""The width of lanes beside a list of calls, and on a telephone."""


@dataclass
class TaskRuns:
    """What the drawings of a task show of its runs."""

    task: Task | None
    traffic: Traffic | None = field(init=False)
    harms: dict[int, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """The harmful calls in each state."""

    def __post_init__(self) -> None:
        block = None if self.task is None else find_lanes(self.task)
        self.traffic = None if self.task is None or block is None else Traffic(self.task, Places(block))

    def add(self, trace: Trace | None, numbers: Sequence[int], times: int) -> dict[str, Any]:
        """Add runs that are alike, and return what their records say about their places in the drawing.

        `times` is the number of these runs, and `numbers` are the numbers of those in the page.
        """
        for step in trace.steps if trace else ():
            if step.kind is Kind.HARM:
                self.harms[step.before][step.call.label] += times
        if self.traffic is None:
            return {}
        if trace is None:
            self.traffic.skip(times)
            return {}
        return {"places": self.traffic.add(trace, numbers, times)}

    def to_dict(self, rules: Sequence[Rule] = ()) -> dict[str, Any]:
        """Return the drawings for the page: the automaton's, and the lanes in two widths with the numbers of runs."""
        if self.task is None:
            return {}
        drawn = [
            {"svg": drawing.svg.replace(f"<style>{STYLE}</style>", "", 1), "left_out": drawing.hidden}
            for drawing in _drawings(self.task, self.harms)
        ]
        if self.traffic is not None:
            drawn = drawn[:1] if len(self.task.automaton.states) > MOST_BESIDE_LANES else drawn[-1:]
        return {"drawings": drawn, **self._lanes(self.task, rules)}

    def _lanes(self, task: Task, rules: Sequence[Rule]) -> dict[str, Any]:
        if self.traffic is None:
            return {}
        block = self.traffic.places.block
        made = [draw_lanes(task, block, rules, room=room, counted=True) for room in (ROOM, NARROW)]
        svgs = [one.svg.replace(f"<style>{LANES_STYLE}</style>", "", 1) for one in made if one is not None]
        return {
            "lanes": [*dict.fromkeys(svgs)],
            "accepting": sorted(task.automaton.accepting),
            "runs": self.traffic.to_dict("".join(svgs)),
        }


def _drawings(task: Task, harms: Mapping[int, Counter[str]]) -> list[Drawing]:
    """Draw a task's automaton with the harmful calls in each state.

    Returns a collapsed drawing, a full drawing, or both, depending on the automaton's size. The page shows the first
    drawing by default.
    """
    listed = {
        state: sorted(calls.items(), key=lambda pair: (-pair[1], pair[0])) for state, calls in sorted(harms.items())
    }
    size = len(task.automaton.states)
    full = draw(task.automaton, listed, name=task.id) if size <= MOST_STATES else None
    folded = draw(task.automaton, listed, collapsed=True, name=task.id) if size > SMALL else None
    if full is not None and folded is not None and not folded.hidden:
        folded = None
    return [drawing for drawing in (folded, full) if drawing is not None]
