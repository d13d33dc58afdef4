"""Nest attributes whose names are paths, e.g. `llm.output_messages.0.message.content`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def nest(attributes: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the attributes whose names start with `prefix` as nested dicts.

    A list becomes a dict with the indexes as keys, in numeric order.
    """
    root: dict[str, Any] = {}
    for name, value in attributes.items():
        if not name.startswith(prefix):
            continue
        *path, last = name.removeprefix(prefix).split(".")
        inner: Any = root
        for part in path:
            if not isinstance(inner.setdefault(part, {}), dict):
                inner[part] = {}
            inner = inner[part]
        inner[last] = value
    nested: dict[str, Any] = _sort_indexes(root)
    return nested


def _sort_indexes(value: Any) -> Any:
    """Sort keys numerically at each level whose keys are all numbers. Other keys keep their order."""
    if not isinstance(value, dict):
        return value
    names = list(value)
    if all(name.isdecimal() for name in names):
        names.sort(key=lambda name: (len(name.lstrip("0")), name.lstrip("0")))
    return {name: _sort_indexes(value[name]) for name in names}
