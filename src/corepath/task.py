"""A task: a prompt, and the automaton of what may be done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from corepath.automaton.alphabet import Forbidden, Unlisted
from corepath.automaton.automaton import Automaton
from corepath.decoy import Decoy
from corepath.errors import TaskError, count
from corepath.notation.action import Action, Tool
from corepath.notation.call import Call
from corepath.notation.matchers import Matcher
from corepath.notation.patterns import as_matcher
from corepath.notation.procedure import Procedure
from corepath.rules.policy import Policy


class Simulator(Protocol):
    """What executes calls. A state is a value: a call gives the next one and leaves the one before as it was."""

    rules: str
    """What holds in every task, in words for the agent."""

    @property
    def schemas(self) -> list[dict[str, Any]]:
        """The tools as models are told of them: name, description, and JSON Schema of the parameters."""

    def answer(self, state: Any, call: Call) -> tuple[Call, Any]:
        """The call with its result or its error, and the state after it."""

    def public(self, state: Any) -> Any:
        """The state as JSON, without what is private."""

    def key(self, state: Any) -> str:
        """The whole state as text: the same for equal states."""

    def admits(self, tool: str, parameter: str, value: Any) -> bool:
        """Whether the tool takes such a value."""

    def samples(self, tool: str, parameter: str) -> tuple[Any, ...]:
        """Values that the tool takes."""

    def writes(self, tool: str) -> bool:
        """Whether the tool may change the state."""

    def loops(self, task: Task) -> Mapping[int, Iterable[int]]:
        """For each state of the automaton the steps that change nothing there and are not in δ."""


@dataclass(frozen=True, repr=False)
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
    automaton: Automaton = None  # type: ignore[assignment]  # always there once the task is made
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
        if (self.procedure is None) == (self.automaton is None):
            raise TaskError.of(f"task '{self.id}' needs a procedure or an automaton, and only one of them")
        if self.procedure is not None:
            automaton = Automaton.from_procedure(self.procedure, self.actions, **self.rules)
            object.__setattr__(self, "automaton", automaton)
        if self.simulator is not None:
            object.__setattr__(self, "automaton", self.automaton.with_loops(self.simulator.loops(self)))

    def __repr__(self) -> str:
        return f"<Task {self.id!r}: {count(len(self.automaton.states), 'state')}>"

    @property
    def rules(self) -> dict[str, Any]:
        """What the alphabet is told besides the actions."""
        return {
            "reads": tuple(self.reads),
            "neutral": tuple(self.neutral),
            "forbid": tuple(one if isinstance(one, Forbidden) else Forbidden(one) for one in self.forbid),
            "unlisted": self.unlisted,
            "tools": None if self.tools is None else {tool.name: tool for tool in self.tools},
        }

    @cached_property
    def step_limit(self) -> int:
        """Calls that an agent may make."""
        return 4 * self.automaton.golden.longest + 8 if self.most_calls is None else self.most_calls

    @cached_property
    def answer_matcher(self) -> Matcher | None:
        """The condition on the agent's final answer."""
        return None if self.answer is None else as_matcher(self.answer)
