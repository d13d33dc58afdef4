"""The order of calls and messages in a trace's episode."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from corepath.notation.call import Call
from corepath.notation.message import Message


@dataclass
class Order:
    """The order in which an episode lists calls and messages.

    A call's key is its index. Messages have negative keys.
    """

    begin: int | None = None
    """The first key that was added or moved since `begin` was last set to None."""
    _messages: dict[int, Message | None] = field(default_factory=dict)
    """The messages, or None for calls, in order."""
    _last_key: int = 0

    def add_message(self, message: Message) -> int:
        """Add a message at the end and return its key."""
        self._last_key -= 1
        self._append(self._last_key, message)
        return self._last_key

    def add_call(self, place: int) -> None:
        """Add a call at the end, or move it there."""
        self._messages.pop(place, None)
        self._append(place, None)

    def move(self, keys: Sequence[int], before: int | None) -> None:
        """Move calls and messages to where another one stands, if there is one with the key `before`."""
        if not keys or before not in self._messages:
            return
        entries = list(self._messages.items())
        at = next(number for number, (key, _) in enumerate(entries) if key == before)
        moved = {key: self._messages[key] for key in keys}
        before_it, after_it = ([one for one in part if one[0] not in moved] for part in (entries[:at], entries[at:]))
        self._messages = dict([*before_it, *moved.items(), *after_it])

    def first(self, keys: Iterable[int]) -> int | None:
        """Return the first of several keys, or None if there are none."""
        among = set(keys)
        return next((key for key in self._messages if key in among), None) if among else None

    def entries(self, calls: Sequence[Call]) -> Iterator[Call | Message]:
        """Yield calls and messages in order. A message of the agent is not later than the next call.

        Some chat spans end only when the tools have run, so that the end of the span is too late for a message.
        """
        found: list[Call | Message] = []
        next_call: float | None = None
        for key, message in reversed(self._messages.items()):
            if message is None:
                next_call = calls[key].time
                found.append(calls[key])
                continue
            late = message.time is not None and next_call is not None and message.time > next_call
            found.append(replace(message, time=next_call) if late and message.role == "assistant" else message)
            next_call = next_call if message.role == "assistant" else None
        yield from reversed(found)

    def _append(self, key: int, message: Message | None) -> None:
        self._messages[key] = message
        self.begin = key if self.begin is None else self.begin
