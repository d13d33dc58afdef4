"""Find the tasks in a task file, and their ids, without parsing the file.

The scan knows what most files look like: a mapping with a line `id: …`, or several of them, as documents or as items of
a list. For every valid file, it finds the ids that the parser finds, or says that it cannot tell. PyYAML needs
milliseconds for a task, and the scan needs microseconds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True)
class Part:
    """The text of one task in a file, from `start` to `end`, which begins at `line` and `column`, counted from 0.

    If `id` is None, only the parser can tell the id, and whether it is one task.
    """

    id: str | None
    start: int
    end: int
    line: int
    column: int = 0


def scan(text: str, *, is_json: bool) -> list[Part] | None:
    """Return the parts of a task file, or None if only the parser can tell where they are."""
    if text.lstrip(_SPACES).startswith(("{", "[")) and (is_json or "\t" not in text):  # YAML allows no tabs
        parts = _scan_json(text)
        if parts is not None:
            return parts
    if is_json or _has_odd_lines(text):
        return None
    return _scan_yaml(text)


# JSON

_SPACES: Final = " \t\r\n"
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_COMMA: Final = re.compile(r"[ \t\r\n]*([,\]])[ \t\r\n]*")
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_decode: Final = json.JSONDecoder().raw_decode


def _scan_json(text: str) -> list[Part] | None:
    parts: list[Part] = []
    line = line_start = before = 0
    try:
        for id_, start, end in _json_tasks(text):
            line += text.count("\n", before, start)
            line_start = text.rfind("\n", before, start) + 1 or line_start
            before = start
            parts.append(Part(id_, start, end, line, start - line_start))
    except (ValueError, RecursionError):  # the parser says what is wrong
        return None
    return parts


def _json_tasks(text: str) -> Iterator[tuple[str | None, int, int]]:
    """Yield the id, the start and the end of each task. Raises `ValueError` if `text` is not JSON, or an empty list."""
    place = _SPACE.match(text).end()  # type: ignore[union-attr]  # it matches everywhere
    several = text[place] == "["
    if several:
        place = _SPACE.match(text, place + 1).end()  # type: ignore[union-attr]
    while True:
        value, end = _decode(text, place)
        yield valid_id(value), place, end
        comma = _COMMA.match(text, end) if several else None
        if comma is None or comma[1] == "]":
            break
        place = comma.end()
    rest = text[end:] if comma is None else text[comma.end() :]
    if rest.strip(_SPACES) or (several and comma is None):
        raise ValueError("text after the value")


def valid_id(value: Any) -> str | None:
    """Return the id in a parsed task, or None if that is not a text, or not a valid one."""
    id_ = value.get("id") if isinstance(value, dict) else None
    return id_ if isinstance(id_, str) and id_ and not _LONE_SURROGATE.search(id_) else None


# YAML

_KEY: Final = r"(?!id\b)[A-Za-z_][\w-]*+:(?=[ \r\n]|\Z)"
_MARKER: Final = re.compile(r"\n(?=---(?:[ \t\r\n]|\Z))")
_BEFORE: Final = re.compile(r"(?:--- *+\r?+(?:\n|\Z))?+(?: *+\r?+(?:#[^\n]*+)?+\n)*+(?: *+(?:#[^\n]*+)?+\Z)?+")
"""What may come before the first line of a document: the marker, blank lines and comments."""
_ITEM: Final = re.compile(r"\n(?=-[ \r\n])")
_ANCHOR: Final = re.compile(r"&(?<=[\s\[{,:?(-]&)[^\s&]")
_PLAIN: Final = r"(\w(?:[\w./+@=()$-]|:(?=\w)| +(?=[\w./+@=()$-]))*+)"
_VALUE: Final = rf"""(?:{_PLAIN}|"([^"\\\r\n]+)"|'([^'\r\n]+)')"""
_NULL: Final = ("null", "Null", "NULL")
_END_OF_LINE: Final = r"(?: +#[^\n]*+| *+)\r?+(?=\n|\Z)"
_FLOW: Final = re.compile(
    rf"""(?:- )?\{{ *+(?:id: +|"id": *|'id': *)(?:(\w[\w./+@=$-]*+)|"([^"\\\r\n]+)"|'([^'\r\n]+)') *+(?=[,}}])"""
    rf"([^\n\\]*)\}}{_END_OF_LINE}(?:\s*+#[^\n]*+)*+\s*+\Z"
)
"""A mapping in braces on a single line, with the id in front and only comments below."""
_ID_AGAIN: Final = re.compile(r"\bid['\"]?\s*:")
_OPEN_QUOTE: Final = re.compile(
    r"""(?:"(?<=[\s\[{,:?(-]")(?:[^"\\]|\\.)*+|'(?<=[\s\[{,:?(-]')(?:[^']|'')*+)\Z""", re.DOTALL
)


@dataclass(frozen=True)
class _Indent:
    """How the lines of a mapping look whose keys are indented by `width`."""

    width: int
    id_line: str
    """The beginning of the line with the id, unless that is the first line."""
    id_value: re.Pattern[str]
    """The id, the rest of its line, and that no line below continues it."""
    odd_line: re.Pattern[str]
    """A line that may be anything but blank, a comment, another key, or below a key."""

    @classmethod
    def of(cls, width: int) -> _Indent:
        margin = " " * width
        below = rf"(?=[ \t\r\n]*+(?:\Z|(?<=\n)|(?<=\n{margin})))"
        odd = rf"\n(?! *+\r?+(?:\n|\Z|#)|{margin} |{margin}(?:-[ \r\n]|{_KEY}))"
        return cls(width, f"\n{margin}id:", re.compile(rf"id: +{_VALUE}{_END_OF_LINE}{below}"), re.compile(odd))


_TOP: Final = _Indent.of(0)
_IN_LIST: Final = _Indent.of(2)
_FIRST_KEY: Final = re.compile(_KEY)


def _has_odd_lines(text: str) -> bool:
    """Whether a YAML text has directives, ends of documents, or line breaks other than those of Unix and Windows."""
    if text.startswith(("%", "...")) or "\n%" in text or "\n..." in text:
        return True
    if "\r" in text and re.search(r"\r(?!\n)", text):
        return True
    return not text.isascii() and re.search("[\x85\u2028\u2029\ufeff]", text) is not None


def _scan_yaml(text: str) -> list[Part] | None:
    parts: list[Part] = []
    line = before = 0
    for start, end in _split(_MARKER, text, 0, len(text)):
        first = _BEFORE.match(text, start, end).end()  # type: ignore[union-attr]  # it matches everywhere
        if first == end:
            continue
        is_list = text[first] == "-" and text[first + 1 : first + 2] in (" ", "\r", "\n")
        if is_list and _ANCHOR.search(text, first, end):
            return None  # an item may refer to another
        for place, last in _split(_ITEM, text, first, end) if is_list else [(start, end)]:
            id_ = _find_item_id(text, place, last) if is_list else _find_id(text, first, last, _TOP)
            line += text.count("\n", before, place)
            before = place
            parts.append(Part(id_, place, last, line))
    return parts


def _split(separator: re.Pattern[str], text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each piece of `text`. A piece begins after the line break that `separator` finds."""
    for found in separator.finditer(text, start, end):
        yield start, found.end()
        start = found.end()
    yield start, end


def _find_item_id(text: str, start: int, end: int) -> str | None:
    """Return the id of a list's item, or None if only the parser can tell it, or where the item ends."""
    if text[start + 1] != " " or _may_be_open(text, start, end):
        return None
    return _find_id(text, start, end, _IN_LIST)


def _find_id(text: str, first: int, end: int, indent: _Indent) -> str | None:
    """Return the id of the mapping in `text` from its first line at `first` on, or None if only the parser can tell.

    Every key of the mapping is at the same column. So if a single line there begins with `id`, and none with quotes or
    signs, this line has the id.
    """
    if flow := _FLOW.match(text, first, end):
        return None if _ID_AGAIN.search(flow[4]) else _text_of(flow)
    key = first + indent.width
    if _FIRST_KEY.match(text, key, end):
        line = text.find(indent.id_line, key, end)
        key = line + len(indent.id_line) - len("id:") if line >= 0 else end
    found = indent.id_value.match(text, key, end)
    if found is None or indent.odd_line.search(text, first, key) or indent.odd_line.search(text, found.end(), end):
        return None
    return _text_of(found)


def _text_of(found: re.Match[str]) -> str | None:
    """Return an id that is plain, or in double or single quotes. Return None if it is null."""
    return (found[2] or found[3]) if found[1] is None else None if found[1] in _NULL else found[1]


def _may_be_open(text: str, start: int, end: int) -> bool:
    """Whether a quoted text that begins in this item may end below it. PyYAML allows lines without an indent there."""
    for quote, escape in ('"', "\\"), ("'", "'"):
        last = text.rfind(quote, start, end)
        if last > 0 and text[last - 1] in f"{escape} \t\r\n[{{,:?(-":
            return _OPEN_QUOTE.search(text, start, end) is not None
    return False
