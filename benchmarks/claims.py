"""A claim, what was measured, and how time is taken."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """What is claimed, what was measured in this run, and whether the one bears out the other."""

    what: str
    measured: str
    holds: bool = True

    def __str__(self) -> str:
        return f"{'ok  ' if self.holds else 'FAIL'} {self.what:<64} {self.measured}"


def seconds(work: Callable[[], object], repeat: int = 3) -> float:
    """The shortest of a few runs, in time of the processor: what else the machine does only makes them longer."""
    shortest = float("inf")
    for _ in range(repeat):
        begin = time.process_time()
        work()
        shortest = min(shortest, time.process_time() - begin)
    return shortest
