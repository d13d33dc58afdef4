"""Traits of a task that are found by executing it."""

from __future__ import annotations

from corepath.notation.matchers import ResultOf, walk
from corepath.task import Task
from corepath.world.examples import variant
from corepath.world.exploring import explore, simulator_of


def traits(task: Task) -> tuple[str, ...]:
    """Return the names of a task's traits, e.g. `restores` if its golden paths undo everything they change."""
    alphabet, world = task.automaton.alphabet, simulator_of(task)
    steps = [alphabet.actions[number] for number in alphabet.steps]
    explored = explore(task, variant(task, 0))
    ends = [node for node in explored.nodes if node.position.accepted]
    restored = all(world.same_public(task.start, node.state) for node in ends)
    wrote = any(world.tools[action.tool].writes for action in steps)
    found = {
        "value read": any(isinstance(part, ResultOf) for action in steps for part in walk(action.arguments)),
        "changes nothing": restored and not wrote,
        "restores": restored and wrote,
        "many ways": task.automaton.count >= 6,
        "long": task.automaton.lengths[0] >= 12,
    }
    return tuple(name for name, present in found.items() if present)
