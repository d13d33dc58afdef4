"""The two final-state baselines of BFCL: did the world end as it should, and did the agent get the answers it should.

Both are replayed in a fresh world. They are here to be compared with: what they miss is what the path shows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from corepath.action import Call
from corepath.explore import (
    MOST_PAIRS,
    Choose,
    Edge,
    Explored,
    Node,
    arguments_at,
    depends,
    explore,
    may_match,
    replay,
    simulator_of,
)
from corepath.json_values import canonical, equal
from corepath.matchers import Scope
from corepath.task import Task
from corepath.trace import Position, begin


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
    """What the golden paths do, each step with the arguments that the agent gave it, else with an example.

    Where the agent's arguments are what the examples are too, what was found for these holds.
    """
    settled, bound = {}, {}
    for symbol in _free(task):
        own = _own(task, symbol, done)
        if own and depends(task.automaton.alphabet.patterns[symbol].arguments):
            bound[symbol] = own
        elif own:
            settled[symbol] = own[:1]
    usual = _explored(task, settled, params)
    again: list[tuple[Node, int, Call | None]] = [(edge.node, edge.symbol, edge.call) for edge in usual.edges]
    again += [(snag.node, snag.symbol, snag.call) for snag in usual.snags]
    choose = _as_the_agent(task, bound)
    for node, symbol, call in again:
        if symbol in bound and (call is None or not equal(choose(node.position, symbol), call.arguments)):
            return _explored(task, settled | bound, params)
    return usual


def _free(task: Task) -> list[int]:
    """The steps that are more than one call."""
    alphabet = task.automaton.alphabet
    return [number for number in sorted(alphabet.steps) if not alphabet.actions[number].is_literal]


def _own(task: Task, symbol: int, done: Sequence[Call]) -> list[Any]:
    """The arguments of the agent's calls that may be the step, whatever is bound; each once."""
    pattern = task.automaton.alphabet.patterns[symbol]
    open_question = depends(pattern.arguments)
    fitting = (
        call.arguments
        for call in done
        if call.tool == pattern.tool
        and (
            may_match(pattern, call.arguments) if open_question else pattern.arguments.matches(call.arguments, Scope())
        )
    )
    return list({canonical(arguments): arguments for arguments in fitting}.values())


def _explored(task: Task, own: Mapping[int, Sequence[Any]], params: Mapping[str, Any]) -> Explored:
    known: dict[str, Explored] = vars(task).setdefault("_references", {})
    examples = {symbol: arguments_at(task, begin(task.automaton, params), symbol) for symbol in own}
    told = {str(symbol): given for symbol, given in own.items() if not equal(given, [examples[symbol]])}
    key = canonical([params, told])
    if key not in known:
        if len(known) >= 100:
            known.clear()
        known[key] = explore(task, _as_the_agent(task, own), MOST_PAIRS, params=params)
    return known[key]


def _as_the_agent(task: Task, own: Mapping[int, Sequence[Any]]) -> Choose:
    def choose(position: Position, symbol: int) -> Any:
        pattern = task.automaton.alphabet.patterns[symbol]
        for arguments in own.get(symbol, ()):
            if pattern.arguments.matches(arguments, Scope(dict(position.variables), position.results)):
                return arguments
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
