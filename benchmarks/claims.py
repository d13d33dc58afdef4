"""Claims with their measurements, a timer, and the cost of a command."""

from __future__ import annotations

import subprocess
import sys
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
