"""The subject of a verification: a task whose golden paths have been executed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from corepath.task import Task
from corepath.world.examples import count_variants, variant
from corepath.world.exploring import Edge, Explored, explore
from corepath.world.world import World


@dataclass(frozen=True)
class Subject:
    """A task to verify, with its world and the results of executing its golden paths.

    Each round executes every golden path with different example values for the matchers. The first round uses the
    simplest values.
    """

    task: Task
    world: World[Any]
    rounds: tuple[Explored, ...]

    @property
    def edges(self) -> Iterator[Edge]:
        """The executed steps in all rounds."""
        return (edge for explored in self.rounds for edge in explored.edges)


def execute(task: Task, world: World[Any]) -> Subject:
    """Execute the task's golden paths in several rounds, so that every example value for the matchers is used."""
    rounds = (explore(task, variant(task, number)) for number in range(max(count_variants(task), 1)))
    return Subject(task, world, tuple(rounds))
