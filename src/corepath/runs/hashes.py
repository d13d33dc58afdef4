"""What a task is, as a hash: two runs of tasks with the same hash can be compared."""

from __future__ import annotations

import hashlib
import json
from itertools import islice

from corepath.explore import replay, simulator_of
from corepath.json_values import canonical
from corepath.session import Session
from corepath.show import as_json
from corepath.task import Task


def task_hash(task: Task) -> str:
    """Of all that an agent is told and judged by: prompt, rules, tools, start, automaton, and how the world behaves.

    How it behaves is seen in the answers to one call of each golden step and each decoy. Comments and names of Python
    things do not matter.
    """
    session = Session(task)
    world = simulator_of(task)
    decoys = [call for decoy in islice(task.decoys.values(), 5) for call in decoy.calls]
    steps = [example for action in task.automaton.alphabet.actions for example in islice(action.examples(), 1)]
    seen = [replay(task, calls) for calls in (decoys, steps)]
    answers = [[call.result if not call.failed else call.error for call in run.calls] for run in seen]
    ends = [world.key(run.end) for run in seen]
    told = [json.loads(as_json(task)), session.system, session.tools, world.key(task.start), task.step_limit]
    return hashlib.sha256(canonical([told, answers, ends]).encode()).hexdigest()[:16]
