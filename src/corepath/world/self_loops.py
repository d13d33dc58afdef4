"""Find self-loops in a world's task.

A write is a self-loop in an automaton state if it changes nothing in any world state that can occur there: neither the
public state nor a private field that a policy looks at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from corepath.notation.call import Call
from corepath.rules.private_fields import fields_seen
from corepath.task import Task
from corepath.values import canonical
from corepath.world.examples import arguments_at, count_distinct_variants, count_variants, variant
from corepath.world.exploring import Node, Place, StepMemo, explore, simulator_of
from corepath.world.state import encode


def find_self_loops(task: Task) -> dict[int, set[int]]:
    """Return the numbers of the steps that are self-loops, keyed by automaton state.

    Only writes without a transition from the automaton state can be self-loops. Such a write must succeed and preserve
    the public state, and the private fields that policies look at, in every world state that can occur with the
    automaton state. The result is empty if there are too many pairs of states to explore.
    """
    rounds = range(count_variants(task))
    reached: dict[int, dict[Place, Node]] = {}
    memo: StepMemo = {}
    for number in rounds:
        explored = explore(task, variant(task, number), memo=memo if len(rounds) > 1 else None)
        if not explored.whole:
            return {}
        for place, node in zip(explored.places, explored.nodes, strict=True):
            reached.setdefault(node.position.state, {})[place] = node
    trials = _Trials(task, _private_fields(task, reached))
    loops: dict[int, set[int]] = {}
    for symbol in _writes(task):
        numbers = rounds[: count_distinct_variants(task, symbol)]
        for state, pairs in reached.items():
            if symbol not in task.automaton.delta[state] and all(
                trials.changes_nothing(place, node, symbol, number)
                for place, node in pairs.items()
                for number in numbers
            ):
                loops.setdefault(state, set()).add(symbol)
    return loops


def _private_fields(task: Task, reached: Mapping[int, Mapping[Place, Node]]) -> frozenset[str]:
    """Return the private fields that policies look at in the world states that were reached."""
    states = {place[1]: node.state for pairs in reached.values() for place, node in pairs.items()}
    return fields_seen(task.policies, states.values())


def _writes(task: Task) -> list[int]:
    """Return the numbers of the steps that are writes."""
    alphabet, tools = task.automaton.alphabet, simulator_of(task).tools
    return [number for number in sorted(alphabet.steps) if tools[alphabet.actions[number].tool].writes]


@dataclass
class _Trials:
    """Executes steps and caches the outcomes, so that no call is executed twice in the same world state."""

    task: Task
    private: frozenset[str]
    calls: dict[tuple[str, int, int], tuple[Call | None, str]] = field(default_factory=dict)
    known: dict[tuple[str, int, str], bool] = field(default_factory=dict)

    def changes_nothing(self, place: Place, node: Node, symbol: int, number: int) -> bool:
        """Return True if a step succeeds at a node and changes neither the public state nor a field in `private`.

        `number` selects the example arguments.
        """
        _, state, bound = place
        if (bound, symbol, number) not in self.calls:
            self.calls[bound, symbol, number] = self._call(node, symbol, number)
        call, text = self.calls[bound, symbol, number]
        if call is None:
            return False
        if (state, symbol, text) not in self.known:
            world = simulator_of(self.task)
            answered, after = world.answer(node.state, call)
            same = world.same_public(node.state, after) and all(
                encode(getattr(node.state, name)) == encode(getattr(after, name)) for name in self.private
            )
            self.known[state, symbol, text] = same and not answered.failed
        return self.known[state, symbol, text]

    def _call(self, node: Node, symbol: int, number: int) -> tuple[Call | None, str]:
        """Return a step's call at a node, and the arguments as text.

        The call is None if there are no example arguments.
        """
        arguments = arguments_at(self.task, node.position, symbol, number)
        if arguments is None:
            return None, ""
        return Call(self.task.automaton.alphabet.actions[symbol].tool, arguments), canonical(arguments)
