"""Test the proof itself: delete right ways from a procedure or add a wrong one, and see whether `verify` notices."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final

from corepath.automaton.automaton import Automaton
from corepath.automaton.step import Kind, begin, step
from corepath.errors import CorepathError, TaskError
from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.notation.matchers import Fields, Literal, Matcher, OneOf, Regex, depends_on_calls
from corepath.notation.parts import Rebuild, walk_parts
from corepath.notation.patterns import as_matcher
from corepath.notation.procedure import (
    AnyOrder,
    Choice,
    Procedure,
    Repeat,
    Seq,
    any_order,
    choice,
    one_by_one,
    optional,
    repeat,
    seq,
)
from corepath.task import Task
from corepath.values import equal
from corepath.verification.golden_runs import index_steps, path_through
from corepath.verification.verify import find_failure
from corepath.world.candidates import Candidates
from corepath.world.examples import variant
from corepath.world.exploring import Explored, as_call, explore, path_text
from corepath.world.world import Pick, World

MOST_A_KIND: Final = 3
"""Maximum number of changes of one kind per task, spread evenly over the procedure."""
MOST_WITNESSES: Final = 300
"""Maximum number of golden paths to run in order to see whether a change matters."""
MOST_IN_TURN: Final = 4
"""Maximum number of parts that are tried without interleaving."""


@dataclass(frozen=True)
class Change:
    """A procedure that was changed. `kind` says how, and `narrows` whether right ways were deleted."""

    kind: str
    narrows: bool
    procedure: Procedure


@dataclass(frozen=True)
class Notice:
    """How many changes of one kind `verify` noticed. `missed` describes those that it did not notice."""

    kind: str
    narrows: bool
    changes: int = 0
    noticed: int = 0
    missed: tuple[str, ...] = field(default=())

    def plus(self, other: Notice) -> Notice:
        """Return the sum of both."""
        return Notice(
            self.kind,
            self.narrows,
            self.changes + other.changes,
            self.noticed + other.noticed,
            self.missed + other.missed,
        )


def challenge(world: World[Any], name: str, nodes: int, seed: int = 0) -> list[Notice]:
    """Change a task's procedure in every way that `narrow` and `widen` know, and count what `verify` notices."""
    original = world.make(name, seed)
    if original.automaton.procedure is None:
        return []
    if (failure := find_failure(original, world, nodes)) is not None:
        raise TaskError.of(f"task '{original.id}' is not proven, so its proof cannot be tested: {failure}")
    found: list[Notice] = []
    for change, changed, witness in changed_tasks(world, name, seed):
        noticed = find_failure(changed, world, nodes) is not None
        missed = () if noticed else (f"{original.id}: {change.kind}: {path_text(witness)}",)
        found.append(Notice(change.kind, change.narrows, 1, int(noticed), missed))
    return total_notices(found)


def changed_tasks(world: World[Any], name: str, seed: int = 0) -> Iterator[tuple[Change, Task, list[Call]]]:
    """Yield changes of a task's procedure, the changed tasks, and paths that only one of the two tasks accepts.

    A few changes of each kind are made. Those that make no difference to any path are left out.
    """
    raw = world.makers[name](Pick(f"{world.name}/{name}", seed))
    original = world.complete(raw, f"{world.name}/{name}")
    for change in choose_changes((*narrow(original), *widen(original, world))):
        try:
            changed = rebuild_task(world, raw, change.procedure, original.id)
        except CorepathError:
            continue  # the change does not make a task, e.g. because two steps fit the same call
        witness = find_witness(*((original, changed) if change.narrows else (changed, original)))
        if witness is not None:
            yield change, changed, witness


def total_notices(notices: Iterable[Notice]) -> list[Notice]:
    """Add up the notices for many tasks, one sum per kind, narrowings first."""
    found: dict[str, Notice] = {}
    for notice in notices:
        found[notice.kind] = found[notice.kind].plus(notice) if notice.kind in found else notice
    return sorted(found.values(), key=lambda notice: not notice.narrows)


def choose_changes(changes: Sequence[Change]) -> Iterator[Change]:
    """Yield a few changes of each kind, spread evenly from the first to the last."""
    kinds: dict[str, list[Change]] = {}
    for change in changes:
        kinds.setdefault(change.kind, []).append(change)
    for found in kinds.values():
        last = len(found) - 1
        for number in sorted({round(index * last / (MOST_A_KIND - 1)) for index in range(MOST_A_KIND)}):
            yield found[number]


def rebuild_task(world: World[Any], raw: Task, procedure: Procedure, name: str) -> Task:
    """Make the task anew, with another procedure."""
    automaton = Automaton.from_procedure(procedure, raw.actions, raw.listing)
    return world.complete(replace(raw, procedure=procedure, automaton=automaton), name)


def find_witness(wide: Task, narrow: Task) -> list[Call] | None:
    """Return a golden path of `wide` that `narrow` rejects, or None if there is none among the first."""
    explored = explore(wide, variant(wide, 0))
    for path in islice(_paths(explored), MOST_WITNESSES):
        position = begin(narrow.automaton)
        for call in path:
            taken, position = step(position, call)
            if taken.kind is Kind.HARM:
                return path
        if not position.accepted:
            return path
    return None


def _paths(explored: Explored) -> Iterator[list[Call]]:
    """Yield a golden path through each step at each node, as executed calls."""
    onward = index_steps(explored)
    for edge in explored.edges:
        path = path_through(edge, onward)
        if path[-1].after.position.accepted:
            yield [*edge.node.calls, *(one.call for one in path)]


# Changes


def narrow(task: Task) -> Iterator[Change]:
    """Yield the procedure with right ways deleted."""
    procedure = task.automaton.procedure
    assert procedure is not None
    for part, rebuild in walk_parts(procedure):
        match part:
            case AnyOrder(parts):
                yield from _narrow_order(parts, rebuild)
            case Choice(parts):
                for index in range(len(parts)):
                    yield Change("branch dropped", True, rebuild(choice(*parts[:index], *parts[index + 1 :])))
            case Repeat(inner, least, most) if least < most:
                yield Change("fewest repetitions only", True, rebuild(repeat(inner, least, least) if least else seq()))
                yield Change("most repetitions only", True, rebuild(repeat(inner, most, most)))
            case Action():
                for other in _narrow_values(part):
                    yield Change("accepted value dropped", True, rebuild(other))


def _narrow_order(parts: Sequence[Procedure], rebuild: Rebuild) -> Iterator[Change]:
    """Yield the procedure with fewer orders of parts that may come in any order."""
    yield Change("any order made a sequence", True, rebuild(seq(*parts)))
    yield Change("any order made a sequence, last first", True, rebuild(seq(*reversed(parts))))
    if any(isinstance(one, Seq) for one in parts) and len(parts) <= MOST_IN_TURN:
        yield Change("steps no longer interleaved", True, rebuild(one_by_one(*parts)))


def _narrow_values(action: Action) -> Iterator[Action]:
    """Yield the action with fewer accepted values for one of its arguments."""
    for name, pattern in action.arguments.fields:
        options: list[Matcher] = []
        match pattern:
            case OneOf(alternatives) if not depends_on_calls(pattern):
                options = [
                    OneOf(tuple(one for one in alternatives if one != alternative)) if len(alternatives) > 2 else other
                    for alternative in alternatives
                    for other in [next((one for one in alternatives if one != alternative), alternative)]
                ]
            case Regex():
                options = [as_matcher(pattern.examples()[0])]
        yield from (_with_argument(action, name, option) for option in options)


def widen(task: Task, world: World[Any]) -> Iterator[Change]:
    """Yield the procedure with a wrong way added."""
    procedure = task.automaton.procedure
    assert procedure is not None
    pool = Candidates(task, world)
    for part, rebuild in walk_parts(procedure):
        match part:
            case Seq(parts):
                for index in range(len(parts) - 1):
                    either = any_order(*parts[index : index + 2])
                    yield Change("order given up", False, rebuild(seq(*parts[:index], either, *parts[index + 2 :])))
            case Action():
                yield Change("step made optional", False, rebuild(optional(part)))
                if world.tools[part.tool].writes:
                    yield Change("write may be repeated", False, rebuild(repeat(part, 1, 2)))
                for other in islice(_other_calls(part, pool), 1):
                    yield Change("wrong value accepted", False, rebuild(choice(part, other)))
    for decoy in task.decoys.values():
        wrong = [as_call(call) for call in decoy.calls]
        steps = [world.tools[call.tool](**call.arguments) for call in wrong]
        yield Change("decoy added as a way", False, choice(procedure, seq(*steps)))


def _other_calls(action: Action, pool: Candidates) -> Iterator[Action]:
    """Yield plausible actions with the same tool that differ in one argument."""
    given = {name: pattern.value for name, pattern in action.arguments.fields if isinstance(pattern, Literal)}
    for call in pool.calls(action.tool):
        differing = [name for name, value in given.items() if not equal(call.arguments.get(name), value)]
        if len(differing) == 1:
            yield _with_argument(action, differing[0], as_matcher(call.arguments[differing[0]]))


def _with_argument(action: Action, name: str, pattern: Matcher) -> Action:
    """Return the action with another pattern for one argument, and without its name."""
    fields = tuple((key, pattern if key == name else value) for key, value in action.arguments.fields)
    return replace(action, arguments=Fields(fields, open=action.arguments.open), name=None)
