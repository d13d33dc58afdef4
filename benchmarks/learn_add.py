"""How well `corepath learn --add` restores what was deleted from the procedures of the built-in worlds.

Each task is narrowed in the ways that `corepath verify --narrow` knows. A golden path of the whole task that the narrow
one rejects is added again, as a run. It is counted whether the golden paths are then those of the whole task, or
fewer, more, or others.

    python -m benchmarks.learn_add [WORLD...]
"""

from __future__ import annotations

import sys
from collections import Counter
from time import perf_counter

from corepath.authoring.learning.inclusion import includes
from corepath.authoring.learning.widen import Widened, widen
from corepath.episode import Episode
from corepath.errors import CorepathError
from corepath.task import Task
from corepath.verification.narrowing import choose_changes, find_witness, narrow, rebuild_task
from corepath.world.discovery import installed_worlds, world
from corepath.world.world import Pick

OUTCOMES = ("restored", "narrower", "wider", "other", "refused")


def compare(whole: Task, widened: Widened) -> str:
    """Say how the golden paths of a widened task relate to those of the whole task."""
    back = {two: one for one, two in widened.after.image.items()}
    holds_all = includes(widened.task.automaton, whole.automaton, {})
    holds_no_more = includes(whole.automaton, widened.task.automaton, back)
    if holds_all and holds_no_more:
        return "restored"
    return "wider" if holds_all else "narrower" if holds_no_more else "other"


def measure(name: str) -> Counter[tuple[str, str]]:
    """Narrow and widen every task of a world, and count the outcomes by the kind of change."""
    found: Counter[tuple[str, str]] = Counter()
    here = world(name)
    for short, maker in here.makers.items():
        raw = maker(Pick(f"{name}/{short}", 0))
        whole = here.complete(raw, f"{name}/{short}")
        if whole.automaton.procedure is None:
            continue
        for change in choose_changes(tuple(narrow(whole))):
            try:
                task = rebuild_task(here, raw, change.procedure, whole.id)
            except CorepathError:
                continue
            witness = find_witness(whole, task)
            if witness is None:
                continue
            begun = perf_counter()
            try:
                outcome = compare(whole, widen(task, Episode(whole.id, tuple(witness))))
            except CorepathError as error:
                outcome = "refused"
                print(f"  {whole.id}: {change.kind}: {error}")
            found[change.kind, outcome] += 1
            if perf_counter() - begun > 5:
                print(f"  {whole.id}: {change.kind}: {perf_counter() - begun:.1f} s")
    return found


def _sum(found: Counter[tuple[str, str]], outcome: str) -> int:
    return sum(count for (_, one), count in found.items() if one == outcome)


def main(names: list[str]) -> None:
    """Print the outcomes for all worlds."""
    total: Counter[tuple[str, str]] = Counter()
    for name in names or list(installed_worlds()):
        found = measure(name)
        total += found
        print(f"{name:16} " + "  ".join(f"{one} {_sum(found, one):3}" for one in OUTCOMES), flush=True)
    for kind in dict.fromkeys(kind for kind, _ in total):
        counts = {outcome: total[kind, outcome] for outcome in OUTCOMES}
        print(f"{kind:40} " + "  ".join(f"{outcome} {number:3}" for outcome, number in counts.items()))
    everything = sum(total.values())
    for outcome in OUTCOMES:
        number = _sum(total, outcome)
        print(f"{outcome:10} {number:4} of {everything} ({number / max(everything, 1):.0%})")


if __name__ == "__main__":
    main(sys.argv[1:])
