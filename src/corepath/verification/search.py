"""The search for ways to a task's goal that the task does not know, or knows and rejects for no reason."""

from __future__ import annotations

import marshal
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass, replace
from itertools import combinations
from typing import Any, Final, get_args, get_type_hints

from corepath.automaton.step import Kind, Position, begin, step
from corepath.errors import ToolError
from corepath.notation.call import Call
from corepath.notation.parameters import taken
from corepath.rules.policy import breaks, concerns, describe, owes
from corepath.task import Task
from corepath.values import canonical
from corepath.world.candidates import Pool
from corepath.world.examples import arguments_at
from corepath.world.exploring import Node, as_call, path_text, replay
from corepath.world.state import copy_state
from corepath.world.tools import WorldTool
from corepath.world.world import World

MOST_CALLS: Final = 60
"""Calls that the search tries at a pair, besides the steps and what is in the decoys, shared out among the tools."""
CALLS_A_NODE: Final = 4
"""Calls that the search may try for each node of its budget."""
DEEPEST: Final = 8
"""Calls off the procedure that a path of the search has at most."""
MOST_TOLD: Final = 5
"""Counterexamples told of one task."""


def _codec(
    world: World[Any], start: Any
) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any], Callable[[Any], Any]]:
    """How states are frozen, thawed and told apart in the search, which does so a million times.

    Equal states may be told apart where a dictionary was filled in another order: that costs time and is not wrong.
    """
    kind = type(start)

    def freeze(state: Any) -> bytes:
        return marshal.dumps(vars(state), 2)

    def thaw(blob: bytes) -> Any:
        made = object.__new__(kind)
        made.__dict__.update(marshal.loads(blob))  # noqa: S302  # what this process wrote itself
        return made

    if _nests_dataclasses(kind):
        return pickle.dumps, pickle.loads, world.key
    return freeze, thaw, freeze


def _nests_dataclasses(kind: Any) -> bool:
    """Whether a state holds, or may come to hold, dataclasses of its own; where its types cannot be read, it may."""
    try:
        waiting = list(get_type_hints(kind).values())
    except NameError:
        return True
    while waiting:
        one = waiting.pop()
        if is_dataclass(one) or one is Any:
            return True
        waiting += get_args(one)
    return False


@dataclass(frozen=True)
class _Found:
    """A pair that the search reached, how, and where the calls off the procedure stand in it."""

    node: Node
    off: tuple[int, ...]
    length: int
    bound: str


class Search:
    """Breadth first over pairs of automaton state and world state, by the number of calls off the procedure.

    Steps that are progress cost nothing, any other call that changes the state costs one. A call for which a policy
    names the reason is not followed: whatever comes after it, the path is rejected for that reason.
    """

    def __init__(self, task: Task, world: World[Any], most: int) -> None:
        self.task, self.world, self.most = task, world, most
        self._goal = task.goal or (lambda _: False)
        self.failures: list[str] = []
        self.broken: set[str] = set()
        self.nodes = 0
        self.depth: int | None = None
        self.exhausted = False
        self._seen: set[tuple[int, Any]] = set()
        self.tried = 0
        self._harmful: dict[tuple[int, int, str], bool] = {}
        self._settled = not task.automaton.alphabet.depends_on_results
        self._freeze, self._thaw, self._key = _codec(world, task.start)
        self._watching = {tool: [one for one in task.policies if concerns(one, tool)] for tool in world.tools}
        pool = Pool(task, world)
        writes = [tool.name for tool in world.tools.values() if tool.writes]
        share = max(MOST_CALLS // max(len(writes), 1), 3)
        calls = [call for tool in writes for call in pool.calls(tool)[:share]]
        calls += [as_call(call) for decoy in task.decoys.values() for call in decoy.calls]
        distinct = {canonical([call.tool, call.arguments]): call for call in calls}
        self._calls = list(self._writes(distinct.values()))

    def _writes(self, calls: Iterable[Call]) -> Iterator[tuple[int, WorldTool[Any], Call, bool]]:
        """The calls of writes, with checked arguments and whether a list is among them: each is made very often."""
        for index, call in enumerate(calls):
            tool = self.world.tools.get(call.tool)
            if tool is not None and tool.writes:
                try:
                    arguments = taken(tool.name, tool.inputs, call.arguments)
                except ToolError:
                    continue
                nested = any(isinstance(value, list) for value in arguments.values())
                yield index, tool, replace(call, arguments=arguments), nested

    def run(self) -> Search:
        """Search until the budget is used up or nothing is left."""
        first = _Found(Node(begin(self.task.automaton), self.task.start), (), 0, "")
        level = [first]
        self._add(first, self._key(self.task.start), None)
        number = 0
        while level:
            below: list[_Found] = []
            for found in level:  # grows while it is gone through: progress stays on the level
                if not self._expand(found, level, below):
                    self.depth = max(number - 1, 0)
                    return self
                if len(self.failures) >= MOST_TOLD:
                    return self
            self.depth = number
            level, number = below, number + 1
        self.exhausted = True
        return self

    def _expand(self, found: _Found, level: list[_Found], below: list[_Found]) -> bool:
        """Try every call at a pair; False where the budget is used up."""
        position, state = found.node.position, found.node.state
        if position.accepted and self._goal(state):
            return True
        for symbol in self.task.automaton.due(position.state):
            arguments = arguments_at(self.task, position, symbol)
            if arguments is not None:
                call = Call(self.task.automaton.alphabet.actions[symbol].tool, arguments)
                answered, after = self.world.answer(state, call)
                key = self._key(after)
                if not answered.failed and not self._take(found, -1, answered, after, key, level, below):
                    return False
        if len(found.off) >= DEEPEST:
            return True
        return all(
            self._take(found, index, answered, after, key, level, below)
            for index, answered, after, key in self._changes(state)
        )

    def _changes(self, state: Any) -> Iterator[tuple[int, Call, Any, Any]]:
        """The calls that work in a world state and change it, with the states after."""
        key, blob = self._key(state), self._freeze(state)
        for index, tool, call, nested in self._calls:
            self.tried += 1
            after = self._thaw(blob)
            try:
                result = tool.function(after, **(copy_state(call.arguments) if nested else call.arguments))
            except ToolError:
                continue
            except (Exception, SystemExit) as error:  # noqa: BLE001  # whatever it is, the world must not raise it
                self.failures.append(f"{call} breaks the world: {type(error).__name__}: {error}")
                continue
            if (after_key := self._key(after)) != key:
                yield index, Call(call.tool, call.arguments, result), after, after_key

    def _take(
        self, found: _Found, index: int, call: Call, after: Any, key: Any, level: list[_Found], below: list[_Found]
    ) -> bool:
        """Follow one call that worked; False where the budget is used up."""
        state = found.node.position.state
        kind = (state, index, found.bound)
        harmful = self._harmful.get(kind) if index >= 0 else None
        if harmful is None:
            done, position = step(found.node.position, call)
            if done.kind is Kind.PROGRESS:
                if found.off and self._reasons(found.node, call, after):
                    return True
                node = Node(position, after, (found.node, call))
                return self._add(_Found(node, found.off, found.length + 1, self._bound(position)), key, level)
            if done.forbidden is not None:
                self.broken.update(self._reasons(found.node, call, after))
                return True
            harmful = self._harmful[kind] = done.kind is Kind.HARM
        if (state, key) in self._seen:
            return True
        if harmful and (reasons := self._reasons(found.node, call, after)):
            self.broken.update(reasons)
            return True
        node = Node(found.node.position, after, (found.node, call))
        return self._add(_Found(node, (*found.off, found.length), found.length + 1, found.bound), key, below)

    def _bound(self, position: Position) -> str:
        """What is bound and was returned so far, where that decides what a call is."""
        if self._settled:
            return ""
        return canonical([position.variables, [[str(action), found] for action, found in position.results.items()]])

    def _reasons(self, node: Node, call: Call, after: Any) -> list[str]:
        watching = self._watching[call.tool]
        if not watching:
            return []
        done = node.calls
        return [describe(policy) for policy in watching if breaks(policy, done, call, node.state, after)]

    def _add(self, found: _Found, key: Any, level: list[_Found] | None) -> bool:
        place = (found.node.position.state, key)
        if place in self._seen:
            return True
        if self.nodes >= self.most or self.tried >= CALLS_A_NODE * self.most:
            return False
        self._seen.add(place)
        self.nodes += 1
        if level is not None:
            level.append(found)
        if self._goal(found.node.state):
            self._judge(found)
        return True

    def _judge(self, found: _Found) -> None:
        """A way to the goal: it is accepted, or there is a named reason why not, or it is told."""
        calls = found.node.calls
        if any(owes(policy, calls) for policy in self.task.policies):
            return
        if not found.off:
            if not found.node.position.accepted:
                self.failures.append(
                    f"the goal holds after {path_text(calls)}, the task asks for more, and no policy says why"
                )
        elif not self._wasteful(calls, found.off):
            self.failures.append(f"a way to the goal is rejected, and no policy says why: {path_text(calls)}")

    def _wasteful(self, calls: Sequence[Call], off: tuple[int, ...]) -> bool:
        """Whether the goal is reached as well without some of the writes, so that a shorter way is judged instead."""
        writes = [index for index, call in enumerate(calls) if self.world.tools[call.tool].writes]
        some = (dropped for size in (1, 2, 3) for dropped in combinations(off, size))
        pairs = (dropped for size in (1, 2) for dropped in combinations(writes, size))
        for dropped in (off, *some, *pairs):
            run = replay(self.task, [call for index, call in enumerate(calls) if index not in dropped])
            if not any(call.failed for call in run.calls) and self._goal(run.end):
                return True
        return False
