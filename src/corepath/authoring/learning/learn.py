"""Learning a task from good runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from corepath.authoring.derive import tool_patterns
from corepath.authoring.learning.arrangement import Arrangement
from corepath.authoring.learning.events import Events, find_events
from corepath.authoring.learning.good_run import GoodRun, read_run
from corepath.authoring.learning.orders import learn_orders
from corepath.authoring.learning.steps import SeenStep, find_steps
from corepath.authoring.learning.told_apart import tell_apart
from corepath.episode import Episode
from corepath.errors import TaskError
from corepath.files.tool_file import Tools
from corepath.notation.action import Action
from corepath.notation.patterns import ANY
from corepath.notation.procedure import choice
from corepath.task import Task


@dataclass(frozen=True)
class Learned:
    task: Task
    steps: Sequence[SeenStep]
    events: Events
    arrangement: Arrangement


def learn(episodes: Iterable[Episode], tools: Tools) -> Learned:
    runs = [read_run(episode, tools) for episode in episodes]
    if not runs:
        raise TaskError.of("no runs to learn from")
    steps = tell_apart(find_steps(runs, tools), runs)
    for step in steps:
        for name in step.varying:
            step.patterns[name] = ANY
    events = find_events(steps, len(runs), frozenset())
    arrangement = learn_orders(events.runs)
    used = sorted(set(events.steps))
    named = _name_actions([steps[one] for one in used])
    actions = dict(zip(used, named, strict=True))
    procedure = arrangement.procedure(lambda event: choice(*actions[events.steps[event]]))
    task = Task(
        id=runs[0].episode.task,
        procedure=procedure,
        actions=[one for found in named for one in found],
        reads=tuple(tool_patterns(tools.reads, tools)),
        neutral=tuple(tool_patterns(tools.neutral, tools)),
        tools=None if tools.tools is None else tuple(tools.tools),
        refused="try",
    )
    return Learned(task, steps, events, arrangement)


def _only_reads(steps: Sequence[SeenStep], runs: Sequence[GoodRun]) -> frozenset[int]:
    """Return the reads of a task in which nothing but reading is done."""
    hands_over = any(len(run.episode.calls) > len(run.calls) for run in runs)
    if hands_over or not all(step.reads for step in steps):
        return frozenset()
    return frozenset(range(len(steps)))


def _name_actions(steps: Sequence[SeenStep]) -> list[tuple[Action, ...]]:
    taken: set[str] = set()
    found = []
    for step in steps:
        named = []
        for action in step.make_actions():
            names = (step.tool, *(f"{step.tool}_{number}" for number in range(2, len(taken) + 3)))
            name = next(name for name in names if name not in taken)
            taken.add(name)
            named.append(action.named(name))
        found.append(tuple(named))
    return found
