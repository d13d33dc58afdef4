"""Worlds: simulated places with tools over a small state, and the tasks in them.

world = World("lamp", Lamp, rules="...")

@world.write
def switch(lamp: Lamp, on: bool) -> str: ...

@world.task
def switch_on(pick) -> Task: ...
"""

from __future__ import annotations

import dataclasses
import hashlib
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Concatenate, Generic, TypeVar, cast

from corepath.automaton.alphabet import Forbidden
from corepath.errors import CorepathError, TaskError, ToolError, nearest
from corepath.notation.call import UNANSWERED, Call
from corepath.notation.matchers import Matcher, Scope
from corepath.notation.parameters import parameters_of, taken
from corepath.rules.policy import Never, Policy, complete_policy
from corepath.task import Task
from corepath.values import is_name, why_not_json
from corepath.world.self_loops import find_self_loops
from corepath.world.state import change_state, encode, public_state, same_public_state, why_not_state
from corepath.world.tools import P, S, WorldTool

T = TypeVar("T")


class Pick:
    """Chooses a task's values: the first is the canonical one, a seed other than 0 chooses among all."""

    def __init__(self, name: str, seed: int) -> None:
        self._name, self._seed, self._taken = name, seed, 0

    def __call__(self, *options: T) -> T:
        """One of the values."""
        return options[self._number(len(options))]

    def some(self, count: int, *options: T) -> list[T]:
        """So many of the values, no two of them the same one; canonically the first."""
        left = list(options)
        return [left.pop(self._number(len(left))) for _ in range(count)]

    def _number(self, count: int) -> int:
        self._taken += 1
        if self._seed == 0:
            return 0
        digest = hashlib.sha256(f"{self._name}:{self._seed}:{self._taken}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % count


@dataclass(eq=False)
class World(Generic[S]):
    """A simulated world: a state dataclass, rules in words that every agent in it reads, tools, policies and tasks."""

    name: str
    state: Callable[[], S]
    rules: str = ""
    tools: dict[str, WorldTool[Any]] = field(default_factory=dict, init=False, repr=False)
    policies: list[Policy] = field(default_factory=list, init=False, repr=False)
    makers: dict[str, Callable[[Pick], Task]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if not is_name(self.name):
            raise TaskError.of(f"'{self.name}' is no name for a world: use letters, digits and _")
        if not dataclasses.is_dataclass(self.state) or hasattr(self.state, "__slots__"):
            raise TaskError.of(f"the state of world '{self.name}' must be a plain dataclass, without slots")

    @property
    def about(self) -> str:
        """What the world is, in the first sentence of its module or of its state."""
        module = sys.modules.get(getattr(self.state, "__module__", ""))
        text = getattr(module, "__doc__", None) or self.state.__doc__ or ""
        return text.strip().split("\n")[0]

    # How it is written

    def read(self, function: Callable[Concatenate[S, P], Any]) -> WorldTool[P]:
        """A tool that changes nothing."""
        return self._tool(function, writes=False)

    def write(self, function: Callable[Concatenate[S, P], Any]) -> WorldTool[P]:
        """A tool that may change the state."""
        return self._tool(function, writes=True)

    def policy(self, *policies: Policy) -> None:
        """Policies that hold in every task of the world."""
        self.policies += policies

    def task(self, function: Callable[[Pick], Task]) -> Callable[[Pick], Task]:
        """A task as a function of its values: `def water_plant(pick): ... return Task(...)`.

        Where a tool has the name of the function already, an underscore behind it is no part of the task's name.
        """
        name = function.__name__.removesuffix("_")
        if name in self.makers:
            raise TaskError.of(f"world '{self.name}' already has a task '{name}'; give this one another name")
        self.makers[name] = function
        return function

    def _tool(self, function: Callable[..., Any], *, writes: bool) -> WorldTool[Any]:
        name = function.__name__
        if name in self.tools:
            raise TaskError.of(f"world '{self.name}' already has a tool '{name}'; give this one another name")
        if not (function.__doc__ or "").strip():
            raise TaskError.of(f"tool '{name}' has no docstring; it is what the agent reads")
        inputs = parameters_of(function)
        defaults = {name: parameter.default for name, parameter in inputs.items()}
        self.tools[name] = WorldTool(name, defaults, function=function, inputs=inputs, writes=writes)
        return self.tools[name]

    # How it runs: `task.Simulator`

    def answer(self, state: S, call: Call) -> tuple[Call, S]:
        """The call with its result or its error, and the state after it; a call that fails changes nothing."""
        tool = self.tools.get(call.tool)
        if tool is None:
            return _failed(call, f"no tool '{call.tool[:80]}'{nearest(call.tool, self.tools)}"), state
        try:
            arguments = taken(tool.name, tool.inputs, call.arguments)
            result, after = tool.execute(state, arguments)
        except ToolError as error:
            return _failed(call, str(error)), state
        except (Exception, SystemExit) as error:  # noqa: BLE001  # a world's mistake must not stop the agent
            return _failed(call, f"internal error: {type(error).__name__}: {error}", crashed=True), state
        if wrong := why_not_json(result):
            return _failed(call, f"internal error: the result is not JSON: {wrong}", crashed=True), state
        return Call(call.tool, arguments, result, None, call.id, call.turn, call.extra), after

    def public(self, state: S) -> Any:
        """The state as JSON, without the fields that begin with `_`."""
        return public_state(state)

    def key(self, state: S) -> str:
        """The whole state as text: the same for equal states."""
        return encode(state)

    def same_public(self, one: S, other: S) -> bool:
        """Whether two states differ in private fields at most."""
        return same_public_state(one, other)

    # What is in it

    def make(self, name: str, seed: int = 0) -> Task:
        """A task of the world; seed 0 gives its canonical values, any other seed a variant."""
        if name not in self.makers:
            raise TaskError.of(f"no task '{name}' in world '{self.name}'{nearest(name, self.makers)}")
        try:
            return self.complete(self.makers[name](Pick(f"{self.name}/{name}", seed)), f"{self.name}/{name}")
        except CorepathError as error:
            raise TaskError.of(f"task '{self.name}/{name}', seed {seed}: {error}") from error
        except Exception as error:
            raise TaskError.of(f"task '{self.name}/{name}', seed {seed}: {raised(error)}") from error

    def tasks(self, seed: int = 0) -> dict[str, Task]:
        """All tasks of the world by id."""
        made = (self.make(name, seed) for name in self.makers)
        return {task.id: task for task in made}

    def starting(self, setup: Mapping[str, Any]) -> S:
        """The usual start state, with fields of other values: what a task file gives in `setup`."""
        return cast("S", change_state(self.state(), setup, f"the state of world '{self.name}'"))

    def complete(self, task: Task, name: str | None = None) -> Task:
        """The task with what the world gives every task: tools, reads, policies, and the loops that it proves."""
        if not isinstance(task, Task):
            raise TaskError.of(f"a task's function must return a Task, not {task!r}")
        start = self.state() if task.start is None else task.start
        if wrong := why_not_state(start):
            raise TaskError.of(f"the start state of task '{name or task.id}' cannot be written as JSON: {wrong}")
        policies = tuple(complete_policy(policy, self.tools) for policy in (*self.policies, *task.policies))
        listing = replace(
            task.automaton.alphabet.listing,
            reads=(*task.automaton.alphabet.reads, *(tool.any() for tool in self.tools.values() if not tool.writes)),
            forbid=(*task.automaton.alphabet.forbid, *_forbidden(policies)),
            tools=dict(self.tools),
        )
        placed = replace(
            task,
            id=name or task.id,
            world=self.name,
            automaton=task.automaton.with_listing(listing),
            reads=listing.reads,
            forbid=listing.forbid,
            tools=tuple(self.tools.values()),
            policies=policies,
            start=start,
            simulator=self,
        )
        return replace(placed, automaton=placed.automaton.with_loops(find_self_loops(placed)))


def _forbidden(policies: Iterable[Policy]) -> Iterator[Forbidden]:
    for policy in policies:
        if isinstance(policy, Never) and policy.always and policy.call is not None:
            yield Forbidden(policy.call, policy.severity, policy.because)


def raised(error: BaseException) -> str:
    """What an author's own code raised, and where."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"{type(error).__name__}: {error} (line {frame.lineno} of {frame.filename.rpartition('/')[2]}, in {frame.name})"
    )


def _failed(call: Call, message: str, *, crashed: bool = False) -> Call:
    extra = {**call.extra, "crashed": True} if crashed else call.extra
    return replace(call, result=UNANSWERED, error=message, extra=extra)


def state_matcher(world: World[Any], matcher: Matcher) -> Callable[[Any], bool]:
    """A goal that is written as a pattern over the public state."""
    return lambda state: matcher.matches(world.public(state), Scope())
