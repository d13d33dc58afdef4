"""Check that every golden path complies with every policy."""

from __future__ import annotations

from collections.abc import Hashable, Iterator

from corepath.rules.policy import After, breaks, describe, owes
from corepath.task import Task
from corepath.verification.subject import Subject
from corepath.world.examples import variant
from corepath.world.exploring import Explored, Node, explore, path_text


def check_policies(subject: Subject) -> Iterator[str]:
    """Check that every golden path complies with every policy, whatever example values are used."""
    for number in range(len(subject.rounds)):
        explored = _explore_histories(subject.task, number)
        if not explored.whole:
            yield f"more than {len(explored.nodes):,} ways to hold against the policies"
        reported: set[str] = set()
        yield from _check_steps(subject.task, explored, reported)
        yield from _check_ends(subject.task, explored, reported)


def _explore_histories(task: Task, number: int) -> Explored:
    """Explore golden paths, and distinguish nodes by the steps done and the calls that policies still require.

    `number` selects the example values for the arguments.
    """
    open_ended = [policy for policy in task.policies if isinstance(policy, After)]

    def history(node: Node) -> Hashable:
        calls = node.calls if open_ended else []
        return node.position.done, tuple(owes(policy, calls) for policy in open_ended)

    return explore(task, variant(task, number), also=history)


def _check_steps(task: Task, explored: Explored, reported: set[str]) -> Iterator[str]:
    """Check that no step breaks a policy. Each policy is reported at most once."""
    for edge in explored.edges:
        done = edge.node.calls
        for policy in task.policies:
            if describe(policy) not in reported and breaks(policy, done, edge.call, edge.node.state, edge.after.state):
                reported.add(describe(policy))
                yield f"a golden path breaks '{policy}' ({policy.because}): {path_text([*done, edge.call])}"


def _check_ends(task: Task, explored: Explored, reported: set[str]) -> Iterator[str]:
    """Check that golden paths make every call that a policy requires. Each policy is reported at most once."""
    for node in explored.nodes:
        for policy in task.policies if node.position.accepted else ():
            if describe(policy) not in reported and owes(policy, node.calls):
                reported.add(describe(policy))
                yield f"a golden path lacks '{policy}' ({policy.because}): {path_text(node.calls)}"
