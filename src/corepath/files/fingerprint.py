"""Task fingerprints, which ensure that an episode is scored only on the exact task that it was played on."""

from __future__ import annotations

import hashlib
import json
from itertools import islice
from typing import Any, Final
from weakref import WeakKeyDictionary

from corepath.episode import Episode
from corepath.errors import TaskError
from corepath.files.task_writer import as_json
from corepath.rules.monitor import Monitor, find_breaches
from corepath.rules.policy import describe
from corepath.task import SOURCE_PREFIX, Task
from corepath.values import canonical
from corepath.world.exploring import replay, simulator_of
from corepath.world.prompt import system_prompt

_FINGERPRINTS: Final[WeakKeyDictionary[Task, str]] = WeakKeyDictionary()


def fingerprint(task: Task) -> str:
    """Return a hash of everything in a task that the agent sees or is judged by.

    The hash covers the prompt and the automaton. For a world's task, it also covers the rules, tools, policies, start
    state, step limit and behaviour. The behaviour is how the world responds to one example of each action and to the
    first decoys, and which of these calls break a policy. Comments and Python names do not affect the hash.
    """
    if task not in _FINGERPRINTS:
        _FINGERPRINTS[task] = hashlib.sha256(canonical(_identity(task)).encode()).hexdigest()[:16]
    return _FINGERPRINTS[task]


def check_played(task: Task, episode: Episode) -> None:
    """Raise `TaskError` if the episode was played on another task, or on another variant or version of `task`.

    An imported episode has the fingerprint of the calls that its source expected. They must be the calls from which the
    task was derived, if it was derived.
    """
    if episode.fingerprint is None:
        return
    name = task.id or episode.task
    if episode.fingerprint.startswith(SOURCE_PREFIX):
        if task.source in (None, episode.fingerprint):
            return
        raise TaskError.of(
            f"the episode was judged at its source by other expected calls than those that '{name}' was derived from; "
            "derive the task from the file that the episode came from"
        )
    if episode.fingerprint == fingerprint(task):
        return
    if episode.task and task.id and episode.task != task.id:
        raise TaskError.of(f"the episode was played on '{episode.task[:120]}', not on '{name}'")
    seed = f" (seed {episode.seed})" if episode.seed else ""
    raise TaskError.of(
        f"the episode was played on another variant of '{name}'{seed}, or before the task changed; "
        "corepath rescore scores it on the task as it is now"
    )


def _identity(task: Task) -> list[Any]:
    written = json.loads(as_json(task))
    if task.simulator is None:
        return [written]
    world = simulator_of(task)
    given = [written, system_prompt(world), [tool.schema for tool in world.tools.values()], world.key(task.start)]
    return [[*given, task.step_limit], [*map(describe, task.policies)], *_behaviour(task)]


def _behaviour(task: Task) -> list[Any]:
    """Return how the world responds to the first decoys and to one example of each action, and what breaks a policy."""
    world, monitor = simulator_of(task), Monitor(task.policies)
    decoys = [call for decoy in islice(task.decoys.values(), 5) for call in decoy.calls]
    steps = [example for action in task.automaton.alphabet.actions for example in islice(action.examples(), 1)]
    seen = [replay(task, calls) for calls in (decoys, steps)]
    answers = [[call.result if not call.failed else call.error for call in run.calls] for run in seen]
    ends = [world.key(run.end) for run in seen]
    breaches = [sorted(find_breaches(monitor, run.calls, run.states)) for run in seen]
    return [answers, ends, breaches]
