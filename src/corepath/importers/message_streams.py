"""Join the events of Anthropic's messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from corepath.importers.content import first_of
from corepath.importers.streams import CUT_OFF, Joined
from corepath.values import arguments_of

_STREAM_IDS: Final = ("request_id", "stream_id", "message_id")
_EVENTS: Final = (
    "message_start", "message_delta", "message_stop",
    "content_block_start", "content_block_delta", "content_block_stop",
)  # fmt: skip
_HELPERS: Final = ("text", "input_json", "thinking", "signature", "citation")
"""Events that Anthropic's SDK adds to those of the API."""
_MIXED: Final = (
    "events of several streams are mixed, and have no id to tell them apart; log one stream after another, or write a "
    "'request_id' into each event"
)


class MessageStreams:
    """Streams of messages. Their events have no id, so `message_start` begins a stream.

    Events that were logged with an id, e.g. a `request_id`, belong to the stream with this id.
    """

    def __init__(self) -> None:
        self._all: list[_Message] = []
        self._current: dict[str, _Message] = {}

    def add(self, piece: Mapping[str, Any], place: Any = None) -> bool:
        """Add an event."""
        kind, key = str(piece.get("type")), str(first_of(piece, *_STREAM_IDS) or "")
        stream = self._current.get(key)
        if kind in _HELPERS:
            return stream is not None
        if kind not in _EVENTS:
            if stream is not None and kind == "error":
                stream.fields["error"] = piece.get("error")
            return stream is not None and kind in ("ping", "error")
        if stream is None or kind == "message_start":
            stream = self._current[key] = _Message(place, stream)
            self._all.append(stream)
        stream.add(kind, piece)
        return True

    def joined(self) -> Iterator[Joined]:
        """Yield the response of each stream."""
        for stream in self._all:
            yield Joined(stream.to_response(), stream.place, _MIXED if stream.mixed else None)


class _Message:
    def __init__(self, place: Any, before: _Message | None) -> None:
        self.place = place
        self.fields: dict[str, Any] = {}
        self.stopped = False
        self.mixed = False
        self._before = before if before is not None and not before.stopped else None
        """The stream that had not ended when this one began: it was cut, or its events are mixed with this one's."""
        self._usage: dict[str, Any] = {}
        self._blocks: dict[int, _Block] = {}

    def add(self, kind: str, piece: Mapping[str, Any]) -> None:
        index = piece.get("index") if type(piece.get("index")) is int else 0
        assert isinstance(index, int)
        if self._before is not None and not self._expects(kind, index):
            self.mixed = self._before.mixed = True
        if kind == "message_start":
            self._start(piece.get("message"))
        elif kind == "message_delta":
            delta, usage = piece.get("delta"), piece.get("usage")
            self.fields |= _without_nulls(delta)
            self._usage |= _without_nulls(usage)
        elif kind == "message_stop":
            self.stopped = True
        elif kind.startswith("content_block_"):
            self._blocks.setdefault(index, _Block()).add(kind, piece)

    def _expects(self, kind: str, index: int) -> bool:
        """Return True if an event may come next, as far as the order of events in a stream tells."""
        block = self._blocks.get(index)
        if kind == "content_block_start":
            return block is None and not self.stopped
        if kind.startswith("content_block_"):
            return block is not None and not block.stopped
        return not self.stopped

    def _start(self, message: Any) -> None:
        if isinstance(message, dict):
            self.fields |= {name: one for name, one in message.items() if name not in ("content", "usage")}
            self._usage |= message["usage"] if isinstance(message.get("usage"), dict) else {}

    def to_response(self) -> dict[str, Any]:
        whole = {"type": "message", "role": "assistant", "stop_reason": None, **self.fields}
        content = [self._blocks[index].to_json() for index in sorted(self._blocks)]
        usage = {"usage": self._usage} if self._usage else {}
        cut = {} if self.stopped or whole["stop_reason"] is not None else {CUT_OFF: True}
        return {**whole, "content": content, **usage, **cut}


class _Block:
    def __init__(self) -> None:
        self.stopped = False
        self._start: dict[str, Any] = {}
        self._texts: dict[str, list[str]] = {}

    def add(self, kind: str, piece: Mapping[str, Any]) -> None:
        if kind == "content_block_start":
            self._start = dict(_without_nulls(piece.get("content_block")))
        elif kind == "content_block_stop":
            self.stopped = True
        for name, value in _without_nulls(piece.get("delta")).items():
            if name != "type" and isinstance(value, str):
                self._texts.setdefault(name, []).append(value)

    def to_json(self) -> dict[str, Any]:
        texts = {name: "".join(some) for name, some in self._texts.items()}
        arguments = texts.pop("partial_json", "")
        kind = "tool_use" if arguments else "text"
        block = {"type": kind, **self._start}
        for name, text in texts.items():
            begun = block.get(name)
            block[name] = begun + text if isinstance(begun, str) else text
        return {**block, "input": arguments_of(arguments)} if arguments else block


def _without_nulls(value: Any) -> dict[str, Any]:
    return {name: one for name, one in value.items() if one is not None} if isinstance(value, dict) else {}
