"""Item analysis: how difficult each task is, and how well it separates good agents from bad ones."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import StatisticsError, correlation, fmean
from typing import Any

from corepath.report.results import Results

FEWEST_AGENTS = 3
"""The fewest agents for which a discrimination is computed."""


@dataclass(frozen=True)
class Item:
    """A task as a test item, over all agents. `difficulty` is 1 − mean PC.

    `discrimination` is the correlation, over agents, between PC on this task and mean PC on all others. Near 1, the
    task ranks agents like the others do; near 0, it does not separate them; below 0, better agents do worse on it.
    It is None with too few agents, or if they all score the same.
    """

    task: str
    episodes: int
    solved: float | None
    difficulty: float | None
    discrimination: float | None

    @property
    def note(self) -> str:
        """A warning for the author of the benchmark, or an empty text."""
        if self.solved == 0:
            return "nobody solves it"
        if self.solved == 1:
            return "everybody solves it"
        if self.discrimination is not None and self.discrimination < 0:
            return "better agents do worse here"
        return ""

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {**vars(self), "note": self.note}


def items(results: Results) -> list[Item]:
    """All tasks as items, the most difficult first."""
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
