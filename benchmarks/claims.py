"""Claims with their measurements, and a timer."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
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


def interleaved(works: Mapping[str, Callable[[], object]], rounds: int = 5) -> dict[str, float]:
    """CPU time of the fastest run of each. They take turns, so that a busy moment affects them all."""
    shortest = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            shortest[name] = min(shortest[name], seconds(work, 1))
    return shortest


def ratio_claim(what: str, ratio: float, limit: float, more: str = "", *, at_least: bool = False) -> Claim:
    """A claim that a ratio is at most, or at least, a limit."""
    holds = ratio >= limit if at_least else ratio <= limit
    wanted = f"{what}: at {'least' if at_least else 'most'} {limit:,g} times"
    return Claim(wanted, f"{ratio:,.2f} times" + (f" ({more})" if more else ""), holds)


def is_long() -> bool:
    """Whether `--long` asks for the largest inputs."""
    return "--long" in sys.argv
