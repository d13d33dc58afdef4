"""300 episodes scored by the real command equal the scores of an independent brute force."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import Run


def test_the_kernel_cases_have_the_right_scores(acceptance: Path, corepath: Run) -> None:
    folder = acceptance / "kernel"
    done = corepath("score", "--tasks", folder / "tasks", folder / "episodes.jsonl", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    wanted = [json.loads(line) for line in (folder / "expected.jsonl").read_text().splitlines()]
    assert len(found) == len(wanted) == 300
    for mine, theirs in zip(found, wanted, strict=True):
        for name, value in theirs.items():
            if isinstance(value, float):
                assert abs(mine[name] - value) < 1e-12, (theirs["task"], theirs["epoch"], name)
            else:
                assert mine[name] == value, (theirs["task"], theirs["epoch"], name)
