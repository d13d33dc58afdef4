"""What `corepath check` notices of mistakes in tasks: right ways deleted and wrong ones added.

`python -m benchmarks.planted [EVERY]` plants mistakes in every fourth task of the built-in worlds, or in every nth.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

from corepath import Episode, RunCheck, Task, check_runs, play, world
from corepath.episode import exclusion
from corepath.files.lookup import all_sources
from corepath.play.built_in import built_in
from corepath.verification.narrowing import Notice, changed_tasks, total_notices
from corepath.world.exploring import path_text

FAILING = (
    "left_out", "swapped", "wrong_argument", "wrong_tool", "repeated", "harmful_early", "harmful_late", "undone",
    "early_stop",
)  # fmt: skip
"""The built-in agents whose runs are bad ones."""
GOOD, BAD = 10, 2
"""How many runs of the oracle and of each failing agent there are."""


def check(task: Task, good: Sequence[Episode], bad: Sequence[Episode]) -> RunCheck:
    """Check a task without its world, as tasks in files are."""
    return check_runs(replace(task, simulator=None, policies=()), good, bad)


def record(task: Task) -> tuple[list[Episode], list[Episode]]:
    """Return good runs and bad runs of a task."""
    good = [play(built_in("oracle"), task, epoch=epoch) for epoch in range(GOOD)]
    bad = [play(built_in(name), task, name=name, epoch=epoch) for name in FAILING for epoch in range(BAD)]
    return good, [one for one in bad if exclusion(one) is None]


def challenge(id_: str) -> Iterator[Notice]:
    """Plant mistakes in a task, and say which of them the runs of the right task show."""
    place, _, name = id_.partition("/")
    right = world(place).make(name)
    good, bad = record(right)
    before = check(right, good, bad)
    for change, changed, witness in changed_tasks(world(place), name):
        found = check(changed, good, bad)
        passes = len(found.passing) > len(before.passing)
        noticed = bool(found.punished) if change.narrows else passes or bool(questions(found) - questions(before))
        missed = () if noticed else (f"{id_}: {change.kind}: {path_text(witness)}",)
        yield Notice(change.kind, change.narrows, 1, int(noticed), missed)


def questions(found: RunCheck) -> set[str]:
    """The questions of a check."""
    return set() if found.mutants is None else set(map(str, found.mutants.questions))


def main(every: int) -> None:
    """Print what is noticed, and what the right tasks themselves raise."""
    ids = [source.id for source in all_sources([])][::every]
    for notice in total_notices(chain.from_iterable(map(challenge, ids))):
        what = "right way deleted" if notice.narrows else "wrong way added"
        print(f"{what}: {notice.kind}: {notice.noticed} of {notice.changes}")
        for missed in notice.missed:
            print(f"  {missed[:200]}")
    tasks = [world(id_.partition("/")[0]).make(id_.partition("/")[2]) for id_ in ids]
    found = [check(task, *record(task)) for task in tasks]
    print(f"{len(found)} right tasks: {sum(len(questions(one)) for one in found)} questions")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
