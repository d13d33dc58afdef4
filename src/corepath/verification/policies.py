"""Check that every golden path complies with every policy."""

from __future__ import annotations

from collections.abc import Iterator

from corepath.rules.monitor import Memory, Monitor
from corepath.rules.policy import describe
from corepath.rules.rule import Rule
from corepath.scoring.tracing import monitor_of
from corepath.verification.subject import Subject
from corepath.world.examples import variant
from corepath.world.exploring import Explored, Node, explore, path_text


def check_policies(subject: Subject) -> Iterator[str]:
    """Check that every golden path complies with every policy, whatever example values are used."""
    reported: set[str] = set()
    for number in range(len(subject.rounds)):
        history = _History(monitor_of(subject.task))
        explored = explore(subject.task, variant(subject.task, number), also=history.memory)
        if not explored.whole:
            yield f"more than {len(explored.nodes):,} ways to hold against the policies"
        yield from _check_steps(history, explored, reported)
        yield from _check_ends(history, explored, reported)


class _History:
    """What the policies remember at each node. Nodes that differ in it are explored separately."""

    def __init__(self, monitor: Monitor) -> None:
        self.monitor = monitor
        self._known: dict[int, tuple[Node, Memory]] = {}

    def memory(self, node: Node) -> Memory:
        """Return what the policies remember at `node`."""
        if id(node) not in self._known:
            memory = self.monitor.begin() if node.previous is None else self._observe(node)[1]
            self._known[id(node)] = node, memory  # with the node, so that its id is not used again
        return self._known[id(node)][1]

    def _observe(self, node: Node) -> tuple[list[Rule], Memory]:
        assert node.previous is not None
        previous, call = node.previous
        return self.monitor.observe(self.memory(previous), call, previous.state, node.state)


def _check_steps(history: _History, explored: Explored, reported: set[str]) -> Iterator[str]:
    """Check that no step breaks a policy. Each policy is reported at most once."""
    for edge in explored.edges:
        memory = history.memory(edge.node)
        broken, _ = history.monitor.observe(memory, edge.call, edge.node.state, edge.after.state)
        for policy in broken:
            if describe(policy) not in reported:
                reported.add(describe(policy))
                path = path_text([*edge.node.calls, edge.call])
                yield f"a golden path breaks '{policy}' ({policy.because}): {path}"


def _check_ends(history: _History, explored: Explored, reported: set[str]) -> Iterator[str]:
    """Check that golden paths make every call that a policy requires. Each policy is reported at most once."""
    for node in explored.nodes:
        for policy in history.monitor.owed(history.memory(node)) if node.position.accepted else ():
            if describe(policy) not in reported:
                reported.add(describe(policy))
                yield f"a golden path lacks '{policy}' ({policy.because}): {path_text(node.calls)}"
