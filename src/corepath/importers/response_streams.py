"""Join the events of OpenAI's Responses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from corepath.importers.streams import CUT_OFF, Joined

_ENDS: Final = ("response.completed", "response.incomplete", "response.failed", "response.done")
"""Events that contain the whole response."""
_TEXTS: Final = {"output_text": "text", "refusal": "refusal"}
"""Events about a part of a message, and the field of this part that they add to."""
_FIELDS: Final = {
    "function_call_arguments": "arguments", "mcp_call_arguments": "arguments", "custom_tool_call_input": "input",
    "code_interpreter_call_code": "code",
}  # fmt: skip
"""Events about a call, and the field of the call that they add to."""
_MIXED: Final = "events of several streams that were cut are mixed, and cannot be told apart"


class ResponseStreams:
    """Streams of responses. An event names the response or one of its items.

    If the last event of a stream is there, it contains the whole response. Otherwise the response consists of the items
    that arrived and are in no other response. If several streams were cut, the numbers of the events
    (`sequence_number`) say to which of them an item belongs.
    """

    def __init__(self) -> None:
        self._responses: dict[str, _Response] = {}
        self._items: dict[str, _Item] = {}
        self._count = 0

    def add(self, piece: Mapping[str, Any], place: Any = None) -> bool:
        """Add an event."""
        self._count += 1
        kind = str(piece.get("type"))
        if kind == "error" and self._responses:
            last = list(self._responses.values())[-1]
            last.fields["error"] = {name: one for name, one in piece.items() if name != "type"}
            return True
        if not kind.startswith("response.") or "request" in piece or {"input", "response"} <= piece.keys():
            return False
        if isinstance(piece.get("response"), dict):
            self._add_response(kind, piece, place)
        elif _field(kind) is not None or isinstance(piece.get("item"), dict):
            key = _item_id(piece) or f"{len(self._responses)} {piece.get('output_index')}"
            self._items.setdefault(key, _Item(place, self._count, piece)).add(kind, piece, self._count)
        return True

    def _add_response(self, kind: str, piece: Mapping[str, Any], place: Any) -> None:
        given = piece["response"]
        response = self._responses.setdefault(str(given.get("id")), _Response(place, self._count))
        response.fields |= given
        response.numbers |= _numbers(piece)
        response.last = self._count
        if kind in _ENDS:
            claimed = [self._items.pop(str(item.get("id")), None) for item in _output(given)]
            response.end([item for item in claimed if item is not None])

    def joined(self) -> Iterator[Joined]:
        """Yield the response of each stream."""
        found = list(self._responses.values())
        for item in self._items.values():
            fitting = _fitting(item, [one for one in found if not one.is_full])
            if not fitting:
                fitting = [_Response(item.place, item.first)]
                found += fitting
            if len(fitting) > 1:
                for one in fitting:
                    one.error = _MIXED
            fitting[0].add(item)
        for response in sorted(found, key=lambda one: one.first):
            yield Joined(response.to_json(), response.place, response.error)


def _fitting(item: _Item, responses: list[_Response]) -> list[_Response]:
    """Return the responses to which an item may belong.

    The item began while the response was open, and no event has a number that the response already has. If the numbers
    of a response lead up to the item's, it is the one. If this is true of several, those that had no event after the
    last one began were cut before. Without numbers, an item belongs to the last response before it.
    """
    found = [one for one in responses if one.may_have(item)]
    if not item.numbers:
        return found[-1:]
    found = [one for one in found if min(item.numbers) - 1 in one.numbers] or found
    begun = max((one.first for one in found), default=0)
    return [one for one in found if one.last >= begun]


class _Response:
    def __init__(self, place: Any, count: int) -> None:
        self.place = place
        self.first = self.last = count
        """How many events came before the first and the last event of this response."""
        self.fields: dict[str, Any] = {}
        self.numbers: set[int] = set()
        self.ended = False
        self.is_full = False
        """Whether all events from the first to the last are known to belong to items of the whole response."""
        self.error: str | None = None
        self._indexes: set[int] = set()
        self._items: list[_Item] = []

    def may_have(self, item: _Item) -> bool:
        """Return True if an item came in time, and has neither another event's number nor another item's place."""
        if item.response is not None:
            return bool(self.fields.get("id") == item.response)
        in_time = self.first < item.first and not (self.ended and self.last < item.last)
        return in_time and not self.numbers & item.numbers and item.index not in self._indexes

    def add(self, item: _Item) -> None:
        self.numbers |= item.numbers
        self._indexes.add(item.index)
        self.last = max(self.last, item.last)
        if not _output(self.fields):
            self._items.append(item)

    def end(self, items: list[_Item]) -> None:
        """Note that the last event came, which contains these items."""
        self.ended = True
        for item in items:
            self.add(item)
        if self.numbers == set(range(len(self.numbers))) or not self.numbers:
            self.is_full, self.numbers = bool(_output(self.fields)), set()

    def to_json(self) -> dict[str, Any]:
        items = [item.to_json() for item in sorted(self._items, key=lambda one: one.index)]
        output = _output(self.fields) or items
        return {"object": "response", **self.fields, "output": output, **({} if self.ended else {CUT_OFF: True})}


class _Item:
    def __init__(self, place: Any, count: int, piece: Mapping[str, Any]) -> None:
        self.place = place
        self.first = self.last = count
        self.index = piece["output_index"] if type(piece.get("output_index")) is int else 0
        self.response = piece.get("response_id")
        self.numbers: set[int] = set()
        self._fields: dict[str, Any] = {}
        self._texts: dict[str, list[str]] = {}
        self._parts: dict[tuple[int, str], list[str]] = {}
        self._is_done = False

    def add(self, kind: str, piece: Mapping[str, Any], count: int) -> None:
        self.last = count
        self.numbers |= _numbers(piece)
        field = _field(kind)
        if isinstance(piece.get("item"), dict):
            self._fields |= piece["item"]
            self._is_done = kind == "response.output_item.done"
        elif field is not None and field in _FIELDS.values():
            _extend(self._texts.setdefault(field, []), piece, field)
        elif field is not None:
            part = piece.get("content_index")
            _extend(self._parts.setdefault((part if type(part) is int else 0, field), []), piece, field)

    def to_json(self) -> dict[str, Any]:
        if self._is_done:
            return self._fields
        parts = [{"type": f"output_{name}", name: "".join(self._parts[n, name])} for n, name in sorted(self._parts)]
        texts = {name: "".join(some) for name, some in self._texts.items()}
        if parts:
            return {"type": "message", "role": "assistant", **self._fields, "content": parts}
        return {"type": "function_call" if texts else "unknown", **self._fields, **texts}


def _extend(texts: list[str], piece: Mapping[str, Any], name: str) -> None:
    """Add a part to a text, or replace the parts by the whole text if an event has it."""
    if isinstance(piece.get("delta"), str):
        texts.append(piece["delta"])
    elif isinstance(piece.get(name), str):
        texts[:] = [piece[name]]


def _field(kind: str) -> str | None:
    """Return the name of the field that an event adds to, or None if it adds to none."""
    name = kind.removeprefix("response.").removesuffix(".done").removesuffix(".delta")
    return _FIELDS.get(name, _TEXTS.get(name))


def _item_id(piece: Mapping[str, Any]) -> str | None:
    """Return the id of the item that an event is about, or None if it names none."""
    item = piece.get("item")
    id_ = item.get("id") if isinstance(item, dict) else piece.get("item_id")
    return None if id_ is None else str(id_)


def _numbers(piece: Mapping[str, Any]) -> set[int]:
    number = piece.get("sequence_number")
    return {number} if type(number) is int else set()


def _output(response: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    output = response.get("output")
    return [item for item in output if isinstance(item, dict)] if isinstance(output, list) else []
