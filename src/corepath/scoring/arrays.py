"""The arrays that the kernel works on.

They hold 64-bit numbers if the kernel is compiled. Otherwise they are lists, which are faster in plain Python.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any, Final

from corepath.scoring import kernel

COMPILED: Final = not str(kernel.__file__).endswith(".py")
"""Whether the kernel is compiled."""


def zeros(size: int) -> Any:
    """Return an array of zeros."""
    return array("q", bytes(8 * size)) if COMPILED else [0] * size


def numbers(values: Sequence[int]) -> Any:
    """Return an array of these numbers."""
    return array("q", values) if COMPILED else values
