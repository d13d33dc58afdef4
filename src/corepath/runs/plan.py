"""A run's plan: agents, tasks and epochs. The manifest stores the plan, so that the run can be resumed."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import corepath
from corepath.files.fingerprint import fingerprint
from corepath.files.lookup import Source
from corepath.runs.folder import Key, RunFolder
from corepath.scoring.options import PAPER, Scoring


@dataclass(frozen=True)
class Plan:
    """Which agents play which tasks, how often, with which seed, and how the episodes are scored.

    `agents` names the function agents, and `own` maps the user's own agents to their files' hashes. `models` names the
    live models, and `options` has the settings for running them. `epochs` is how often each agent plays each task.
    `redact` names the fields whose values are replaced by hashes. `floor` names the baseline agents that are added when
    models run.
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
        """The number of episodes in the run."""
        return len(self.agents + self.models) * self.share

    @property
    def share(self) -> int:
        """The number of episodes that each agent plays."""
        return len(self.sources) * self.epochs

    @property
    def asked(self) -> tuple[str, ...]:
        """The agents and models that the user asked for, without the baseline agents in `floor`."""
        return tuple(name for name in self.agents + self.models if name not in self.floor)

    def missing(self, done: Iterable[Key], who: Iterable[str]) -> Iterator[tuple[Source, list[tuple[str, int]]]]:
        """Yield each task with missing episodes, and a list of (agent, epoch) pairs for these episodes.

        `done` has the keys of finished episodes, and `who` names the agents to consider.
        """
        finished = set(done)
        names = list(who)
        for source in self.sources:
            todo = [(agent, epoch) for agent in names for epoch in range(self.epochs)]
            left = [(agent, epoch) for agent, epoch in todo if (agent, source.id, epoch) not in finished]
            if left:
                yield source, left

    def manifest(self) -> dict[str, Any]:
        """Return the plan as the manifest stores it, with a hash for every task."""
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
        """Read the plan from an existing run's manifest."""
        manifest = folder.manifest  # validated when the folder was opened
        return cls(
            sources=tuple(Source(one["where"], id_) for id_, one in manifest["tasks"].items()),
            agents=tuple(manifest["agents"]),
            models=tuple(manifest["models"]),
            epochs=manifest["epochs"],
            seed=manifest["seed"],
            scoring=Scoring.of(manifest["scoring"]),
            options=manifest["options"],
            redact=tuple(manifest["redact"]),
            floor=tuple(manifest.get("floor", ())),
            own=dict(manifest.get("own_agents", {})),
        )


def versions(with_models: bool) -> dict[str, Any]:  # noqa: FBT001
    """Return the versions of the packages that run models, or an empty dict if no models run."""
    if not with_models:
        return {}
    from importlib.metadata import version  # noqa: PLC0415

    return {"inspect_ai": version("inspect_ai"), "openai": version("openai")}


def changed_tasks(folder: RunFolder, plan: Plan) -> list[str]:
    """Return the ids of the run's tasks that have changed since they were played."""
    played = folder.manifest["tasks"]
    return [source.id for source in plan.sources if fingerprint(source.make(plan.seed)) != played[source.id]["hash"]]


def rescored_manifest(folder: RunFolder, plan: Plan) -> dict[str, Any]:
    """Return the manifest to write after a run's episodes were scored again with the current tasks.

    The manifest also keeps the hashes of the tasks as they were played.
    """
    now = plan.manifest()
    tasks = {id_: {**one, "scored": now["tasks"][id_]["hash"]} for id_, one in folder.manifest["tasks"].items()}
    return {**folder.manifest, **{name: now[name] for name in ("corepath", "profile", "scoring")}, "tasks": tasks}
