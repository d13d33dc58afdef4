"""What a target of an export is: a platform that takes scores, and how it takes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from corepath.batch.export_rows import ScoreRow
from corepath.errors import OptionError

ACCEPTED, NOT_ACCEPTED = "accepted", "not accepted"
"""The labels of the score `accepted`."""
_TRACE: Final = re.compile(r"[0-9a-f]{32}")
_SPAN: Final = re.compile(r"[0-9a-f]{16}")


class Item(NamedTuple):
    """A score as a target takes it: its JSON, when it was computed (in nanoseconds since 1970), and where it goes."""

    text: str
    time: int
    path: str


class Refusal(NamedTuple):
    """What a server refused of a request that it accepted as a whole: how many scores, and why."""

    scores: int
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """A platform that takes scores.

    `is_linked` tells whether the platform can find the trace of a row; if `needs_link` is True, it takes no other rows.
    `make_items` turns a row into scores, and `make_body` turns scores into the body of a request. `make_lines` returns
    the lines of a file with the scores. `make_headers` reads keys from the environment, and raises `OptionError` if
    they are missing. `is_retried` tells after which status a request is repeated. `read_refusal` reads the answer to a
    request. If the server does not have the path of a request, the scores are sent to `one_by_one`, each on its own.
    """

    name: str
    is_linked: Callable[[ScoreRow], bool]
    make_items: Callable[[ScoreRow], Iterator[Item]]
    make_body: Callable[[Sequence[Item]], str]
    make_lines: Callable[[Sequence[Item]], Iterator[str]]
    make_headers: Callable[[Mapping[str, str]], dict[str, str]]
    is_retried: Callable[[int], bool]
    read_refusal: Callable[[Mapping[str, Any]], Refusal]
    needs_link: bool = True
    one_by_one: str | None = None


def trace_in_hex(row: ScoreRow) -> str | None:
    """Return the trace id as OpenTelemetry writes it, or None if it cannot be one. A UUID loses its hyphens."""
    if row.trace is None:
        return None
    found = (row.trace.replace("-", "") if len(row.trace) == 36 else row.trace).lower()
    return found if _TRACE.fullmatch(found) and found.strip("0") else None


def span_in_hex(row: ScoreRow) -> str | None:
    """Return the span id as OpenTelemetry writes it, or None if it cannot be one."""
    found = (row.span or "").lower()
    return found if _SPAN.fullmatch(found) and found.strip("0") else None


def label_of(name: str, value: float) -> str | None:
    """Return the label of a score that is true or false, and None for a number."""
    if not isinstance(value, bool):
        return None
    if name == ACCEPTED:
        return ACCEPTED if value else NOT_ACCEPTED
    return "yes" if value else "no"


def without_nulls(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record without the fields that are None."""
    return {name: value for name, value in record.items() if value is not None}


def join_json(first: str, second: str) -> str:
    """Join the JSON of two objects without a common key, or of two lists. The first must not be empty."""
    return first if len(second) == 2 else f"{first[:-1]}, {second[1:]}"


def list_texts(items: Sequence[Item]) -> Iterator[str]:
    """Yield the JSON of each score."""
    return (item.text for item in items)


def authorization(scheme: str, key: str) -> dict[str, str]:
    """Return the header with a key. Raises `OptionError` if the key has characters that no header has."""
    return check_headers({"Authorization": f"{scheme} {key.strip()}"})


def check_headers(headers: dict[str, str]) -> dict[str, str]:
    """Return headers as they are. Raises `OptionError` if they have characters that no header has."""
    for text in (part for pair in headers.items() for part in pair):
        if not text.isascii() or not text.isprintable():
            raise OptionError("a key or a header in the environment has characters that cannot be sent")
    return headers


def may_pass(status: int) -> bool:
    """Whether a failed request may succeed later, by its status."""
    return status in (408, 429) or status >= 500
