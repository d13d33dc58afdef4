"""What spans of language models hold: the messages of chat spans, and the runs of tool spans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from corepath.errors import RecordError
from corepath.importers.content import parse_result
from corepath.notation.call import UNANSWERED


@dataclass(frozen=True)
class ChatCall:
    """A call in a message of the agent; its arguments are UNANSWERED if they were not recorded."""

    tool: Any
    arguments: Any
    id: Any = None


@dataclass(frozen=True)
class ChatAnswer:
    """The answer to a call in a message to the agent; its value is UNANSWERED if it was not recorded."""

    id: Any
    value: Any
    error: bool = False


@dataclass(frozen=True)
class ChatMessage:
    """A message of a chat span: its role, its text, and the calls or answers in it."""

    role: str
    text: Any = None
    calls: tuple[ChatCall, ...] = ()
    answers: tuple[ChatAnswer, ...] = ()

    @property
    def is_by_user(self) -> bool:
        """Whether the user wrote it, and it is not an answer to a call."""
        return self.role == "user" and not self.answers


@dataclass(frozen=True)
class Chat:
    """A chat span: the messages sent to the model, its output, its name, and the errors of unreadable input."""

    sent: tuple[ChatMessage, ...]
    output: tuple[ChatMessage, ...]
    model: Any = None
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class ToolRun:
    """A tool span; its arguments and result are UNANSWERED if they were not recorded."""

    tool: str
    arguments: Any = UNANSWERED
    id: Any = None
    result: Any = UNANSWERED
    error: Any = None


def read_json(text: Any, what: str) -> Any:
    """Parse an attribute that is JSON as text. Raises `RecordError` if it cannot be parsed."""
    if not isinstance(text, str):
        return text
    value = parse_result(text)
    if isinstance(value, str):
        raise RecordError(f"'{what}' is no JSON; was it cut?")
    return value
