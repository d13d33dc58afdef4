"""Regular expressions that match in linear time, and examples of strings that they match."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice, product
from typing import Any, Protocol

from corepath.errors import TaskError

_HALF = re.compile("[\ud800-\udfff]")
_LONGEST = 1000
"""In an example, a part is repeated more often than required only up to this length."""
_OUTSIDE = "axk5Z_ -.~é\n\t" + "".join(map(chr, range(33, 127))) + "äλжあ中😀"
"""Characters from which to choose a member of a negated set such as `[^a-z]`."""


class Expression(Protocol):
    """A compiled regular expression."""

    def fullmatch(self, text: str) -> object | None:
        """Match the whole string. Return a match object, or None if the string does not match."""


class _Re2Expression:
    """A wrapper for RE2 expressions that replaces unpaired surrogates with U+FFFD, because RE2 cannot encode them."""

    def __init__(self, expression: Expression) -> None:
        self._expression = expression

    def fullmatch(self, text: str) -> object | None:
        if _HALF.search(text):
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return self._expression.fullmatch(text)


@cache
def compile_expression(pattern: str) -> Expression:
    """Compile a regular expression with RE2, so that no input from an agent can make matching slow."""
    import re2  # noqa: PLC0415  # slow to import, and most tasks have no regular expression

    options = re2.Options()
    options.log_errors = False
    try:
        return _Re2Expression(re2.compile(pattern, options=options))
    except UnicodeEncodeError:
        raise TaskError.of(f"regex({pattern!r}) cannot be used: half of a surrogate pair is not a character") from None
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace") if isinstance(error.args[0], bytes) else error.args[0]
        raise TaskError.of(
            f"regex({pattern!r}) cannot be used: {reason} (RE2 syntax: no look-around, no back-references)"
        ) from None


def examples(pattern: str) -> tuple[str, ...]:
    """Return up to four strings that match the pattern. The result is empty if none could be generated."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's parser only suggests examples; RE2 does the matching
            tree = re._parser.parse(pattern)  # type: ignore[attr-defined]  # noqa: SLF001  # there is no public parser
    except (re.error, OverflowError, RecursionError):
        return ()
    expression = compile_expression(pattern)
    found: dict[str, None] = {}
    for variant, filler in product(range(4), ("", " ")):
        text = "".join(_texts(tree, variant, filler))
        if expression.fullmatch(text):
            found.setdefault(text)
    return tuple(islice(found, 4))


def _texts(tree: Iterable[tuple[Any, Any]], variant: int, filler: str = "") -> Iterator[str]:
    r"""Yield the pieces of a string that should match the parsed expression `tree`.

    `variant`, from 0 to 3, selects the branches and the number of repetitions. `filler` stands for `.`; a space keeps
    words apart that the expression wants whole, as in `\bone\b.*\btwo\b`. Without it, a letter does.
    """
    for op, argument in tree:
        match str(op):
            case "LITERAL":
                yield chr(argument)
            case "NOT_LITERAL":
                yield _member([("NEGATE", None), ("LITERAL", argument)], variant)
            case "ANY":
                yield filler or "axyz"[variant]
            case "IN":
                yield _member(argument, variant)
            case "CATEGORY":
                yield _category_member(argument, variant)
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, inner = argument
                times = min(int(most), (least, least + 1, least + 3, least + 1)[variant])
                text = "".join(_texts(inner, variant, filler))
                yield text * (times if len(text) * times <= _LONGEST else least)
            case "SUBPATTERN":
                yield from _texts(argument[-1], variant, filler)
            case "BRANCH":
                branches = argument[1]
                yield from _texts(branches[variant % len(branches)], variant, filler)


def _member(items: list[tuple[Any, Any]], variant: int) -> str:
    """Return a character from a set such as `[a-z_]`, or an empty string if none was found.

    `variant`, from 0 to 3, selects the character.
    """
    negated = str(items[0][0]) == "NEGATE"
    characters: list[str] = []
    for op, argument in items:
        match str(op):
            case "LITERAL":
                characters.append(chr(argument))
            case "RANGE":
                characters += [chr(argument[0]), chr(argument[1])]
            case "CATEGORY":
                characters.append(_category_member(argument, variant))
    if not negated:
        return characters[variant % len(characters)]
    outside = (character for character in _OUTSIDE if not any(_includes(item, character) for item in items))
    characters = list(islice(outside, 4))
    return characters[variant % len(characters)] if characters else ""


def _includes(item: tuple[Any, Any], character: str) -> bool:
    """Return True if `item`, one part of a set such as `[a-z_]`, includes the character."""
    op, argument = item
    match str(op):
        case "LITERAL":
            return bool(ord(character) == argument)
        case "RANGE":
            return bool(argument[0] <= ord(character) <= argument[1])
        case "CATEGORY":
            name = str(argument)
            word = "d" if "DIGIT" in name else "s" if "SPACE" in name else "w"
            return re.match(f"\\{word.upper() if 'NOT' in name else word}", character, re.ASCII) is not None
    return False


def _category_member(category: Any, variant: int) -> str:
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
