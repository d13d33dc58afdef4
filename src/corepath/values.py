"""JSON values: comparing, serializing and strictly parsing them, and looking up values by path."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

_NAME = re.compile(r"[^\W\d]\w*")
_TOOL = re.compile(r"[^\W\d][\w*]*(?:[-./][\w*]+)*|\*[\w*]*")
_HALF = re.compile("[\ud800-\udfff]")

DEEPEST = 200
"""The maximum depth to which lists and objects may be nested."""
MOST_DIGITS = 4300
"""The maximum number of digits in an integer. Python refuses to print longer integers."""
_LARGEST = 10**MOST_DIGITS
_SHORTEST_DEEP: Final = 2 * DEEPEST
"""A text that is not longer than this cannot be nested too deep."""
_TOO_DEEP = f"nested deeper than {DEEPEST} levels"
_SPACE = " \t\n\r"


def equal(a: Any, b: Any) -> bool:
    """Return True if `a` and `b` are equal as JSON values.

    1 equals 1.0, but neither `True` nor `"1"`. The order of keys in an object is ignored, but the order of items in a
    list is not.
    """
    if type(a) is str or type(b) is str:
        return bool(a == b)
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float)):
        return isinstance(b, (int, float)) and a == b
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and _equal_objects(a, b)
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(equal, a, b))
    return bool(a == b)


def _equal_objects(a: Mapping[Any, Any], b: Mapping[Any, Any]) -> bool:
    return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)


def canonical(value: Any) -> str:
    """Serialize a value to canonical JSON. Two values give the same string if and only if they are equal."""
    return _encode(_normalize(value))


_encode: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=repr, check_circular=False).encode
_SIMPLE: Final = frozenset({str, int, bool, type(None)})


def canonical_json(value: Any) -> str:
    """Serialize a value that consists of parsed JSON as `canonical` does, but faster."""
    text = _SORTED.encode(value)
    return canonical(value) if ".0" in text or "e+" in text else text  # only then it may have whole floats


_SORTED: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), check_circular=False)


def _normalize(value: Any) -> Any:
    """Convert whole floats to integers, keys to strings, and tuples to lists, at every level."""
    kind = type(value)
    if kind in _SIMPLE:
        return value
    if kind is dict or isinstance(value, Mapping):
        return {
            key if type(key) is str else str(key): item if type(item) in _SIMPLE else _normalize(item)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [item if type(item) in _SIMPLE else _normalize(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def why_not_json(value: Any) -> str | None:
    """Return the reason why `value` is not acceptable JSON, or None if it is acceptable.

    A value that is nested deeper than `DEEPEST` or has an integer with more than `MOST_DIGITS` digits is not
    acceptable.
    """
    level = [value]
    for _ in range(DEEPEST + 1):
        below: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is str or kind is bool or item is None:
                continue
            if kind is dict or isinstance(item, Mapping):
                if wrong := _wrong_key(item):
                    return wrong
                below.extend(item.values())
            elif isinstance(item, (list, tuple)):
                below.extend(item)
            elif wrong := _wrong_scalar(item):
                return wrong
        if not below:
            return None
        level = below
    return _TOO_DEEP


def _wrong_key(item: Mapping[Any, Any]) -> str | None:
    for key in item:
        if not isinstance(key, str):
            return f"the key {key!r} is not text"
    return None


def _wrong_scalar(item: Any) -> str | None:
    if isinstance(item, float) and not math.isfinite(item):
        return f"{item} is not JSON; use a number, a text or null"
    if isinstance(item, int) and not -_LARGEST < item < _LARGEST:
        return f"a number of more than {MOST_DIGITS:,} digits"
    if not isinstance(item, (str, int, float)):
        return f"{type(item).__name__} is not a JSON value"
    return None


def is_number(value: Any) -> bool:
    """Return True if `value` is a JSON number. Booleans are not numbers."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def to_notation(value: Any) -> str:
    """Write a JSON value in the call notation, i.e. as JSON with unpaired surrogates escaped."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def is_name(text: str) -> bool:
    """Return True if `text` is a name that needs no quotes in the call notation: letters, digits and `_`."""
    return _NAME.fullmatch(text) is not None


def key_text(name: str) -> str:
    """Write a key in the call notation, in quotes only if necessary."""
    return name if is_name(name) else to_notation(name)


def tool_text(name: str) -> str:
    """Write the name of a tool or an action in the call notation, in quotes only if necessary."""
    return name if _TOOL.fullmatch(name) else to_notation(name)


def look_up(value: Any, path: str | None) -> list[Any]:
    """Return the values at a dotted path, e.g. `rule.id`, or `[value]` if `path` is None.

    If `value` is a string, it is parsed as JSON first. In a list, a number selects one item, and a name is looked up in
    every item. The result is empty if nothing is found.
    """
    if path is None:
        return [value]
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except ValueError:
            return []
    found = [value]
    for name in path.split("."):
        found = [item for one in found for item in _child(one, name)]
    return found


def _child(value: Any, name: str) -> list[Any]:
    if isinstance(value, Mapping):
        return [value[name]] if name in value else []
    if isinstance(value, (list, tuple)):
        if name.isdecimal():
            return [value[int(name)]] if len(name) < 9 and int(name) < len(value) else []
        return [found for item in value if isinstance(item, Mapping) for found in _child(item, name)]
    return []


def parse_json(text: str | bytes, *, stored: bool = False) -> Any:
    """Parse strict JSON, in which NaN and infinities are errors. If a key is repeated, the last value wins.

    Bytes are in UTF-8, without a byte order mark. If `stored` is True, NaN, infinities and numbers that are too large
    become strings. Use it for files that other programs wrote. Raises `ValueError` with a message for the user. For a
    syntax error, the exception is a `json.JSONDecodeError`, and for bytes that are not UTF-8, a `UnicodeDecodeError`.
    """
    decode, refusals = _quick_decoder()
    try:
        value = decode(text)
    except refusals:
        value = _parse_plainly(text if isinstance(text, str) else text.decode(), stored=stored)
    if len(text) > _SHORTEST_DEEP and _count_brackets(text) > DEEPEST and _is_too_deep(value):
        raise ValueError(_TOO_DEEP)
    return value


@cache
def _quick_decoder() -> tuple[Callable[[str | bytes], Any], tuple[type[Exception], ...]]:
    """Return msgspec's decoder and the errors that it raises. It gives the same values as `json`, or an error.

    It refuses NaN, infinities, lone surrogates and all numbers that are too large.
    """
    from msgspec import MsgspecError  # noqa: PLC0415  # not needed to import the package
    from msgspec.json import Decoder  # noqa: PLC0415

    return Decoder().decode, (MsgspecError, ValueError, RecursionError)


def _parse_plainly(text: str, *, stored: bool) -> Any:
    """Parse JSON that the quick decoder refuses, or raise an error that says what is wrong with it."""
    if text.startswith("\ufeff"):
        json.loads(text)  # raises an error that names the byte order mark
    short, long = _STORED if stored else _STRICT
    decoder = short if len(text) <= MOST_DIGITS else long
    try:
        value, end = decoder.raw_decode(text, len(text) - len(text.lstrip(_SPACE)))
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if end < len(text) and (rest := text[end:].lstrip(_SPACE)):
        raise json.JSONDecodeError("Extra data", text, len(text) - len(rest))
    return value


def _count_brackets(text: str | bytes) -> int:
    """Count the opening brackets in a text. If there are more than `DEEPEST`, the result is some larger number.

    To remove them from bytes is several times as fast as to count them, since it searches for the next one.
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    return len(raw) - len(raw.replace(b"{", b"", DEEPEST + 1).replace(b"[", b"", DEEPEST + 1))


def _is_too_deep(value: Any) -> bool:
    """Return True if a parsed value is nested deeper than `DEEPEST`."""
    level: list[Any] = [[value]]
    for _ in range(DEEPEST + 1):
        level = [
            one
            for item in level
            for one in (item.values() if type(item) is dict else item)
            if type(one) is dict or type(one) is list
        ]
        if not level:
            return False
    return any(level)


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not JSON; use a number, a text or null")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"the number {digits[:40]} is too large for a JSON reader to keep")
    return number


def _whole(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"the number {digits[:40]}… has more than {MOST_DIGITS:,} digits")
    return int(digits)


def _finite_or_text(digits: str) -> float | str:
    number = float(digits)
    return digits if math.isinf(number) else number


def _whole_or_text(digits: str) -> int | str:
    return digits if len(digits) > MOST_DIGITS else int(digits)


_STRICT: Final = (
    json.JSONDecoder(parse_constant=_refuse, parse_float=_finite),
    json.JSONDecoder(parse_constant=_refuse, parse_float=_finite, parse_int=_whole),
)
_STORED: Final = (
    json.JSONDecoder(parse_constant=str, parse_float=_finite_or_text),
    json.JSONDecoder(parse_constant=str, parse_float=_finite_or_text, parse_int=_whole_or_text),
)
"""The decoders for texts that are too short for an integer with too many digits, and for longer ones."""


def arguments_of(given: Mapping[str, Any] | str | None) -> Any:
    """Return a call's arguments as they are recorded.

    A string that contains a JSON object is parsed, and any other string is kept as it is. None and a blank string
    become `{}`. Arguments that are not JSON become a string.
    """
    if given is None:
        return {}
    if not isinstance(given, str):
        wrong = why_not_json(given)
        return given if wrong is None else _as_text(given, wrong)
    try:
        parsed = parse_json(given)
    except ValueError:
        return given if given.strip() else {}  # some providers send an empty string if there are no arguments
    return parsed if isinstance(parsed, dict) else given


def _as_text(given: Any, wrong: str) -> str:
    """Return `repr(given)`, or `wrong` if `repr` fails. `wrong` is the reason why `given` is not JSON."""
    try:
        return repr(given)
    except (ValueError, RecursionError):
        return wrong


_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def visible(text: str) -> str:
    """Escape control characters and invisible characters, so that `text` is safe to print on a terminal."""
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)
