"""Write a value that was given and one that was expected so that people see the difference."""

from __future__ import annotations

import unicodedata
from typing import Any, Final

from corepath.explanation.value_text import LONGEST_VALUE, UNKNOWN, exact_value, expected_text, value_text
from corepath.notation.matchers import Matcher, Scope
from corepath.values import to_notation, visible

_BEFORE: Final = LONGEST_VALUE // 2
"""How many characters are shown before the first difference of two long texts."""
_SPACE: Final = "␣"
_LOOK_ALIKES: Final = str.maketrans(
    "аеорсухіјѕԁһАВЕКМНОРСТУХІЅЈοαυνιρΑΒΕΖΗΙΚΜΝΟΡΤΥΧ‐‑‒–—―−’‘“”",
    "aeopcyxijsdhABEKMHOPCTYXISJoauvipABEZHIKMNOPTYX-------''\"\"",
)
"""Letters and signs that look like ASCII characters."""


def contrast(given: Any, pattern: Matcher, scope: Scope) -> tuple[str, str]:
    """Write `given` and the value that `pattern` expects. The two texts are never the same.

    Long texts are cut to the part around the first difference. Spaces and letters that look alike are made visible.
    """
    expected = exact_value(pattern, scope)
    if isinstance(given, str) and isinstance(expected, str):
        mine, theirs = _contrast_strings(given, expected)
    else:
        mine, theirs = value_text(given), expected_text(pattern, scope)
        if expected is not UNKNOWN and _differ_in_kind(given, expected):
            mine, theirs = f"{_kind_text(given)} {mine}", f"{_kind_text(expected)} {theirs}"
        elif _is_same(mine, theirs) and expected is not UNKNOWN:
            mine, theirs = _cut_around(list(to_notation(given)), list(to_notation(expected)))
    return (mine, theirs) if not _is_same(mine, theirs) else (mine, f"a value other than {theirs}")


def _is_same(mine: str, theirs: str) -> bool:
    return visible(mine) == visible(theirs)


def _differ_in_kind(given: Any, expected: Any) -> bool:
    """Whether one of the values is a list or an object, and the other is not."""
    return _kind_text(given) != _kind_text(expected) and any(
        isinstance(value, (list, tuple, dict)) for value in (given, expected)
    )


def _kind_text(value: Any) -> str:
    """Name the kind of a value, to go before the value."""
    if isinstance(value, str):
        return "the text"
    if isinstance(value, (list, tuple)):
        return "the list"
    return "the object" if isinstance(value, dict) else "the value"


def _contrast_strings(given: str, expected: str) -> tuple[str, str]:
    """Write two different strings in quotes."""
    begin, end = _common_ends(given, expected)
    mine, theirs = given[begin : len(given) - end], expected[begin : len(expected) - end]
    escape = _escape_look_alike if _skeleton(mine) == _skeleton(theirs) else _escape
    if not (mine + theirs).strip():
        begin, end = _widen(given, begin, end)
    shown = [
        [
            *map(_escape, text[:begin]),
            *map(escape, text[begin : len(text) - end]),
            *map(_escape, text[len(text) - end :]),
        ]
        for text in (given, expected)
    ]
    one, other = _cut_around(*shown)
    return f'"{one}"', f'"{other}"'


def _common_ends(one: str, other: str) -> tuple[int, int]:
    """Return the lengths of the common beginning and of the common end of two strings."""
    most = min(len(one), len(other))
    begin = next((place for place in range(most) if one[place] != other[place]), most)
    most -= begin
    end = next((place for place in range(most) if one[-1 - place] != other[-1 - place]), most)
    return begin, end


def _widen(text: str, begin: int, end: int) -> tuple[int, int]:
    """Make the differing part larger, so that it includes the spaces beside it."""
    while begin and text[begin - 1] == " ":
        begin -= 1
    while end and text[len(text) - end] == " ":
        end -= 1
    return begin, end


def _skeleton(text: str) -> str:
    """Replace characters by the ASCII characters that they look like, and drop spaces."""
    return "".join(unicodedata.normalize("NFKC", text).translate(_LOOK_ALIKES).split())


def _escape(character: str) -> str:
    return to_notation(character)[1:-1]


def _escape_look_alike(character: str) -> str:
    """Write a character so that it is not mistaken for another one."""
    if character == " ":
        return _SPACE
    return _escape(character) if character.isascii() else f"\\u{ord(character):04x}"


def _cut_around(one: list[str], other: list[str]) -> tuple[str, str]:
    """Cut two long texts to the part around their first difference. Texts are lists of characters as shown."""
    most = min(len(one), len(other))
    first = next((place for place in range(most) if one[place] != other[place]), most)
    begin = 0
    if max(len(one), len(other)) > LONGEST_VALUE and first > _BEFORE:
        begin = first - _BEFORE
        spaces = [place for place in range(begin, first) if one[place] == " "]
        begin = spaces[0] + 1 if spaces else begin
    return _window(one, begin), _window(other, begin)


def _window(text: list[str], begin: int) -> str:
    """Return the part of a text from `begin` on, cut if it is long. A cut is not made within a word if possible."""
    end = begin + LONGEST_VALUE
    if end >= len(text):
        end = len(text)
    elif spaces := [place for place in range(begin + _BEFORE + 8, end) if text[place] == " "]:
        end = spaces[-1]
    return f"{'…' if begin else ''}{''.join(text[begin:end])}{'…' if end < len(text) else ''}"
