"""Search for ways to a task's goal that the automaton rejects although no policy forbids them."""

from __future__ import annotations

import marshal
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, is_dataclass, replace
from itertools import chain, combinations
from typing import Any, Final, get_args, get_type_hints

from corepath.automaton.step import Kind, Position, begin, step
from corepath.errors import ToolError
from corepath.notation.call import Call
from corepath.notation.parameters import check_arguments
from corepath.rules.policy import breaks, concerns, describe, owes
from corepath.task import Task
from corepath.values import canonical
from corepath.world.candidates import Candidates
from corepath.world.examples import arguments_at
from corepath.world.exploring import Node, as_call, path_text, replay
from corepath.world.state import copy_state
from corepath.world.tools import WorldTool
from corepath.world.world import World

MOST_CALLS: Final = 60
"""Number of calls tried at each node besides steps and decoys, shared equally among the writing tools."""
CALLS_A_NODE: Final = 4
"""Number of calls that may be tried for each node in the budget."""
DEEPEST: Final = 8
"""Maximum number of calls off the procedure in one path. A call is off the procedure if it is not progress."""
MOST_REPORTED: Final = 5
"""Number of counterexamples after which the search ends."""


def _codec(
    world: World[Any], start: Any
) -> tuple[Callable[[Any], bytes], Callable[[bytes], Any], Callable[[Any], Any]]:
    """Return fast functions to serialize a state, to deserialize it and to compute its key.

    Equal states may have different keys if their dictionaries were filled in a different order. This makes the search
    slower, but not wrong.
    """
    kind = type(start)

    def freeze(state: Any) -> bytes:
        return marshal.dumps(vars(state), 2)

    def thaw(blob: bytes) -> Any:
        made = object.__new__(kind)
        made.__dict__.update(marshal.loads(blob))  # noqa: S302  # this process wrote it itself
        return made

    if _nests_dataclasses(kind):
        return pickle.dumps, pickle.loads, world.key
    return freeze, thaw, freeze


def _nests_dataclasses(kind: Any) -> bool:
    """Whether a state of type `kind` may contain other dataclasses.

    The answer is True if the type hints cannot be resolved.
    """
    try:
        waiting = list(get_type_hints(kind).values())
    except NameError:
        return True
    while waiting:
        hint = waiting.pop()
        if is_dataclass(hint) or hint is Any:
            return True
        waiting += get_args(hint)
    return False


def _candidates(task: Task, world: World[Any]) -> Iterable[Call]:
    """Return distinct calls to try at every node: likely calls to each writing tool, and the calls in the decoys."""
    pool = Candidates(task, world)
    writes = [tool.name for tool in world.tools.values() if tool.writes]
    share = max(MOST_CALLS // max(len(writes), 1), 3)
    calls = [call for tool in writes for call in pool.calls(tool)[:share]]
    calls += [as_call(call) for decoy in task.decoys.values() for call in decoy.calls]
    return {canonical([call.tool, call.arguments]): call for call in calls}.values()


@dataclass(frozen=True)
class _Reached:
    """A node that the search reached."""

    node: Node
    off: tuple[int, ...]
    """Indexes of the calls off the procedure on the way to the node."""
    length: int
    """Number of calls on the way to the node."""
    bound: str
    """The variables and results that are known (bound) at the node, as a string."""


class Search:
    """Breadth-first search over pairs of automaton state and world state.

    Paths with fewer calls off the procedure are searched first. These are calls that change the state but are not
    progress. A call that breaks a policy is not followed, because the policy is the reason to reject every path that
    continues from there. `budget` is the maximum number of nodes.
    """

    def __init__(self, task: Task, world: World[Any], budget: int) -> None:
        self.task, self.world, self.budget = task, world, budget
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
        self._policies = {tool: [one for one in task.policies if concerns(one, tool)] for tool in world.tools}
        self._calls = list(self._prepare(_candidates(task, world)))

    def _prepare(self, calls: Iterable[Call]) -> Iterator[tuple[int, WorldTool[Any], Call, bool]]:
        """Yield the index, the tool, the call, and whether to copy the arguments, for each write with valid arguments.

        Arguments are checked only once, here. They must be copied if one of them is a list.
        """
        for index, call in enumerate(calls):
            tool = self.world.tools.get(call.tool)
            if tool is not None and tool.writes:
                try:
                    arguments = check_arguments(tool.name, tool.inputs, call.arguments)
                except ToolError:
                    continue
                nested = any(isinstance(value, list) for value in arguments.values())
                yield index, tool, replace(call, arguments=arguments), nested

    def run(self) -> Search:
        """Search until the budget is used up, no node is left or there are enough counterexamples. Return `self`."""
        first = _Reached(Node(begin(self.task.automaton), self.task.start), (), 0, "")
        level = [first]
        self._add(first, self._key(self.task.start), None)
        number = 0
        while level:
            below: list[_Reached] = []
            for reached in level:  # grows during the loop: progress stays on the level
                if not self._expand(reached, level, below):
                    self.depth = max(number - 1, 0)
                    return self
                if len(self.failures) >= MOST_REPORTED:
                    return self
            self.depth = number
            level, number = below, number + 1
        self.exhausted = True
        return self

    def _expand(self, reached: _Reached, level: list[_Reached], below: list[_Reached]) -> bool:
        """Try every call at a node. Return False if the budget is used up.

        Nodes reached by progress are added to `level`, and nodes reached by other calls to `below`.
        """
        position, state = reached.node.position, reached.node.state
        if position.accepted and self._goal(state):
            return True
        for symbol in self.task.automaton.due(position.state):
            arguments = arguments_at(self.task, position, symbol)
            if arguments is not None:
                call = Call(self.task.automaton.alphabet.actions[symbol].tool, arguments)
                answered, after = self.world.answer(state, call)
                key = self._key(after)
                if not answered.failed and not self._follow(reached, -1, answered, after, key, level, below):
                    return False
        if len(reached.off) >= DEEPEST:
            return True
        return all(
            self._follow(reached, index, answered, after, key, level, below)
            for index, answered, after, key in self._changes(state)
        )

    def _changes(self, state: Any) -> Iterator[tuple[int, Call, Any, Any]]:
        """Yield the calls that succeed in `state` and change it.

        Each item has the call's index, the call with its result, the new state and the new state's key.
        """
        key, blob = self._key(state), self._freeze(state)
        for index, tool, call, nested in self._calls:
            self.tried += 1
            after = self._thaw(blob)
            try:
                result = tool.function(after, **(copy_state(call.arguments) if nested else call.arguments))
            except ToolError:
                continue
            except (Exception, SystemExit) as error:  # noqa: BLE001  # a tool may raise nothing but ToolError
                self.failures.append(f"{call} breaks the world: {type(error).__name__}: {error}")
                continue
            if (after_key := self._key(after)) != key:
                yield index, Call(call.tool, call.arguments, result), after, after_key

    def _follow(
        self,
        reached: _Reached,
        index: int,
        call: Call,
        after: Any,
        key: Any,
        level: list[_Reached],
        below: list[_Reached],
    ) -> bool:
        """Follow a successful call to the next node. Return False if the budget is used up.

        `index` is the call's place in the list of calls to try, or -1 if the call is a step. `after` is the state after
        the call, and `key` is that state's key.
        """
        state = reached.node.position.state
        place = (state, index, reached.bound)
        harmful = self._harmful.get(place) if index >= 0 else None
        if harmful is None:
            labelled, position = step(reached.node.position, call)
            if labelled.kind is Kind.PROGRESS:
                if reached.off and self._broken_by(reached.node, call, after):
                    return True
                node = Node(position, after, (reached.node, call))
                return self._add(_Reached(node, reached.off, reached.length + 1, self._bound(position)), key, level)
            if labelled.forbidden is not None:
                self.broken.update(self._broken_by(reached.node, call, after))
                return True
            harmful = self._harmful[place] = labelled.kind is Kind.HARM
        if (state, key) in self._seen:
            return True
        if harmful and (policies := self._broken_by(reached.node, call, after)):
            self.broken.update(policies)
            return True
        node = Node(reached.node.position, after, (reached.node, call))
        off = (*reached.off, reached.length)
        return self._add(_Reached(node, off, reached.length + 1, reached.bound), key, below)

    def _bound(self, position: Position) -> str:
        """Return the variables and results known at `position` as a string.

        The string is empty if no step in the task depends on them.
        """
        if self._settled:
            return ""
        return canonical([position.variables, [[str(action), result] for action, result in position.results.items()]])

    def _broken_by(self, node: Node, call: Call, after: Any) -> list[str]:
        """Describe the policies that `call` breaks at `node`."""
        policies = self._policies[call.tool]
        if not policies:
            return []
        done = node.calls
        return [describe(policy) for policy in policies if breaks(policy, done, call, node.state, after)]

    def _add(self, reached: _Reached, key: Any, level: list[_Reached] | None) -> bool:
        """Add a node to `level` unless the search has seen it before. Return False if the budget is used up."""
        place = (reached.node.position.state, key)
        if place in self._seen:
            return True
        if self.nodes >= self.budget or self.tried >= CALLS_A_NODE * self.budget:
            return False
        self._seen.add(place)
        self.nodes += 1
        if level is not None:
            level.append(reached)
        if self._goal(reached.node.state):
            self._judge(reached)
        return True

    def _judge(self, reached: _Reached) -> None:
        """Report a rejected path to the goal, unless it is wasteful or lacks a call that a policy requires."""
        calls = reached.node.calls
        if any(owes(policy, calls) for policy in self.task.policies):
            return
        if not reached.off:
            if not reached.node.position.accepted:
                self.failures.append(
                    f"the goal holds after {path_text(calls)}, the task asks for more, and no policy says why"
                )
        elif not self._is_wasteful(calls, reached.off):
            self.failures.append(f"a way to the goal is rejected, and no policy says why: {path_text(calls)}")

    def _is_wasteful(self, calls: Sequence[Call], off: tuple[int, ...]) -> bool:
        """Whether the goal is also reached without some of the writes.

        In that case the search reports the shorter path instead, if it is rejected.
        """
        writes = [index for index, call in enumerate(calls) if self.world.tools[call.tool].writes]
        subsets = chain([off], _combinations(off, 3), _combinations(writes, 2))
        return any(self._reaches_goal_without(calls, dropped) for dropped in subsets)

    def _reaches_goal_without(self, calls: Sequence[Call], dropped: Sequence[int]) -> bool:
        """Whether the calls still succeed and reach the goal without those at the indexes in `dropped`."""
        run = replay(self.task, [call for index, call in enumerate(calls) if index not in dropped])
        return not any(call.failed for call in run.calls) and bool(self._goal(run.end))


def _combinations(indices: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    """Yield every combination of one to `most` indexes, small combinations first."""
    return chain.from_iterable(combinations(indices, size) for size in range(1, most + 1))
