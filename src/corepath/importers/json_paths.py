"""Look up values in JSON by paths such as `steps.actions`, for the maps of the generic format.

A name in a path applies to each item in a list. An object whose keys are numbered, as in `{"step0": …, "step1": …}`, is
treated like a list, and null like an empty list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from corepath.notation.call import UNANSWERED

Keys = tuple[str, ...]
"""A path, split into its names."""
Position = tuple[int, ...]
"""The indexes of a value in all the lists around it. Values in one record are ordered by them."""
MISSING: Final = UNANSWERED
"""What is returned if there is no value at a path."""

_NUMBERED: Final = re.compile(r"(\D*)(\d{1,9})")
_LONGEST_INDEX: Final = 9


def parse_path(value: Any) -> Keys | None:
    """Split a path into its names, or return None if `value` is not a path."""
    parts = value.split(".") if isinstance(value, str) else value
    if not isinstance(parts, list) or not parts or not all(isinstance(one, str) and one for one in parts):
        return None
    return tuple(parts)


def value_at(value: Any, keys: Keys | None) -> Any:
    """Return the value at a path, or `MISSING` if there is none.

    If the path leads to several values, they are returned as a list.
    """
    found = [] if keys is None else [one for _, one in _find(value, keys)]
    return found[0] if len(found) == 1 else found or MISSING


def value_or_none(value: Any, keys: Keys | None) -> Any:
    """Return the value at a path, or None if there is none."""
    found = value_at(value, keys)
    return None if found is MISSING else found


def items_at(value: Any, keys: Keys) -> Iterator[tuple[Position, Any]]:
    """Yield all values at a path with their positions. A list at the end of the path is replaced by its items."""
    for position, one in _find(value, keys):
        listed = _listed(one)
        if listed is None:
            yield position, one
        else:
            yield from (((*position, number), item) for number, item in enumerate(listed))


def path_exists(value: Any, keys: Keys) -> bool:
    """Return True if a path leads to a value, or stops at an empty list or null."""
    found = [value]
    for key in keys:
        if all(one in ([], None) for one in found):
            break
        found = [inner for one in found for _, inner in _inside((), one, key)]
    return bool(found)


def _find(value: Any, keys: Keys) -> Iterable[tuple[Position, Any]]:
    found: list[tuple[Position, Any]] = [((), value)]
    for key in keys:
        found = [inner for position, one in found for inner in _inside(position, one, key)]
    return found


def _inside(position: Position, value: Any, key: str) -> list[tuple[Position, Any]]:
    """Return the values under `key`, which is a name or a list index.

    If `value` is a list, a name is looked up in each item.
    """
    if isinstance(value, dict) and key in value:
        return [(position, value[key])]
    listed = _listed(value)
    if listed is None:
        return []
    if isinstance(value, list) and key.isdecimal():
        index = int(key) if len(key) < _LONGEST_INDEX else len(listed)
        return [(position, listed[index])] if index < len(listed) else []
    return [inner for number, item in enumerate(listed) for inner in _inside((*position, number), item, key)]


def _listed(value: Any) -> list[Any] | None:
    """Return the items in a list or in an object with numbered keys, or None if `value` is neither."""
    if value is None:
        return []
    if isinstance(value, list):
        return value
    if not isinstance(value, dict) or not value:
        return None
    found = [one for name in value if (one := _NUMBERED.fullmatch(str(name)))]
    if len(found) < len(value) or len({one[1] for one in found}) > 1:
        return None
    return [value[one[0]] for one in sorted(found, key=lambda one: int(one[2]))]
