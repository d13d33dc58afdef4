"""Claims with their measurements, a timer, and the cost of a command."""

from __future__ import annotations

import subprocess
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


_MEASURED = r"""
import re, sys, time
from pathlib import Path
from corepath.cli import main
sys.argv = ["corepath", *sys.argv[1:]]
try:
    main()
except SystemExit as exit:
    assert not exit.code, exit.code
(peak,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
print("\nmeasured", int(peak) / 1024, time.process_time())
"""
"""Runs a command, and prints its peak memory in MB and its processor time in seconds."""


def measure(*arguments: object) -> tuple[float, float]:
    """Return the peak memory of a command in MB, and the processor time that it takes in seconds."""
    command = [sys.executable, "-c", _MEASURED, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    peak, took = done.stdout.rpartition("measured ")[2].split()
    return float(peak), float(took)


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
