"""Read what only the folders of BFCL tell about a file of results: the model, and which entries the benchmark accepted.

Results are at `result/MODEL/…/BFCL_v4_CATEGORY_result.json`, and the benchmark's own verdict is at
`score/MODEL/…/BFCL_v4_CATEGORY_score.json`. The verdict lists only the entries that failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from corepath.episode import Episode
from corepath.errors import Problem
from corepath.importers.reading import read_records

_RESULTS: Final = "result"
_SCORES: Final = "score"


@dataclass(frozen=True)
class Verdict:
    """How many entries the benchmark judged, and the ids of those that failed."""

    total: int
    failed: frozenset[str]


def name_model(file: Path) -> str | None:
    """Return the name of the model whose results are in a file, or None if the file is not in BFCL's folders."""
    parts = file.absolute().parts[:-1]
    found = [number for number, part in enumerate(parts[:-1]) if part == _RESULTS]
    return parts[found[-1] + 1] if found else None


def score_files(file: Path) -> Iterator[Path]:
    """Yield the file with the benchmark's verdict on a file of results, if there is one."""
    parts = list(file.absolute().parts)
    if _RESULTS in parts[:-1] and file.name.endswith(f"_{_RESULTS}.json"):
        last = len(parts) - 2 - parts[-2::-1].index(_RESULTS)
        parts[last] = _SCORES
        found = Path(*parts[:-1], file.name.removesuffix(f"_{_RESULTS}.json") + f"_{_SCORES}.json")
        if found.is_file():
            yield found


def read_verdict(file: Path) -> Verdict | None:
    """Read the benchmark's verdict on a file of results, or return None if there is none or it is malformed."""
    for scores in score_files(file):
        records = [value for _, value in read_records(scores, lambda _: False) if not isinstance(value, Problem)]
        header = records[0] if records else None
        total = header.get("total_count") if isinstance(header, dict) else None
        failed = [one.get("id") for one in records[1:] if isinstance(one, dict) and one.get("valid") is False]
        if isinstance(total, int) and all(isinstance(id_, str) for id_ in failed):
            return Verdict(total, frozenset(map(str, failed)))
    return None


def add_verdicts(file: Path, found: Iterator[Episode | Problem], prefix: str) -> Iterator[Episode | Problem]:
    """Yield what was found in a file of results, with each episode's agent and reward.

    `prefix` begins the ids of the tasks. A verdict on another number of entries than the file has is not used, because
    it is not on these results.
    """
    model, verdict = name_model(file), read_verdict(file)
    held = list(found) if verdict is not None else found
    if verdict is not None and isinstance(held, list) and len(held) != verdict.total:
        verdict = None
    for one in held:
        if isinstance(one, Problem):
            yield one
            continue
        reward = None if verdict is None else float(one.task.removeprefix(prefix) not in verdict.failed)
        yield replace(one, agent=one.agent or model, reward=reward if one.reward is None else one.reward)
