"""Read episodes from a run folder, an episode file or standard input."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from corepath.episode import Episode
from corepath.errors import Problem, TaskError
from corepath.files.episodes import read_episodes
from corepath.files.lookup import Tasks
from corepath.rules.rule import Rule
from corepath.runs.folder import EPISODES, RunFolder
from corepath.runs.plan import Plan
from corepath.runs.tasks import RunTasks
from corepath.scoring.options import PAPER, Scoring
from corepath.task import Task


@dataclass(frozen=True)
class Entry:
    """An episode with its file, its line number (from 1), and a function that finds its task.

    `usual` holds the scoring options to use if the episode's record has none. If the episode is known by its scores
    only, `lost` says why its calls are not at hand. `rules` are those by which it was scored.
    """

    episode: Episode
    file: str
    line: int
    find: Callable[[Episode], Task]
    usual: Scoring = PAPER
    lost: str | None = None
    rules: tuple[Rule, ...] = ()

    @property
    def task(self) -> Task:
        """The task that was played. Raises `TaskError` if the task is not available."""
        return self.find(self.episode)

    @property
    def scoring(self) -> Scoring:
        """The scoring options in the episode's record, or `usual` if the record has none."""
        return self.usual if self.episode.scoring is None else Scoring.of(self.episode.scoring)

    def problem(self, message: str) -> Problem:
        """Return a problem at this episode's line."""
        return Problem(self.file, self.line, 1, message)


def read_entries(place: Path, tasks: Tasks) -> Iterator[Entry | Problem]:
    """Yield an entry for each episode in `place`, and a problem for each line that is not an episode.

    `place` is a run folder, an episode file, or `-` for standard input. A run's tasks come from its plan, unless
    `tasks` has a task with the same id.
    """
    if place.is_dir():
        yield from _read_run(place, tasks)
        return
    standard = str(place) == "-"
    name = "<stdin>" if standard else str(place)
    for line in read_episodes(name, sys.stdin.buffer if standard else None):
        if line.problem is not None:
            yield line.problem
        elif line.episode is not None:
            yield Entry(line.episode, name, line.line, tasks.of)


def _read_run(path: Path, tasks: Tasks) -> Iterator[Entry | Problem]:
    folder = RunFolder.open(path)
    plan = Plan.of(folder)
    run_tasks = RunTasks(folder, plan)

    def find(episode: Episode) -> Task:
        if episode.task in tasks.sources:
            return tasks.of(episode)
        task, why = run_tasks(episode.task)
        if task is None:
            raise TaskError.of(f"{episode.task[:120]}: {why}")
        return task

    for line in folder.lines():
        if line.problem is not None:
            yield line.problem
        elif line.episode is not None:
            yield Entry(line.episode, str(path / EPISODES), line.line, find, plan.scoring)
