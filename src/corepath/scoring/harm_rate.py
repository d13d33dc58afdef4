"""Harmful-Call Rate: the share of condensed steps that are harms."""

from __future__ import annotations

from collections.abc import Sequence


def harm_rate(harm_mask: Sequence[int]) -> float:
    """HarmRate (Eq. 7): share of condensed steps that are harms; 0 when there are none."""
    return sum(harm_mask) / len(harm_mask) if harm_mask else 0.0
