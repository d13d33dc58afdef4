"""Read parts of JSON records: results, texts, lists of objects, metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from corepath.errors import RecordError
from corepath.values import parse_json


def parse_result(content: Any) -> Any:
    """Parse a result that is JSON in a string; other results stay as they are."""
    if not isinstance(content, str):
        return content
    try:
        return parse_json(content)
    except ValueError:
        return content


def text_of(content: Any) -> Any:
    """The text of a message's content; the texts of several parts are joined by newlines. None if there is none."""
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
    """Whether a part of a content is `{"type": "text", "text": ...}`."""
    return isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str)


def first_of(record: Mapping[str, Any], *names: str) -> Any:
    """The first of these fields that is there and not null; None if none is."""
    return next((record[name] for name in names if record.get(name) is not None), None)


def objects(values: Any, what: str) -> Iterator[Mapping[str, Any]]:
    """The objects in a list, which may be missing. Raises `RecordError` if it is not a list of objects."""
    if values is None:
        return
    if not isinstance(values, list):
        raise RecordError(f"{what} must be a list, not {describe_type(values)}")
    for number, value in enumerate(values, start=1):
        if not isinstance(value, Mapping):
            raise RecordError(f"{what} must be objects; number {number} is {describe_type(value)}")
        yield value


def metadata_of(record: Any, *conversation: str) -> dict[str, Any] | None:
    """The fields of a record other than its conversation, merged with its own `metadata`, which takes precedence."""
    if not isinstance(record, Mapping):
        return None
    found = {name: value for name, value in record.items() if name not in conversation and value not in (None, [], {})}
    inner = found.pop("metadata", {})
    return (found | dict(inner) if isinstance(inner, Mapping) else found | {"metadata": inner}) or None


def describe_type(value: Any) -> str:
    """The type of a JSON value in words, for messages."""
    names = {str: "a string", bool: "a boolean", list: "a list", dict: "an object", type(None): "null"}
    return names.get(type(value), "a number")
