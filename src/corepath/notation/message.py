"""Messages: what was said between an agent's calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Message:
    """Something that the user, the agent (`assistant`) or the program around them (`system`) said.

    `before_call` is the index of the first call that the agent made afterwards, which is the number of calls if it made
    none. It is None if that is not known. `turn` is the number of the agent's turn, which it shares with the calls that
    it came with. `time` is in seconds since 1970. `extra` holds everything else in the record. A message in a form that
    corepath does not know has an empty role, and is kept as its `content`.
    """

    role: str
    content: Any
    before_call: int | None = None
    time: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    turn: int | None = field(default=None, compare=False)

    def __init__(
        self,
        role: str,
        content: Any,
        before_call: int | None = None,
        time: float | None = None,
        extra: Mapping[str, Any] | None = None,
        turn: int | None = None,
    ) -> None:
        fields = self.__dict__  # three times as fast as the method that a frozen dataclass gets
        fields["role"] = role
        fields["content"] = content
        fields["before_call"] = before_call
        fields["time"] = time
        fields["extra"] = {} if extra is None else extra
        fields["turn"] = turn
