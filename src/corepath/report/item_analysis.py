"""Item analysis: how difficult each task is, and how well it separates good agents from bad ones."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import StatisticsError, correlation, fmean
from typing import Any

from corepath.report.results import Results

FEWEST_AGENTS = 3
"""The fewest agents for which discrimination is computed."""


@dataclass(frozen=True)
class Item:
    """A task's statistics over all agents.

    `solved` is the share of solved episodes, and `difficulty` is 1 − mean PC. `discrimination` is the correlation, over
    agents, between PC on this task and mean PC on all other tasks. A value near 1 means that the task ranks agents as
    the other tasks do. A value near 0 means that the task does not separate agents. A negative value means that better
    agents do worse on the task. `discrimination` is None if there are too few agents, or if all agents score the same.
    """

    task: str
    episodes: int
    solved: float | None
    difficulty: float | None
    discrimination: float | None

    @property
    def note(self) -> str:
        """A warning for the benchmark's author, e.g. `nobody solves it`, or an empty string if there is none."""
        if self.solved == 0:
            return "nobody solves it"
        if self.solved == 1:
            return "everybody solves it"
        if self.discrimination is not None and self.discrimination < 0:
            return "better agents do worse here"
        return ""

    def to_dict(self) -> dict[str, Any]:
        """Return the item as JSON."""
        return {**vars(self), "note": self.note}


def items(results: Results) -> list[Item]:
    """Return an item for each task, the most difficult first."""
    means = {name: one.task_means("pc") for name, one in results.by_agent.items()}
    listed = []
    for task, one in results.by_task.items():
        pc = one.mean("pc")
        difficulty = None if pc is None else 1 - pc
        listed.append(Item(task, one.counted, one.mean("solved"), difficulty, _discrimination(means, task)))
    return sorted(listed, key=lambda item: (-(item.difficulty or 0.0), item.task))


def _discrimination(means: dict[str, dict[str, float]], task: str) -> float | None:
    here: list[float] = []
    elsewhere: list[float] = []
    for own in means.values():
        rest = [value for other, value in own.items() if other != task]
        if task in own and rest:
            here.append(own[task])
            elsewhere.append(fmean(rest))
    if len(here) < FEWEST_AGENTS:
        return None
    try:
        return correlation(here, elsewhere)
    except StatisticsError:  # every agent has the same value
        return None
