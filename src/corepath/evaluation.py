"""Run agents on tasks from Python, as `corepath run` does.

results = corepath.run(my_agent, ["farm", "legal/approve"])
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from corepath.episode import Episode
from corepath.errors import CorepathError, OptionError, RunError
from corepath.files.fingerprint import fingerprint
from corepath.files.lookup import Source, all_sources
from corepath.play.built_in import BUILT_IN
from corepath.play.own_agents import RAISED, check_agent, digest, find_agent, is_own, play_safely
from corepath.play.session import Agent
from corepath.report.loading import load_results
from corepath.report.results import Result, Results
from corepath.runs.folder import RunFolder
from corepath.runs.plan import Plan
from corepath.scoring.options import PAPER, Scoring
from corepath.task import Task
from corepath.world.discovery import world_task
from corepath.world.exploring import simulator_of

IN_PYTHON: Final = ""
"""Recorded instead of a file hash if the agent is a Python function."""

Made = dict[str, tuple[Task, Source | None]]
"""Maps a task's id to the task and its source. The source is None if the user passed a `Task`."""


def run(
    agent: Agent | str | Iterable[Agent | str] | Mapping[str, Agent | str],
    tasks: str | Path | Task | Iterable[str | Path | Task],
    *,
    epochs: int = 1,
    seed: int = 0,
    scoring: Scoring = PAPER,
    out: str | Path | None = None,
) -> Results:
    """Run agents on tasks, score the episodes and return the results. With `out`, also write a run folder.

    An agent is a function that takes a `Session` and returns the final answer, or a name as on the command line. Pass
    several agents as a list, or as a mapping from names to agents. A task is a `Task` or a name as on the command line,
    e.g. `farm`, `farm/water_plant` or the path to a task file. `seed` chooses the variants of a world's tasks. A `Task`
    object is played as it is, and `seed` is only recorded.

    An exception in an agent does not end the run. The episode is recorded as failed outside the agent, and a warning is
    issued. Raises `RunError` if an agent raised an exception in every episode.
    """
    if epochs < 1:
        raise OptionError(f"epochs are 1 or more, not {epochs}")
    given = _name_agents(agent)
    agents = _find_agents(given)
    made = _make_tasks([tasks] if isinstance(tasks, (str, Path, Task)) else tasks, seed)
    played = (
        play_safely(one, task, name=name, epoch=epoch, seed=seed, scoring=scoring)
        for task, _ in made.values() for name, one in agents.items() for epoch in range(epochs)
    )  # fmt: skip
    if out is None:
        results = Results(tuple(Result(one, lambda id_: (made[id_][0], None)) for one in played), scoring)
    else:
        sources = tuple(_find_source(task, source, seed) for task, source in made.values())
        plan = Plan(sources, tuple(agents), epochs=epochs, seed=seed, scoring=scoring, own=_hash_agents(given))
        _write(RunFolder.create(Path(out), plan.manifest()), played)
        results = load_results(out)
    for name in agents:
        _warn_of_exceptions(name, [episode for episode in results.records if episode.agent == name])
    return results


def _hash_agents(given: list[tuple[str, Any]]) -> dict[str, str]:
    """Return a hash for each of the user's own agents, keyed by the agent's name.

    This is the hash of the agent's file, or `IN_PYTHON` if the agent is a Python function.
    """
    return {name: digest(name) if one == name else IN_PYTHON for name, one in given if one != name or is_own(name)}


def _write(folder: RunFolder, episodes: Iterator[Episode]) -> None:
    with folder.writing():
        for episode in episodes:
            folder.append(episode)


def _name_agents(given: Any) -> list[tuple[str, Any]]:
    """Pair each agent with its name in the results."""
    if isinstance(given, Mapping):
        return list(given.items())
    listed = [given] if isinstance(given, str) or callable(given) or not isinstance(given, Iterable) else given
    return [(one if isinstance(one, str) else getattr(one, "__name__", type(one).__name__), one) for one in listed]


def _find_agents(given: list[tuple[str, Any]]) -> dict[str, Agent]:
    """Return the agents as functions, keyed by name. Raises `OptionError` if an agent cannot be run."""
    if not given:
        raise OptionError("there is no agent")
    found: dict[str, Agent] = {}
    for name, one in given:
        if not isinstance(name, str) or not name:
            raise OptionError(f"the name of an agent is text, not {name!r}")
        if name in found:
            raise OptionError(
                f"two agents are called '{name}'; give them names: run({{'one': ..., 'other': ...}}, ...)"
            )
        if isinstance(one, str):
            found[name] = find_agent(one)
            continue
        if name.partition(":")[0] in BUILT_IN:
            raise OptionError(f"'{name}' is a built-in agent; give yours another name: run({{'my_{name}': ...}}, ...)")
        check_agent(one, f"'{name}'")
        found[name] = one
    return found


def _make_tasks(given: Iterable[str | Path | Task], seed: int) -> Made:
    """Return all tasks with their sources, keyed by task id. Tasks that are passed by name are made with `seed`.

    Raises `OptionError` if two different tasks have the same id.
    """
    found: Made = {}
    for one in given:
        if isinstance(one, Task):
            simulator_of(one)  # raises if the task has no simulator
            pairs: list[tuple[Task, Source | None]] = [(one, None)]
        else:
            pairs = [(source.make(seed), source) for source in all_sources([str(one)], playable=True)]
        for task, source in pairs:
            if task.id in found and fingerprint(found[task.id][0]) != fingerprint(task):
                raise OptionError(f"two tasks are called '{task.id}'; run them apart")
            found.setdefault(task.id, (task, source))
    if not found:
        raise OptionError("there is no task")
    return found


def _find_source(task: Task, source: Source | None, seed: int) -> Source:
    """Return the source to record in the run folder for `task`.

    Raises `OptionError` if the task comes from neither a file nor an installed world.
    """
    if source is not None:
        return source
    try:
        if fingerprint(world_task(task.id, seed)) == fingerprint(task):
            return Source(task.id.partition("/")[0], task.id)
    except CorepathError:
        pass
    raise OptionError(
        f"a run folder names the files of its tasks: give '{task.id}' by its file or world, or leave `out` out"
    )


def _warn_of_exceptions(name: str, episodes: list[Episode]) -> None:
    """Warn if the agent `name` raised exceptions in some episodes. Raises `RunError` if it did so in every episode."""
    raised = [one.failure for one in episodes if one.failure.get("kind") == RAISED]
    if not raised:
        return
    message = (
        f"{name} raised in {len(raised)} of {len(episodes)} episodes, first at {raised[0]['at']}: "
        f"{raised[0]['message']}"
    )
    if len(raised) == len(episodes):
        raise RunError(message)
    warnings.warn(message, stacklevel=3)
