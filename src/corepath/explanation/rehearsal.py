"""Try a repair in the task's world."""

from __future__ import annotations

from collections.abc import Sequence

from corepath.automaton.step import Kind, begin, step
from corepath.explanation.edits import Move
from corepath.explanation.facts import Facts
from corepath.notation.call import Call
from corepath.rules.monitor import find_breaches
from corepath.scoring.tracing import monitor_of
from corepath.world.examples import variant
from corepath.world.exploring import Edge, Node, attempt


def rehearse(facts: Facts, moves: Sequence[Move]) -> frozenset[int] | None:
    """Execute a repaired path, and return the calls that stay and break a policy even then.

    Return None if the path does not turn out to be valid.
    """
    task, world = facts.task, facts.task.simulator
    if world is None:
        return None
    node = Node(begin(task.automaton, facts.episode.params), task.start)
    calls: list[Call] = []
    states, old = [task.start], list[int | None]()
    for move in moves:
        if move.kind in ("leave out", "taken"):
            continue
        if move.call is not None and move.kind in ("keep", "put back"):
            call, state = world.answer(node.state, facts.steps[move.call].call)
            taken, position = step(node.position, call)
            if taken.kind is Kind.HARM:
                return None
            node = Node(position, state)
        else:
            done = attempt(task, node, move.symbol, variant(task, 0)) if move.symbol is not None else None
            if not isinstance(done, Edge):
                return None
            call, node = done.call, done.after
        calls.append(call)
        states.append(node.state)
        old.append(move.call)
    if not node.position.accepted:
        return None
    broken = find_breaches(monitor_of(task), calls, states)
    return frozenset(index for place in broken if (index := old[place]) is not None)
