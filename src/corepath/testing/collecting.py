"""Collects the episodes that tests play, in one or several processes, and writes the report.

Each process appends to its own file, so that nothing is lost if a process is killed.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import CorepathError, Problem, count
from corepath.files.episodes import episode_json, read_episodes
from corepath.files.task_writer import as_json
from corepath.files.tasks import load_task
from corepath.notation.call import UNANSWERED
from corepath.report.output import write_report
from corepath.report.results import Result, Results
from corepath.runs.folder import EPISODES, replace_file
from corepath.scoring.options import PAPER
from corepath.scoring.score import Score, score
from corepath.task import Task
from corepath.values import parse_json
from corepath.world.discovery import world_task

_PIECES: Final = ".episodes-*.jsonl"
_NO_NAME: Final = "agent"

Found = tuple[Task | None, str | None]
"""A task and None, or None and the reason why the task cannot be found."""


@dataclass
class Collected:
    """The episodes collected in a test session. `worker` is the worker process's name, or None in the main process."""

    folder: Path
    worker: str | None
    summary: str = ""
    _tasks: dict[str, Found] = field(default_factory=dict)
    _episodes: list[tuple[str, str, Episode]] = field(default_factory=list)
    _problems: list[Problem] = field(default_factory=list)
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        if self.worker is None:
            for piece in self.folder.glob(_PIECES):  # left over from a session that was killed
                piece.unlink()

    def add(self, test: str, task: Task, episode: Episode, found: Score) -> None:
        """Record an episode from a test, with the paper's scores."""
        text = as_json(task)
        self._tasks[text] = (task, None)
        scored = found if found.scoring == PAPER else score(task, episode)
        made = replace(
            episode,
            task=task.id or test.rpartition("::")[2],
            agent=episode.agent or _NO_NAME,
            answer=None if episode.answer is UNANSWERED else episode.answer,
            scores=scored.to_dict(),
            extra={**episode.extra, "test": test},
        )
        try:
            line = {"test": test, "task": text, "episode": episode_json(made)}
        except (TypeError, ValueError, RecursionError) as error:
            line = {"test": test, "problem": f"an episode of '{made.task[:120]}' is no JSON: {error}"}
        self.folder.mkdir(parents=True, exist_ok=True)
        name = _PIECES.replace("*", f"{self.worker or 'main'}-{os.getpid()}")
        with self._lock, (self.folder / name).open("a", encoding="utf-8") as piece:
            piece.write(json.dumps(line) + "\n")

    def finish(self) -> None:
        """Merge the episodes from all processes, and write the report. A worker process does nothing."""
        if self.worker is not None:
            return
        pieces = sorted(self.folder.glob(_PIECES))
        for piece in pieces:
            self._read(piece)
        self._episodes.sort(key=lambda one: one[0])
        results = tuple(self._result(text, episode) for _, text, episode in self._episodes)
        page = write_report(Results(results, problems=tuple(self._problems)), self.folder)
        lines = "".join(episode_json(episode) + "\n" for _, _, episode in self._episodes)
        replace_file(self.folder / EPISODES, lines)
        for piece in pieces:
            piece.unlink()
        lost = f"; could not be kept: {len(self._problems)}, see there" if self._problems else ""
        self.summary = f"report of {count(len(self._episodes), 'episode')}: {page}{lost}"

    def _read(self, piece: Path) -> None:
        """Read the episodes and problems in one process's file. An incomplete last line counts as a problem."""
        for line in piece.read_text(encoding="utf-8").splitlines(keepends=True):
            if not line.endswith("\n"):
                self._problems.append(Problem(piece.name, 1, 1, "the last episode of a process that was killed"))
                continue
            record: dict[str, Any] = parse_json(line)
            test = record["test"]
            if "problem" in record:
                self._problems.append(Problem(test, 1, 1, record["problem"]))
                continue
            for read in read_episodes(test, BytesIO(record["episode"].encode())):
                if read.episode is not None:
                    self._episodes.append((test, record["task"], read.episode))
                elif read.problem is not None:
                    self._problems.append(read.problem)

    def _result(self, text: str, episode: Episode) -> Result:
        if text not in self._tasks:
            self._tasks[text] = _restore_task(text, episode)
        found = self._tasks[text]
        task = found[0]
        if task is not None and task.simulator is None:  # restored without its world, so with another fingerprint
            episode = replace(episode, fingerprint=None)
        return Result(episode, lambda _: found)


def _restore_task(text: str, episode: Episode) -> Found:
    """Restore an episode's task from the JSON in `text`. If an installed world has the same task, return that one.

    The result is the task and None, or None and the reason why the task cannot be restored.
    """
    try:
        known = world_task(episode.task, episode.seed or 0)
    except CorepathError:
        known = None
    if known is not None and as_json(known) == text:
        return known, None
    without_world = {name: value for name, value in json.loads(text).items() if name != "world"}
    with TemporaryDirectory() as place:
        file = Path(place) / "task.json"
        file.write_text(json.dumps({**without_world, "id": episode.task}), encoding="utf-8")
        try:
            return load_task(file), None
        except CorepathError as error:
            return None, str(error).replace(str(file), episode.task)
