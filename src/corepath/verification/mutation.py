"""Mutation testing of the evaluator: every failure mode must move the metric that claims it, and nothing valid may."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from corepath.notation.call import Call
from corepath.play import mistakes
from corepath.play.mistakes import Fault, GoldenRun, golden_runs
from corepath.scoring.score import Score, score
from corepath.task import Task
from corepath.world.exploring import replay
from corepath.world.world import World

MOST_A_RUN: Final = 3
"""Mutants of one mode that are taken of one golden run, from its beginning to its end."""
_CLOSE: Final = 1e-12


@dataclass(frozen=True)
class Mode:
    """A way to fail, the metrics that claim to show it, and whether they did."""

    name: str
    fault: Fault
    metrics: tuple[str, ...]
    killed: Callable[[GoldenRun, Score, Score, Sequence[Call]], bool]
    """Of the run it was made from, the perfect score, the mutant's score and its path."""


@dataclass(frozen=True)
class Tally:
    """What became of one mode's mutants, and of valid variants under the same metrics."""

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
        """Both together."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in _COUNTED}
        return Tally(self.mode, self.metrics, **sums)


_COUNTED = (
    "mutants", "killed", "valid_variants", "valid_punished", "state_killed", "response_killed", "state_punished",
    "response_punished", "survivors",
)  # fmt: skip


def mutate(task: Task, world: World[Any]) -> list[Tally]:
    """Mutants of a task, one tally a mode."""
    runs = golden_runs(task, world)
    perfect = [score(task, run.calls) for run in runs]
    valid = [
        (_scored(run, path), best, fault is mistakes.another_golden_path)
        for run, best in zip(runs, perfect, strict=True)
        for fault in (mistakes.another_golden_path, mistakes.reads_inserted)
        for path in fault(run)
    ]
    return [_tally(mode, runs, perfect, valid) for mode in MODES]


def total(tallies: Iterable[Tally]) -> list[Tally]:
    """One tally a mode, over all tasks."""
    found: dict[str, Tally] = {}
    for tally in tallies:
        found[tally.mode] = found[tally.mode].plus(tally) if tally.mode in found else tally
    return list(found.values())


def _tally(
    mode: Mode, runs: Sequence[GoldenRun], perfect: Sequence[Score], valid: Sequence[tuple[Score, Score, bool]]
) -> Tally:
    mutants = killed = state = response = 0
    survivors: list[str] = []
    for run, best in zip(runs, perfect, strict=True):
        for path in _spread(list(mode.fault(run))):
            found = _scored(run, path)
            mutants += 1
            state += found.state_match is False
            response += found.response_match is False
            if mode.killed(run, best, found, path):
                killed += 1
            else:
                survivors.append(f"{run.task.id}: {' → '.join(map(str, path))}")
    fit = [(found, best) for found, best, bare in valid if bare or not _about_waste(mode)]
    punished = [f"{mode.name} punishes a valid path" for found, best in fit if _moved(mode, best, found)]
    return Tally(
        mode.name, mode.metrics, mutants, killed, len(fit), len(punished), state, response,
        sum(found.state_match is False for found, _ in fit), sum(found.response_match is False for found, _ in fit),
        (*survivors, *punished),
    )  # fmt: skip


def _spread(paths: list[Sequence[Call]]) -> list[Sequence[Call]]:
    """Some of them, evenly from the first to the last."""
    last = len(paths) - 1
    return (
        [paths[number] for number in sorted({round(k * last / (MOST_A_RUN - 1)) for k in range(MOST_A_RUN)})]
        if paths
        else []
    )


def _scored(run: GoldenRun, path: Sequence[Call]) -> Score:
    return score(run.task, replay(run.task, path).calls)


def _about_waste(mode: Mode) -> bool:
    return "directness" in mode.metrics or "efficiency" in mode.metrics


def _moved(mode: Mode, best: Score, found: Score) -> bool:
    """Whether one of the mode's metrics is not what it is for a perfect run."""
    ktc = 1.0 if len(best.condensed) > 1 else 0.75
    oracle = {"pc": 1.0, "pc_ktc": ktc, "harm_rate": 0.0, "prefix_criticality": 1.0, "accepted": True,
              "missing_steps": 0, "efficiency": 1.0, "directness": 1.0}  # fmt: skip
    return any(abs(getattr(found, name) - oracle[name]) > _CLOSE for name in mode.metrics)


# What must move


def _left_out(_run: GoldenRun, _best: Score, found: Score, _path: Sequence[Call]) -> bool:
    return found.pc < 1 and (found.harm_count > 0 or found.missing_steps > 0)


def _swapped(_run: GoldenRun, best: Score, found: Score, _path: Sequence[Call]) -> bool:
    return found.pc_ktc < best.pc_ktc and (found.harm_rate > 0 or found.missing_steps > 0)


def _wrong(_run: GoldenRun, _best: Score, found: Score, _path: Sequence[Call]) -> bool:
    return found.pc < 1 and (found.harm_rate > 0 or found.missing_steps > 0)


def _harmed(_run: GoldenRun, _best: Score, found: Score, _path: Sequence[Call]) -> bool:
    return found.harm_rate > 0 and found.prefix_criticality < 1


def _harmed_early(run: GoldenRun, best: Score, found: Score, path: Sequence[Call]) -> bool:
    late = _scored(run, (*path[1:], path[0]))
    lower = found.prefix_criticality < late.prefix_criticality or len(found.condensed) < 2
    return _harmed(run, best, found, path) and lower


def _wasted(run: GoldenRun, best: Score, found: Score, path: Sequence[Call]) -> bool:
    """Directness falls; efficiency falls once the path is longer than any golden one; nothing else moves."""
    if found.directness is None or best.directness is None or found.efficiency is None:
        return False
    slower = found.efficiency < 1 or len(path) <= run.task.automaton.golden.longest
    same = all(abs(getattr(found, name) - getattr(best, name)) <= _CLOSE for name in _ABOUT_THE_PATH)
    return found.directness < best.directness and slower and same


_ABOUT_THE_PATH = ("pc", "pc_ktc", "prefix_criticality", "harm_rate", "pc_hlr", "accepted", "missing_steps")


def _stopped(_run: GoldenRun, _best: Score, found: Score, _path: Sequence[Call]) -> bool:
    return found.pc < 1 and not found.accepted


MODES: Final = (
    Mode("step left out", mistakes.left_out, ("pc", "harm_rate", "missing_steps"), _left_out),
    Mode("steps swapped", mistakes.swapped, ("pc_ktc", "harm_rate"), _swapped),
    Mode("wrong argument", mistakes.wrong_argument, ("pc", "harm_rate"), _wrong),
    Mode("wrong tool", mistakes.wrong_tool, ("pc", "harm_rate"), _wrong),
    Mode("write repeated", mistakes.repeated, ("harm_rate", "prefix_criticality"), _harmed),
    Mode("write repeated without effect", mistakes.repeated_without_effect, ("directness", "efficiency"), _wasted),
    Mode("harmful call early", mistakes.harmful_early, ("harm_rate", "prefix_criticality"), _harmed_early),
    Mode("harmful call late", mistakes.harmful_late, ("harm_rate", "prefix_criticality"), _harmed),
    Mode("done and undone", mistakes.undone, ("harm_rate", "prefix_criticality"), _harmed),
    Mode("redundant reads", mistakes.redundant_reads, ("directness", "efficiency"), _wasted),
    Mode("early stop", mistakes.early_stop, ("pc", "accepted"), _stopped),
    Mode("wandering", mistakes.wandering, ("directness",), _wasted),
)
"""The failure modes of the paper's table, each with the metrics that claim it."""
