"""Prefix Criticality: the earlier a harm occurs, the more it weighs."""

from __future__ import annotations

from collections.abc import Sequence


def prefix_criticality(harm_mask: Sequence[int], beta: float) -> float:
    """PrefixCrit (Eq. 6): 1 − (1−β)/(1−β^M)·Σ m_k β^k; 1 when the condensed path is empty."""
    length = len(harm_mask)
    if not length:
        return 1.0
    weight, total = 1.0, 0.0
    for harmful in harm_mask:
        if harmful:
            total += weight
        weight *= beta
    return max(0.0, 1 - (1 - beta) / (1 - beta**length) * total)  # rounding can lead below 0
