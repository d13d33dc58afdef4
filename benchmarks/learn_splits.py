"""How well tasks that were learned from few good runs judge the other runs, over random splits of real runs.

`python -m benchmarks.learn_splits [SPLITS [FILE...]]` prints tables of docs/learn-figures.md: for each number of
good runs to learn from, the mean and the worst of all splits. A file is a result file of τ-bench or τ²-bench, or any
trace whose runs have rewards; by default, the real runs of `benchmarks.tau`.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from random import Random
from statistics import fmean

from benchmarks.tau import DATA, RUNS, markdown_table
from corepath import Episode
from corepath.authoring.learning.learn import accepts, learn
from corepath.automaton.alphabet import Refused
from corepath.episode import reward_of
from corepath.files.tool_file import Tools, load_tools
from corepath.importers import import_trace
from corepath.importers.registry import load_source

SPLITS = 200
SIZES = (1, 2, 3)
GOOD_AIM, FAILED_AIM = 95, 5
Groups = Mapping[str, tuple[Sequence[Episode], Sequence[Episode]]]
"""The good and the failed runs of each task."""


@dataclass(frozen=True)
class Split:
    """What was accepted of the good runs that were not learned from, and of the failed ones."""

    good: int
    of_good: int
    failed: int
    of_failed: int

    @property
    def kept(self) -> float:
        """The share of the other good runs that are accepted without harm, in percent."""
        return 100 * self.good / self.of_good

    @property
    def passed(self) -> float:
        """The share of failed runs that are accepted, in percent."""
        return 100 * self.failed / max(1, self.of_failed)


def by_reward(episodes: Sequence[Episode]) -> Groups:
    """Return the good and the failed runs of each task."""
    groups: dict[str, tuple[list[Episode], list[Episode]]] = defaultdict(lambda: ([], []))
    for one in episodes:
        groups[one.task][reward_of(one) != 1].append(one)
    return groups


class Learner:
    """Learns tasks from runs, and remembers what they accept."""

    def __init__(self, groups: Groups, tools: Tools, refused: Refused | None = None) -> None:
        self.groups, self.tools, self.refused = groups, tools, refused
        self.judge = cache(self._judge)

    def _judge(self, task: str, chosen: tuple[int, ...]) -> Split:
        good, failed = self.groups[task]
        learned = learn([good[one] for one in chosen], self.tools, refused=self.refused).task
        if not all(accepts(learned, good[one]) for one in chosen):
            raise AssertionError(f"{task}: a run is rejected that the task was learned from")
        others = [run for one, run in enumerate(good) if one not in chosen]
        return Split(sum(accepts(learned, run) for run in others), len(others),
                     sum(accepts(learned, run) for run in failed), len(failed))  # fmt: skip

    def split(self, number: int, random: Random) -> Split:
        """Learn each task from some of its good runs, and judge all its other runs."""
        found = []
        for task, (good, _) in self.groups.items():
            if len(good) >= number:
                found.append(self.judge(task, tuple(sorted(random.sample(range(len(good)), number)))))
        return Split(*(sum(getattr(one, name) for one in found) for name in Split.__dataclass_fields__))


def rows(title: str, groups: Groups, tools: Tools, splits: int) -> Iterator[str]:
    """Yield a row of the table for each number of good runs to learn from."""
    learner = Learner(groups, tools)
    for number in SIZES:
        if not any(len(good) > number for good, _ in groups.values()):
            break
        found = [learner.split(number, Random(seed)) for seed in range(splits)]
        kept, passed = [one.kept for one in found], [one.passed for one in found]
        reached = sum(one.kept >= GOOD_AIM and one.passed <= FAILED_AIM for one in found)
        yield " | ".join((
            title, str(number),
            f"{fmean(kept):.1f} %, {min(kept):.1f} % of {found[0].of_good}",
            f"{fmean(passed):.1f} %, {max(passed):.1f} % of {found[0].of_failed}",
            f"{100 * reached / splits:.0f} %",
        ))  # fmt: skip


def main(splits: int, files: Sequence[Path]) -> None:
    """Print the table."""
    tools = load_tools(load_source("tau2").tool_file or "")
    named = {path.name: path for path in files} or {title: DATA / name for title, name in RUNS.items()}
    found = {title: by_reward([one for one in import_trace(path) if isinstance(one, Episode)])
             for title, path in named.items() if path.exists()}  # fmt: skip
    head = "runs | good runs | others accepted: mean, worst | failed accepted: mean, worst | both aims"
    print(markdown_table(chain([head], *(rows(title, groups, tools, splits) for title, groups in found.items()))))
    for title, groups in found.items():
        if all(len(good) < 2 for good, _ in groups.values()):
            print(f"{title}: no task has two good runs")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SPLITS, [Path(one) for one in sys.argv[2:]])
