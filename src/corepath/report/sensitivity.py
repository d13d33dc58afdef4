"""Sensitivity analysis: how the ranking of agents changes with the scoring options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from statistics import fmean
from typing import Any, Final

from corepath.automaton.step import Errors
from corepath.episode import exclusion
from corepath.report.comparison import difference
from corepath.report.results import Result, Results
from corepath.scoring.metrics import Metrics
from corepath.scoring.options import Scoring
from corepath.scoring.tracing import trace_task

OPTIONS: Final[Mapping[str, tuple[Any, ...]]] = {
    "lam": (0.0, 0.25, 0.5, 0.75, 1.0),
    "beta": (0.1, 0.25, 0.5, 0.75, 0.9),
    "order_fallback": (0.0, 0.5, 1.0, "pc"),
    "hlr_references": ("repaired", "repaired+golden"),
    "errors": ("no_effect", "harmful", "as_called"),
    "undefined_efficiency": ("zero", "skip"),
}
"""The values to try for each scoring option. Only one option is changed at a time."""
_MOVES: Final[Mapping[str, tuple[str, ...]]] = {
    "lam": ("pc_ktc",),
    "beta": ("prefix_criticality",),
    "order_fallback": ("pc_ktc",),
    "hlr_references": ("pc_hlr",),
    "errors": ("pc", "pc_ktc", "prefix_criticality", "harm_free", "pc_hlr", "accepted"),
    "undefined_efficiency": ("efficiency",),
}
"""The scores that each option can change."""
TIED: Final = 1e-9
"""Means that differ by no more than this count as equal."""


@dataclass(frozen=True)
class Flip:
    """Two agents whose order changes: `better` is ahead with the options in use, and behind with the new option value.

    `clear` says whether `better` was ahead by more than the smallest detectable difference.
    """

    better: str
    worse: str
    clear: bool


@dataclass(frozen=True)
class Shift:
    """The effect of one option value on a score: each agent's mean, and the pairs of agents whose order changes.

    `pairs` is the number of pairs of agents that were compared.
    """

    option: str
    value: Any
    score: str
    means: Mapping[str, float]
    flips: tuple[Flip, ...]
    pairs: int

    def to_dict(self) -> dict[str, Any]:
        """Return the shift as JSON."""
        flips = [vars(flip) for flip in self.flips]
        return {**vars(self), "means": dict(self.means), "flips": flips}


def sensitivity(results: Results) -> list[Shift]:
    """Return a shift for each option value that is not in use, and for each score that the option can change.

    Episodes are skipped if their task is not available or if the means leave them out.
    """
    scored = _Scored([one for one in results.results if one.task is not None and exclusion(one.record) is None])
    shifts = []
    for option, values in OPTIONS.items():
        for value in values:
            if value != getattr(results.scoring, option):
                other = replace(results.scoring, **{option: value})
                shifts += [
                    _shift(
                        results, option, value, score, scored.means(score, results.scoring), scored.means(score, other)
                    )
                    for score in _MOVES[option]
                ]
    return shifts


def _shift(
    results: Results, option: str, value: Any, score: str, before: Mapping[str, float], after: Mapping[str, float]
) -> Shift:
    flips = []
    pairs = list(combinations([agent for agent in before if agent in after], 2))
    for one, other in pairs:
        was, now = before[one] - before[other], after[one] - after[other]
        if min(abs(was), abs(now)) > TIED and (was > 0) != (now > 0):
            better, worse = (one, other) if was > 0 else (other, one)
            flips.append(Flip(better, worse, _clear(results, better, worse, score)))
    return Shift(option, value, score, after, tuple(flips), len(pairs))


def _clear(results: Results, better: str, worse: str, score: str) -> bool:
    found = difference(results.by_agent[worse], results.by_agent[better], score)
    return found is not None and found.detectable is not None and found.difference > found.detectable


@dataclass
class _Scored:
    """Computes mean scores under different scoring options, and caches intermediate results."""

    counted: list[Result]
    _metrics: dict[Errors, list[Metrics]] = field(default_factory=dict)
    _means: dict[tuple[str, Scoring], dict[str, float]] = field(default_factory=dict)

    def means(self, score: str, scoring: Scoring) -> dict[str, float]:
        """Return each agent's mean `score` under the options in `scoring`."""
        if (score, scoring) not in self._means:
            found: dict[str, list[float]] = {}
            for result, metrics in zip(self.counted, self._run(scoring.errors), strict=True):
                value = _value(metrics, score, scoring)
                if value is not None:
                    found.setdefault(result.agent, []).append(value)
            self._means[score, scoring] = {agent: fmean(values) for agent, values in found.items()}
        return self._means[score, scoring]

    def _run(self, errors: Errors) -> list[Metrics]:
        if errors not in self._metrics:
            self._metrics[errors] = [_measure(result, errors) for result in self.counted]
        return self._metrics[errors]


def _measure(result: Result, errors: Errors) -> Metrics:
    assert result.task is not None
    task, (episode, _) = result.task, result.unscored
    return Metrics(trace_task(task, episode.calls, episode.params, errors).path, task.automaton)


def _value(metrics: Metrics, score: str, scoring: Scoring) -> float | None:
    """Return an episode's `score` under the options in `scoring`, or None if the score is undefined.

    Undefined efficiency counts as 0 if the options say so.
    """
    found = metrics.measure(scoring)
    match score:
        case "pc_ktc":
            return found.pc_ktc_lower
        case "harm_free":
            return 1 - found.harm_rate
        case "efficiency":
            undefined = 0.0 if scoring.undefined_efficiency == "zero" else None
            return undefined if found.efficiency is None else found.efficiency
    return float(getattr(found, score))
