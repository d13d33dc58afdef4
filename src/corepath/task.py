"""Tasks: a prompt, and the automaton that says which calls are allowed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Protocol

from corepath.automaton.alphabet import Alphabet, Listing, Refused, Unlisted
from corepath.automaton.automaton import Automaton
from corepath.automaton.reading import Forbidden
from corepath.decoy import Decoy
from corepath.errors import TaskError, count
from corepath.notation.action import Action, Tool
from corepath.notation.call import Call
from corepath.notation.matchers import Matcher
from corepath.notation.parameters import Parameter
from corepath.notation.patterns import as_matcher
from corepath.notation.procedure import Procedure
from corepath.rules.rule import Rule

_UNMADE: Final = Automaton(Alphabet((), frozenset()), ("q0",), ({},), 0, frozenset({0}))
"""Placeholder until the automaton is compiled from the task's procedure."""


SOURCE_PREFIX: Final = "calls:"
"""How the fingerprint of expected calls begins, by which a task's source is identified."""


class SimulatedTool(Protocol):
    """A tool that a simulator can execute."""

    @property
    def name(self) -> str:
        """The name that agents use to call the tool."""

    @property
    def writes(self) -> bool:
        """Whether the tool may change the state."""

    @property
    def inputs(self) -> Mapping[str, Parameter]:
        """The tool's parameters, keyed by name."""

    @property
    def description(self) -> str:
        """The description that the agent reads."""

    @property
    def schema(self) -> dict[str, Any]:
        """The tool's definition for language models: name, description, and the JSON Schema for its parameters."""


class Simulator(Protocol):
    """A simulated environment that executes calls. Each call returns a new state and never modifies the old one."""

    name: str
    rules: str
    """The rules that hold in every task, in words for the agent."""

    @property
    def tools(self) -> Mapping[str, SimulatedTool]:
        """The simulator's tools, keyed by name."""

    def answer(self, state: Any, call: Call) -> tuple[Call, Any]:
        """Execute a call. Return the call with its result or error, and the next state."""

    def public(self, state: Any) -> Any:
        """Return the state as JSON, without its private fields."""

    def key(self, state: Any) -> str:
        """Serialize the whole state to a string. Equal states give equal strings."""

    def same_public(self, one: Any, other: Any) -> bool:
        """Return True if two states are equal, ignoring private fields."""


@dataclass(frozen=True, repr=False, eq=False)
class Task:
    """A prompt, and the automaton that says which calls are allowed. Creating an invalid task raises `TaskError`.

    Pass either a `procedure`, which is compiled to an automaton, or an `automaton`. With a procedure, `reads`,
    `neutral` and `forbid` describe calls that are not steps, and `tools` lists all tools with their parameters'
    defaults. `refused` says whether a call that the tool refused is harmful, or may be a try of a step. An automaton
    already contains all of these.

    A task in a world has a few more fields. `start` is the start state, and `goal` is a condition on the final state.
    `policies` say why some ways to the goal are wrong, and `decoys` are examples of wrong paths. `says` maps phrases in
    the prompt to the values that they stand for. `most_calls` is the step limit. By default, it is four times the
    length of the longest golden path, plus 8. `source` identifies the expected calls that the task was derived from.
    """

    id: str = ""
    prompt: str = ""
    procedure: Procedure | None = None
    automaton: Automaton = _UNMADE
    actions: Sequence[Action] = ()
    reads: Sequence[Action] = ()
    neutral: Sequence[Action] = ()
    forbid: Sequence[Action | Forbidden] = ()
    unlisted: Unlisted = "harm"
    refused: Refused = "harm"
    tools: Sequence[Tool] | None = None
    answer: Any = None
    world: str | None = None
    tags: Sequence[str] = ()
    warnings: tuple[str, ...] = ()
    start: Any = None
    goal: Callable[[Any], object] | None = None
    policies: Sequence[Rule] = ()
    decoys: Mapping[str, Decoy] = field(default_factory=dict)
    says: Mapping[str, Any] = field(default_factory=dict)
    most_calls: int | None = None
    source: str | None = None
    simulator: Simulator | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.automaton is _UNMADE:
            if self.procedure is None:
                raise TaskError.of(f"task '{self.id}' needs a procedure or an automaton")
            automaton = Automaton.from_procedure(self.procedure, self.actions, self.listing)
            object.__setattr__(self, "automaton", automaton)
        elif self.procedure is not None and self.procedure is not self.automaton.procedure:
            raise TaskError.of(f"task '{self.id}' needs a procedure or an automaton, and only one of them")

    def __repr__(self) -> str:
        return f"<Task {self.id!r}: {count(len(self.automaton.states), 'state')}>"

    @property
    def listing(self) -> Listing:
        """The task's rules for calls that are not steps."""
        forbid = tuple(one if isinstance(one, Forbidden) else Forbidden(one) for one in self.forbid)
        tools = None if self.tools is None else {tool.name: tool for tool in self.tools}
        return Listing(tuple(self.reads), tuple(self.neutral), forbid, self.unlisted, tools, self.refused)

    @cached_property
    def step_limit(self) -> int:
        """The maximum number of calls that an agent may make."""
        return 4 * self.automaton.golden.longest + 8 if self.most_calls is None else self.most_calls

    @cached_property
    def answer_matcher(self) -> Matcher | None:
        """The matcher for the agent's final answer, or None if the task does not check the answer."""
        return None if self.answer is None else as_matcher(self.answer)
