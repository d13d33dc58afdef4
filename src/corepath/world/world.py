"""Worlds: simulators that have a small state, tools that work on the state, and tasks.

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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Concatenate, Generic, TypeVar, cast

from corepath.automaton.reading import Forbidden
from corepath.errors import CorepathError, TaskError, ToolError, nearest
from corepath.notation.call import UNANSWERED, Call
from corepath.notation.matchers import Matcher, Scope
from corepath.notation.parameters import check_arguments, parameters_of
from corepath.rules.policy import complete_policy
from corepath.rules.rule import Never, Rule
from corepath.task import Task
from corepath.values import is_name, why_not_json
from corepath.world.self_loops import find_self_loops
from corepath.world.state import change_state, encode, public_state, same_public_state, why_not_state
from corepath.world.tools import P, S, WorldTool

T = TypeVar("T")


class Pick:
    """Picks values for a task. Seed 0 always picks the first option, any other seed a pseudo-random one."""

    def __init__(self, name: str, seed: int) -> None:
        self._name, self._seed, self._count = name, seed, 0

    def __call__(self, *options: T) -> T:
        """Pick one of the options."""
        return options[self._number(len(options))]

    def some(self, count: int, *options: T) -> list[T]:
        """Pick `count` different options. Seed 0 picks the first ones."""
        left = list(options)
        return [left.pop(self._number(len(left))) for _ in range(count)]

    def _number(self, count: int) -> int:
        self._count += 1
        if self._seed == 0:
            return 0
        digest = hashlib.sha256(f"{self._name}:{self._seed}:{self._count}".encode()).digest()
        return int.from_bytes(digest[:8], "big") % count


@dataclass(eq=False)
class World(Generic[S]):
    """A simulated world: a state dataclass, tools, policies, tasks, and rules that every agent reads."""

    name: str
    state: Callable[[], S]
    rules: str = ""
    advice: Sequence[str] = ()
    """The sentences in `rules` that no policy enforces: facts about the world, and general advice."""
    tools: dict[str, WorldTool[Any]] = field(default_factory=dict, init=False, repr=False)
    policies: list[Rule] = field(default_factory=list, init=False, repr=False)
    makers: dict[str, Callable[[Pick], Task]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if not is_name(self.name):
            raise TaskError.of(f"'{self.name}' is no name for a world: use letters, digits and _")
        if not dataclasses.is_dataclass(self.state) or hasattr(self.state, "__slots__"):
            raise TaskError.of(f"the state of world '{self.name}' must be a plain dataclass, without slots")

    @property
    def about(self) -> str:
        """A short description of the world.

        This is the first line of the module's docstring or, if the module has none, of the state class's docstring.
        """
        module = sys.modules.get(getattr(self.state, "__module__", ""))
        text = getattr(module, "__doc__", None) or self.state.__doc__ or ""
        return text.strip().split("\n")[0]

    # Definition

    def read(self, function: Callable[Concatenate[S, P], Any]) -> WorldTool[P]:
        """Register a function as a tool that only reads the state. Use this method as a decorator."""
        return self._tool(function, writes=False)

    def write(self, function: Callable[Concatenate[S, P], Any]) -> WorldTool[P]:
        """Register a function as a tool that may change the state. Use this method as a decorator."""
        return self._tool(function, writes=True)

    def policy(self, *policies: Rule) -> None:
        """Add policies that apply to all tasks in the world."""
        self.policies += policies

    def task(self, function: Callable[[Pick], Task]) -> Callable[[Pick], Task]:
        """Register a function that makes a task, e.g. `def water_plant(pick): ...`. Use this method as a decorator.

        The task is named after the function, without a trailing underscore. Add the underscore if a tool already has
        the name.
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

    # Execution: the protocol `task.Simulator`

    def answer(self, state: S, call: Call) -> tuple[Call, S]:
        """Execute a call. Return the call with its result or error, and the next state.

        A failed call does not change the state.
        """
        tool = self.tools.get(call.tool)
        if tool is None:
            return _fail(call, f"no tool '{call.tool[:80]}'{nearest(call.tool, self.tools)}"), state
        try:
            arguments = check_arguments(tool.name, tool.inputs, call.arguments)
            result, after = tool.execute(state, arguments)
        except ToolError as error:
            return _fail(call, str(error)), state
        except (Exception, SystemExit) as error:  # noqa: BLE001  # a bug in a world must not stop the agent
            return _fail(call, f"internal error: {type(error).__name__}: {error}", crashed=True), state
        if wrong := why_not_json(result):
            return _fail(call, f"internal error: the result is not JSON: {wrong}", crashed=True), state
        return Call(call.tool, arguments, result, None, call.id, call.turn, extra=call.extra), after

    def public(self, state: S) -> Any:
        """Return the state as JSON, without its private fields. The names of private fields begin with `_`."""
        return public_state(state)

    def key(self, state: S) -> str:
        """Serialize the whole state to a string. Equal states give equal strings."""
        return encode(state)

    def same_public(self, one: S, other: S) -> bool:
        """Return True if two states are equal, ignoring private fields."""
        return same_public_state(one, other)

    # Tasks

    def make(self, name: str, seed: int = 0) -> Task:
        """Make a task by name. Seed 0 makes the canonical task, any other seed a variant with other values."""
        if name not in self.makers:
            raise TaskError.of(f"no task '{name}' in world '{self.name}'{nearest(name, self.makers)}")
        try:
            return self.complete(self.makers[name](Pick(f"{self.name}/{name}", seed)), f"{self.name}/{name}")
        except CorepathError as error:
            raise TaskError.of(f"task '{self.name}/{name}', seed {seed}: {error}") from error
        except Exception as error:
            raise TaskError.of(f"task '{self.name}/{name}', seed {seed}: {describe_exception(error)}") from error

    def tasks(self, seed: int = 0) -> dict[str, Task]:
        """Make all tasks in the world, keyed by id."""
        made = (self.make(name, seed) for name in self.makers)
        return {task.id: task for task in made}

    def start_state(self, setup: Mapping[str, Any]) -> S:
        """Return the world's default start state with the changes in `setup`, which comes from a task file."""
        return cast("S", change_state(self.state(), setup, f"the state of world '{self.name}'"))

    def complete(self, task: Task, name: str | None = None) -> Task:
        """Return a copy of a task with the world's tools and policies added.

        The task's self-loops are added too. They are found by executing the task.
        """
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
        completed = replace(
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
        return replace(completed, automaton=completed.automaton.with_loops(find_self_loops(completed)))


def _forbidden(policies: Iterable[Rule]) -> Iterator[Forbidden]:
    """Yield the calls that the policies forbid in every state."""
    for policy in policies:
        if isinstance(policy, Never) and policy.always and policy.call is not None:
            yield Forbidden(policy.call, policy.severity, policy.because)


def describe_exception(error: BaseException) -> str:
    """Describe an exception from a world author's code, with its file and line."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"{type(error).__name__}: {error} (line {frame.lineno} of {frame.filename.rpartition('/')[2]}, in {frame.name})"
    )


def _fail(call: Call, message: str, *, crashed: bool = False) -> Call:
    extra = {**call.extra, "crashed": True} if crashed else call.extra
    return replace(call, result=UNANSWERED, error=message, extra=extra)


def state_matcher(world: World[Any], matcher: Matcher) -> Callable[[Any], bool]:
    """Return a goal function that is true for states whose public fields match `matcher`."""
    return lambda state: matcher.matches(world.public(state), Scope())
