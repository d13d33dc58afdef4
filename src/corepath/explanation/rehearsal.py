"""Try a repair in the task's world."""

from __future__ import annotations

from collections.abc import Sequence

from corepath.automaton.step import Kind, begin, step
from corepath.explanation.edits import Move
from corepath.explanation.facts import Facts
from corepath.world.examples import variant
from corepath.world.exploring import Edge, Node, attempt


def rehearse(facts: Facts, moves: Sequence[Move]) -> bool:
    """Execute a repaired path, and return whether it is valid and every new step succeeds."""
    task, world = facts.task, facts.task.simulator
    if world is None:
        return False
    node = Node(begin(task.automaton, facts.episode.params), task.start)
    for move in moves:
        if move.kind in ("leave out", "taken"):
            continue
        if move.call is not None and move.kind in ("keep", "put back"):
            call, state = world.answer(node.state, facts.steps[move.call].call)
            taken, position = step(node.position, call)
            if taken.kind is Kind.HARM:
                return False
            node = Node(position, state)
            continue
        done = attempt(task, node, move.symbol, variant(task, 0)) if move.symbol is not None else None
        if not isinstance(done, Edge):
            return False
        node = done.after
    return node.position.accepted
