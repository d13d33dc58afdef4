"""Tell which chat spans record the same request to a model, so that nothing is added twice."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from corepath.importers.otlp import Span
from corepath.importers.span_content import Chat
from corepath.values import arguments_of, canonical


@dataclass
class Request:
    """What a chat span has recorded of a request to a model."""

    id: str | None
    start: int
    end: int
    asked: str
    """The last message to the model."""
    texts: tuple[str, ...]
    """The model's texts."""
    calls: tuple[str, ...]
    """The model's calls without their ids."""
    ids: tuple[Any, ...]
    """The ids of the model's calls."""
    roles: frozenset[str]
    """Who wrote the messages to the model."""
    turn: int = 0
    has_usage: bool = False
    has_model: bool = False
    places: list[int] = field(default_factory=list)
    """The indexes of the calls in the transcript."""
    begin: int | None = None
    """The first thing in the transcript's order that the span added, if it added anything."""

    @classmethod
    def of(cls, span: Span, chat: Chat) -> Request:
        """Return what a chat span has recorded."""
        calls = [call for message in chat.output for call in message.calls]
        last = chat.sent[-1] if chat.sent else None
        return cls(
            span.id,
            span.start,
            span.end,
            "" if last is None else canonical([last.text, [str(one.id) for one in last.answers]]),
            tuple(canonical(message.text) for message in chat.output if message.text),
            tuple(canonical([str(call.tool), arguments_of(call.arguments)]) for call in calls),
            tuple(call.id for call in calls),
            frozenset(message.role for message in chat.sent),
        )

    def repeats(self, other: Request) -> bool:
        """Return True if a span records the same request as another one that has not ended yet.

        Calls with other ids are the same if the ids are of another kind, such as `fc_1` and `call_1`.
        """
        if not other.start <= self.start <= self.end <= other.end:
            return False
        if not self.ids:
            return bool(self.texts) and (self.texts, self.asked, ()) == (other.texts, other.asked, other.ids)
        if self.ids == other.ids:
            return None not in self.ids
        return self.calls == other.calls and set(map(id_kind, self.ids)).isdisjoint(map(id_kind, other.ids))

    def has_text(self, text: Any) -> bool:
        """Return True if the span has recorded a text of the model, or one that contains it."""
        return any(canonical(text)[1:-1].strip() in one for one in self.texts) if text else True


@dataclass
class Requests:
    """The requests in a trace so far."""

    count: int = 0
    _by_span: dict[str, Request] = field(default_factory=dict)
    _running: list[Request] = field(default_factory=list)
    """The requests whose spans have not ended when the last span started."""

    def add(self, request: Request) -> None:
        """Add a request. Spans have to be added in order of their start times."""
        self.count += 1
        if request.id is not None:
            self._by_span[request.id] = request
        self._running = [one for one in self._running if one.end >= request.start]
        if request.end > 0:
            self._running.append(request)

    def find(self, span: str) -> Request | None:
        """Return the request that a span has recorded, or None if the span was not added."""
        return self._by_span.get(span)

    def find_same(self, request: Request) -> Request | None:
        """Return the same request in a span that has not ended yet, or None if there is none."""
        return next((one for one in self._running if request.repeats(one)), None)


def id_kind(id_: Any) -> str | None:
    """Return the letters with which a call id such as `call_1` begins, or None if there is no id."""
    return None if id_ is None else str(id_).partition("_")[0].rstrip("-0123456789")
