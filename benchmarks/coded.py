"""Episodes coded for the kernel, and the kernel run on them: compiled, or as plain Python."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any
from unittest.mock import patch

from tests.kernels import plain_kernel

from corepath import PAPER, Episode, Task
from corepath.automaton.flat import flat_form
from corepath.scoring import arrays, kernel
from corepath.scoring.metrics import Workspace


@dataclass(frozen=True)
class CodedTask:
    """The coded episodes of one task: everything that the kernel asks for, in its order. `out` comes last."""

    module: ModuleType
    given: tuple[Any, ...]

    def run(self) -> int:
        """Score the episodes. Returns the place of a row that is not filled, or -1."""
        place, _ = self.module.score_episodes(*self.given)
        return int(place)


def code_episodes(tasks: Mapping[str, Task], episodes: Iterable[Episode], *, compiled: bool) -> list[CodedTask]:
    """Code episodes task by task, with all rows filled."""
    groups: dict[str, list[Episode]] = {}
    for episode in episodes:
        groups.setdefault(episode.task, []).append(episode)
    with patch.object(arrays, "COMPILED", compiled):
        return [_code_task(tasks[id_], group, compiled=compiled) for id_, group in groups.items()]


def run_all(coded: Iterable[CodedTask]) -> None:
    for one in coded:
        one.run()


def outcome(coded: Iterable[CodedTask]) -> bytes:
    """Return all numbers that the kernel wrote, as bits."""
    return b"".join(array("d", one.given[-1]).tobytes() for one in coded)


def _code_task(task: Task, episodes: list[Episode], *, compiled: bool) -> CodedTask:
    flat = flat_form(task.automaton)
    codes = flat.codes(PAPER.errors)
    calls = [codes.code(call) for episode in episodes for call in episode.calls]
    offsets = [0]
    for episode in episodes:
        offsets.append(offsets[-1] + len(episode.calls))
    longest = max(len(episode.calls) for episode in episodes)
    convert: Any = (lambda values: array("q", values)) if compiled else list
    work = Workspace(flat, longest, PAPER)
    while True:
        made = CodedTask(kernel if compiled else plain_kernel(), (
            convert(flat.graph), convert(codes.rows), task.automaton.start, convert(calls), convert(offsets),
            convert(range(len(episodes))), work.options, *(arrays.zeros(longest) for _ in range(3)),
            arrays.zeros(len(calls)), work.place, work.columns, work.live,
            array("d", bytes(8 * kernel.WIDTH * len(episodes))),
        ))  # fmt: skip
        if (place := made.run()) < 0:
            return made
        codes.fill(place)
