"""Occurrences: which event each step of a run is, if a run has the same step several times.

The occurrences of a step are numbered as they come, unless each belongs to another step that is there once: if a run
goes back after each of three pages, and the pages come in any order, then each page has its own going back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from corepath.authoring.learning.log import Run

Path = Sequence[int]
"""The steps of a run, in order. A step may be there several times."""
Key = tuple[int, int]
"""A step, and what tells its occurrences apart: which one it is, or the key of the step that it belongs to."""
_MOST_RUNS: Final = 200
_MOST_TIMES: Final = 12
_MOST_TRIES: Final = 500


@dataclass(frozen=True)
class Owners:
    """Steps that own the occurrences of another step: each has one, right after it, or before it if not `follows`.

    Other steps may come in between.
    """

    keys: tuple[Key, ...]
    follows: bool


@dataclass(frozen=True)
class Numbering:
    """Turns paths into runs. `owners` says for each step with an owner, in this order, which ones it has."""

    owners: Mapping[int, Owners] = field(default_factory=dict)
    numbers: dict[Key, int] = field(default_factory=dict)

    @property
    def steps(self) -> list[int]:
        """Which step each event is an occurrence of."""
        return [step for step, _ in self.numbers]

    def number(self, path: Path) -> Run:
        """Return a path as events. New events get new numbers."""
        return tuple(self.numbers.setdefault(key, len(self.numbers)) for key in _name_all(path, self.owners))


def find_numbering(paths: Sequence[Path]) -> Numbering:
    """Find the owners of steps that all runs have several times."""
    some = [*dict.fromkeys(map(tuple, paths))][:_MOST_RUNS]
    times = [Counter(path) for path in some]
    repeated = [
        step for step in (times[0] if times else ())
        if 1 < times[0][step] <= _MOST_TIMES and all(found[step] == times[0][step] for found in times)
    ]  # fmt: skip
    owners: dict[int, Owners] = {}
    found = True
    while found:
        found = False
        for step in repeated:
            if step not in owners and (mine := _find_owners(step, [_name_all(path, owners) for path in some])):
                owners[step], found = mine, True
    return Numbering(owners)


def numbering_of(runs: Sequence[Run], steps: Sequence[int]) -> Numbering:
    """Return the numbering that runs have. `steps` says which step each event is an occurrence of."""
    paths = [tuple(steps[event] for event in run) for run in runs]
    found = find_numbering(paths)
    for run, path in zip(runs, paths, strict=True):
        for key, event in zip(_name_all(path, found.owners), run, strict=True):
            found.numbers.setdefault(key, event)
    return found


def _name_all(path: Path, owners: Mapping[int, Owners]) -> list[Key]:
    """Return a key for each step of a path."""
    times: Counter[int] = Counter()
    names: list[Key] = []
    for step in path:
        names.append((step, times[step]))
        times[step] += 1
    for step, mine in owners.items():
        places = [place for place, (one, _) in enumerate(names) if one == step]
        ranks = {key: rank for rank, key in enumerate(mine.keys)}
        marks = [name in ranks for name in names if name in ranks or name[0] == step]
        if marks == [mine.follows, not mine.follows] * len(places):
            owned = [ranks[name] for name in names if name in ranks]
            for place, rank in zip(places, owned, strict=True):
                names[place] = (step, rank)
    return names


def _find_owners(step: int, named: Sequence[Sequence[Key]]) -> Owners | None:
    """Find steps that own the occurrences of a step, or None if there are none, or they always come in one order."""
    found = [one for follows in (True, False) if (one := _find_on_side(step, named, follows=follows)) is not None]
    return min(found, key=lambda one: one[0])[1] if found else None


def _find_on_side(step: int, named: Sequence[Sequence[Key]], *, follows: bool) -> tuple[int, Owners] | None:
    """Find the owners that are before the occurrences, or after them, and how far they are away in all runs."""
    times = sum(one == step for one, _ in named[0])
    turns: dict[Key, list[int]] = {}
    away: Counter[Key] = Counter()
    for names in named:
        places = [place for place, (one, _) in enumerate(names) if one == step]
        for place, name in enumerate(names):
            if name[0] != step:
                turn = sum(at < place for at in places) - (not follows)
                turns.setdefault(name, []).append(turn)
                away[name] += abs(places[turn] - place) if 0 <= turn < times else 0
    usable = {name: found for name, found in turns.items()
              if len(found) == len(named) and all(0 <= turn < times for turn in found)}  # fmt: skip
    near = sorted(usable, key=lambda name: (away[name], name))
    chosen = next(_choose([[name for name in near if usable[name][0] == turn] for turn in range(times)], usable), None)
    if chosen is None or all(len(set(usable[name])) == 1 for name in chosen):
        return None
    return sum(away[name] for name in chosen), Owners(tuple(chosen), follows)


def _choose(options: Sequence[Sequence[Key]], turns: Mapping[Key, Sequence[int]]) -> Iterator[list[Key]]:
    """Yield ways to choose one step of each, so that no two of them have the same turn in any run."""
    tries = 0
    waiting: list[list[Key]] = [[]]
    while waiting and tries < _MOST_TRIES:
        tries += 1
        chosen = waiting.pop()
        if len(chosen) == len(options):
            yield chosen
            continue
        waiting.extend(
            [*chosen, name] for name in reversed(options[len(chosen)])
            if all(one != other for mine in chosen for one, other in zip(turns[mine], turns[name], strict=True))
        )  # fmt: skip
