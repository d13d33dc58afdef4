"""Tasks: a prompt, and the automaton of the allowed calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Protocol

from corepath.automaton.alphabet import Alphabet, Forbidden, Listing, Unlisted
from corepath.automaton.automaton import Automaton
from corepath.decoy import Decoy
from corepath.errors import TaskError, count
from corepath.notation.action import Action, Tool
from corepath.notation.call import Call
from corepath.notation.matchers import Matcher
from corepath.notation.parameters import Parameter
from corepath.notation.patterns import as_matcher
from corepath.notation.procedure import Procedure
from corepath.rules.policy import Policy

_UNMADE: Final = Automaton(Alphabet((), frozenset()), ("q0",), ({},), 0, frozenset({0}))
"""Placeholder for an automaton that is yet to be compiled from the task's procedure."""


class SimulatedTool(Protocol):
    """A tool that a simulator executes."""

    @property
    def name(self) -> str:
        """The name that agents call it by."""

    @property
    def writes(self) -> bool:
        """Whether it may change the state."""

    @property
    def inputs(self) -> Mapping[str, Parameter]:
        """The parameters by name."""

    @property
    def description(self) -> str:
        """The description for the agent."""

    @property
    def schema(self) -> dict[str, Any]:
        """The description for models: name, description, and JSON Schema of the parameters."""


class Simulator(Protocol):
    """Executes calls. States are values: a call returns the next state and leaves the previous one unchanged."""

    name: str
    rules: str
    """The rules for every task, in words for the agent."""

    @property
    def tools(self) -> Mapping[str, SimulatedTool]:
        """The tools by name."""

    def answer(self, state: Any, call: Call) -> tuple[Call, Any]:
        """Execute a call: returns it with its result or error, and the next state."""

    def public(self, state: Any) -> Any:
        """The state as JSON, without private fields."""

    def key(self, state: Any) -> str:
        """The whole state as text; equal states give equal texts."""

    def same_public(self, one: Any, other: Any) -> bool:
        """Whether two states are equal except in private fields."""


@dataclass(frozen=True, repr=False, eq=False)
class Task:
    """A prompt and the automaton of the allowed calls. A wrong task raises `TaskError` when it is made.

    Give either a `procedure`, which is compiled, or an `automaton`. `reads`, `neutral` and `forbid` describe calls that
    are not steps, and `tools` lists all tools with the defaults of their parameters. These four belong to a procedure;
    an automaton has its own.

    A task of a world also has a `start` state, a `goal`, which is a condition on the final state, `policies`, which say
    why some ways to the goal are wrong, `decoys`, and `says`, which maps phrases of the prompt to the values that they
    stand for. `most_calls` is the step limit; by default, four times the longest golden path plus 8.
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
    tools: Sequence[Tool] | None = None
    answer: Any = None
    world: str | None = None
    tags: Sequence[str] = ()
    warnings: tuple[str, ...] = ()
    start: Any = None
    goal: Callable[[Any], object] | None = None
    policies: Sequence[Policy] = ()
    decoys: Mapping[str, Decoy] = field(default_factory=dict)
    says: Mapping[str, Any] = field(default_factory=dict)
    most_calls: int | None = None
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
        return Listing(tuple(self.reads), tuple(self.neutral), forbid, self.unlisted, tools)

    @cached_property
    def step_limit(self) -> int:
        """The most calls that an agent may make."""
        return 4 * self.automaton.golden.longest + 8 if self.most_calls is None else self.most_calls

    @cached_property
    def answer_matcher(self) -> Matcher | None:
        """The condition on the agent's final answer."""
        return None if self.answer is None else as_matcher(self.answer)
