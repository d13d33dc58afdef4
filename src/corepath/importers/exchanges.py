"""Read API exchanges: records with a request, its response, or both. Lines in batch files are exchanges too."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from corepath.importers.content import fields_but
from corepath.importers.streams import response_pieces
from corepath.values import canonical

INPUT_FIELDS: Final = ("messages", "contents", "input")
"""The request fields that hold the conversation so far, for all supported APIs."""

_MESSAGE_TIMES: Final = ("timestamp", "created_at", "createdAt")
_NAMES_OF_TIMES: Final = frozenset(_MESSAGE_TIMES)
_BATCH_FIELDS: Final = {"body": "request", "params": "request", "result": "response"}


def as_exchange(record: Any) -> Any:
    """Return a batch or HTTP log record with its bodies directly under `request` and `response`.

    Other records are returned unchanged.
    """
    if not isinstance(record, dict):
        return record
    bodies = [("request", "body"), ("response", "body")]
    if "custom_id" in record and not record.keys() & set(INPUT_FIELDS):
        names = {name: side for name, side in _BATCH_FIELDS.items() if side not in record}
        record = {names.get(name, name): one for name, one in record.items()}
        bodies.append(("response", "message"))
    for side, inner in bodies:
        whole = record.get(side)
        if isinstance(whole, dict) and inner in whole:
            record = {**record, side: _merge_body(whole, inner)}
    return record


def _merge_body(whole: Mapping[str, Any], inner: str) -> Any:
    """Return a request or response with the fields of its body. The body may also be a stream, which is returned."""
    body = whole[inner]
    if isinstance(body, dict):
        return {**{name: one for name, one in whole.items() if name != inner}, **body}
    return whole if response_pieces(body) is None else body


def exchange_field(record: Any, *names: str) -> Any:
    """Return the value of the first field in `names` that is set, or None if none is set.

    The response is searched first, then the record itself, then the request.
    """
    if not isinstance(record, dict):
        return None
    for part in (record.get("response"), record, record.get("request")):
        if isinstance(part, dict):
            for name in names:
                if part.get(name) is not None:
                    return part[name]
    return None


def exchange_time(record: Any) -> Any:
    """Return when a response was made, in any form that `time_of` reads, or None if that is not known."""
    return exchange_field(record, "created", "created_at", "createTime", "create_time", "timestamp")


def message_time(message: Mapping[str, Any]) -> Any:
    """Return when a message was written, in any form that `time_of` reads, or None if that is not known."""
    if _NAMES_OF_TIMES.isdisjoint(message):  # quicker than to look for each
        return None
    return next((message[name] for name in _MESSAGE_TIMES if message.get(name) is not None), None)


def exchange_metadata(record: Any, *conversation: str) -> dict[str, Any] | None:
    """Return the merged metadata from a record, its request and its response, or None if there is none.

    Fields named in `conversation` are left out.
    """
    if not isinstance(record, dict):
        return None
    without = _without(conversation)
    found: dict[str, Any] = {}
    for part in (record.get("request"), record.get("response"), record):
        if isinstance(part, dict) and (kept := fields_but(without, part)):
            found |= kept
    return found or None


@cache
def _without(conversation: tuple[str, ...]) -> frozenset[str]:
    """Return the names of the fields that are not metadata."""
    return frozenset((*conversation, "request", "response", "model", "tools"))


def normalise(value: Any) -> Any:
    """Return a message without nulls and `cache_control` fields, which may differ between copies of the message."""
    if isinstance(value, dict):
        return {
            name: one if isinstance(one, str) else normalise(one)
            for name, one in value.items()
            if one is not None and name != "cache_control"
        }
    return [normalise(one) for one in value] if isinstance(value, list) else value


def explain_no_conversation(record: Any, expected: str) -> str:
    """Explain why a record has no conversation.

    Returns `expected`, which says what a record should contain, unless the record is an API error.
    """
    if error := exchange_field(record, "error"):
        return f"no conversation: the API answered with an error: {canonical(error)[:200]}"
    return expected
