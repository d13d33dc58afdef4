"""Ask a model a few questions in one conversation, without tools."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageUser

from corepath.errors import RunError
from corepath.runs.failure import describe_failure
from corepath.runs.local_model import Progress
from corepath.runs.models import Harness, open_harness

LONGEST_ANSWER: Final = 4_096
"""The most tokens of an answer of a local model. Other models decide that themselves."""


@dataclass
class Chat:
    """A conversation with a model."""

    harness: Harness
    runner: asyncio.Runner
    messages: list[ChatMessage] = field(default_factory=list)

    def ask(self, text: str) -> str:
        """Send a message and return the answer. Raises `RunError` if there is none, or only a part of it."""
        self.messages.append(ChatMessageUser(content=text))
        config = self.harness.config(len(self.messages) // 2)
        if config.max_tokens is not None:
            config = config.model_copy(update={"max_tokens": LONGEST_ANSWER})
        try:
            output = self.runner.run(self.harness.model.generate(list(self.messages), config=config))
            message = output.message
        except Exception as error:  # noqa: BLE001  # each service and client raises its own errors
            failure = describe_failure(error)
            raise RunError(f"{self.harness.name} gave no answer: {failure['kind']}: {failure['message']}") from None
        if output.stop_reason in ("max_tokens", "model_length"):
            raise RunError(f"the answer of {self.harness.name} was cut off at its limit of tokens")
        self.messages.append(message)
        return message.text


@contextmanager
def open_chat(name: str, system: str, options: Mapping[str, Any], progress: Progress) -> Iterator[Chat]:
    """Open a conversation with a model. `system` is what the model is told first."""
    with open_harness(name, options, progress) as harness, asyncio.Runner() as runner:
        try:
            yield Chat(harness, runner, [ChatMessageSystem(content=system)])
        finally:
            with suppress(Exception):  # an error while closing does not matter
                runner.run(harness.model.api.aclose())
