"""What a run runs: agents, tasks and epochs; it stands in the manifest, so that a run can go on where it stopped."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import corepath
from corepath.episode import Episode
from corepath.errors import CorepathError, Problem
from corepath.files.episodes import EpisodeLine
from corepath.files.fingerprint import fingerprint
from corepath.files.lookup import Source
from corepath.play.play import rescored
from corepath.runs.folder import EPISODES, Key, RunFolder
from corepath.runs.record import wrong_scores
from corepath.scoring.options import PAPER, Scoring
from corepath.task import Task


@dataclass(frozen=True)
class Plan:
    """Which agents act on which tasks, how often, from which seed, and how they are scored.

    `agents` are functions by name; of one's `own` the hash of the file is kept. `models` are live ones, with `options`
    for the harness that runs them. `floor` are the agents that nobody asked for, and that run beside the models.
    """

    sources: tuple[Source, ...]
    agents: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    epochs: int = 1
    seed: int = 0
    scoring: Scoring = PAPER
    options: Mapping[str, Any] = field(default_factory=dict)
    redact: tuple[str, ...] = ()
    floor: tuple[str, ...] = ()
    own: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """How many episodes there are."""
        return len(self.agents + self.models) * self.share

    @property
    def share(self) -> int:
        """How many episodes each agent has."""
        return len(self.sources) * self.epochs

    @property
    def asked(self) -> tuple[str, ...]:
        """The agents and models that were asked for: what the run is about."""
        return tuple(name for name in self.agents + self.models if name not in self.floor)

    def missing(self, done: Iterable[Key], who: Iterable[str]) -> Iterator[tuple[Source, list[tuple[str, int]]]]:
        """For each task the pairs of agent and epoch that are not done."""
        finished = set(done)
        names = list(who)
        for source in self.sources:
            todo = [(agent, epoch) for agent in names for epoch in range(self.epochs)]
            left = [(agent, epoch) for agent, epoch in todo if (agent, source.id, epoch) not in finished]
            if left:
                yield source, left

    def manifest(self) -> dict[str, Any]:
        """The plan as it is written, with the hash of every task."""
        return {
            "corepath": corepath.__version__,
            "python": platform.python_version(),
            **versions(bool(self.models)),
            "agents": list(self.agents),
            "models": list(self.models),
            "floor": list(self.floor),
            "own_agents": dict(self.own),
            "epochs": self.epochs,
            "seed": self.seed,
            "profile": self.scoring.profile,
            "scoring": self.scoring.options,
            "options": dict(self.options),
            "redact": list(self.redact),
            "tasks": {
                source.id: {"where": source.where, "hash": fingerprint(source.make(self.seed))}
                for source in self.sources
            },
        }

    @classmethod
    def of(cls, folder: RunFolder) -> Plan:
        """The plan of a run that was begun."""
        written = folder.manifest  # as it was checked when the folder was opened
        return cls(
            sources=tuple(Source(one["where"], id_) for id_, one in written["tasks"].items()),
            agents=tuple(written["agents"]),
            models=tuple(written["models"]),
            epochs=written["epochs"],
            seed=written["seed"],
            scoring=Scoring.of(written["scoring"]),
            options=written["options"],
            redact=tuple(written["redact"]),
            floor=tuple(written.get("floor", ())),
            own=dict(written.get("own_agents", {})),
        )


def versions(with_models: bool) -> dict[str, Any]:  # noqa: FBT001
    """The versions of what runs models."""
    if not with_models:
        return {}
    from importlib.metadata import version  # noqa: PLC0415

    return {"inspect_ai": version("inspect_ai"), "openai": version("openai")}


def changed(folder: RunFolder, plan: Plan) -> list[str]:
    """The tasks of a run that are no longer what was played."""
    played = folder.manifest["tasks"]
    return [source.id for source in plan.sources if fingerprint(source.make(plan.seed)) != played[source.id]["hash"]]


def scored_again(folder: RunFolder, plan: Plan) -> dict[str, Any]:
    """The manifest of a run whose episodes are scored with the tasks as they are now: what was played stays in it."""
    now = plan.manifest()
    tasks = {id_: {**one, "scored": now["tasks"][id_]["hash"]} for id_, one in folder.manifest["tasks"].items()}
    return {**folder.manifest, **{name: now[name] for name in ("corepath", "profile", "scoring")}, "tasks": tasks}


Found = tuple[Task | None, str | None]
"""A task, or why it cannot be had."""


@dataclass
class Played:
    """The tasks of a run as they were played, made when they are asked for; `files` are tasks given beside it.

    A task that is gone, or is not what was played, is not had, and why is said.
    """

    folder: RunFolder
    plan: Plan
    files: Mapping[str, Task] = field(default_factory=dict)
    _made: dict[str, Found] = field(default_factory=dict)

    def __call__(self, id_: str) -> Found:
        """The task, or why it cannot be had."""
        if id_ not in self._made:
            self._made[id_] = self._make(id_)
        return self._made[id_]

    def lines(self, scoring: Scoring) -> Iterator[EpisodeLine]:
        """The run's lines; each episode has scores of this scoring. Where it has none, it is scored, or a problem."""
        for line in self.folder.lines():
            yield line if line.episode is None else self._scored(line, line.episode, scoring)

    def _scored(self, line: EpisodeLine, episode: Episode, scoring: Scoring) -> EpisodeLine:
        written = self._written(episode.task)
        wrong = wrong_scores(episode.scores, scoring)
        if scoring != self.plan.scoring:
            wrong = "its scores are of another way"
        elif episode.fingerprint not in (None, written.get("scored") or written["hash"]):
            wrong = "its scores are of the task as it was before"
        if wrong is None:
            return line
        task, why = self(episode.task)
        try:
            if task is not None:
                return replace(line, episode=rescored(task, episode, scoring))
        except CorepathError as error:
            why = str(error)
        message = f"{wrong}, and it cannot be scored again: {why}"
        return EpisodeLine(line.line, None, Problem(str(self.folder.path / EPISODES), line.line, 1, message))

    def _written(self, id_: str) -> dict[str, Any]:
        written: dict[str, Any] = self.folder.manifest["tasks"][id_]
        return written

    def _make(self, id_: str) -> Found:
        written = self._written(id_)
        if self.plan.redact:
            return None, f"values were redacted ({', '.join(self.plan.redact)}), so the calls cannot be read again"
        source = Source(written["where"], id_)
        if id_ not in self.files and source.is_missing:
            return None, f"the task is of {source.where}, which is not there any more; give it with --tasks"
        try:
            task = self.files[id_] if id_ in self.files else source.make(self.plan.seed)
            now = fingerprint(task)
        except (CorepathError, KeyError, StopIteration, OSError) as error:
            return None, f"the task cannot be made any more: {error}"
        if now != (written.get("scored") or written["hash"]):
            return None, "the task has changed since; score the run again with: corepath rescore"
        return task, None
