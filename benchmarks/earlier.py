"""Large tasks and long golden paths, scored by this version and by the one before there was a kernel."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.claims import Claim, ratio_claim
from benchmarks.large import LENGTHS, SIZES, exponent

ROOT = Path(__file__).parent.parent
EARLIER = "c207d3b"
"""The last commit before the kernel."""
ROUNDS = 7
"""With three, the same code differed by up to 5 % from run to run on a busy machine."""
NOISE = 1.05
"""Where nothing changed, the best of a few rounds still differs by this much."""


def large_tasks_before() -> Iterator[Claim]:
    """score() on large tasks, against the version before the kernel; golden paths of 100 to 10,000 steps."""
    with TemporaryDirectory() as folder:
        before = _fetch_earlier(Path(folder))
        rounds: dict[str, list[dict[str, float]]] = {"now": [], "before": []}
        sources = {"now": ROOT / "src"} | ({} if before is None else {"before": before})
        for number in range(ROUNDS):
            for name, source in sorted(sources.items(), reverse=bool(number % 2)):
                rounds[name].append(_time_cases(source))
    now, then = (_best(rounds[name]) for name in ("now", "before"))
    golden = [f"golden path of {length:,}" for length in LENGTHS]
    if before is None:
        yield Claim("the version before the kernel", f"is missing: there is no commit {EARLIER} here")
    for name in then:
        shown = f"{1000 * now[name]:.1f} and {1000 * then[name]:.1f} ms"
        yield ratio_claim(f"{name}, to before", now[name] / then[name], NOISE, shown)
    found = exponent([now[name] for name in golden])
    shown = ", ".join(f"{1000 * now[name]:.2f}" for name in golden)
    yield Claim("a golden path of 100 to 10,000: exponent at most 1.2", f"{found:.2f} ({shown} ms)", found <= 1.2)
    sizes = [now[f"any order of {size}"] for size in SIZES]
    yield Claim("any order of 8 to 14: a further step costs", f"{(sizes[-1] / sizes[0]) ** (1 / 6):.2f} times")


def _fetch_earlier(folder: Path) -> Path | None:
    """Write the source of the earlier version to a folder, or return None if there is no such commit."""
    archive = folder / "earlier.tar"
    asked = ["git", "-C", str(ROOT), "archive", "--output", str(archive), EARLIER, "src"]
    if subprocess.run(asked, capture_output=True, check=False).returncode:
        return None
    subprocess.run(["tar", "-xf", str(archive), "-C", str(folder)], check=True)
    return folder / "src"


def _time_cases(source: Path) -> dict[str, float]:
    environment = os.environ | {"PYTHONPATH": str(source)}
    script = ROOT / "benchmarks" / "large.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, env=environment)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _best(rounds: list[dict[str, float]]) -> dict[str, float]:
    return {name: min(one[name] for one in rounds) for name in rounds[0]} if rounds else {}
