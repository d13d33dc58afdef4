"""Memories with a bound: what was computed before, to be used again."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def remember(memory: dict[K, V], key: K, value: V, most: int) -> V:
    """Remember a value, and return the one that is remembered. If there are too many, forget all others first."""
    if len(memory) >= most:
        memory.clear()
    return memory.setdefault(key, value)
