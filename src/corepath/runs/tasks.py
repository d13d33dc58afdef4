"""Find a run's tasks as they were played, so that its episodes can be scored or shown again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from corepath.errors import CorepathError, Problem
from corepath.files.episodes import EpisodeLine
from corepath.files.fingerprint import fingerprint
from corepath.files.lookup import Source
from corepath.play.play import rescore
from corepath.runs.episode_check import scores_error
from corepath.runs.folder import EPISODES, RunFolder
from corepath.runs.plan import Plan
from corepath.scoring.options import Scoring
from corepath.task import Task

FoundTask = tuple[Task | None, str | None]
"""A task and None, or None and the reason why the task is not available."""


@dataclass
class RunTasks:
    """A run's tasks as they were played. Each task is built when it is first needed.

    Tasks in `given` replace the run's own. A task that is missing or has changed is not available.
    """

    folder: RunFolder
    plan: Plan
    given: Mapping[str, Task] = field(default_factory=dict)
    _found: dict[str, FoundTask] = field(default_factory=dict)

    def __call__(self, id_: str) -> FoundTask:
        """Look up a task by id. Return the task and None, or None and the reason why the task is not available."""
        if id_ not in self._found:
            self._found[id_] = self._build(id_)
        return self._found[id_]

    def lines(self, scoring: Scoring) -> Iterator[EpisodeLine]:
        """Yield the run's lines, with every episode scored according to `scoring`.

        If an episode cannot be scored, its line has a problem instead.
        """
        return (self.score(line, scoring) for line in self.folder.lines())

    def score(self, line: EpisodeLine, scoring: Scoring) -> EpisodeLine:
        """Return a line whose episode has scores according to `scoring`. Recorded scores are kept if they can be used.

        If the episode cannot be scored, the line has a problem instead.
        """
        episode = line.episode
        if episode is None:
            return line
        entry = self._entry(episode.task)
        wrong = scores_error(episode.scores, scoring)
        if scoring != self.plan.scoring:
            wrong = "it was scored in another way"
        elif episode.fingerprint not in (None, entry.get("scored") or entry["hash"]):
            wrong = "it was scored on an older version of the task"
        if wrong is None:
            return line
        task, why = self(episode.task)
        try:
            if task is not None:
                return replace(line, episode=rescore(task, episode, scoring))
        except CorepathError as error:
            why = str(error)
        message = f"{wrong}, and it cannot be scored again: {why}"
        return EpisodeLine(line.line, None, Problem(str(self.folder.path / EPISODES), line.line, 1, message))

    def _entry(self, id_: str) -> dict[str, Any]:
        entry: dict[str, Any] = self.folder.manifest["tasks"][id_]
        return entry

    def _build(self, id_: str) -> FoundTask:
        entry = self._entry(id_)
        if self.plan.redact:
            return None, f"values were redacted ({', '.join(self.plan.redact)}), so the calls cannot be read again"
        source = Source(entry["where"], id_)
        if id_ not in self.given and source.is_missing:
            return None, f"the task is of {source.where}, which no longer exists; give it with --tasks"
        try:
            task = self.given[id_] if id_ in self.given else source.make(self.plan.seed)
            now = fingerprint(task)
        except (CorepathError, KeyError, StopIteration, OSError) as error:
            return None, f"the task can no longer be built: {error}"
        if now != (entry.get("scored") or entry["hash"]):
            return None, "the task has changed since; score the run again with: corepath rescore"
        return task, None
