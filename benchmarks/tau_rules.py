"""Print the tables of docs/tau-rules.md: what the example rules find in real runs of τ-bench and τ²-bench.

`python -m benchmarks.tau_rules [FOLDER]` reads the result files in the folders `tau-bench/` and `tau2-bench/`.
`python -m benchmarks.tau_rules FILE...` prints the tables for other result files, whose alarms nobody has read.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from benchmarks.tau import ROOT, main, markdown_table, published
from corepath import Call, Episode
from corepath.errors import Problem
from corepath.files.rules import load_rules
from corepath.importers import import_trace
from corepath.rules.rule import Rule
from corepath.rules.verdict import Verdict
from corepath.scoring.rules import RuleScore, score_rules

RULES = ROOT / "examples" / "rules"
CONSENT = 0
"""The index of the rule about consent in each rule file. All false alarms come from this rule."""

AGREED_BEFORE = "the user had agreed to this change before it was refused"
CHOSE = "the user chose one of the options, and nothing else was open"
ASKED = "the user asked for exactly this after the details were given"
FALSE_ALARMS = {
    ("tau-bench/airline/4", 2, 5): CHOSE,
    ("tau-bench/airline/6", 2, 3): CHOSE,
    ("tau-bench/airline/13", 0, 6): AGREED_BEFORE,
    ("tau-bench/airline/13", 0, 10): AGREED_BEFORE,
    ("tau-bench/airline/13", 2, 7): AGREED_BEFORE,
    ("tau2/retail/38", 0, 12): ASKED,
}
"""The alarms that are no breach of the policy: task, trial and index of the call, with the reason."""


@dataclass(frozen=True)
class Judged:
    """An episode and what the rules say about it."""

    episode: Episode
    score: RuleScore

    def alarms(self, number: int) -> list[int]:
        """The events at which a rule is broken, and those after which it still requires something at the end."""
        verdict = self.score.verdicts[number]
        return [*(one.event for one in verdict.offences), *verdict.owed]

    def false_alarms(self, number: int) -> int:
        """How many alarms of a rule were read as false."""
        return sum(self._is_false(event) for event in self.alarms(number)) if number == CONSENT else 0

    def _is_false(self, event: int) -> bool:
        call = sum(isinstance(item, Call) for item in self.score.items[:event])
        return (self.episode.task, self.episode.epoch, call) in FALSE_ALARMS

    def breaks(self, *severities: str) -> bool:
        """Whether a rule of one of these severities is broken, leaving out false alarms."""
        numbers = [n for n, one in enumerate(self.score.verdicts) if one.rule.severity in severities]
        return any(len(self.alarms(number)) > self.false_alarms(number) for number in numbers)


@dataclass(frozen=True)
class Runs:
    """The episodes in a result file, judged by the rules for their domain."""

    name: str
    rules: tuple[Rule, ...]
    judged: list[Judged]
    is_read: bool

    @classmethod
    def read(cls, name: str, file: Path) -> Runs:
        """Read a result file; exit with its problems if it has any."""
        found = list(import_trace(file))
        episodes = [one for one in found if not isinstance(one, Problem)]
        if len(episodes) < len(found) or not episodes:
            sys.exit("\n".join(str(one) for one in found if isinstance(one, Problem)) or f"{file}: no episodes")
        domain = episodes[0].task.split("/")[1].removesuffix("-workflow")
        rules = load_rules(RULES / f"tau_{domain}.yaml").rules
        judged = [Judged(one, score_rules(rules, one)) for one in episodes]
        return cls(name, rules, judged, name in published())

    @cached_property
    def rewarded(self) -> list[Judged]:
        """The episodes to which the benchmark gave the full reward."""
        return [one for one in self.judged if one.episode.reward == 1]

    @property
    def unrewarded(self) -> list[Judged]:
        """All other episodes."""
        return [one for one in self.judged if one.episode.reward != 1]


def tables(files: Mapping[str, Path] | None = None) -> str:
    """All tables as Markdown."""
    runs = [Runs.read(name, file) for name, file in (files or published()).items()]
    parts = [markdown_table(_overview(runs)), markdown_table(_rewarded(runs))]
    parts += [f"**{one.name}**\n\n{markdown_table(_by_rule(one))}" for one in runs]
    return "\n".join(parts)


def _overview(runs: list[Runs]) -> Iterator[str]:
    columns = "… break a rule | … of medium or high severity | … of high severity"
    yield f"runs | rewarded | {columns} | unrewarded | {columns}"
    for one in runs:
        counts = [count for group in (one.rewarded, one.unrewarded) for count in _broken(group)]
        yield f"{one.name} | {' | '.join(map(str, counts))}"


def _broken(group: list[Judged]) -> list[int]:
    severities = (("low", "medium", "high"), ("medium", "high"), ("high",))
    return [len(group), *(sum(one.breaks(*some) for one in group) for some in severities)]


def _rewarded(runs: list[Runs]) -> Iterator[str]:
    yield "rewarded runs of | task | trial | rule | alarms | false"
    for one in runs:
        for judged in one.rewarded:
            for number, rule in enumerate(one.rules):
                alarms = len(judged.alarms(number))
                if alarms and rule.severity != "low":
                    task = judged.episode.task.split("/", 2)[2].replace("|", ", ")
                    counts = f"{alarms} | {judged.false_alarms(number) if one.is_read else '–'}"
                    yield f"{one.name} | {task} | {judged.episode.epoch} | {rule.because} | {counts}"


def _by_rule(runs: Runs) -> Iterator[str]:
    yield "rule | severity | applied | broken | alarms | read | true | false | precision"
    for number, rule in enumerate(runs.rules):
        verdicts: list[Verdict] = [one.score.verdicts[number] for one in runs.judged]
        applied = sum(one.applied > 0 for one in verdicts)
        broken = sum(not one.is_kept for one in verdicts)
        alarms = sum(len(one.alarms(number)) for one in runs.judged)
        wrong = sum(one.false_alarms(number) for one in runs.judged)
        counts = f"{applied} | {broken} | {alarms} | {_reading(alarms, wrong) if runs.is_read else '– | – | – | –'}"
        yield f"{rule.because} | {rule.severity} | {counts}"


def _reading(alarms: int, wrong: int) -> str:
    right = alarms - wrong
    return f"{alarms} | {right} | {wrong} | {f'{right / alarms:.0%}' if alarms else '–'}"


if __name__ == "__main__":
    sys.exit(main(tables))
