"""JSON values: equality, canonical text, and what is not JSON."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final

_NAME = re.compile(r"[^\W\d]\w*")
_TOOL = re.compile(r"[^\W\d][\w*]*(?:[-./][\w*]+)*|\*[\w*]*")
_HALF = re.compile("[\ud800-\udfff]")

DEEPEST = 200
"""Levels of lists and objects inside each other that are read; what is deeper is reported."""
MOST_DIGITS = 4300
"""Digits of a whole number that are read; Python itself refuses to print more."""
_LARGEST = 10**MOST_DIGITS


def equal(a: Any, b: Any) -> bool:
    """JSON equality: `True` is not 1, `"25"` is not 25, 1 is 1.0; objects ignore key order, lists do not."""
    if type(a) is str or type(b) is str:
        return bool(a == b)
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float)):
        return isinstance(b, (int, float)) and a == b
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return isinstance(b, (list, tuple)) and len(a) == len(b) and all(map(equal, a, b))
    return bool(a == b)


def canonical(value: Any) -> str:
    """The same text for equal values and different text for different ones."""
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=repr)


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def why_not_json(value: Any) -> str | None:
    """What keeps a value from being JSON, or None where it is JSON no deeper than `DEEPEST`."""
    level = [value]
    for _ in range(DEEPEST + 1):
        below: list[Any] = []
        for item in level:
            kind = type(item)
            if kind is str or kind is bool or item is None:
                continue
            if kind is dict or isinstance(item, Mapping):
                for key in item:
                    if not isinstance(key, str):
                        return f"the key {key!r} is not text"
                below.extend(item.values())
            elif isinstance(item, (list, tuple)):
                below.extend(item)
            elif isinstance(item, float) and not math.isfinite(item):
                return f"{item} is not JSON; use a number, a text or null"
            elif isinstance(item, int) and not -_LARGEST < item < _LARGEST:
                return f"a number of more than {MOST_DIGITS:,} digits"
            elif not (item is None or isinstance(item, (str, int, float))):
                return f"{type(item).__name__} is not a JSON value"
        if not below:
            return None
        level = below
    return f"nested deeper than {DEEPEST} levels"


def is_number(value: Any) -> bool:
    """A number of JSON; a boolean is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def written(value: Any) -> str:
    """A JSON value in the call notation, which reads JSON as it is; half of a surrogate pair is escaped."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return _HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def is_name(text: str) -> bool:
    """Whether it is letters, digits and _, as the notation reads a name."""
    return _NAME.fullmatch(text) is not None


def key_text(name: str) -> str:
    """A name as a key: bare where it can be, quoted where it must be."""
    return name if is_name(name) else written(name)


def tool_text(name: str) -> str:
    """The name of a tool or an action, quoted where it would not be read as one."""
    return name if _TOOL.fullmatch(name) else written(name)


def look_up(value: Any, path: str | None) -> list[Any]:
    """The values at a dotted path; a text is read as JSON first, a name on a list goes through its items."""
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


def parse_json(text: str, *, stored: bool = False) -> Any:
    """Strict JSON: NaN and infinities are refused, of a key given twice the last wins.

    `stored` is for what others wrote: NaN, infinities and numbers that are too large are kept as texts. Raises
    ValueError with a sentence for the user; for a syntax error it is a `json.JSONDecodeError`.
    """
    try:
        if stored:
            value = json.loads(text, parse_constant=str, parse_float=_finite_or_text, parse_int=_whole_or_text)
        else:
            value = json.loads(text, parse_constant=_refuse, parse_float=_finite, parse_int=_whole)
    except RecursionError:
        raise ValueError(f"nested deeper than {DEEPEST} levels") from None
    if wrong := why_not_json(value):
        raise ValueError(wrong)
    return value


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


def arguments_of(given: Mapping[str, Any] | str | None) -> Any:
    """Arguments as they are recorded: an object, or the raw text where that is none."""
    if given is None:
        return {}
    if not isinstance(given, str):
        wrong = why_not_json(given)
        return given if wrong is None else _as_text(given, wrong)
    if not given.strip():
        return {}  # so some providers send a call without arguments
    try:
        read = parse_json(given)
    except ValueError:
        return given
    return read if isinstance(read, dict) else given


def _as_text(given: Any, wrong: str) -> str:
    """What is no JSON, as it can be kept: as Python writes it, or what is wrong with it."""
    try:
        return repr(given)
    except (ValueError, RecursionError):
        return wrong


_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def visible(text: str) -> str:
    """Text that may be printed: what would steer a terminal or hide is written as its code."""
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)
