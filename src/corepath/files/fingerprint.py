"""A task's fingerprint, so that an episode is scored only on the very task that it was played on."""

from __future__ import annotations

import hashlib
import json
from itertools import islice
from typing import Any

from corepath.episode import Episode
from corepath.errors import TaskError
from corepath.files.task_writer import as_json
from corepath.task import Task
from corepath.values import canonical
from corepath.world.exploring import replay, simulator_of
from corepath.world.prompt import system_prompt


def fingerprint(task: Task) -> str:
    """A hash of all that an agent is told and judged by; it is computed once a task.

    That is the prompt, the automaton, and in a world its rules, tools, start, and how it behaves, which is seen in the
    answers to one call of each golden step and each decoy. Comments and names of Python things do not matter.
    """
    known: str | None = vars(task).get("_fingerprint")
    if known is None:
        known = hashlib.sha256(canonical(_told(task)).encode()).hexdigest()[:16]
        object.__setattr__(task, "_fingerprint", known)
    return known


def check_played(task: Task, episode: Episode) -> None:
    """Raise `TaskError` if the episode was played on another task, on another variant of it, or before it changed."""
    if episode.fingerprint is None or episode.fingerprint == fingerprint(task):
        return
    name = task.id or episode.task
    if episode.task and task.id and episode.task != task.id:
        raise TaskError.of(f"the episode was played on '{episode.task[:120]}', not on '{name}'")
    seed = f" (seed {episode.seed})" if episode.seed else ""
    raise TaskError.of(
        f"the episode was played on another variant of '{name}'{seed}, or before the task changed; "
        "corepath rescore scores it on the task as it is now"
    )


def _told(task: Task) -> list[Any]:
    written = json.loads(as_json(task))
    if task.simulator is None:
        return [written]
    world = simulator_of(task)
    decoys = [call for decoy in islice(task.decoys.values(), 5) for call in decoy.calls]
    steps = [example for action in task.automaton.alphabet.actions for example in islice(action.examples(), 1)]
    seen = [replay(task, calls) for calls in (decoys, steps)]
    answers = [[call.result if not call.failed else call.error for call in run.calls] for run in seen]
    ends = [world.key(run.end) for run in seen]
    return [[written, system_prompt(world), world.schemas, world.key(task.start), task.step_limit], answers, ends]
