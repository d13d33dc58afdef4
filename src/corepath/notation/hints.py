"""Error messages for operators and words that the notation does not have. Each message says what to write instead."""

from __future__ import annotations

import re
from typing import Final

THEN: Final = ">> for then, as in a >> b"
_BOTH: Final = "& for both, as in a & b"
_EITHER: Final = "| for one of them, as in a | b"
_MEANT: Final = {
    **dict.fromkeys((">", "->", "=>", "→", "⇒", ",", ";", "then", "THEN"), THEN),
    **dict.fromkeys(("||", "or", "OR", "/"), _EITHER),
    **dict.fromkeys(("&&", "and", "AND"), _BOTH),
    "+": "& for both or >> for then, as in a & b or a >> b",
}
"""Maps signs and words that other languages put between steps to the advice on what to write instead."""
_OPERATORS: Final = {"seq": "a >> b", "any_order": "a & b", "choice": "a | b", "optional": "a?", "repeat": "a{2,4}"}
"""Maps Python functions that build procedures to the same procedure in text."""
_STATEMENTS: Final = ("if", "else", "not", "while", "for")
_TIMES: Final = re.compile(r"\*+\s*(\d+)")
_NAME_TIMES: Final = re.compile(r"(.+?)\*+(\d+)")


def unknown_sign(text: str, start: int) -> str:
    """Return an error message for the character at index `start`, which has no meaning between steps."""
    sign = text[start]
    if sign == ">" and text[start - 1 : start] == "=":
        sign = "=>"
    advice = f"; write {_MEANT[sign]}" if sign in _MEANT else f"; between steps write {THEN}"
    return f"'{sign}' means nothing here{advice}"


def misplaced_sign(sign: str, rest: str) -> str | None:
    """Return an error message for a token that is used as an operator but is not one, or None if there is no advice.

    `sign` is the token, and `rest` is the text from the token onwards.
    """
    if times := _TIMES.match(rest):
        return f"'{times[0]}' means nothing here; write {{{times[1]}}} to repeat a step, as in a{{{times[1]}}}"
    if sign.startswith("*"):
        return "'*' has no end; say how often a step may be done, as in a{0,5}"
    if rest.startswith("=>"):
        return f"'=>' means nothing here; write {THEN}"
    return meaningless(sign) if sign in _MEANT else None


def meaningless(sign: str) -> str:
    """Return an error message for an operator from another language, such as `&&`."""
    return f"'{sign}' means nothing here; write {_MEANT[sign]}"


def unnamed_argument(tool: str) -> str:
    """Return an error message for a call to `tool` that has an argument without a name."""
    if tool in _OPERATORS:
        return f"{tool}() is written with operators in text: {_OPERATORS[tool]}"
    return f"arguments have names: {tool}(name=value), or {tool}(...) for any"


def multiplied_name(name: str) -> str | None:
    """Return an error message saying that `a*3` is written `a{3}`, or None if `name` does not look like `a*3`."""
    times = _NAME_TIMES.fullmatch(name)
    if times is None:
        return None
    return f"'{name}' is not an action; write {{{times[2]}}} to repeat a step, as in {times[1]}{{{times[2]}}}"


def statement(word: str) -> str | None:
    """Return an error message for a statement such as `if`, or None if `word` is not a statement."""
    if word not in _STATEMENTS:
        return None
    return f"there is no '{word}' in a procedure; a choice is written (a >> b) | c, a repeated step a{{2,4}}"
