"""Read parts of JSON records: results, text, lists of objects and metadata."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from corepath.errors import RecordError
from corepath.values import parse_json

_JSON_STARTS: Final = frozenset('{["-0123456789tfn')
"""The characters with which a JSON value begins. Most other text is told from JSON by its first character."""
_NOTHING: Final[tuple[Any, ...]] = (None, [], {})
"""The values of fields that are left out. They are made once, not for each field."""


def parse_result(content: Any) -> Any:
    """Parse a result that is a JSON string. Other results are returned unchanged."""
    if not isinstance(content, str) or (content[:1] not in _JSON_STARTS and content.lstrip()[:1] not in _JSON_STARTS):
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
    if not isinstance(part, dict):
        return ""
    text = part.get("text", part.get("refusal"))
    return text if isinstance(text, str) else ""


def message_text(content: Any) -> Any:
    """Return the text in a message by the user or the system, or None if the message is empty.

    A part that is not text is shown by its type, e.g. `[image_url]`, so that it is seen that something was there.
    """
    if not isinstance(content, list):
        return content or None
    texts = [part if isinstance(part, str) else _part_text(part) or _part_type(part) for part in content]
    return "\n".join(text for text in texts if text) or None


def _part_type(part: Any) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    return f"[{kind[:60]}]" if isinstance(kind, str) and not kind.endswith("text") else ""


def time_of(given: Any) -> float | None:
    """Return a time in seconds since 1970, or None if the time is missing or malformed.

    `given` is a date and time in ISO 8601 (in UTC if no zone is named), or a number of seconds, milliseconds,
    microseconds or nanoseconds, as a number or a string. The unit follows from the number's size.
    """
    if given is None:
        return None
    if isinstance(given, str):
        try:
            given = float(given) if given.strip("-.0123456789") == "" else _from_iso(given)
        except (ValueError, OverflowError, OSError):
            return None
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        return None
    try:
        time = float(given)
    except OverflowError:
        return None
    for _ in range(3):
        if abs(time) < _MILLISECONDS:
            return round(time, 6)
        time /= 1000
    return round(time, 6) if abs(time) < _MILLISECONDS else None


def _from_iso(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


_MILLISECONDS: Final = 1e11
"""Numbers from this size on are not seconds, since 1e11 seconds after 1970 is the year 5138."""


def is_text_part(part: Any) -> bool:
    """Return True if `part` has the form `{"type": "text", "text": ...}`."""
    return isinstance(part, dict) and part.get("type") == "text" and isinstance(part.get("text"), str)


def first_of(record: Mapping[str, Any], *names: str) -> Any:
    """Return the value of the first field in `names` that is not null, or None if all are missing or null."""
    for name in names:
        if record.get(name) is not None:
            return record[name]
    return None


def require_objects(values: Any, what: str) -> list[Mapping[str, Any]]:
    """Return `values`. Raises `RecordError` if it is not a list of objects, as `objects` does."""
    is_quick = type(values) is list and all([type(value) is dict for value in values])  # noqa: C419  # faster
    return values if is_quick else list(objects(values, what))


def objects(values: Any, what: str) -> Iterator[Mapping[str, Any]]:
    """Yield the objects in the list `values`, or nothing if `values` is None.

    Raises `RecordError` if `values` is not a list of objects. `what` names the list in the error message.
    """
    if values is None:
        return
    if not isinstance(values, list):
        raise RecordError(f"{what} must be a list, not {describe_type(values)}")
    for number, value in enumerate(values, start=1):
        if not isinstance(value, dict):
            raise RecordError(f"{what} must be objects; number {number} is {describe_type(value)}")
        yield value


def metadata_of(record: Any, *conversation: str) -> dict[str, Any] | None:
    """Return a record's non-empty fields except those named in `conversation`, or None if none are left.

    Fields in the record's own `metadata` are merged in and take precedence.
    """
    return fields_but(conversation, record) if isinstance(record, dict) else None


def fields_but(conversation: Container[str], record: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what `metadata_of` does, for a record that is an object."""
    found = {name: value for name, value in record.items() if name not in conversation and value not in _NOTHING}
    if "metadata" in found:
        inner = found.pop("metadata")
        found |= inner if isinstance(inner, dict) else {"metadata": inner}
    return found or None


def describe_type(value: Any) -> str:
    """Describe a JSON value's type for error messages, e.g. `a string`."""
    names = {str: "a string", bool: "a boolean", list: "a list", dict: "an object", type(None): "null"}
    return names.get(type(value), "a number")
