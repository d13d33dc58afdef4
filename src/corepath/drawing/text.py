"""Measure text for a drawing, break it into lines, and escape unsafe characters."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from html import escape
from math import ceil
from typing import Final

from corepath.values import visible

CELL: Final = 0.602
"""Width of a monospace character, relative to the font size."""
LONGEST_TITLE: Final = 1_000
_BREAKS_AFTER: Final = ",;:(_/.=-"
_NOT_XML: Final = re.compile("[\ufffe\uffff]")


@dataclass(frozen=True)
class Text:
    """The lines of a label, and its font size. `full` is the tooltip, or empty if the lines already show everything."""

    lines: tuple[str, ...]
    size: int
    full: str = ""

    @property
    def width(self) -> int:
        """The width of the longest line, in pixels."""
        return ceil(max(cells(line) for line in self.lines) * CELL * self.size)

    @property
    def pitch(self) -> int:
        """The distance from one line to the next, in pixels."""
        return round(self.size * 1.25)

    @property
    def height(self) -> int:
        """The height of all lines, in pixels."""
        return self.pitch * len(self.lines)


def fit_text(full: str, size: int, widest: int, most_lines: int = 1, ending: str = "") -> Text:
    """Break text into lines of at most `widest` cells. A cell is the width of an ordinary character.

    If the text needs more than `most_lines` lines, the last line is shortened in the middle. `ending` is added at the
    end and is never shortened.
    """
    if len(full) <= LONGEST_TITLE:
        bounded = make_printable(full)
    else:
        bounded = f"{make_printable(full[:500])}…{make_printable(full[-500:])}"
    rest = shown = _limit_combining(bounded)
    room = max(widest - cells(ending), 3)
    lines: list[str] = []
    while len(lines) < most_lines - 1 and not _fits(rest, room):
        head = _first_line(rest, widest)
        lines.append(head.rstrip() or head)
        rest = rest[len(head) :]
    if _fits(rest, room):
        return Text((*lines, rest + ending), size, "" if shown == bounded else full)
    tail = _prefix(rest[::-1], room * 2 // 5)[::-1]
    return Text((*lines, f"{_prefix(rest, room - 1 - cells(tail))}…{tail}{ending}"), size, full)


def make_printable(full: str) -> str:
    """Escape the characters that are invisible or not allowed in XML."""
    return _NOT_XML.sub(lambda found: f"\\u{ord(found[0]):x}", visible(full))


def escape_xml(full: str) -> str:
    """Escape text for XML content and attributes."""
    return escape(make_printable(full))


def title(full: str) -> str:
    """Return a `<title>` element for a tooltip, or an empty string if `full` is empty. Very long text is cut short."""
    if len(full) > LONGEST_TITLE:
        full = f"{full[:LONGEST_TITLE]}… ({len(full):,} characters)"
    return f"<title>{escape_xml(full)}</title>" if full else ""


def cells(shown: str) -> int:
    """Return the width of a string in cells. A wide character takes 2 cells, and a combining character takes none."""
    return sum(_cells(character) for character in shown)


def _cells(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _limit_combining(shown: str) -> str:
    """Keep at most two combining characters in a row."""
    if shown.isascii():
        return shown
    kept: list[str] = []
    for character in shown:
        if _cells(character) or any(map(_cells, kept[-2:])):
            kept.append(character)
    return "".join(kept)


def _fits(shown: str, room: int) -> bool:
    return len(_prefix(shown, room)) == len(shown)


def _prefix(shown: str, room: int) -> str:
    """Return the longest prefix with at most `room` cells and at most `2 * room` characters."""
    used = 0
    for place, character in enumerate(shown):
        used += _cells(character)
        if used > room or place >= 2 * room:
            return shown[:place]
    return shown


def _first_line(shown: str, room: int) -> str:
    """Return the part of the text that goes on the first line.

    The line ends after a word or punctuation if that leaves the line at least half full.
    """
    head = _prefix(shown, room)
    for breaks in (" ", _BREAKS_AFTER):
        for place in range(len(head), len(head) // 2, -1):
            if head[place - 1] in breaks:
                return head[:place]
    return head
