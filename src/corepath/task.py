"""A task: a prompt, and the automaton of what may be done."""

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
"""Stands for an automaton that is still to be compiled from the task's procedure."""


class SimulatedTool(Protocol):
    """A tool that a simulator executes."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def writes(self) -> bool:
        """Whether it may change the state."""

    @property
    def inputs(self) -> Mapping[str, Parameter]:
        """Its parameters by name."""

    @property
    def description(self) -> str:
        """What it does, in words for the agent."""

    @property
    def schema(self) -> dict[str, Any]:
        """Name, description, and JSON Schema of the parameters, as models get them."""


class Simulator(Protocol):
    """Executes calls. States are values: a call returns the next state and does not change the one before."""

    name: str
    rules: str
    """What holds in every task, in words for the agent."""

    @property
    def tools(self) -> Mapping[str, SimulatedTool]:
        """The tools by name."""

    def answer(self, state: Any, call: Call) -> tuple[Call, Any]:
        """The call with its result or its error, and the state after it."""

    def public(self, state: Any) -> Any:
        """The state as JSON, without what is private."""

    def key(self, state: Any) -> str:
        """The whole state as text: the same for equal states."""

    def same_public(self, one: Any, other: Any) -> bool:
        """Whether two states differ in private fields at most."""


@dataclass(frozen=True, repr=False, eq=False)
class Task:
    """A prompt and the automaton of what may be done, from a procedure or outright. A wrong task fails when it is made.

    `reads`, `neutral` and `forbid` speak of calls that are no steps; `tools`, where given, are all the tools there are,
    with the defaults of their parameters. They belong to a procedure: an automaton brings its own.

    A task of a world also has the state it starts in, the `goal`, a question about the state at the end, the `policies`
    that say why a way to the goal is a wrong one, `decoys`, and `says`: what words of the prompt mean where a
    value is not in it literally. `most_calls` ends an episode: unless given, four times the longest golden path and 8.
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
        """What the task says about calls that are not steps."""
        forbid = tuple(one if isinstance(one, Forbidden) else Forbidden(one) for one in self.forbid)
        tools = None if self.tools is None else {tool.name: tool for tool in self.tools}
        return Listing(tuple(self.reads), tuple(self.neutral), forbid, self.unlisted, tools)

    @cached_property
    def step_limit(self) -> int:
        """Calls that an agent may make."""
        return 4 * self.automaton.golden.longest + 8 if self.most_calls is None else self.most_calls

    @cached_property
    def answer_matcher(self) -> Matcher | None:
        """The condition on the agent's final answer."""
        return None if self.answer is None else as_matcher(self.answer)
