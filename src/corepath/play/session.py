"""An episode while it lasts: a fresh copy of the task's world, and every call that was tried in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from random import Random
from typing import Any

from corepath.errors import StepLimitError, count
from corepath.notation.call import Call
from corepath.task import Task
from corepath.values import arguments_of
from corepath.world.exploring import Replay, simulator_of
from corepath.world.prompt import system_prompt
from corepath.world.state import copy_state

Agent = Callable[["Session"], Any]
"""Who acts: it makes calls through the session and returns its final answer, or None."""


@dataclass
class Session:
    """What an agent has of an episode: the prompt, the tools, and `call`, which executes and records.

    Every attempt is recorded as it was sent, those too that name no tool or are no JSON. `random` is seeded, so that an
    agent that draws from it can be run again.
    """

    task: Task
    seed: str = ""
    clock: Callable[[], float] | None = None
    calls: list[Call] = field(default_factory=list, init=False)
    messages: list[Any] = field(default_factory=list, init=False)
    notes: dict[str, Any] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._simulator = simulator_of(self.task)
        self._taken: list[Call] = []
        self._state = self.task.start
        self._began = self.clock() if self.clock else 0.0

    @property
    def prompt(self) -> str:
        """What the user asks."""
        return self.task.prompt

    @property
    def system(self) -> str:
        """What a model is told before the prompt: the rules of the world, and how to go about it."""
        return system_prompt(self._simulator)

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools as models are told of them: name, description, and JSON Schema of the parameters."""
        return [tool.schema for tool in self._simulator.tools.values()]

    @property
    def over(self) -> bool:
        """Whether the task's step limit is reached."""
        return len(self.calls) >= self.task.step_limit

    @cached_property
    def random(self) -> Random:
        """Chance, the same for the same seed."""
        return Random(self.seed)  # noqa: S311  # for agents, not for secrets

    @property
    def state(self) -> Any:
        """The world's state as JSON, without what is private."""
        return self._simulator.public(self._state)

    def call(
        self, tool: str, arguments: Mapping[str, Any] | str | None = None, *, id: str | None = None,  # noqa: A002
        turn: int | None = None,
    ) -> Call:  # fmt: skip
        """Execute a call and record it; the answer has a result or an error. Arguments may be JSON text.

        Raises `StepLimitError` where no more calls are allowed: then nothing is executed.
        """
        if self.over:
            raise StepLimitError(
                f"the step limit of {count(self.task.step_limit, 'call')} is reached; the episode is over"
            )
        sent = Call(tool, copy_state(arguments_of(arguments)), id=id, turn=turn, extra=self._at())
        answered, self._state = self._simulator.answer(self._state, sent)
        self._taken.append(answered)
        if answered.arguments is not sent.arguments:
            answered = replace(answered, arguments=sent.arguments)  # as they were sent, not as the tool took them
        self.calls.append(answered)
        result = answered.result if answered.failed else copy_state(answered.result)
        return replace(
            answered, arguments=copy_state(sent.arguments), result=result
        )  # the agent may do with it as it likes

    @property
    def replayed(self) -> Replay:
        """The calls as the world took them, and the states before the first and after the last."""
        return Replay(tuple(self._taken), (self.task.start, self._state))

    def say(self, text: str) -> None:
        """Record what the agent said before its next call."""
        self.messages.append({"role": "assistant", "content": text, "before_call": len(self.calls)})

    @property
    def seconds(self) -> float:
        """Since the session began; 0 without a clock."""
        return round(self.clock() - self._began, 6) if self.clock else 0.0

    def _at(self) -> dict[str, Any]:
        return {"at": self.seconds} if self.clock else {}
