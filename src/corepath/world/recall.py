"""Recall what was computed from calls and states that come again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from corepath.memory import remember

V = TypeVar("V")


class Recall(Protocol):
    """A function that returns what another function returns for some objects: `compute`, or one that remembers it."""

    def __call__(self, function: Callable[..., V], *objects: Any) -> V:
        """Return what `function` returns for these objects."""


def compute(function: Callable[..., V], *objects: Any) -> V:
    """Call a function, and remember nothing."""
    return function(*objects)


class Memo:
    """Remembers at most `most` values that functions returned.

    Objects are told apart by identity, so they must be the same ones again.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[tuple[Any, ...], tuple[Any, tuple[Any, ...]]] = {}

    def __call__(self, function: Callable[..., V], *objects: Any) -> V:
        """Call a function, or return what it returned for the same objects before."""
        key = (function, *map(id, objects))
        found = self._known.get(key)
        if found is None:
            others = tuple(one for one in objects if one is not self)  # a memo that held itself would be garbage later
            known = (function(*objects), others)  # with the objects, their ids stay unique
            found = remember(self._known, key, known, self._most)
        remembered: V = found[0]
        return remembered
