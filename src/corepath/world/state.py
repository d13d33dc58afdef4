"""World states as values: copying, comparing and changing them, and encoding them as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any, Final

from corepath.errors import TaskError, nearest
from corepath.values import equal, why_not_json

_SCALARS: Final = frozenset({str, int, float, bool, type(None)})
_NUMBERS: Final = (int, float)

encode: Final = json.JSONEncoder(default=vars, sort_keys=True, check_circular=False).encode
"""Encode the whole state as JSON, including private fields. Equal states give equal strings."""
encode_in_order: Final = json.JSONEncoder(default=vars, check_circular=False).encode
"""Encode the whole state like `encode`, with keys in their own order. Tools may list things in that order."""


def copy_state(state: Any) -> Any:
    """Make a deep copy of a state or of a value in it."""
    kind = type(state)
    if kind in _SCALARS:
        return state
    if kind is list:
        return [value if type(value) in _SCALARS else copy_state(value) for value in state]
    if kind is tuple:
        return tuple(map(copy_state, state))
    if kind is dict:
        made = items = state.copy()
    else:
        made = object.__new__(kind)
        items = vars(made)
        items.update(vars(state))
    for name, value in items.items():
        if type(value) not in _SCALARS:
            items[name] = copy_state(value)
    return made


def public_state(value: Any) -> Any:
    """Return the state as JSON, without the fields whose names begin with `_`."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is dict:
        return {name: public_state(item) for name, item in value.items()}
    if kind is list or kind is tuple:
        return [public_state(item) for item in value]
    return {name: public_state(item) for name, item in vars(value).items() if not name.startswith("_")}


def same_public_state(one: Any, other: Any) -> bool:
    """Return True if two states are equal, ignoring private fields."""
    kind = type(one)
    if one is other:
        return True
    if kind is not type(other):
        return equal(public_state(one), public_state(other))
    if kind in _SCALARS:
        return bool(one == other)
    if kind is list or kind is tuple:
        return len(one) == len(other) and all(map(same_public_state, one, other))
    if kind is dict:
        return _same_items(one, other)
    return _same_items(vars(one), vars(other), are_fields=True)


def _same_items(one: Mapping[str, Any], other: Mapping[str, Any], *, are_fields: bool = False) -> bool:
    """Return True if two mappings have the same keys and values.

    If `are_fields` is True, the mappings hold the fields of a dataclass, and the values of private fields are not
    compared.
    """
    if one.keys() != other.keys():
        return False
    for name, value in one.items():
        if value is other[name] or (are_fields and name.startswith("_")):
            continue
        if not same_public_state(value, other[name]):
            return False
    return True


def why_not_state(state: Any) -> str | None:
    """Return the reason why a value cannot be a world's state, or None if it can.

    A state may contain only plain JSON values and dataclasses.
    """
    return _find_unusual(state) or why_not_json(_plain(state))


def _plain(value: Any) -> Any:
    """Convert the dataclasses in a state to dicts, including private fields. Other values are kept."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: _plain(item) for name, item in vars(value).items()}
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


def _find_unusual(value: Any) -> str | None:
    """Return a message about the first part of a state that is neither a plain JSON value nor a dataclass.

    Return None if there is no such part.
    """
    kind = type(value)
    if kind in _SCALARS:
        return None
    if kind is dict:
        return next((wrong for item in value.values() if (wrong := _find_unusual(item))), None)
    if kind in (list, tuple):
        return next((wrong for item in value if (wrong := _find_unusual(item))), None)
    if dataclasses.is_dataclass(value) and not hasattr(kind, "__slots__"):
        return next((wrong for item in vars(value).values() if (wrong := _find_unusual(item))), None)
    return f"{kind.__name__} is not a JSON value; use plain dicts, lists, texts and numbers, and dataclasses of them"


def change_state(usual: Any, given: Any, what: str) -> Any:
    """Return a copy of `usual`, a state or a part of one, with the changes in `given`.

    Raises `TaskError` for an unknown field or a value that has another type. `what` describes the changed part in error
    messages.
    """
    if dataclasses.is_dataclass(usual):
        return _change_fields(usual, given, what)
    if isinstance(usual, dict) and isinstance(given, Mapping):
        like = _example_item(usual.values())
        return {
            name: item if like is None else change_state(usual.get(name, like), item, f"'{name}'")
            for name, item in given.items()
        }
    if isinstance(usual, list) and isinstance(given, list):
        like = _example_item(usual)
        return [item if like is None else change_state(like, item, f"an item of {what}") for item in given]
    if not _is_like(usual, given):
        raise TaskError.of(f"{what} must be like {json.dumps(usual)}, not {json.dumps(given)[:80]}")
    return given


def _change_fields(usual: Any, given: Any, what: str) -> Any:
    if not isinstance(given, Mapping):
        raise TaskError.of(f"{what} has fields; give them as a mapping")
    made = copy_state(usual)
    for name, value in given.items():
        if name not in vars(usual):
            raise TaskError.of(f"{what} has no field '{name}'{nearest(name, vars(usual))}")
        setattr(made, name, change_state(vars(usual)[name], value, f"'{name}'"))
    return made


def _example_item(items: Any) -> Any:
    """Return the first dataclass instance among the items, or None if there is none. New items must resemble it."""
    return next((item for item in items if dataclasses.is_dataclass(item)), None)


def _is_like(usual: Any, given: Any) -> bool:
    """Return True if `given` has the same type as `usual`.

    All numbers count as one type, and any value may replace None.
    """
    if isinstance(given, bool) and type(usual) in _NUMBERS:
        return False
    both_numbers = type(usual) in _NUMBERS and type(given) in _NUMBERS
    return usual is None or both_numbers or isinstance(given, type(usual))
