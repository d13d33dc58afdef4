"""Prefix Criticality: the earlier a harm occurs, the more it weighs."""

from __future__ import annotations

from collections.abc import Sequence

from corepath.scoring import kernel
from corepath.scoring.arrays import numbers


def prefix_criticality(harm_mask: Sequence[int], beta: float) -> float:
    """PrefixCrit (Eq. 6): 1 − (1−β)/(1−β^M)·Σ m_k β^k; 1 when the condensed path is empty."""
    return float(kernel.prefix_criticality(numbers(harm_mask), len(harm_mask), beta))
