"""Learning orders against other programs that learn from runs: the same 20 runs of each task, with its steps known."""

from __future__ import annotations

import json
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.batch import PEERS
from benchmarks.claims import Claim
from benchmarks.languages import VERDICTS, Language, compare, of_list, of_machine, of_tree
from benchmarks.learn_truth import Truth, find_truths, orders_language
from corepath.authoring.learning.orders import learn_orders
from corepath.play.golden_run import random_golden_run
from corepath.world.exploring import simulator_of

RUNS_EACH = 20
MOST_NEAR_MISSES = 200
PROGRAM = Path(__file__).parent / "learn_peers.py"
Path_ = tuple[int, ...]


def learned_peers() -> Iterator[Claim]:
    """Orders learned by corepath, pm4py, AALpy, and by listing the runs. A near miss differs in one place."""
    truths = list(find_truths(RUNS_EACH))
    tests = [_near_misses(truth, _fresh_paths(truth)) for truth in truths]
    begin = time.process_time()
    mine = [orders_language(truth, learn_orders(truth.events[0])) for truth in truths]
    took = time.process_time() - begin
    mine_exact, claim = _judge("corepath", truths, mine, tests, took)
    yield claim
    yield _judge("listing the runs", truths, [of_list(truth.paths) for truth in truths], tests)[1]
    if not PEERS.exists():
        yield Claim("pm4py and AALpy", "are missing: make peers installs them in .venv-peers")
        return
    best = 0
    for name, one in _ask_peers(truths).items():
        languages = [_as_language(found) for found in one["learned"]]
        exact, claim = _judge(name, truths, languages, tests, one["seconds"])
        best = max(best, exact)
        yield claim
    yield Claim("corepath finds more tasks exactly than any of them", f"{mine_exact} to {best}", mine_exact > best)


def _judge(
    name: str, truths: Sequence[Truth], languages: Sequence[Language], tests: Sequence[Sequence[Path_]],
    took: float | None = None,
) -> tuple[int, Claim]:  # fmt: skip
    """Return how many tasks are exact, and the figures as a claim."""
    counts: Counter[str] = Counter()
    rejected = total = lost = 0
    for truth, language, test in zip(truths, languages, tests, strict=True):
        counts[compare(truth.language, language)] += 1
        rejected += sum(path not in language for path in test)
        total += len(test)
        lost += any(path not in language for path in truth.paths)
    shown = ", ".join(f"{one} {counts[one]}" for one in VERDICTS)
    shown += f"; {rejected:,} of {total:,} near misses rejected ({100 * rejected / total:.2f} %)"
    shown += f"; a run is wrong in {lost} tasks" if lost else ""
    return counts["exact"], Claim(name, shown + ("" if took is None else f"; {took:.1f} s"))


def _fresh_paths(truth: Truth) -> list[Path_]:
    """Return golden paths that nothing was learned from, or not knowingly."""
    random, world = Random(f"fresh {truth.task.id}"), simulator_of(truth.task)
    return [random_golden_run(truth.task, world, random).symbols for _ in range(RUNS_EACH)]


def _near_misses(truth: Truth, paths: Iterable[Path_]) -> list[Path_]:
    """Return paths that are wrong: two neighbours swapped, a step left out, or a step repeated."""
    near = (changed for path in dict.fromkeys(paths) for changed in _change(path))
    wrong = (path for path in near if path not in truth.language)
    return list(islice(dict.fromkeys(wrong), MOST_NEAR_MISSES))


def _change(path: Path_) -> Iterator[Path_]:
    for place in range(len(path)):
        yield (*path[:place], *path[place + 1 :])
        yield (*path[:place], path[place], *path[place:])
        if place:
            yield (*path[: place - 1], path[place], path[place - 1], *path[place + 1 :])


def _ask_peers(truths: Sequence[Truth]) -> Mapping[str, Any]:
    """Return what each peer learned. Those that take wrong runs get near misses of the runs."""
    cases = [{"runs": truth.paths, "near_misses": _near_misses(truth, truth.paths)} for truth in truths]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "cases.json"
        file.write_text(json.dumps(cases), encoding="utf-8")
        command = [str(PEERS), "-W", "ignore", str(PROGRAM), str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: Mapping[str, Any] = json.loads(done.stdout)
    return found


def _as_language(learned: Any) -> Language:
    if isinstance(learned, list):
        return of_tree(learned)
    return of_machine(learned["start"], learned["edges"], learned["accepting"])
