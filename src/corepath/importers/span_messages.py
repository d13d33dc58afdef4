"""What spans of language models hold: messages of chat spans with calls and answers in them, and runs of tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from corepath.errors import RecordError
from corepath.importers.messages import result_value
from corepath.notation.call import UNANSWERED


@dataclass(frozen=True)
class Asked:
    """A call in a message of the agent; its arguments are UNANSWERED where they were not recorded."""

    tool: Any
    arguments: Any
    id: Any = None


@dataclass(frozen=True)
class Answered:
    """The answer to a call in a message to the agent; its value is UNANSWERED where it was not recorded."""

    id: Any
    value: Any
    error: bool = False


@dataclass(frozen=True)
class Message:
    """A message: who said it, the words, and the calls or answers in it."""

    role: str
    text: Any = None
    calls: tuple[Asked, ...] = ()
    answers: tuple[Answered, ...] = ()

    @property
    def of_user(self) -> bool:
        """Words of the user, and no answers to calls."""
        return self.role == "user" and not self.answers


@dataclass(frozen=True)
class Chat:
    """What a chat span holds: all that the model was sent, what it said, and its name."""

    sent: tuple[Message, ...]
    said: tuple[Message, ...]
    model: Any = None
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ran:
    """What a tool span holds; arguments and result are UNANSWERED where the span does not tell them."""

    tool: str
    arguments: Any = UNANSWERED
    id: Any = None
    result: Any = UNANSWERED
    error: Any = None


def read_json(text: Any, what: str) -> Any:
    """A value that stands in an attribute as text; raises `RecordError` where the text is no JSON."""
    if not isinstance(text, str):
        return text
    value = result_value(text)
    if isinstance(value, str):
        raise RecordError(f"'{what}' is no JSON; was it cut?")
    return value
