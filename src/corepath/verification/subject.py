"""The subject of a proof: a task and its golden paths, already executed."""

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
    """A task with its world and one exploration per round.

    Each round executes every golden path with other example values for the matchers; the first round has the plainest.
    """

    task: Task
    world: World[Any]
    rounds: tuple[Explored, ...]

    @property
    def edges(self) -> Iterator[Edge]:
        """The executed steps of all rounds."""
        return (edge for explored in self.rounds for edge in explored.edges)


def execute(task: Task, world: World[Any]) -> Subject:
    """Execute the golden paths of a task with every example value of its matchers."""
    rounds = (explore(task, variant(task, number)) for number in range(max(count_variants(task), 1)))
    return Subject(task, world, tuple(rounds))
