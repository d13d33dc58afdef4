"""Define the data that is read from spans: messages from chat spans, and tool runs from tool spans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from corepath.errors import RecordError
from corepath.importers.content import parse_result
from corepath.notation.call import UNANSWERED


@dataclass(frozen=True)
class ChatCall:
    """A call in a message from the agent. `arguments` is `UNANSWERED` if the arguments were not recorded."""

    tool: Any
    arguments: Any
    id: Any = None


@dataclass(frozen=True)
class ChatAnswer:
    """A call's result in a message to the agent. `value` is `UNANSWERED` if the result was not recorded."""

    id: Any
    value: Any
    error: bool = False

    @property
    def result(self) -> Any:
        """The parsed result, or the error message."""
        if self.error:
            return None if self.value is UNANSWERED else self.value
        return parse_result(self.value)


@dataclass(frozen=True)
class ChatMessage:
    """A message in a chat span: its role, its text, its calls and its call results."""

    role: str
    text: Any = None
    calls: tuple[ChatCall, ...] = ()
    answers: tuple[ChatAnswer, ...] = ()

    @property
    def is_by_user(self) -> bool:
        """Whether the user wrote this message and it contains no call results."""
        return self.role == "user" and not self.answers


@dataclass(frozen=True)
class Chat:
    """The content of a chat span: the messages sent to the model, the model's output messages, and the model's name.

    `unread` holds error messages about input that could not be read. `usage` holds the tokens that the model used, and
    under `cost` what it cost.
    """

    sent: tuple[ChatMessage, ...]
    output: tuple[ChatMessage, ...]
    model: Any = None
    unread: tuple[str, ...] = ()
    usage: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ToolRun:
    """The content of a tool span. `arguments` and `result` are `UNANSWERED` if they were not recorded."""

    tool: str
    arguments: Any = UNANSWERED
    id: Any = None
    result: Any = UNANSWERED
    error: Any = None


def read_json(text: Any, what: str) -> Any:
    """Parse an attribute that is a JSON string. Other values are returned unchanged.

    Raises `RecordError` if the string cannot be parsed. `what` is the attribute's name in the error message.
    """
    if not isinstance(text, str):
        return text
    value = parse_result(text)
    if isinstance(value, str):
        raise RecordError(f"'{what}' is no JSON; was it cut?")
    return value


def id_of(given: Any) -> str | None:
    """Return a call id as a string, or None if the id is missing or empty."""
    return None if given is None or given == "" else str(given)


def last_without_id(messages: tuple[ChatMessage, ...]) -> tuple[list[ChatCall], list[ChatAnswer]]:
    """Return the calls in the last message with calls, and the results after that message.

    Only calls and results without an id are returned.
    """
    last = max((n for n, message in enumerate(messages) if message.calls), default=-1)
    calls = [one for message in messages[max(last, 0) : last + 1] for one in message.calls if id_of(one.id) is None]
    return calls, [one for message in messages[last + 1 :] for one in message.answers if id_of(one.id) is None]
