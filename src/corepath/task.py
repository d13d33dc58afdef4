"""Tasks and episodes: what is asked, and what one agent did once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from corepath.action import Action, Call, Tool
from corepath.alphabet import Forbidden, Unlisted
from corepath.automaton import Automaton
from corepath.errors import TaskError
from corepath.matchers import Matcher
from corepath.patterns import as_matcher
from corepath.procedure import Procedure


@dataclass(frozen=True)
class Task:
    """A prompt and the automaton of what may be done, from a procedure or outright. A wrong task fails when it is made.

    `reads`, `neutral` and `forbid` speak of calls that are no steps; `tools`, where given, are all the tools there are,
    with the defaults of their parameters. They belong to a procedure: an automaton brings its own.
    """

    id: str
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

    def __post_init__(self) -> None:
        if (self.procedure is None) == (self.automaton is None):
            raise TaskError.of(f"task '{self.id}' needs a procedure or an automaton, and only one of them")
        if self.procedure is not None:
            automaton = Automaton.from_procedure(self.procedure, self.actions, **self.rules)
            object.__setattr__(self, "automaton", automaton)

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
    def answer_matcher(self) -> Matcher | None:
        """The condition on the agent's final answer."""
        return None if self.answer is None else as_matcher(self.answer)


@dataclass(frozen=True)
class Episode:
    """One agent on one task, once."""

    task: str
    calls: tuple[Call, ...]
    agent: str | None = None
    epoch: int = 0
    params: Mapping[str, Any] = field(default_factory=dict)
    answer: Any = None
    other_calls: tuple[Call, ...] = ()
    messages: tuple[Any, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
