"""The two final-state baselines of BFCL: did the world end as it should, and did the agent get the answers it should.

Both are replayed in a fresh world. They are here to be compared with: what they miss is what the path shows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from corepath.action import Call
from corepath.explore import MOST_PAIRS, Choose, Edge, Explored, arguments_at, explore, replay, simulator_of
from corepath.json_values import canonical
from corepath.matchers import Scope
from corepath.task import Task
from corepath.trace import Position


def baselines(
    task: Task, calls: Sequence[Call], params: Mapping[str, Any] | None = None
) -> tuple[bool | None, bool | None]:
    """`state_match` and `response_match`; None where there are too many pairs to look at all."""
    world = simulator_of(task)
    run = replay(task, calls)
    done = [call for call in run.calls if not call.failed]
    explored = _references(task, done, params or {})
    if not explored.whole:
        return None, None
    accepted = [node for node in explored.nodes if node.position.accepted]
    end = canonical(world.public(run.end))
    state = any(canonical(world.public(node.state)) == end for node in accepted)
    return state, _responses_found(explored, Counter(_text(call) for call in done))


def _references(task: Task, done: Sequence[Call], params: Mapping[str, Any]) -> Explored:
    """What the golden paths do, each step with the arguments that the agent gave it, else with an example."""
    alphabet = task.automaton.alphabet
    free = {alphabet.actions[number].tool for number in alphabet.steps if not alphabet.actions[number].is_literal}
    own = [call for call in done if call.tool in free]
    known: dict[str, Explored] = vars(task).setdefault("_references", {})
    key = canonical([params, [(call.tool, call.arguments) for call in own]])
    if key not in known:
        if len(known) >= 100:
            known.clear()
        known[key] = explore(task, _as_the_agent(task, own), MOST_PAIRS, params=params)
    return known[key]


def _as_the_agent(task: Task, own: Sequence[Call]) -> Choose:
    def choose(position: Position, symbol: int) -> Any:
        pattern = task.automaton.alphabet.patterns[symbol]
        for call in own:
            scope = Scope(dict(position.variables), position.results)
            if call.tool == pattern.tool and pattern.arguments.matches(call.arguments, scope):
                return call.arguments
        return arguments_at(task, position, symbol)

    return choose


def _responses_found(explored: Explored, responses: Counter[str]) -> bool | None:
    """Whether the responses of some golden path are all among the agent's, each as often."""
    edges: dict[int, list[Edge]] = defaultdict(list)
    for edge in explored.edges:
        edges[id(edge.node)].append(edge)
    first = (explored.nodes[0], ())
    seen: set[tuple[int, tuple[str, ...]]] = {(id(first[0]), first[1])}
    waiting: list[tuple[Any, tuple[str, ...]]] = [first]
    while waiting:
        node, used = waiting.pop()
        if node.position.accepted:
            return True
        for edge in edges[id(node)]:
            text = _text(edge.call)
            if used.count(text) < responses[text]:
                key = (id(edge.after), tuple(sorted((*used, text))))
                if key not in seen:
                    if len(seen) >= MOST_PAIRS:
                        return None
                    seen.add(key)
                    waiting.append((edge.after, key[1]))
    return False


def _text(call: Call) -> str:
    return canonical(call.result)
