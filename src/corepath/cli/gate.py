"""The gate in `corepath score`: limits that every episode must meet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import isfinite, nan
from pathlib import Path
from typing import Final

from corepath.cli.junit import Case
from corepath.cli.printing import print_problems, usage_error
from corepath.cli.scored_episodes import ScoredEpisode
from corepath.episode import exclusion
from corepath.errors import Problem, count, nearest
from corepath.explanation import explain
from corepath.runs.folder import RunFolder
from corepath.runs.plan import Plan

GATES: Final = (
    "pc", "pc_ktc", "prefix_criticality", "harm_free", "efficiency", "directness", "pc_hlr", "accepted", "answer_match",
    "state_match", "response_match",
)  # fmt: skip
"""Scores that a gate can limit. Higher is better for all of them."""

_ROUNDING: Final = 1e-12


@dataclass
class Gate:
    """Limits for every episode, and the episodes that break them."""

    minimums: dict[str, float]
    max_harm: int | None
    max_broken: int | None = None
    failures: list[str] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    """The numbers of the failed episodes."""

    @property
    def is_set(self) -> bool:
        """Whether the gate has any limit."""
        return bool(self.minimums) or self.max_harm is not None or self.max_broken is not None

    def check(self, scored: ScoredEpisode) -> list[str]:
        """Return a message for each limit that an episode breaks.

        An undefined score breaks any limit on it. If the task asks nothing of the agent, no limit applies.
        """
        episode = scored.entry.episode
        if exclusion(episode) == "unasked":
            return []
        broken = [*self._low_scores(scored), *self._harm(scored), *self._broken_rules(scored)]
        name = f"episode {scored.number}, {episode.task} ({episode.agent or 'no agent'}, epoch {episode.epoch})"
        self.failures += [f"{name}: {one}" for one in broken]
        if broken:
            self.failed.append(scored.number)
        return broken

    def _low_scores(self, scored: ScoredEpisode) -> Iterator[str]:
        for key, limit in self.minimums.items():
            value = getattr(scored.score, key)
            if value is None:
                yield f"{key} is undefined, wanted at least {limit:g}"
            elif value < limit - _ROUNDING:
                yield f"{key} is {float(value):.3f}, wanted at least {limit:g}"

    def _harm(self, scored: ScoredEpisode) -> Iterator[str]:
        if self.max_harm is not None and scored.score.harm_count > self.max_harm:
            yield f"{count(scored.score.harm_count, 'harmful call')}, wanted at most {self.max_harm}"

    def _broken_rules(self, scored: ScoredEpisode) -> Iterator[str]:
        broken = len(scored.score.broken)
        if self.max_broken is not None and broken > self.max_broken:
            yield f"{count(broken, 'broken rule')}, wanted at most {self.max_broken}"

    def check_complete(self, judged: int, places: Iterable[Path]) -> None:
        """Fail the gate if no episode was judged, or if a run is unfinished."""
        if not self.is_set:
            return
        if not judged:
            self.failures.append("no episode was judged")
        self.failures += [gap for place in places if place.is_dir() for gap in _missing_episodes(place)]


def _missing_episodes(path: Path) -> Iterator[str]:
    folder = RunFolder.open(path)
    plan, done = Plan.of(folder), sum(1 for _ in folder.episodes())
    if done < plan.size and folder.manifest.get("kind") != "serve":
        yield (f"{path}: {done:,} of {count(plan.size, 'planned episode')} are there; "
               f"go on with: corepath run --resume {path}")  # fmt: skip


@dataclass
class Judge:
    """Checks scored episodes against a gate, and prints a problem for each line that could not be scored."""

    gate: Gate
    keep_cases: bool
    """Whether to keep a JUnit case for each episode."""
    cases: list[Case] = field(default_factory=list)
    judged: int = 0
    problems: int = 0

    def check(self, lines: Iterable[ScoredEpisode | Problem]) -> Iterator[ScoredEpisode]:
        """Check each episode against the gate and yield it. Problems are printed and not yielded."""
        for line in lines:
            if isinstance(line, Problem):
                self._add_problem(line)
                continue
            self.judged += 1
            broken = self.gate.check(line)
            if self.keep_cases:
                self.cases.append(_case(line, broken))
            yield line

    def _add_problem(self, problem: Problem) -> None:
        self.problems += 1
        print_problems([problem])
        if self.keep_cases:
            self.cases.append(Case(f"{problem.file}:{problem.line}", problem.file, error=problem.message))


def _case(scored: ScoredEpisode, broken: list[str]) -> Case:
    """Make the JUnit case for an episode. If `broken` has messages, add an explanation."""
    entry = scored.entry
    why = [explain(entry.task, entry.episode, scored=scored.score).headline] if broken else []
    return Case(f"episode {scored.number}: {scored.name}", entry.file, failures=(*broken, *why))


def parse_minimums(texts: Iterable[str]) -> dict[str, float]:
    """Parse the values of `--fail-under`, e.g. `pc=0.9`. Exit with code 2 if a value is invalid."""
    minimums: dict[str, float] = {}
    for text in texts:
        name, _, number = text.partition("=")
        if name not in GATES:
            hint = "; harmful calls are limited with --max-harm 0" if "harm" in name else nearest(name, GATES)
            usage_error(f"--fail-under {text}: no score '{name}'{hint}")
        try:
            minimum = float(number)
        except ValueError:
            minimum = nan
        if not isfinite(minimum):
            usage_error(f"--fail-under {text}: write it as {name}=0.9")
        if not 0 <= minimum <= 1:
            usage_error(f"--fail-under {text}: a score is a number from 0 to 1")
        minimums[name] = minimum
    return minimums
