"""Make a task with every option of every pick, so that a value that differs in one place only is found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from corepath.task import Task
from corepath.world.world import Pick, World

T = TypeVar("T")


class ChosenPick(Pick):
    """Picks the first option, except for the picks in `chosen`, and counts the options of each pick.

    `chosen` maps the number of a pick to the number of an option.
    """

    def __init__(self, chosen: dict[int, int]) -> None:
        super().__init__("", 0)
        self.chosen = chosen
        self.counts: list[int] = []

    def _number(self, count: int) -> int:
        self.counts.append(count)
        return min(self.chosen.get(len(self.counts) - 1, 0), count - 1)


def make_options(world: World[Any], name: str) -> Iterator[Task]:
    """Make the task once for each option of each pick. The other picks stay at their first option."""
    first = ChosenPick({})
    world.makers[name](first)
    for number, count in enumerate(first.counts):
        for option in range(1, count):
            made = world.makers[name](ChosenPick({number: option}))
            yield world.complete(made, f"{world.name}/{name}")
