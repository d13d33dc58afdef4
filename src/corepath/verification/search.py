"""Search for right ways that the automaton rejects, and for wrong ways that it accepts.

A way is right if it runs without a tool error, reaches the goal, breaks no policy, leaves no policy unmet, and needs no
value that the agent cannot know.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, combinations
from typing import Any, Final

from corepath.automaton.step import begin, step
from corepath.errors import ToolError
from corepath.notation.call import Call
from corepath.rules.monitor import Memory
from corepath.rules.policy import describe
from corepath.scoring.tracing import monitor_of
from corepath.verification.golden_runs import index_steps, path_through
from corepath.verification.numbering import Positions, States
from corepath.verification.subject import Subject
from corepath.verification.trials import Trial, Trials
from corepath.world.candidates import Candidates
from corepath.world.examples import arguments_at
from corepath.world.exploring import Explored, path_text
from corepath.world.state import copy_state

CALLS_A_NODE: Final = 6
"""Number of calls that may be executed for each node in the budget."""
DEEPEST: Final = 8
"""Maximum number of extra calls in one way."""
MOST_REPORTED: Final = 5
"""Number of counterexamples after which the search ends."""
MOST_PATHS: Final = 40
"""Number of golden paths whose steps are moved if there are too many orders to search."""
MOST_READ: Final = 200
"""Number of world states in which every read is checked to change nothing."""
MOST_CHECKED: Final = 1_000
"""Number of rejected ways that are checked for waste."""


@dataclass(frozen=True)
class _Place:
    """A world state, what the policies remember and the secrets that the agent has read.

    From the same place, the same calls are right.
    """

    world: int
    memory: Memory
    known: frozenset[int]


@dataclass(frozen=True, eq=False)
class _Node:
    """A place, and the automaton's position there. The position is None after a harmful call.

    `extra` holds the numbers of the extra calls on the way, and `used` says how often each golden call was made.
    `previous` is the node before, the number of the call and the call, or None at the start.
    """

    place: _Place
    position: int | None
    extra: tuple[int, ...] = ()
    used: tuple[int, ...] = ()
    previous: tuple[_Node, int, Call] | None = field(default=None, repr=False)

    @property
    def calls(self) -> list[Call]:
        """The calls from the start to this node."""
        path: list[Call] = []
        node = self
        while node.previous is not None:
            node, _, call = node.previous
            path.append(call)
        return path[::-1]


class Search:
    """Breadth-first search over world states, memories of the policies, known values and automaton positions.

    Golden calls may come in any order and cost nothing, reads too. Any other call, and a golden call that is made more
    often than on a golden path, is an extra call and costs one. Ways with fewer extra calls come first. A call that
    breaks a policy is not followed, because the policy is the reason to reject every way that continues from there.
    `budget` is the maximum number of nodes, and `most` the number of counterexamples after which the search ends.
    If `mirrored` is True, golden calls in which two values have changed places count as golden calls too, and there are
    no extra calls.
    """

    def __init__(self, subject: Subject, budget: int, most: int = MOST_REPORTED, *, mirrored: bool = False) -> None:
        self.task, self.world, self.budget = subject.task, subject.world, budget
        self._subject, self._most = subject, most
        self._goal = self.task.goal or (lambda _: False)
        self.failures: list[str] = []
        self.broken: set[str] = set()
        self.nodes = 0
        self.depth: int | None = None
        self.exhausted = False
        self.moves = 0
        self.executed = 0
        self._checked = 0
        self._reported: set[tuple[str, ...]] = set()
        self._monitor = monitor_of(self.task)
        self._trials = Trials(subject, mirrored=mirrored)
        self._deepest = 0 if mirrored else DEEPEST
        self._cost: dict[_Place, int] = {}
        self._golden: dict[_Place, _Node] = {}
        self._seen: set[tuple[Any, ...]] = set()
        self._states = States(self.task, self.world)
        self._positions = Positions(self.task)
        self._goals: dict[int, bool] = {}
        pool = Candidates(self.task, self.world)
        self._reads = [pool.calls(tool.name)[0] for tool in self.world.tools.values() if not tool.writes]
        self._visited: set[int] = set()
        self._effects: dict[tuple[int, int], tuple[Call, int] | None] = {}
        self._revealed: dict[str, frozenset[int]] = {}

    def run(self) -> Search:
        """Search until the budget is used up, no node is left or there are enough counterexamples."""
        start = _Place(self._states.number(self.task.start), self._monitor.begin(), frozenset())
        position = self._positions.number(begin(self.task.automaton))
        self._first = _Node(start, position, (), (0,) * len(self._trials.calls))
        level: list[_Node] = []
        self._add(self._first, level)
        for number in range(self._deepest + 1):
            below: list[_Node] = []
            for node in level:  # grows during the loop: calls that cost nothing stay on the level
                if not self._expand(node, level, free=True):
                    self.depth = number - 1 if number else None
                    self.moves = 0 if number else self._try_moves()
                    return self
            self.depth = number
            if number == self._deepest:
                return self
            if not all(self._expand(node, below, free=False) for node in level) or self._is_enough():
                return self
            level = below
            if not level:
                self.exhausted = self._trials.whole
                return self
        return self

    def _is_enough(self) -> bool:
        """Whether there are enough counterexamples."""
        return len(self.failures) >= self._most

    def _try_moves(self) -> int:
        """Move each call of a golden path to every other place, reads too, and return how many ways this makes.

        The golden paths are a sample in which every step occurs wherever golden paths have it.
        """
        ways: dict[tuple[int, ...], None] = {}
        for path in _cover(self._subject.rounds[0]):
            golden = [number for call in path if (number := self._trials.number(call)) is not None]
            for index, number in enumerate(golden):
                rest = golden[:index] + golden[index + 1 :]
                ways |= {(*rest[:place], number, *rest[place:]): None for place in range(len(golden))}
        for way in ways:
            self._walk(self._first, way)
            if self._is_enough():
                break
        return len(ways)

    def _walk(self, node: _Node, way: Sequence[int]) -> None:
        """Execute the calls with these numbers, and judge the way if it runs and breaks no policy."""
        for number in way:
            trial = self._trials.calls[number]
            if self._is_right(node) or not trial.secrets <= node.place.known:
                return
            effect = self._execute(node.place.world, number, trial)
            after = None if effect is None else self._follow(node, number, *effect, free=True)
            if after is None:
                return
            node = after
        self._judge(node)

    def _expand(self, node: _Node, level: list[_Node], *, free: bool) -> bool:
        """Try every call at a node that costs nothing, or every extra call, and add the nodes after them to `level`.

        Return False if the budget is used up.
        """
        if self._is_right(node) or self._is_enough():
            return True
        for number, trial in enumerate(self._trials.calls):
            is_free = trial.most > 0 and (node.used[number] < trial.most or not trial.writes)
            if is_free != free or not trial.secrets <= node.place.known:
                continue
            effect = self._execute(node.place.world, number, trial)
            after = None if effect is None else self._follow(node, number, *effect, free=free)
            if after is not None and not self._add(after, level):
                return False
        return True

    def _execute(self, world: int, number: int, trial: Trial) -> tuple[Call, int] | None:
        """Execute a call in a world state.

        Return the call with its result and the number of the next state, or None if the call fails. A write that is not
        golden must change the state, or None is returned too.
        """
        if (world, number) not in self._effects:
            self.executed += 1
            state = self._states.copy(world)
            arguments = copy_state(trial.call.arguments) if trial.nested else trial.call.arguments
            found: tuple[Call, int] | None = None
            try:
                result = trial.tool.function(state, **arguments)
            except ToolError:
                pass
            except (Exception, SystemExit) as error:  # noqa: BLE001  # a tool may raise nothing but ToolError
                self.failures.append(f"{trial.call} breaks the world: {type(error).__name__}: {error}")
            else:
                after = self._states.number(state)
                if after != world and not trial.writes:
                    self.failures.append(f"'{trial.tool.name}' is declared a read and changes the state: {trial.call}")
                if after != world or trial.most or not trial.writes:
                    found = Call(trial.call.tool, trial.call.arguments, result), after
            self._effects[world, number] = found
        return self._effects[world, number]

    def _follow(self, node: _Node, number: int, call: Call, after: int, *, free: bool) -> _Node | None:
        """Return the node after a call, or None if the call breaks a policy."""
        place = node.place
        states = self._states
        broken, memory = self._monitor.observe(place.memory, call, states.kept[place.world], states.kept[after])
        if broken:
            self.broken.update(describe(policy) for policy in broken)
            return None
        known = place.known | self._reveal(call) if self._trials.secrets else place.known
        position = None if node.position is None else self._positions.after(node.position, number, call)
        used = node.used
        if free and self._trials.calls[number].writes:
            used = (*used[:number], used[number] + 1, *used[number + 1 :])
        extra = node.extra if free else (*node.extra, number)
        return _Node(_Place(after, memory, known), position, extra, used, (node, number, call))

    def _reveal(self, call: Call) -> frozenset[int]:
        """Return the secrets in the result of a call."""
        if call.text not in self._revealed:
            self._revealed[call.text] = self._trials.revealed(call)
        return self._revealed[call.text]

    def _add(self, node: _Node, level: list[_Node]) -> bool:
        """Add a node to `level` unless it is known, or its place is reached with fewer extra calls.

        Return False if the budget is used up.
        """
        cost = len(node.extra)
        lowest = self._cost.setdefault(node.place, cost)
        if lowest < cost:
            self._judge_replacement(node)
            return True
        key = (node.place, node.position, tuple(sorted(node.extra)))
        if key in self._seen:
            if node.position is None and self._is_right(node):
                self._report(node)
            return True
        if self.nodes >= self.budget or self.executed >= CALLS_A_NODE * self.budget:
            return False
        self._seen.add(key)
        self.nodes += 1
        if not cost and node.position is not None:
            self._golden.setdefault(node.place, node)
        if node.place.world not in self._visited and len(self._visited) < MOST_READ:
            self._visited.add(node.place.world)
            self._check_reads(node.place.world)
        level.append(node)
        self._judge(node)
        return True

    def _check_reads(self, world: int) -> None:
        """Check that one likely call of each read leaves a world state as it is."""
        state = self._states.kept[world]
        for call in self._reads:
            answered, after = self.world.answer(state, call)
            if "crashed" in answered.extra:
                self.failures.append(f"{call} breaks the world: {answered.error}")
            elif self._states.number(after) != world:
                self.failures.append(f"'{call.tool}' is declared a read and changes the state: {call}")

    def _reaches_goal(self, world: int) -> bool:
        """Whether the goal holds in a world state."""
        if world not in self._goals:
            self._goals[world] = bool(self._goal(self._states.kept[world]))
        return self._goals[world]

    def _is_right(self, node: _Node) -> bool:
        """Whether the way to the node is right: the goal holds, and no policy asks for more."""
        return self._reaches_goal(node.place.world) and not self._monitor.owed(node.place.memory)

    def _judge(self, node: _Node) -> None:
        """Report a right way that is rejected, or a wrong way that is accepted."""
        accepted = node.position is not None and self._positions.kept[node.position].accepted
        right = self._is_right(node)
        if right == accepted:
            return
        calls = node.calls
        if accepted:
            owed = self._monitor.owed(node.place.memory)
            why = f"{describe(owed[0])} is not met" if owed else "the goal does not hold"
            self.failures.append(f"a wrong way is accepted, and {why}: {path_text(calls)}")
        elif node.position is not None and not node.extra and self._is_beginning(node):
            self.failures.append(
                f"the goal holds after {path_text(calls)}, the task asks for more, and no policy says why"
            )
        else:
            self._report(node)

    def _judge_replacement(self, node: _Node) -> None:
        """Report extra calls that do the work of golden calls: they lead to a place on a golden path, and are harmful.

        From there, the way goes on as the golden path does. A way with more writes than the golden path is roundabout,
        so that nobody needs a reason to reject it.
        """
        golden = self._golden.get(node.place)
        if node.position is None and golden and self._count_writes(node) <= self._count_writes(golden):
            end = self._go_on(node, golden)
            if end is not None:
                self._report(end)

    def _go_on(self, node: _Node, golden: _Node) -> _Node | None:
        """Go on from a node as a golden path does from the node `golden`. Return None if that does not run."""
        assert golden.position is not None
        position = self._positions.kept[golden.position]
        rest = self.task.automaton.golden_from(position.state)
        for symbol in rest.shortest() if rest else ():
            arguments = arguments_at(self.task, position, symbol)
            tool = self.task.automaton.alphabet.actions[symbol].tool
            number = self._trials.number(Call(tool, arguments or {}))
            effect = None if number is None else self._execute(node.place.world, number, self._trials.calls[number])
            after = None if number is None or effect is None else self._follow(node, number, *effect, free=True)
            if effect is None or after is None:
                return None
            node = after
            _, position = step(position, effect[0])
        return node

    def _count_writes(self, node: _Node) -> int:
        """Return the number of writes on the way to a node."""
        return sum(self._trials.calls[number].writes for number in _numbers(node))

    def _report(self, node: _Node) -> None:
        """Report a rejected way, unless it is wasteful or a way with the same writing tools is reported already."""
        calls = node.calls
        tools = tuple(call.tool for call in calls if self.world.tools[call.tool].writes)
        if tools in self._reported or self._checked >= MOST_CHECKED:
            return
        self._checked += 1
        if not self._is_wasteful(node):
            self._reported.add(tools)
            self.failures.append(f"a way to the goal is rejected, and no policy says why: {path_text(calls)}")

    def _is_beginning(self, node: _Node) -> bool:
        """Whether every call on the way to the node was progress."""
        earlier = node
        while earlier.previous is not None:
            before = earlier.previous[0]
            if before.position == earlier.position:
                return False
            earlier = before
        return True

    def _is_wasteful(self, node: _Node) -> bool:
        """Whether the way is as good without some of its writes. Then the shorter way is judged instead."""
        numbers = _numbers(node)
        writes = [index for index, number in enumerate(numbers) if self._trials.calls[number].writes]
        extra = [index for index in writes if numbers[index] in node.extra]
        pairs = ((one, other) for one in extra for other in writes if other != one)
        every = [tuple(extra)] if extra else []
        subsets = chain(_detours(node, writes), every, _combinations(extra, 3), pairs, _combinations(writes, 2))
        return any(self._is_as_good(node, numbers, dropped) for dropped in subsets)

    def _is_as_good(self, node: _Node, numbers: Sequence[int], dropped: Sequence[int]) -> bool:
        """Whether the calls that are not in `dropped` lead to the same place or are a right way too.

        Reads that fail are left out too.
        """
        here = self._first
        for index, number in enumerate(numbers):
            trial = self._trials.calls[number]
            if index in dropped:
                continue
            effect = self._execute(here.place.world, number, trial)
            after = None if effect is None else self._follow(here, number, *effect, free=True)
            if after is None and trial.writes:
                return False
            here = after or here
        return here.place == node.place or (self._is_right(node) and self._is_right(here))


def _detours(node: _Node, writes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield the writes between two visits of the same world state, for each pair of visits."""
    worlds = [node.place.world]
    while node.previous is not None:
        node = node.previous[0]
        worlds.append(node.place.world)
    worlds.reverse()
    for first, last in combinations(range(len(worlds)), 2):
        if worlds[first] == worlds[last] and (between := [index for index in writes if first <= index < last]):
            yield tuple(between)


def _numbers(node: _Node) -> list[int]:
    """Return the numbers of the calls on the way to a node."""
    found: list[int] = []
    while node.previous is not None:
        found.append(node.previous[1])
        node = node.previous[0]
    return found[::-1]


def _cover(explored: Explored) -> Iterator[list[Call]]:
    """Yield golden paths, at most `MOST_PATHS`, that together contain every step at every node."""
    onward = index_steps(explored)
    covered: set[int] = set()
    paths = 0
    for edge in reversed(explored.edges):
        if id(edge) in covered or paths == MOST_PATHS:
            continue
        path = path_through(edge, onward)
        covered.update(map(id, path))
        yield [*edge.node.calls, *(one.call for one in path)]
        paths += 1


def _combinations(indices: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    """Yield every combination of one to `most` indexes, small combinations first."""
    return chain.from_iterable(combinations(indices, size) for size in range(1, most + 1))
