"""Tasks as test items: how hard each is, and whether it tells good agents from bad ones."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import StatisticsError, correlation, fmean
from typing import Any

from corepath.report.results import Results

ENOUGH = 3
"""Agents that it takes to say whether a task tells them apart."""


@dataclass(frozen=True)
class Item:
    """A task over all agents: `difficulty` is 1 − mean PC.

    `discrimination` is the correlation, over agents, of PC here with PC in all other tasks: near 1 the task ranks
    agents as the others do, near 0 it says nothing of them, below 0 the better ones do worse here. None where it has
    no value: too few agents, or all the same.
    """

    task: str
    episodes: int
    solved: float | None
    difficulty: float | None
    discrimination: float | None

    @property
    def note(self) -> str:
        """What a benchmark's author should look at."""
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
    """Every task, the hardest first."""
    means = {name: one.task_means("pc") for name, one in results.by_agent.items()}
    found = []
    for task, one in results.by_task.items():
        pc = one.mean("pc")
        difficulty = None if pc is None else 1 - pc
        found.append(Item(task, one.counted, one.mean("solved"), difficulty, _discrimination(means, task)))
    return sorted(found, key=lambda item: (-(item.difficulty or 0.0), item.task))


def _discrimination(means: dict[str, dict[str, float]], task: str) -> float | None:
    here: list[float] = []
    elsewhere: list[float] = []
    for own in means.values():
        rest = [value for other, value in own.items() if other != task]
        if task in own and rest:
            here.append(own[task])
            elsewhere.append(fmean(rest))
    if len(here) < ENOUGH:
        return None
    try:
        return correlation(here, elsewhere)
    except StatisticsError:  # all the same
        return None
