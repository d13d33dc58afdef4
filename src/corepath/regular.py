"""Regular expressions on agents' text: matched in linear time, and examples of what they match."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Protocol, cast

from corepath.errors import TaskError


class Compiled(Protocol):
    """What is used of a compiled expression."""

    def fullmatch(self, text: str) -> object | None:
        """The match of the whole text, or None."""


@cache
def compiled(pattern: str) -> Compiled:
    """The expression, compiled by RE2: no text an agent sends can make it slow."""
    import re2  # noqa: PLC0415  # most tasks have no expression and need not wait for the engine

    options = re2.Options()
    options.log_errors = False
    try:
        return cast("Compiled", re2.compile(pattern, options=options))
    except re2.error as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error.args[0]
        raise TaskError.of(
            f"regex({pattern!r}) cannot be used: {reason} (RE2 syntax: no look-around, no back-references)"
        ) from None


def examples(pattern: str) -> tuple[str, ...]:
    """Texts that match, the shortest and a longer one among them; empty where none was found."""
    try:
        tree = re._parser.parse(pattern)  # type: ignore[attr-defined]  # noqa: SLF001  # there is no public one
    except (re.error, OverflowError, RecursionError):
        return ()
    expression = compiled(pattern)
    found: dict[str, None] = {}
    for variant in range(4):
        text = "".join(_texts(tree, variant))
        if expression.fullmatch(text):
            found.setdefault(text)
    return tuple(found)


def _texts(tree: Iterable[tuple[Any, Any]], variant: int) -> Iterator[str]:
    """Parts of one matching text; the variants differ in how often they repeat and in the branch they take."""
    for op, argument in tree:
        match str(op):
            case "LITERAL":
                yield chr(argument)
            case "NOT_LITERAL":
                yield "b" if argument == ord("a") else "a"
            case "ANY":
                yield "axyz"[variant]
            case "IN":
                yield _member(argument, variant)
            case "CATEGORY":
                yield _of_category(argument, variant)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, inner = argument
                times = min(int(most), (least, least + 1, least + 3, least + 1)[variant])
                for _ in range(times):
                    yield from _texts(inner, variant)
            case "SUBPATTERN":
                yield from _texts(argument[-1], variant)
            case "BRANCH":
                branches = argument[1]
                yield from _texts(branches[variant % len(branches)], variant)


def _member(items: list[tuple[Any, Any]], variant: int) -> str:
    """One character of a set such as `[a-z_]`, the ends of its ranges among the variants."""
    excluded = str(items[0][0]) == "NEGATE"
    characters: list[str] = []
    for op, argument in items:
        match str(op):
            case "LITERAL":
                characters.append(chr(argument))
            case "RANGE":
                characters += [chr(argument[0]), chr(argument[1])]
            case "CATEGORY":
                characters.append(_of_category(argument, variant))
    if not excluded:
        return characters[variant % len(characters)]
    inside = re.compile("[" + "".join(re.escape(character) for character in characters) + "]")
    return next(character for character in "axk5Z_ -.~é" if not inside.match(character))


def _of_category(category: Any, variant: int) -> str:
    name = str(category)
    if "NOT_DIGIT" in name:
        return "ab_ "[variant]
    if "DIGIT" in name:
        return "0195"[variant]
    if "NOT_SPACE" in name:
        return "a0-z"[variant]
    if "SPACE" in name:
        return " "
    return "-. !"[variant] if "NOT_WORD" in name else "a0_Z"[variant]
