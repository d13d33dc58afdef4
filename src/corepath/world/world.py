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
import inspect
import json
import sys
import traceback
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, ParamSpec, TypeVar, cast

from corepath.automaton.alphabet import Forbidden
from corepath.errors import CorepathError, TaskError, ToolError, nearest
from corepath.notation.action import Action, Tool
from corepath.notation.call import REQUIRED, UNANSWERED, Call
from corepath.notation.matchers import Matcher, ResultOf, Scope, walk
from corepath.rules.policy import Never, Policy, complete_policy
from corepath.task import Simulator, Task
from corepath.values import equal, is_name, why_not_json
from corepath.world.exploring import Node, arguments_at, different, explore, place, simulator_of, variant, variants
from corepath.world.parameters import Parameter, parameters_of, taken

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")

GROUP: Final = "corepath.worlds"
"""The entry points under which worlds are found: `farm = "corepath.worlds.farm:world"`."""


@dataclass(frozen=True)
class WorldTool(Tool, Generic[P]):
    """A tool that can be executed. Called outside a run it is an action: `move(to="C")`."""

    function: Callable[..., Any] = field(repr=False, kw_only=True)
    inputs: Mapping[str, Parameter] = field(repr=False, kw_only=True)
    writes: bool = field(kw_only=True)

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> Action:
        """The tool with these arguments and no others."""
        try:
            bound = self._signature.bind_partial(*args, **kwargs)
        except TypeError as error:
            raise TaskError.of(f"tool '{self.name}': {error}") from None
        return self._action(bound.arguments, is_open=False)

    def performed(self, state: S, arguments: Mapping[str, Any]) -> tuple[Any, S]:
        """The result and the state after, of arguments that were checked; the state before stays as it was."""
        after = copied(state)
        return self.function(after, **copied(arguments)), after

    @property
    def description(self) -> str:
        """What the agent reads."""
        return inspect.cleandoc(self.function.__doc__ or "")

    @property
    def schema(self) -> dict[str, Any]:
        """The tool as models are told of it: name, description, and JSON Schema of its parameters."""
        required = [name for name, parameter in self.inputs.items() if parameter.default is REQUIRED]
        return {
            "name": self.name,
            "description": self.description,
            "parameters": {
                "type": "object",
                "properties": {name: parameter.schema for name, parameter in self.inputs.items()},
                "required": required,
                "additionalProperties": False,
            },
        }

    @cached_property
    def _signature(self) -> inspect.Signature:
        signature = inspect.signature(self.function)
        return signature.replace(parameters=list(signature.parameters.values())[1:])


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

    @property
    def schemas(self) -> list[dict[str, Any]]:
        """The tools as models are told of them: name, description, and JSON Schema of the parameters."""
        return [tool.schema for tool in self.tools.values()]

    def answer(self, state: S, call: Call) -> tuple[Call, S]:
        """The call with its result or its error, and the state after it; a call that fails changes nothing."""
        tool = self.tools.get(call.tool)
        if tool is None:
            return _failed(call, f"no tool '{call.tool[:80]}'{nearest(call.tool, self.tools)}"), state
        try:
            arguments = taken(tool.name, tool.inputs, call.arguments)
            result, after = tool.performed(state, arguments)
        except ToolError as error:
            return _failed(call, str(error)), state
        except (Exception, SystemExit) as error:  # noqa: BLE001  # a world's mistake must not stop the agent
            return _failed(call, f"internal error: {type(error).__name__}: {error}", crashed=True), state
        if wrong := why_not_json(result):
            return _failed(call, f"internal error: the result is not JSON: {wrong}", crashed=True), state
        return Call(call.tool, arguments, result, None, call.id, call.turn, call.extra), after

    def public(self, state: S) -> Any:
        """The state as JSON, without the fields that begin with `_`."""
        return _public(state)

    def key(self, state: S) -> str:
        """The whole state as text: the same for equal states."""
        return _ENCODED(state)

    def admits(self, tool: str, parameter: str, value: Any) -> bool:
        """Whether the tool takes such a value."""
        return self.tools[tool].inputs[parameter].admits(value)

    def samples(self, tool: str, parameter: str) -> tuple[Any, ...]:
        """Values that the tool takes."""
        return self.tools[tool].inputs[parameter].samples

    def writes(self, tool: str) -> bool:
        """Whether the tool may change the state."""
        return self.tools[tool].writes

    def loops(self, task: Task) -> dict[int, set[int]]:
        """The writes among a task's steps that preserve the public state wherever an automaton state can stand."""
        return proven_loops(task)

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
        return cast("S", _with(self.state(), setup, f"the state of world '{self.name}'"))

    def complete(self, task: Task, name: str | None = None) -> Task:
        """The task with what the world gives every task: tools, reads, policies, and the loops that it proves."""
        if not isinstance(task, Task):
            raise TaskError.of(f"a task's function must return a Task, not {task!r}")
        start = self.state() if task.start is None else task.start
        if wrong := _unusual(start) or why_not_json(_plain(start)):
            raise TaskError.of(f"the start state of task '{name or task.id}' cannot be written as JSON: {wrong}")
        policies = tuple(complete_policy(policy, self.tools) for policy in (*self.policies, *task.policies))
        alphabet = task.automaton.alphabet
        rules: dict[str, Any] = {
            "reads": (*alphabet.reads, *(tool.any() for tool in self.tools.values() if not tool.writes)),
            "forbid": (*alphabet.forbid, *_forbidden(policies)),
        }
        automaton = None
        if task.procedure is None:
            also = {"neutral": alphabet.neutral, "unlisted": alphabet.unlisted, "tools": dict(self.tools)}
            automaton = task.automaton.under(**rules, **also)
        return replace(
            task,
            id=name or task.id,
            world=self.name,
            automaton=automaton,  # type: ignore[arg-type]  # a procedure is compiled again
            tools=tuple(self.tools.values()),
            policies=policies,
            start=start,
            simulator=self,
            **rules,
        )


def _forbidden(policies: Iterable[Policy]) -> Iterator[Forbidden]:
    for policy in policies:
        if isinstance(policy, Never) and policy.always and policy.call is not None:
            yield Forbidden(policy.call, policy.severity, policy.because)


def proven_loops(task: Task) -> dict[int, set[int]]:
    """The writes among the steps that succeed and leave the public state in every world state that a state stands for.

    Where there are too many pairs to look at all, none is proven.
    """
    alphabet, world = task.automaton.alphabet, simulator_of(task)
    writes = [number for number in sorted(alphabet.steps) if world.writes(alphabet.actions[number].tool)]
    rounds = range(variants(task))
    standing: dict[int, dict[Hashable, Node]] = {}
    for number in rounds:
        explored = explore(task, variant(task, number))
        if not explored.whole:
            return {}
        for node in explored.nodes:
            standing.setdefault(node.position.state, {})[place(task, node)] = node
    tried = {symbol: rounds[: different(task, symbol)] for symbol in writes}
    loops: dict[int, set[int]] = {}
    for state, nodes in standing.items():
        for symbol in writes:
            if symbol not in task.automaton.delta[state] and all(
                preserves(task, node, symbol, number) for node in nodes.values() for number in tried[symbol]
            ):
                loops.setdefault(state, set()).add(symbol)
    return loops


def preserves(task: Task, node: Node, symbol: int, number: int) -> bool:
    """Whether the step, done at a pair, succeeds and leaves the public state as it is."""
    world = simulator_of(task)
    arguments = arguments_at(task, node.position, symbol, number)
    if arguments is None:
        return False
    answered, after = world.answer(node.state, Call(task.automaton.alphabet.actions[symbol].tool, arguments))
    return not answered.failed and same_public(world, node.state, after)


def same_public(world: Simulator, one: Any, other: Any) -> bool:
    """Whether two states are the same but for what is private."""
    if one is other or world.key(one) == world.key(other):
        return True
    return equal(world.public(one), world.public(other))


# States are values


def copied(state: Any) -> Any:
    """A copy that shares nothing with the state."""
    kind = type(state)
    if kind in _SCALARS:
        return state
    if kind is dict:
        return {name: value if type(value) in _SCALARS else copied(value) for name, value in state.items()}
    if kind is list:
        return [value if type(value) in _SCALARS else copied(value) for value in state]
    if kind is tuple:
        return tuple(copied(value) for value in state)
    made = object.__new__(kind)
    made.__dict__.update(copied(vars(state)))
    return made


_ENCODED: Final = json.JSONEncoder(default=vars, sort_keys=True, check_circular=False).encode
_SCALARS = frozenset({str, int, float, bool, type(None)})


def _public(value: Any) -> Any:
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is dict:
        return {name: _public(item) for name, item in value.items()}
    if kind is list or kind is tuple:
        return [_public(item) for item in value]
    return {name: _public(item) for name, item in vars(value).items() if not name.startswith("_")}


def _plain(value: Any) -> Any:
    """The whole state as JSON, private fields too; what is no JSON stays as it is."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: _plain(item) for name, item in vars(value).items()}
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _unusual(value: Any) -> str | None:
    """What keeps a state from being copied as a value: kinds of dict, list, text or number of their own."""
    kind = type(value)
    if kind in _SCALARS:
        return None
    if kind is dict:
        return next((wrong for item in value.values() if (wrong := _unusual(item))), None)
    if kind in (list, tuple):
        return next((wrong for item in value if (wrong := _unusual(item))), None)
    if dataclasses.is_dataclass(value) and not hasattr(kind, "__slots__"):
        return next((wrong for item in vars(value).values() if (wrong := _unusual(item))), None)
    return f"{kind.__name__} is not a JSON value; use plain dicts, lists, texts and numbers, and dataclasses of them"


def raised(error: BaseException) -> str:
    """What an author's own code raised, and where."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"{type(error).__name__}: {error} (line {frame.lineno} of {frame.filename.rpartition('/')[2]}, in {frame.name})"
    )


def _failed(call: Call, message: str, *, crashed: bool = False) -> Call:
    extra = {**call.extra, "crashed": True} if crashed else call.extra
    return replace(call, result=UNANSWERED, error=message, extra=extra)


def _with(usual: Any, given: Any, what: str) -> Any:
    """The usual value with what is given put in; what is no field of it, or of another type, is refused."""
    if dataclasses.is_dataclass(usual):
        if not isinstance(given, Mapping):
            raise TaskError.of(f"{what} has fields; give them as a mapping")
        made = copied(usual)
        for name, value in given.items():
            if name not in vars(usual):
                raise TaskError.of(f"{what} has no field '{name}'{nearest(name, vars(usual))}")
            setattr(made, name, _with(vars(usual)[name], value, f"'{name}'"))
        return made
    items = list(usual.values()) if isinstance(usual, dict) else usual if isinstance(usual, list) else []
    like = next((item for item in items if dataclasses.is_dataclass(item)), None)
    if isinstance(usual, dict) and isinstance(given, Mapping):
        return {name: _with(usual.get(name, like), item, f"'{name}'") if like else item for name, item in given.items()}
    if isinstance(usual, list) and isinstance(given, list):
        return [_with(like, item, f"an item of {what}") if like else item for item in given]
    number = (int, float)
    same = isinstance(given, type(usual)) or usual is None or (type(usual) in number and type(given) in number)
    if not same or (isinstance(given, bool) and type(usual) in number):
        raise TaskError.of(f"{what} must be like {json.dumps(usual)}, not {json.dumps(given)[:80]}")
    return given


def state_matcher(world: World[Any], matcher: Matcher) -> Callable[[Any], bool]:
    """A goal that is written as a pattern over the public state."""
    return lambda state: matcher.matches(world.public(state), Scope())


# Where worlds are found


def installed_worlds() -> dict[str, EntryPoint]:
    """The installed worlds by name, the built-in ones and those of other packages; none is imported."""
    from importlib.metadata import entry_points  # noqa: PLC0415  # takes longer than all the rest of the package

    found = {entry.name: entry for entry in entry_points(group=GROUP)}
    return dict(sorted(found.items()))


def world(name: str) -> World[Any]:
    """An installed world: `world("farm")`."""
    known = installed_worlds()
    if name not in known:
        raise TaskError.of(f"no world '{name}'{nearest(name, known)}")
    found = known[name].load()
    if not isinstance(found, World):
        raise TaskError.of(f"the entry point '{name}' names {known[name].value}, which is no World")
    return found


def load_worlds(path: str) -> list[World[Any]]:
    """The worlds in a Python file. The file is run, as an import is."""
    from importlib.util import module_from_spec, spec_from_file_location  # noqa: PLC0415

    name = f"corepath_world_{hashlib.sha256(path.encode()).hexdigest()[:12]}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TaskError.of(f"{path} cannot be read as Python")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except CorepathError:
        raise
    except (Exception, SystemExit) as error:
        raise TaskError.of(f"cannot be imported: {type(error).__name__}: {error}") from error
    found = list({id(one): one for one in vars(module).values() if isinstance(one, World)}.values())
    if not found:
        raise TaskError.of('no World in it; write one as world = World("name", State)')
    names = [one.name for one in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise TaskError.of(f"two worlds have the name '{min(twice)}'; give one of them another")
    for one in found:
        if not one.makers:
            raise TaskError.of(f"world '{one.name}' has no tasks; write one with @world.task")
    return found


def traits(task: Task) -> tuple[str, ...]:
    """What is special about a task, as tags: found by looking at it and by executing it."""
    alphabet, world = task.automaton.alphabet, simulator_of(task)
    steps = [alphabet.actions[number] for number in alphabet.steps]
    explored = explore(task, variant(task, 0))
    ends = [node for node in explored.nodes if node.position.accepted]
    restored = all(same_public(world, task.start, node.state) for node in ends)
    wrote = any(world.writes(action.tool) for action in steps)
    found = {
        "value read": any(isinstance(one, ResultOf) for action in steps for one in walk(action.arguments)),
        "changes nothing": restored and not wrote,
        "restores": restored and wrote,
        "many ways": task.automaton.count >= 6,
        "long": task.automaton.lengths[0] >= 12,
    }
    return tuple(name for name, is_so in found.items() if is_so)


def task(id: str, seed: int = 0) -> Task:  # noqa: A002
    """A task of an installed world: `task("farm/water_plant")`."""
    name, _, rest = id.partition("/")
    return world(name).make(rest, seed)
