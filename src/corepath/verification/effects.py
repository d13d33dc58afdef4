"""Check that reads and self-loops do not change the state, and that writes on golden paths do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from corepath.automaton.alphabet import Alphabet
from corepath.automaton.reading import Role
from corepath.notation.call import Call
from corepath.verification.subject import Subject
from corepath.world.candidates import Candidates
from corepath.world.examples import arguments_at
from corepath.world.exploring import Edge, Node, path_text, simulator_of
from corepath.world.world import World


def check_reads_and_writes(subject: Subject) -> Iterator[str]:
    """Check that reads do not change the state, and that writes on golden paths do.

    Reads are checked in every state that golden paths reach.
    """
    task, world = subject.task, subject.world
    reported: set[str] = set()
    for edge in subject.edges:
        failure = None if edge.call.tool in reported else _mislabelled_step(world, edge)
        if failure is not None:
            reported.add(edge.call.tool)
            yield failure
    pool, states = Candidates(task, world), {world.key(node.state): node.state for node in subject.rounds[0].nodes}
    for tool in world.tools.values():
        if not tool.writes and tool.name not in reported:
            yield from islice(_impure_reads(world, pool.calls(tool.name), states), 1)


def _mislabelled_step(world: World[Any], edge: Edge) -> str | None:
    """Describe how a step contradicts its tool's declaration as a read or a write, or return None if it does not."""
    if world.tools[edge.call.tool].writes:
        if world.same_public(edge.node.state, edge.after.state):
            return f"the write {edge.call} is progress after {path_text(edge.node.calls)} and changes nothing"
    elif world.key(edge.node.state) != world.key(edge.after.state):
        return f"'{edge.call.tool}' is declared a read and changes the state: {edge.call}"
    return None


def _impure_reads(world: World[Any], calls: Iterable[Call], states: Mapping[str, Any]) -> Iterator[str]:
    """Yield a message whenever one of `calls` crashes or changes the state in one of `states`, given by their keys."""
    for call in calls:
        for key, state in states.items():
            answered, after = world.answer(state, call)
            if "crashed" in answered.extra:
                yield f"{call} breaks the world: {answered.error}"
            elif world.key(after) != key:
                yield f"'{call.tool}' is declared a read and changes the state: {call}"


def check_self_loops(subject: Subject) -> Iterator[str]:
    """Check that self-loops do not change the public state, and that self-loops that are writes do not fail.

    Self-loops are executed at every pair of automaton state and world state that golden paths reach.
    """
    for number, explored in enumerate(subject.rounds):
        for node in explored.nodes:
            yield from _check_loops_at(subject, node, number)


def _check_loops_at(subject: Subject, node: Node, number: int) -> Iterator[str]:
    """Check every self-loop at `node`. `number` selects the example values for the arguments."""
    world, automaton, state = simulator_of(subject.task), subject.task.automaton, node.position.state
    for symbol in automaton.loops(state):
        arguments = arguments_at(subject.task, node.position, symbol, number)
        if arguments is None:
            continue
        call = Call(automaton.alphabet.actions[symbol].tool, arguments)
        answered, after = world.answer(node.state, call)
        loop = f"{call} is a self-loop in state '{automaton.states[state]}'"
        if not world.same_public(node.state, after):
            yield f"{loop} and changes the state, after {path_text(node.calls)}"
        elif answered.failed and world.tools[call.tool].writes:
            yield f"{loop} and fails there: {answered.error}"


def check_ignored_writes(subject: Subject) -> Iterator[str]:
    """Check that writes listed as reads or as neutral do not change the state on any golden path."""
    task, world = subject.task, subject.world
    pool = Candidates(task, world)
    for tool in world.tools.values():
        for call in _ignored_calls(task.automaton.alphabet, pool, tool.name) if tool.writes else ():
            for node in subject.rounds[0].nodes:
                if not world.same_public(node.state, world.answer(node.state, call)[1]):
                    yield f"{call} is let pass and changes the state, after {path_text(node.calls)}"
                    break


def _ignored_calls(alphabet: Alphabet, pool: Candidates, tool: str) -> Iterator[Call]:
    """Yield calls to `tool` that the task treats as reads or as neutral."""
    patterns = [pattern for pattern in (*alphabet.reads, *alphabet.neutral) if pattern.fits_tool(tool)]
    if not patterns:
        return
    examples = (Call(tool, example.arguments) for pattern in patterns for example in pattern.examples())
    for call in (*examples, *pool.calls(tool)):
        if alphabet.read(call, {}, {}, failed=False).role is Role.LOOP:
            yield call
