"""Edits of a path: leave out, swap, insert or exchange steps. They need no world, so any recorded calls will do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def drop(path: Sequence[T], index: int) -> tuple[T, ...]:
    """Return the path without one step."""
    return (*path[:index], *path[index + 1 :])


def swap(path: Sequence[T], one: int, other: int) -> tuple[T, ...]:
    """Return the path with two steps swapped."""
    made = list(path)
    made[one], made[other] = made[other], made[one]
    return tuple(made)


def insert(path: Sequence[T], index: int, *steps: T) -> tuple[T, ...]:
    """Return the path with steps inserted before the step at `index`."""
    return (*path[:index], *steps, *path[index:])


def exchange(path: Sequence[T], index: int, step: T) -> tuple[T, ...]:
    """Return the path with another step in the place of one."""
    return (*path[:index], step, *path[index + 1 :])
