"""Text in a drawing: how wide it is, where it is broken, and how hostile text is made harmless."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from html import escape
from math import ceil
from typing import Final

from corepath.values import visible

CELL: Final = 0.602
"""The width of a character of a monospace font, for a size of 1."""
LONGEST_TITLE: Final = 1_000
_BREAKS_AFTER: Final = ",;:(_/.=-"
_NOT_XML: Final = re.compile("[\ufffe\uffff]")


@dataclass(frozen=True)
class Text:
    """A text as it is shown: its lines, and in `full` what they stand for, where they do not show all of it."""

    lines: tuple[str, ...]
    size: int
    full: str = ""

    @property
    def width(self) -> int:
        """How wide it is."""
        return ceil(max(cells(line) for line in self.lines) * CELL * self.size)

    @property
    def pitch(self) -> int:
        """How far a line is below the one before."""
        return round(self.size * 1.25)

    @property
    def height(self) -> int:
        """How high it is."""
        return self.pitch * len(self.lines)


def text(full: str, size: int, widest: int, most_lines: int = 1, ending: str = "") -> Text:
    """A text in lines of so many cells. Of a longer one the beginning and the end; the ending is shown always."""
    bounded = readable(full) if len(full) <= LONGEST_TITLE else f"{readable(full[:500])}…{readable(full[-500:])}"
    rest = shown = _unpiled(bounded)
    room = max(widest - cells(ending), 3)
    lines: list[str] = []
    while len(lines) < most_lines - 1 and not _fits(rest, room):
        head = _broken(rest, widest)
        lines.append(head.rstrip() or head)
        rest = rest[len(head) :]
    if _fits(rest, room):
        return Text((*lines, rest + ending), size, "" if shown == bounded else full)
    tail = _head(rest[::-1], room * 2 // 5)[::-1]
    return Text((*lines, f"{_head(rest, room - 1 - cells(tail))}…{tail}{ending}"), size, full)


def readable(full: str) -> str:
    """Text in which every character can be seen and may stand in XML."""
    return _NOT_XML.sub(lambda found: f"\\u{ord(found[0]):x}", visible(full))


def escaped(full: str) -> str:
    """Text as it may stand in XML, in an attribute too."""
    return escape(readable(full))


def title(full: str) -> str:
    """An element that shows the text when one points at it; of a very long one the beginning and how long it is."""
    if len(full) > LONGEST_TITLE:
        full = f"{full[:LONGEST_TITLE]}… ({len(full):,} characters)"
    return f"<title>{escaped(full)}</title>" if full else ""


def cells(shown: str) -> int:
    """How many cells a text takes: a wide character takes two, one that is put on another none."""
    return sum(_cells(character) for character in shown)


def _cells(character: str) -> int:
    if character.isascii():
        return 1
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _unpiled(shown: str) -> str:
    """A text without characters that are put on one that already has two of them."""
    if shown.isascii():
        return shown
    kept: list[str] = []
    for character in shown:
        if _cells(character) or any(map(_cells, kept[-2:])):
            kept.append(character)
    return "".join(kept)


def _fits(shown: str, room: int) -> bool:
    return len(_head(shown, room)) == len(shown)


def _head(shown: str, room: int) -> str:
    """As much of a text as has room, and of characters without a width no more than of others."""
    used = 0
    for place, character in enumerate(shown):
        used += _cells(character)
        if used > room or place >= 2 * room:
            return shown[:place]
    return shown


def _broken(shown: str, room: int) -> str:
    """The part of a text for one line: it ends where a word does if that is not too soon."""
    head = _head(shown, room)
    for breaks in (" ", _BREAKS_AFTER):
        for place in range(len(head), len(head) // 2, -1):
            if head[place - 1] in breaks:
                return head[:place]
    return head
