"""Print the tables of docs/learn-rules.md: whether learned rules hold in unseen runs, and which policies are found.

`python -m benchmarks.learned_rules [FOLDER]` reads the result files in the folders `tau-bench/` and `tau2-bench/`.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from benchmarks.tau import DATA, RUNS, markdown_table
from corepath import Episode, events, installed_worlds, play, task, world
from corepath.authoring.learning.rule_log import Run
from corepath.authoring.learning.rules import LEAST_RUNS, learn_rules
from corepath.episode import exclusion, reward_of
from corepath.importers import import_trace
from corepath.notation.action import Action
from corepath.notation.matchers import walk
from corepath.notation.matchers.references import Variable
from corepath.play.built_in import built_in
from corepath.rules.implication import is_implied
from corepath.rules.rule import Never, Rule
from corepath.rules.verdict import judge

SPLITS = range(100, 120)
"""Seeds of the splits. Others were used to choose the thresholds."""
SEEDS = range(6)
FAILING = ("left_out", "swapped", "wrong_argument", "wrong_tool", "repeated", "harmful_early", "harmful_late", "undone")

Halves = tuple[list[Run], list[Run], list[Run], list[Run]]


def split(
    episodes: Sequence[Episode], seed: int, *, by_task: bool
) -> tuple[list[Run], list[Run], list[Run], list[Run]]:
    """Return good and bad runs to learn from, and unseen good and bad ones."""
    keys = [one.task if by_task else str(place) for place, one in enumerate(episodes)]
    names = sorted(set(keys))
    random.Random(seed).shuffle(names)
    half = set(names[: len(names) // 2])
    found: Halves = ([], [], [], [])
    for key, one in zip(keys, episodes, strict=True):
        found[2 * (key not in half) + (reward_of(one) != 1)].append(tuple(events(one)))
    return found


def split_row(name: str, episodes: Sequence[Episode], *, by_task: bool, with_bad: bool) -> list[str]:
    """Learn from one half of the runs, and judge the other half."""
    sizes, each, every, caught = [], [], [], []
    for seed in SPLITS:
        good, bad, unseen, unseen_bad = split(episodes, seed, by_task=by_task)
        rules = learn_rules(good, bad if with_bad else ()).rules
        kept = [[one.is_kept for one in judge(rules, run)] for run in unseen]
        sizes.append(len(rules))
        each += [fmean(column) for column in zip(*kept, strict=True)]
        every.append(fmean(map(all, kept)))
        caught.append(fmean(not all(one.is_kept for one in judge(rules, run)) for run in unseen_bad))
    shown = [f"{100 * fmean(each):.1f}%" if each else "–", f"{100 * fmean(every):.0f}%", f"{100 * fmean(caught):.0f}%"]
    counted = [sum(reward_of(one) == 1 for one in episodes), sum(reward_of(one) != 1 for one in episodes)]
    return [name, *map(str, counted), "tasks" if by_task else "runs", "yes" if with_bad else "no",
            f"{fmean(sizes):.1f}", *(shown if any(sizes) else ["–"] * 3)]  # fmt: skip


def in_templates(rule: Rule) -> bool:
    """Whether a policy is one that could be learned: no condition on the state, no result, no fixed value."""
    if isinstance(rule, Never) and (rule.when or rule.leaves):
        return False
    return all(
        one.result is None
        and all(isinstance(inner, Variable) for _, arg in one.arguments.fields for inner in walk(arg))
        for one in rule.patterns
    )


def opened(rule: Rule) -> Rule:
    """Return a policy as it would be learned: with `...` in its patterns, and broken by attempts too."""
    parts = {
        name: replace(value, arguments=replace(value.arguments, open=True))
        for name, value in vars(rule).items()
        if isinstance(value, Action)
    }
    return replace(rule, because="", severity="medium", attempted=True, **parts)  # type: ignore[arg-type]


def world_row(name: str) -> list[int]:
    """Count a world's policies: all, those in the templates, those that the runs test, and those that are found."""
    policies = world(name).policies
    tasks = [task(f"{name}/{one}") for one in world(name).makers]
    good = [tuple(events(play(built_in("oracle"), one, seed=seed))) for one in tasks for seed in SEEDS]
    played = [play(built_in(agent), one, name=agent) for one in tasks for agent in FAILING]
    bad = [tuple(events(one)) for one in played if exclusion(one) is None]
    wanted = [opened(one) for one in policies if in_templates(one)]
    counts = [len(policies), len(wanted)]
    for some in ((), bad):
        tested = [one for one in wanted if _is_tested(one, good, some)]
        rules = learn_rules(good, some).rules
        counts += [len(tested), sum(any(is_implied(one, [rule]) for rule in rules) for one in tested)]
    return counts


def _is_tested(rule: Rule, good: Sequence[Run], bad: Sequence[Run]) -> bool:
    """Whether all good runs keep a rule, enough of them test it, and some bad run breaks it, if there are any."""
    kept = [judge([rule], run)[0] for run in good]
    applied = sum(one.applied > 0 for one in kept)
    broken = any(not judge([rule], run)[0].is_kept for run in bad)
    never = isinstance(rule, Never) and rule.after is None
    enough = bool(bad) if never else applied >= LEAST_RUNS
    return all(one.is_kept for one in kept) and enough and (broken or not bad)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return markdown_table(" | ".join(row) for row in (head, *rows))


def main(folder: Path) -> None:
    """Print both tables."""
    head = ["runs", "good", "bad", "split by", "bad runs used", "rules", "keep each", "keep all", "bad that break one"]
    rows = []
    for name, file in RUNS.items():
        episodes = [one for one in import_trace(folder / file) if isinstance(one, Episode)]
        rows += [split_row(name, episodes, by_task=by, with_bad=bad) for by in (False, True) for bad in (False, True)]
    print(_table(head, rows))
    counted = {name: world_row(name) for name in sorted(installed_worlds())}
    total = [sum(column) for column in zip(*counted.values(), strict=True)]
    head = [
        "world",
        "policies",
        "in the templates",
        "tested by good runs",
        "found",
        "… and broken in bad runs",
        "found",
    ]
    print(_table(head, [[name, *map(str, row)] for name, row in {**counted, "all": total}.items()]))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DATA)
