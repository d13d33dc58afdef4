"""The calls that the search tries in a task's world."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice, permutations
from typing import Any, Final

from corepath.errors import ToolError
from corepath.notation.call import REQUIRED, Call
from corepath.notation.matchers import ResultOf, Scope, walk
from corepath.notation.parameters import check_arguments
from corepath.rules.event import bind
from corepath.rules.rule import AtLeast, Eventually, Requires, Rule
from corepath.task import Task
from corepath.values import canonical, equal
from corepath.verification.argument_values import find_missing, is_in_result, is_known
from corepath.verification.subject import Subject
from corepath.verification.wording import readable_text
from corepath.world.candidates import Candidates
from corepath.world.exploring import Edge, Explored, as_call
from corepath.world.tools import WorldTool
from corepath.world.world import World

MOST_CALLS: Final = 60
"""Number of plausible calls to try besides golden calls and decoys, shared equally among the writing tools."""
MOST_PAIRS: Final = 10
"""Number of pairs of values of one argument that change places."""
JOINTS: Final = ("", " ", "\n")
"""Strings to join two texts with, in order to make one call do the work of two."""


@dataclass(frozen=True)
class Trial:
    """A call that the search tries.

    `most` is the number of times that a golden path makes the call, or 0 if none does. `secrets` holds the indexes of
    the values that the agent can know only from an earlier result. Lists in the arguments must be copied before each
    execution, which `nested` says.
    """

    call: Call
    tool: WorldTool[Any]
    most: int
    secrets: frozenset[int] = frozenset()
    nested: bool = False

    @property
    def writes(self) -> bool:
        """Whether the tool may change the state."""
        return self.tool.writes


class Trials:
    """All calls that the search tries, and the secrets in them.

    A secret is a value that is neither in the prompt nor a default nor an alias. `whole` is True if every plausible
    call is among the trials. If `mirrored` is True, there are no plausible calls. Instead, golden calls in which two
    values have changed places count as golden, e.g. `swap("A", "B")` if `swap("B", "A")` is golden.
    """

    def __init__(self, subject: Subject, *, mirrored: bool = False) -> None:
        task, world = subject.task, subject.world
        self.secrets: list[Any] = []
        self._world = world
        self._numbers: dict[str, int] = {}
        found: dict[str, Trial] = {}
        for edge, most in _golden_calls(subject.rounds[0]):
            self._add(found, edge.call, most, self._secrets_of(task, edge))
        golden = [trial.call for trial in found.values()]
        self.whole = False
        if mirrored:
            readable = replace(task, prompt=readable_text(task, world))
            for call, most in _mirror([(trial.call, trial.most) for trial in found.values()]):
                self._add(found, call, most, self._secrets_in(readable, call))
            self.calls: Sequence[Trial] = tuple(found.values())
            return
        for explored in subject.rounds[1:]:
            for edge in explored.edges:
                self._add(found, edge.call, 0, self._secrets_of(task, edge))
        likely, self.whole = _plausible_calls(task, world)
        readable = replace(task, prompt=readable_text(task, world))
        for call in (*likely, *_policy_reads(task, world, likely)):
            self._add(found, call, 0, self._secrets_in(readable, call))
        for call in (*_joined(golden, world), *_rewritten(golden, world)):
            self._add(found, call, 0, frozenset())
        self.calls = tuple(found.values())

    def number(self, call: Call) -> int | None:
        """Return the number of the trial for a call, or None if there is none."""
        if not self._numbers:
            self._numbers.update(
                {canonical([trial.call.tool, trial.call.arguments]): n for n, trial in enumerate(self.calls)}
            )
        return self._numbers.get(canonical([call.tool, call.arguments]))

    def revealed(self, call: Call) -> frozenset[int]:
        """Return the indexes of the secrets that occur in the result of `call`, and not in its arguments."""
        return frozenset(
            index
            for index, value in enumerate(self.secrets)
            if is_in_result(value, call.result) and not is_in_result(value, call.arguments)
        )

    def _add(self, found: dict[str, Trial], call: Call, most: int, secrets: frozenset[int]) -> None:
        """Add a trial unless there is one for the same call, or the tool refuses the arguments."""
        tool = self._world.tools.get(call.tool)
        if tool is None:
            return
        try:
            arguments = check_arguments(tool.name, tool.inputs, call.arguments)
        except ToolError:
            return
        key = canonical([call.tool, arguments])
        nested = any(isinstance(value, (list, dict)) for value in arguments.values())
        made = found.setdefault(key, Trial(Call(call.tool, arguments), tool, most, secrets, nested))
        if made.most < most:
            found[key] = replace(made, most=most)

    def _secrets_of(self, task: Task, edge: Edge) -> frozenset[int]:
        """Return the indexes of the secrets that a golden call needs."""
        needed: set[int] = set()
        alphabet = task.automaton.alphabet
        action = alphabet.patterns[edge.symbol]
        defaults = (alphabet.tools or {})[action.tool].parameters or {}
        scope = Scope(dict(edge.node.position.variables), edge.node.position.results)
        for name, pattern in action.arguments.fields:
            default = defaults.get(name, REQUIRED)
            sources = [one for one in walk(pattern) if isinstance(one, ResultOf)]
            argument = edge.call.arguments.get(name)
            values = [value for one in sources for value in one.values(scope) if is_in_result(value, argument)]
            missing = find_missing(pattern, lambda value: is_known(value, task, (), default), task.prompt)  # noqa: B023
            values += [] if missing is None else [missing]
            for value in values:
                if not is_known(value, task, (), default):
                    needed.add(self._index(value))
        return frozenset(needed)

    def _secrets_in(self, task: Task, call: Call) -> frozenset[int]:
        """Return the indexes of the secrets in a plausible call: the names that the task does not mention.

        Numbers are not secrets, because the agent may have computed them.
        """
        tool = self._world.tools.get(call.tool)
        if tool is None or not isinstance(call.arguments, Mapping):
            return frozenset()
        return frozenset(
            self._index(value)
            for name, value in call.arguments.items()
            if name in tool.inputs and tool.inputs[name].options is None and isinstance(value, str)
            if value and not is_known(value, task, (), tool.inputs[name].default)
        )

    def _index(self, value: Any) -> int:
        """Return the index of a secret, which is new or known."""
        for index, other in enumerate(self.secrets):
            if equal(value, other):
                return index
        self.secrets.append(value)
        return len(self.secrets) - 1


def _golden_calls(explored: Explored) -> list[tuple[Edge, int]]:
    """Return one edge for each distinct call on golden paths, with the number of times that a path makes the call."""
    first: dict[str, Edge] = {}
    most: dict[str, int] = {}
    counts: dict[int, dict[str, int]] = {}
    for edge in explored.edges:  # in the order of exploration, so that a node's edges follow the edges to it
        key = canonical([edge.call.tool, edge.call.arguments])
        first.setdefault(key, edge)
        after = dict(counts.get(id(edge.node), {}))
        after[key] = after.get(key, 0) + 1
        known = counts.setdefault(id(edge.after), {})
        for name, number in after.items():
            known[name] = max(known.get(name, 0), number)
            most[name] = max(most.get(name, 0), number)
    return [(edge, most[key]) for key, edge in first.items()]


def _mirror(calls: Sequence[tuple[Call, int]]) -> Iterator[tuple[Call, int]]:
    """Yield golden calls in which two values of one argument have changed places, with the most times of each."""
    values: dict[str, dict[str, Any]] = {}
    for call, _ in calls:
        for name, value in call.arguments.items():
            if isinstance(value, (str, int, float)) and not isinstance(value, bool):
                values.setdefault(name, {})[canonical(value)] = value
    for name, found in values.items():
        for one, other in islice(combinations(found, 2), MOST_PAIRS):
            for call, most in calls:
                text = canonical(call.arguments.get(name))
                if name in call.arguments and text in (one, other):
                    mirrored = found[other if text == one else one]
                    yield Call(call.tool, {**call.arguments, name: mirrored}), most


def _plausible_calls(task: Task, world: World[Any]) -> tuple[list[Call], bool]:
    """Return likely calls to each writing tool, and the decoys' calls. The flag says whether no likely call was cut."""
    pool = Candidates(task, world)
    writes = [tool.name for tool in world.tools.values() if tool.writes]
    share = max(MOST_CALLS // max(len(writes), 1), 3)
    likely = [pool.calls(tool) for tool in writes]
    calls = [call for found in likely for call in found[:share]]
    calls += [as_call(call) for decoy in task.decoys.values() for call in decoy.calls]
    return calls, all(len(found) <= share for found in likely) and pool.whole


def _policy_reads(task: Task, world: World[Any], others: Sequence[Call]) -> Iterator[Call]:
    """Yield likely reads that a policy asks for, because they may stand in for the reads on golden paths."""
    pool = Candidates(task, world)
    patterns = [replace(pattern, result=None) for policy in task.policies for pattern in _asked_for(policy)]
    for tool in world.tools.values():
        if not tool.writes and any(pattern.fits_tool(tool.name) for pattern in patterns):
            for call in (*pool.calls(tool.name), *(call for call in others if call.tool == tool.name)):
                if any(bind(one, call) is not None for one in patterns):
                    yield call


def _asked_for(policy: Rule) -> Iterable[Any]:
    """Return the patterns of calls that a policy asks for."""
    match policy:
        case Requires(first):
            return (first,)
        case Eventually(_, then):
            return (then,)
        case AtLeast(_, call):
            return (call,)
    return ()


def _joined(calls: Sequence[Call], world: World[Any]) -> Iterator[Call]:
    """Yield calls that do the work of two golden calls, with two texts or lists joined or two numbers added."""
    writes = [call for call in calls if world.tools[call.tool].writes]
    for one, other in permutations(writes, 2):
        if one.tool != other.tool:
            continue
        differing = [name for name in one.arguments if not equal(one.arguments[name], other.arguments.get(name))]
        if len(differing) == 1:
            (name,) = differing
            for value in _join_values(one.arguments[name], other.arguments.get(name)):
                yield Call(one.tool, {**one.arguments, name: value})


def _rewritten(calls: Sequence[Call], world: World[Any]) -> Iterator[Call]:
    """Yield golden writes in which a text of several words ends with a line break."""
    for call in calls:
        for name, value in call.arguments.items() if world.tools[call.tool].writes else ():
            if isinstance(value, str) and " " in value:
                yield Call(call.tool, {**call.arguments, name: value + "\n"})


def _join_values(one: Any, other: Any) -> Iterable[Any]:
    """Return the values that two arguments may be joined to."""
    if isinstance(one, str) and isinstance(other, str):
        return [one + joint + other for joint in JOINTS] if " " in one + other else []
    if isinstance(one, list) and isinstance(other, list):
        return [one + other]
    numbers = (int, float)
    if isinstance(one, numbers) and isinstance(other, numbers) and bool not in (type(one), type(other)):
        return [one + other]
    return []
