"""Tell which messages in a chat span's input are new, since each chat span repeats the conversation so far."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from corepath.importers.span_content import ChatMessage, id_of
from corepath.values import canonical

_Key = tuple[str, str]
"""A message's role and text."""


@dataclass
class Heard:
    """The messages to the model in a trace so far.

    A message is known by its role and text. It is new if one input has it more often than any input before. So a
    message counts once, even if several agents or several instrumentations record it.
    """

    _most: dict[_Key, int] = field(default_factory=dict)
    """How often one input had a message, at most."""
    _by_user: set[str] = field(default_factory=set)
    """The texts of the messages by the user."""
    _instructions: set[str] = field(default_factory=set)
    """The texts of the system's messages in conversations with the user."""
    _before: dict[str, set[str | None]] = field(default_factory=dict)
    """The ids of the calls made before this trace, keyed by the conversation's first user message."""

    def add(self, sent: Sequence[ChatMessage], *, by_agent: bool = False) -> list[str | None]:
        """Add a chat span's input. For each message, return its role if it is new, or None.

        If the input does not belong to the conversation with the user, an agent wrote the messages in the user's
        role, so that they count as the system's. `by_agent` says that an agent asked, e.g. through a tool.
        """
        keys = [_key(message) for message in sent]
        counted: Counter[_Key | None] = Counter()
        new: list[str | None] = []
        for key in keys:
            counted[key] += 1
            new.append(key[0] if key is not None and counted[key] > self._most.get(key, 0) else None)
        found = {key: count for key, count in counted.items() if key is not None}
        self._most |= {key: max(count, self._most.get(key, 0)) for key, count in found.items()}
        if self._is_with_user(found, by_agent=by_agent):
            self._by_user |= _texts(found, "user")
            self._instructions |= _texts(found, "system")
            return new
        return ["system" if role == "user" else role for role in new]

    def ids_before(self, sent: Sequence[ChatMessage]) -> set[str | None]:
        """Return the ids of calls made before this trace, plus None for calls without an id.

        The set is empty if `sent` has no user message. A conversation is identified by its first user message. When a
        conversation is first seen, what the agent did before the last user message was before this trace.
        """
        by_user = [number for number, message in enumerate(sent) if message.is_by_user]
        if not by_user:
            return set()
        beginning = canonical(sent[by_user[0]].text)
        if beginning not in self._before:
            earlier = sent[: by_user[-1]]
            self._before[beginning] = {None, *(id_of(one.id) for message in earlier for one in message.calls)}
            said = Counter(key for key in map(_key, earlier) if key is not None and key[0] == "assistant")
            self._most |= {key: max(count, self._most.get(key, 0)) for key, count in said.items()}
        return self._before[beginning]

    def _is_with_user(self, keys: Iterable[_Key], *, by_agent: bool) -> bool:
        """Return True if an input belongs to the conversation with the user.

        It does if it repeats one of the user's messages, or if the same agent is asked: one with no other instructions.
        """
        users = _texts(keys, "user")
        if not self._by_user or not users or users & self._by_user:
            return True
        return not by_agent and _texts(keys, "system") <= self._instructions


def _texts(keys: Iterable[_Key], role: str) -> set[str]:
    return {text for by, text in keys if by == role}


def _key(message: ChatMessage) -> _Key | None:
    """Return a message's role and text, or None if the message has no text or contains calls."""
    role = {"developer": "system", "model": "assistant", "ai": "assistant"}.get(message.role, message.role)
    if role not in ("user", "system", "assistant") or message.calls or _is_empty(message.text):
        return None
    return role, canonical(message.text)


def _is_empty(text: Any) -> bool:
    return text is None or text in ("", [])
