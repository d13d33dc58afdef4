"""Check that every golden path runs and reaches the goal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from corepath.verification.subject import Subject
from corepath.world.exploring import Edge, Explored, path_text

MOST_REPORTED: Final = 5
"""Maximum number of failing steps reported per round."""


def check_step_limit(subject: Subject) -> Iterator[str]:
    """Check that the step limit is at least twice as long as the longest golden path, so that there is room to read."""
    longest, limit = subject.task.automaton.golden.longest, subject.task.step_limit
    if limit < 2 * longest:
        yield f"the step limit of {limit} is too small: a golden path has {longest} steps, and needs room for reads"


def check_golden_runs(subject: Subject) -> Iterator[str]:
    """Check that every golden path runs without a tool error and ends in a state in which the goal holds."""
    goal = subject.task.goal or (lambda _: True)
    for explored in subject.rounds:
        for snag in islice(explored.snags, MOST_REPORTED):
            yield f"a golden path does not run: after {path_text(snag.node.calls)}, {snag.why}"
        if not explored.whole:
            yield f"more than {len(explored.nodes):,} pairs of automaton state and world state: too many to run"
        for node in explored.nodes:
            if node.position.accepted and not goal(node.state):
                yield f"the goal does not hold after the golden path {path_text(node.calls)}"
                break


def index_steps(explored: Explored) -> dict[int, Edge]:
    """Return one step that leads on from each node, keyed by the node's `id`."""
    return {id(edge.node): edge for edge in explored.edges}


def path_through(edge: Edge, onward: Mapping[int, Edge]) -> list[Edge]:
    """Return the steps of a golden path from `edge` on, to the first accepting state.

    `onward` is the index that `index_steps` returns.
    """
    path = [edge]
    while not path[-1].after.position.accepted and id(path[-1].after) in onward:
        path.append(onward[id(path[-1].after)])
    return path
