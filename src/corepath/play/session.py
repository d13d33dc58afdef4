"""A session: an agent in a fresh copy of a task's world, with every call recorded."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random
from typing import Any, Final

from corepath.errors import StepLimitError, count
from corepath.notation.call import Call
from corepath.notation.message import Message
from corepath.play.rehearsal import Situation, rehearsal_of
from corepath.rules.rule import Rule
from corepath.task import Task
from corepath.values import arguments_of
from corepath.world.exploring import Replay, simulator_of
from corepath.world.prompt import system_prompt
from corepath.world.state import copy_state

Agent = Callable[["Session"], Any]
"""A function that makes calls through a session and returns its final answer, or None if it has no answer."""

LONGEST_REPLY: Final = 100_000
"""The most characters of a result that a reply includes. The recorded result is not shortened."""


@dataclass
class Session:
    """An agent's view of an episode: the prompt, the tools, and the methods `call` and `reply` to call a tool.

    Every call is recorded as it was sent, even if the tool does not exist or the arguments are not valid JSON. `random`
    is seeded, so agents that use it are reproducible.
    """

    task: Task
    seed: str = ""
    clock: Callable[[], float] | None = None
    calls: list[Call] = field(default_factory=list, init=False)
    messages: list[Message] = field(default_factory=list, init=False)
    notes: dict[str, Any] = field(default_factory=dict, init=False)
    rehearsed: bool = field(default=True, init=False)
    """Whether all calls so far were made with `repeat`, so that the rehearsal can score them."""

    def __post_init__(self) -> None:
        self._simulator = simulator_of(self.task)
        self._executed: list[Call] = []
        self._states = [self.task.start]
        self._situation: Situation | None = None
        self._breaches: dict[int, Rule] = {}
        self._began = self.clock() if self.clock else 0.0

    @property
    def prompt(self) -> str:
        """The user's request."""
        return self.task.prompt

    @property
    def system(self) -> str:
        """The system prompt for a model: the world's rules and how to work in the world."""
        return system_prompt(self._simulator)

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools, each with its name, its description and a JSON Schema for its parameters."""
        return [tool.schema for tool in self._simulator.tools.values()]

    @property
    def over(self) -> bool:
        """Whether the task's step limit is reached."""
        return len(self.calls) >= self.task.step_limit

    @cached_property
    def random(self) -> Random:
        """A random number generator seeded with the session's seed."""
        return Random(self.seed)  # noqa: S311  # for agents, not for secrets

    @property
    def state(self) -> Any:
        """The world's current state as JSON, without private fields."""
        return self._simulator.public(self._states[-1])

    def call(
        self, tool: str, arguments: Mapping[str, Any] | str | None = None, *, id: str | None = None,  # noqa: A002
        turn: int | None = None,
    ) -> Call:  # fmt: skip
        """Execute and record a call, and return it with its result or error.

        `arguments` may be a JSON string. Raises `StepLimitError` if the step limit is already reached. In this case,
        the call is not executed.
        """
        self._check_limit()
        sent = Call(tool, copy_state(arguments_of(arguments)), id=id, turn=turn, extra=self._timestamp())
        answered, state = self._simulator.answer(self._states[-1], sent)
        as_sent = answered
        if answered.arguments is not sent.arguments:
            as_sent = replace(answered, arguments=sent.arguments)  # without the tool's defaults
        self._record(as_sent, answered, state)
        self.rehearsed = False
        result = answered.result if answered.failed else copy_state(answered.result)
        return replace(as_sent, arguments=copy_state(sent.arguments), result=result)  # a copy the agent may change

    def repeat(self, call: Call) -> None:
        """Make a call as built-in agents do: record what it did when it was last made in the same situation."""
        if not self.rehearsed:
            self.call(call.tool, call.arguments)
            return
        self._check_limit()
        rehearsal = rehearsal_of(self.task)
        sent, answered, broken, after = rehearsal.move(self._situation or rehearsal.start, call)
        if broken is not None:
            self._breaches[len(self.calls)] = broken
        self._record(sent, answered, after.state)
        self._situation = after

    def _record(self, sent: Call, answered: Call, state: Any) -> None:
        """Record an executed call, as it was sent and with the arguments that the tool got, and the state after it."""
        self.calls.append(sent)
        self._executed.append(answered)
        self._states.append(state)

    def _check_limit(self) -> None:
        if self.over:
            raise StepLimitError(
                f"the step limit of {count(self.task.step_limit, 'call')} is reached; the episode is over"
            )

    def reply(
        self, tool: str, arguments: Mapping[str, Any] | str | None = None, *, id: str | None = None,  # noqa: A002
        turn: int | None = None,
    ) -> str:  # fmt: skip
        """Execute and record a call like `call`, but return the text to send back to the model."""
        return describe_result(self.call(tool, arguments, id=id, turn=turn))

    @property
    def replayed(self) -> Replay:
        """The executed calls, with the arguments that the tools received, and the states before and after them."""
        return Replay(tuple(self._executed), tuple(self._states), self._breaches if self.rehearsed else None)

    def say(self, text: str) -> None:
        """Record what the agent says before its next call."""
        self.messages.append(Message("assistant", text, len(self.calls)))

    @property
    def seconds(self) -> float:
        """The seconds since the session began, or 0 if the session has no clock."""
        return round(self.clock() - self._began, 6) if self.clock else 0.0

    def _timestamp(self) -> dict[str, Any]:
        """Return `{"at": seconds}` for a call's `extra`, or an empty dict if the session has no clock."""
        return {"at": self.seconds} if self.clock else {}


def describe_result(call: Call) -> str:
    """Return the text that a model reads after a call: the result as plain text or JSON, or the error."""
    if call.failed:
        text = f"Error: {call.error}"
    else:
        text = call.result if isinstance(call.result, str) else json.dumps(call.result, ensure_ascii=False)
    return text if len(text) <= LONGEST_REPLY else f"{text[:LONGEST_REPLY]}… ({len(text)} characters)"
