"""Agents on tasks, from Python: what `corepath run` does, with functions at hand.

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
from corepath.play.own_agents import RAISED, attempt, check_agent, digest, find_agent, is_own
from corepath.play.session import Agent
from corepath.report.results import Result, Results, load_results
from corepath.runs.folder import RunFolder
from corepath.runs.plan import Plan
from corepath.scoring.options import PAPER, Scoring
from corepath.task import Task
from corepath.world.discovery import world_task
from corepath.world.exploring import simulator_of

IN_PYTHON: Final = ""
"""In place of the hash of an agent's file, where the agent is a function that was given in Python."""


def run(
    agent: Agent | str | Iterable[Agent | str] | Mapping[str, Agent | str],
    tasks: str | Path | Task | Iterable[str | Path | Task],
    *,
    epochs: int = 1,
    seed: int = 0,
    scoring: Scoring = PAPER,
    out: str | Path | None = None,
) -> Results:
    """Run agents on tasks and score them; with `out`, a run folder is written.

    An agent is a function that is given a `Session` and returns its final answer, or a name as on the command line;
    several are a list, or a mapping from the names they are to have. A task is a `Task` or a name as on the command
    line: `farm`, `farm/water_plant`, a file. `seed` says which variants of a world's tasks are played; of a `Task`
    that was made already, it is only recorded.

    What an agent raises does not end the run: the episode is recorded as failed outside, and there is a warning.
    Raises `RunError` where every episode of an agent raised.
    """
    if epochs < 1:
        raise OptionError(f"epochs are 1 or more, not {epochs}")
    given = _by_name(agent)
    agents = _agents(given)
    made = _tasks([tasks] if isinstance(tasks, (str, Path, Task)) else tasks, seed)
    played = (
        attempt(one, task, name=name, epoch=epoch, seed=seed, scoring=scoring)
        for task, _ in made.values() for name, one in agents.items() for epoch in range(epochs)
    )  # fmt: skip
    if out is None:
        results = Results(tuple(Result(one, lambda id_: (made[id_][0], None)) for one in played), scoring)
    else:
        sources = tuple(_source(task, source, seed) for task, source in made.values())
        own = {name: digest(name) if one == name else IN_PYTHON for name, one in given if one != name or is_own(name)}
        plan = Plan(sources, tuple(agents), epochs=epochs, seed=seed, scoring=scoring, own=own)
        _write(RunFolder.create(Path(out), plan.manifest()), played)
        results = load_results(out)
    for name in agents:
        _say_what_raised(name, [episode for episode in results.episodes if episode.agent == name])
    return results


def _write(folder: RunFolder, episodes: Iterator[Episode]) -> None:
    with folder.writing():
        for episode in episodes:
            folder.append(episode)


def _by_name(given: Any) -> list[tuple[str, Any]]:
    """What was given as agents, with the names that they have in the results."""
    if isinstance(given, Mapping):
        return list(given.items())
    listed = [given] if isinstance(given, str) or callable(given) or not isinstance(given, Iterable) else given
    return [(one if isinstance(one, str) else getattr(one, "__name__", type(one).__name__), one) for one in listed]


def _agents(given: list[tuple[str, Any]]) -> dict[str, Agent]:
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


def _tasks(given: Iterable[str | Path | Task], seed: int) -> dict[str, tuple[Task, Source | None]]:
    """The tasks by id, and where those come from that were given by name."""
    found: dict[str, tuple[Task, Source | None]] = {}
    for one in given:
        if isinstance(one, Task):
            simulator_of(one)  # raises where there is none
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


def _source(task: Task, source: Source | None, seed: int) -> Source:
    """Where a task comes from, by which a run folder names it."""
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


def _say_what_raised(name: str, episodes: list[Episode]) -> None:
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
