"""Read parts of JSON records: results, text, lists of objects and metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from corepath.errors import RecordError
from corepath.values import parse_json


def parse_result(content: Any) -> Any:
    """Parse a result that is a JSON string. Other results are returned unchanged."""
    if not isinstance(content, str):
        return content
    try:
        return parse_json(content)
    except ValueError:
        return content


def text_of(content: Any) -> Any:
    """Return the text in a message's `content`, or None if there is none.

    If `content` is a list, its text parts are joined by newlines.
    """
    if isinstance(content, list):
        texts = [part if isinstance(part, str) else _part_text(part) for part in content]
        return "\n".join(text for text in texts if text) or None
    return content or None


def _part_text(part: Any) -> str:
    if not isinstance(part, Mapping):
        return ""
    text = part.get("text", part.get("refusal"))
    return text if isinstance(text, str) else ""


def is_text_part(part: Any) -> bool:
    """Return True if `part` has the form `{"type": "text", "text": ...}`."""
    return isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str)


def first_of(record: Mapping[str, Any], *names: str) -> Any:
    """Return the value of the first field in `names` that is not null, or None if all are missing or null."""
    return next((record[name] for name in names if record.get(name) is not None), None)


def objects(values: Any, what: str) -> Iterator[Mapping[str, Any]]:
    """Yield the objects in the list `values`, or nothing if `values` is None.

    Raises `RecordError` if `values` is not a list of objects. `what` names the list in the error message.
    """
    if values is None:
        return
    if not isinstance(values, list):
        raise RecordError(f"{what} must be a list, not {describe_type(values)}")
    for number, value in enumerate(values, start=1):
        if not isinstance(value, Mapping):
            raise RecordError(f"{what} must be objects; number {number} is {describe_type(value)}")
        yield value


def metadata_of(record: Any, *conversation: str) -> dict[str, Any] | None:
    """Return a record's non-empty fields except those named in `conversation`, or None if none are left.

    Fields in the record's own `metadata` are merged in and take precedence.
    """
    if not isinstance(record, Mapping):
        return None
    found = {name: value for name, value in record.items() if name not in conversation and value not in (None, [], {})}
    inner = found.pop("metadata", {})
    return (found | dict(inner) if isinstance(inner, Mapping) else found | {"metadata": inner}) or None


def describe_type(value: Any) -> str:
    """Describe a JSON value's type for error messages, e.g. `a string`."""
    names = {str: "a string", bool: "a boolean", list: "a list", dict: "an object", type(None): "null"}
    return names.get(type(value), "a number")
