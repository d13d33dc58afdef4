"""Attributes whose names are paths, as in `llm.output_messages.0.message.content`, put together again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def tree(attributes: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """What stands under a prefix, as nested objects; the numbers of a list are keys, in their order."""
    made: dict[str, Any] = {}
    for name, value in attributes.items():
        if not name.startswith(prefix):
            continue
        *path, last = name.removeprefix(prefix).split(".")
        inner: Any = made
        for part in path:
            if not isinstance(inner.setdefault(part, {}), dict):
                inner[part] = {}
            inner = inner[part]
        inner[last] = value
    found: dict[str, Any] = _ordered(made)
    return found


def _ordered(value: Any) -> Any:
    """Numbers by their size, names as they stand."""
    if not isinstance(value, dict):
        return value
    names = list(value)
    if all(name.isdecimal() for name in names):
        names.sort(key=lambda name: (len(name.lstrip("0")), name.lstrip("0")))
    return {name: _ordered(value[name]) for name in names}
