"""Claims with their measurements, and a timer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """A claim, what was measured in this run, and whether the claim holds."""

    what: str
    measured: str
    holds: bool = True

    def __str__(self) -> str:
        return f"{'ok  ' if self.holds else 'FAIL'} {self.what:<64} {self.measured}"


def seconds(work: Callable[[], object], repeat: int = 3) -> float:
    """CPU time of the fastest of a few runs; other load on the machine can only make a run slower."""
    shortest = float("inf")
    for _ in range(repeat):
        begin = time.process_time()
        work()
        shortest = min(shortest, time.process_time() - begin)
    return shortest
