"""Rules on recorded runs: which rules apply, which good runs break a rule, and which bad runs no rule notices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from corepath.rules.rule import Rule
from corepath.rules.samples import Item
from corepath.rules.verdict import State, judge
from corepath.rules.wording import describe_verdict


@dataclass(frozen=True)
class Run:
    """A recorded run: its name for messages, its calls and messages in order, and whether it is marked good."""

    name: str
    items: tuple[Item, ...]
    is_good: bool


@dataclass(frozen=True)
class FalseAlarm:
    """A rule, by its index, that a good run breaks, and why."""

    rule: int
    run: str
    why: tuple[str, ...]


@dataclass
class RunFindings:
    """What rules say about runs. `states` counts the verdicts on each rule."""

    states: list[Counter[State]]
    good: int = 0
    bad: int = 0
    false_alarms: list[FalseAlarm] = field(default_factory=list)
    unnoticed: list[str] = field(default_factory=list)
    """The bad runs that no rule notices."""

    @property
    def runs(self) -> int:
        """The number of runs."""
        return self.good + self.bad

    @property
    def never_applied(self) -> list[int]:
        """The indexes of the rules that apply in no run."""
        return [number for number, one in enumerate(self.states) if self.runs and one[State.NOT_APPLIED] == self.runs]


def judge_runs(rules: Sequence[Rule], runs: Iterable[Run]) -> RunFindings:
    """Judge runs by rules."""
    found = RunFindings([Counter() for _ in rules])
    for run in runs:
        verdicts = judge(rules, run.items)
        for counter, verdict in zip(found.states, verdicts, strict=True):
            counter[verdict.state] += 1
        broken = [number for number, one in enumerate(verdicts) if one.state in (State.BROKEN, State.OWED)]
        if run.is_good:
            found.good += 1
            found.false_alarms += [
                FalseAlarm(number, run.name, tuple(describe_verdict(verdicts[number], run.items, 1)))
                for number in broken
            ]
        else:
            found.bad += 1
            found.unnoticed += [] if broken else [run.name]
    return found
