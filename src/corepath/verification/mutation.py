"""Test the metrics on mutants, which are golden paths with a mistake planted in them.

A mistake must change the metrics that claim to show it. A valid variant must not change them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from corepath.notation.call import Call
from corepath.play import mistakes
from corepath.play.golden_run import GoldenRun, golden_runs
from corepath.play.mistakes import Mistake
from corepath.scoring.score import Score, score
from corepath.task import Task
from corepath.world.exploring import replay
from corepath.world.world import World

MOST_A_RUN: Final = 3
"""Maximum number of mutants for one mode and one golden run, spread evenly over the run."""
_CLOSE: Final = 1e-12


@dataclass(frozen=True)
class Mode:
    """A failure mode: its name, the mistake behind it, and the metrics that claim to show it."""

    name: str
    fault: Mistake
    metrics: tuple[str, ...]
    shows: Callable[[GoldenRun, Score, Score, Sequence[Call]], bool]
    """A function that returns whether the metrics show the failure.

    Its arguments are the golden run, the golden run's score, the mutant's score and the mutant's path.
    """


@dataclass(frozen=True)
class _Variant:
    """A valid variant of a golden run of the task with the id `task`, and its score."""

    task: str
    score: Score
    best: Score
    """The golden run's score."""
    is_golden: bool
    """Whether the variant is another golden path, without extra reads."""


@dataclass(frozen=True)
class Tally:
    """The counts for one failure mode: mutants killed, and valid variants punished.

    A mutant is killed if the metrics show the failure. A valid variant is punished if a metric differs from its value
    for a perfect run. Fields that begin with `state_` or `response_` hold the same counts for the baselines.
    """

    mode: str
    metrics: tuple[str, ...]
    mutants: int = 0
    killed: int = 0
    valid_variants: int = 0
    valid_punished: int = 0
    state_killed: int = 0
    response_killed: int = 0
    state_punished: int = 0
    response_punished: int = 0
    survivors: tuple[str, ...] = field(default=())

    def plus(self, other: Tally) -> Tally:
        """Return the sum of the two tallies."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in _COUNTED}
        return Tally(self.mode, self.metrics, **sums)


_COUNTED = (
    "mutants", "killed", "valid_variants", "valid_punished", "state_killed", "response_killed", "state_punished",
    "response_punished", "survivors",
)  # fmt: skip


def mutate(task: Task, world: World[Any]) -> list[Tally]:
    """Make mutants of a task's golden paths, and count for each failure mode how many the metrics kill."""
    runs = golden_runs(task, world)
    perfect = [score(task, run.calls) for run in runs]
    valid = [
        _Variant(task.id, _score(run, path), best, fault is mistakes.another_golden_path)
        for run, best in zip(runs, perfect, strict=True)
        for fault in (mistakes.another_golden_path, mistakes.reads_inserted)
        for path in fault(run)
    ]
    return [_tally(mode, runs, perfect, valid) for mode in MODES]


def total(tallies: Iterable[Tally]) -> list[Tally]:
    """Add up the tallies for many tasks, one sum per mode."""
    found: dict[str, Tally] = {}
    for tally in tallies:
        found[tally.mode] = found[tally.mode].plus(tally) if tally.mode in found else tally
    return list(found.values())


def _tally(mode: Mode, runs: Sequence[GoldenRun], perfect: Sequence[Score], valid: Sequence[_Variant]) -> Tally:
    """Make the mutants for one failure mode, and count the mutants killed and the valid variants punished."""
    mutants = killed = state = response = 0
    survivors: list[str] = []
    for run, best in zip(runs, perfect, strict=True):
        for path in _spread(list(mode.fault(run))):
            found = _score(run, path)
            mutants += 1
            state += found.state_match is False
            response += found.response_match is False
            if mode.shows(run, best, found, path):
                killed += 1
            else:
                survivors.append(f"{run.task.id}: {' → '.join(map(str, path))}")
    fair = [variant for variant in valid if variant.is_golden or not _about_waste(mode)]
    punished = [
        f"{variant.task}: a valid path is punished" for variant in fair if _punishes(mode, variant.best, variant.score)
    ]
    return Tally(
        mode.name,
        mode.metrics,
        mutants=mutants,
        killed=killed,
        valid_variants=len(fair),
        valid_punished=len(punished),
        state_killed=state,
        response_killed=response,
        state_punished=sum(variant.score.state_match is False for variant in fair),
        response_punished=sum(variant.score.response_match is False for variant in fair),
        survivors=(*survivors, *punished),
    )


def _spread(paths: list[Sequence[Call]]) -> list[Sequence[Call]]:
    """Return a few of the paths, spread evenly from the first to the last."""
    if not paths:
        return []
    last = len(paths) - 1
    chosen = {round(number * last / (MOST_A_RUN - 1)) for number in range(MOST_A_RUN)}
    return [paths[number] for number in sorted(chosen)]


def _score(run: GoldenRun, path: Sequence[Call]) -> Score:
    """Execute a path in the task's world, and score it."""
    return score(run.task, replay(run.task, path).calls)


def _about_waste(mode: Mode) -> bool:
    """Whether the mode's metrics measure wasted calls, so that harmless extra reads lower them too."""
    return "directness" in mode.metrics or "efficiency" in mode.metrics


def _punishes(mode: Mode, best: Score, found: Score) -> bool:
    """Whether one of the mode's metrics differs from its value for a perfect run."""
    ktc = 1.0 if len(best.condensed) > 1 else 0.75
    oracle = {"pc": 1.0, "pc_ktc": ktc, "harm_rate": 0.0, "prefix_criticality": 1.0, "accepted": True,
              "missing_steps": 0, "efficiency": 1.0, "directness": 1.0}  # fmt: skip
    return any(abs(getattr(found, name) - oracle[name]) > _CLOSE for name in mode.metrics)


# What the metrics must show for each mode


def _shows_order(_run: GoldenRun, best: Score, found: Score, _path: Sequence[Call]) -> bool:
    """Whether the mutant has a lower PC-KTC than the golden run, and a harmful call or a missing step."""
    return found.pc_ktc < best.pc_ktc and (found.harm_rate > 0 or found.missing_steps > 0)


def _shows_deviation(_run: GoldenRun, _best: Score, found: Score, _path: Sequence[Call]) -> bool:
    """Whether PC is below 1, and there is a harmful call or a missing step."""
    return found.pc < 1 and (found.harm_rate > 0 or found.missing_steps > 0)


def _shows_harm(_run: GoldenRun, _best: Score, found: Score, _path: Sequence[Call]) -> bool:
    """Whether HarmRate is above 0 and prefix criticality is below 1."""
    return found.harm_rate > 0 and found.prefix_criticality < 1


def _shows_early_harm(run: GoldenRun, best: Score, found: Score, path: Sequence[Call]) -> bool:
    """Whether the metrics show harm, and show that it came early.

    Prefix criticality must be lower than for the same path with its harmful first call moved to the end.
    """
    late = _score(run, (*path[1:], path[0]))
    lower = found.prefix_criticality < late.prefix_criticality or len(found.condensed) < 2
    return _shows_harm(run, best, found, path) and lower


def _shows_waste(run: GoldenRun, best: Score, found: Score, path: Sequence[Call]) -> bool:
    """Whether directness and efficiency fall, and nothing else changes.

    Efficiency has to fall only if the path is longer than every golden path.
    """
    if found.directness is None or best.directness is None or found.efficiency is None:
        return False
    slower = found.efficiency < 1 or len(path) <= run.task.automaton.golden.longest
    same = all(abs(getattr(found, name) - getattr(best, name)) <= _CLOSE for name in _ABOUT_THE_PATH)
    return found.directness < best.directness and slower and same


_ABOUT_THE_PATH = ("pc", "pc_ktc", "prefix_criticality", "harm_rate", "pc_hlr", "accepted", "missing_steps")


def _shows_early_stop(_run: GoldenRun, _best: Score, found: Score, _path: Sequence[Call]) -> bool:
    """Whether PC is below 1 and the path is not accepted."""
    return found.pc < 1 and not found.accepted


MODES: Final = (
    Mode("step left out", mistakes.left_out, ("pc", "harm_rate", "missing_steps"), _shows_deviation),
    Mode("steps swapped", mistakes.swapped, ("pc_ktc", "harm_rate"), _shows_order),
    Mode("wrong argument", mistakes.wrong_argument, ("pc", "harm_rate"), _shows_deviation),
    Mode("wrong tool", mistakes.wrong_tool, ("pc", "harm_rate"), _shows_deviation),
    Mode("write repeated", mistakes.repeated, ("harm_rate", "prefix_criticality"), _shows_harm),
    Mode("write repeated without effect", mistakes.repeated_without_effect, ("directness", "efficiency"), _shows_waste),
    Mode("harmful call early", mistakes.harmful_early, ("harm_rate", "prefix_criticality"), _shows_early_harm),
    Mode("harmful call late", mistakes.harmful_late, ("harm_rate", "prefix_criticality"), _shows_harm),
    Mode("done and undone", mistakes.undone, ("harm_rate", "prefix_criticality"), _shows_harm),
    Mode("redundant reads", mistakes.redundant_reads, ("directness", "efficiency"), _shows_waste),
    Mode("early stop", mistakes.early_stop, ("pc", "accepted"), _shows_early_stop),
    Mode("wandering", mistakes.wandering, ("directness",), _shows_waste),
)
"""The failure modes in the paper's table, each with the metrics that claim to show it."""
