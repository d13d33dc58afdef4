"""Decisive reads: reads whose result decides what is done afterwards, e.g. pay if the bill is open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from corepath.authoring.learning.good_run import GoodRun
from corepath.authoring.learning.required_reads import FEWEST_RUNS
from corepath.authoring.learning.steps import Place, SeenStep, call_at
from corepath.authoring.learning.told_apart import LONGEST, as_json
from corepath.notation.call import UNANSWERED
from corepath.values import canonical

_MOST_RESULTS: Final = 5
_FEWEST_EACH: Final = 2
_MOST_STEPS: Final = 400


def split_decisive(steps: Sequence[SeenStep], runs: Sequence[GoodRun]) -> list[SeenStep]:
    """Split each read that decides what follows into a step for each result.

    A read decides if every run makes it, runs with the same result do the same writes, runs with different results do
    different ones, and none of the writes in which they differ comes before it.
    """
    if len(runs) < FEWEST_RUNS or len(steps) > _MOST_STEPS:
        return list(steps)
    done: dict[int, list[str]] = {number: [] for number in range(len(runs))}
    writes = [step for step in steps if not step.reads]
    for one, step in enumerate(writes):
        for run, _ in step.places:
            done[run].append(f"{one:05}")
    ways = {run: " ".join(sorted(found)) for run, found in done.items()}
    if not 1 < len(set(ways.values())) <= _MOST_RESULTS:
        return list(steps)
    first = _first_difference(writes, ways)
    return [part for step in steps for part in (_split(step, runs, ways, first) or (step,))]


def _first_difference(writes: Sequence[SeenStep], ways: Mapping[int, str]) -> dict[int, int]:
    """Return for each run the place of the first write that not all ways have equally often."""
    first: dict[int, int] = {}
    for step in writes:
        often = dict.fromkeys(ways, 0)
        for run, _ in step.places:
            often[run] += 1
        if len(set(often.values())) > 1:
            for run, place in step.places:
                first[run] = min(place, first.get(run, place))
    return first


def _split(
    step: SeenStep, runs: Sequence[GoodRun], ways: Mapping[int, str], first: Mapping[int, int]
) -> tuple[SeenStep, ...] | None:
    """Return a step for each result of a read that decides, or None if it does not decide."""
    if not step.reads or step.varying or step.result is not None or len(step.runs) < len(runs):
        return None
    last: dict[int, Place] = {}
    for run, place in sorted(step.places):
        if place < first.get(run, len(runs[run].calls)):
            last[run] = (run, place)
    if len(last) < len(runs):
        return None
    results = {run: as_json(call_at(runs, place).result) for run, place in last.items()}
    for patterns in _patterns(results):
        groups: dict[str, list[int]] = {}
        for run, pattern in patterns.items():
            groups.setdefault(canonical(pattern), []).append(run)
        found = [{ways[run] for run in group} for group in groups.values()]
        apart = len(set().union(*found)) == sum(map(len, found)) and all(len(one) == 1 for one in found)
        if len(groups) > 1 and apart and all(len(group) >= _FEWEST_EACH for group in groups.values()):
            return tuple(
                replace(step, places=[last[run] for run in group], result=patterns[group[0]], decides=True,
                        patterns={}, support={})
                for group in groups.values()
            )  # fmt: skip
    return None


def _patterns(results: Mapping[int, Any]) -> Iterator[dict[int, Any]]:
    """Yield patterns for the results of all runs: one field of each, or the whole result."""
    values = list(results.values())
    if all(isinstance(value, Mapping) for value in values):
        for name in values[0]:
            if all(_is_short(value.get(name, UNANSWERED)) for value in values):
                yield {run: {name: value[name]} for run, value in results.items()}
    elif all(map(_is_short, values)):
        yield dict(results)


def _is_short(value: Any) -> bool:
    return isinstance(value, (str, int, float, bool)) and len(canonical(value)) <= LONGEST
