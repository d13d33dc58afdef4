"""Patterns for arguments whose values differ from run to run.

A value may come from the parameters of the run, from the result of an earlier step, or be the same as in an earlier
step. Otherwise it is one of few values, a number with a tolerance, or free.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from corepath.authoring.learning.good_run import GoodRun
from corepath.authoring.learning.steps import Place, SeenStep, call_at
from corepath.errors import count
from corepath.notation.call import UNANSWERED
from corepath.notation.matchers import ResultOf, Variable
from corepath.notation.patterns import ANY, approx, one_of
from corepath.values import canonical, equal, is_name, is_number, look_up, parse_json

MOST_OPTIONS: Final = 5
"""If there are more different values, any value is right."""
_CLOSE: Final = 0.02
_LARGEST: Final = 1e300
"""Larger numbers have no mean that is a number."""
_MOST_LEAVES: Final = 500
_DEEPEST: Final = 5


@dataclass(frozen=True)
class Pattern:
    """The pattern of an argument, what speaks for it, and the number of the step whose result it refers to."""

    pattern: Any
    support: str
    source: int | None = None


def find_patterns(steps: Sequence[SeenStep], runs: Sequence[GoodRun]) -> frozenset[int]:
    """Find patterns for all arguments that vary. Returns the steps whose results are referred to."""
    sources: set[int] = set()
    variables: dict[str, list[Any]] = {}
    for number, step in enumerate(steps):
        for name in step.varying:
            found = _find_pattern(number, name, steps, runs, variables)
            step.patterns[name] = found.pattern
            step.support[name] = found.support
            if found.source is not None:
                sources.add(found.source)
    return frozenset(sources)


def _find_pattern(
    number: int, name: str, steps: Sequence[SeenStep], runs: Sequence[GoodRun], variables: dict[str, list[Any]]
) -> Pattern:
    step = steps[number]
    values = [call_at(runs, place).arguments[name] for place in step.places]
    if len(step.places) == len(step.runs) == len(runs):
        found = (
            _from_params(values, step.places, runs)
            or _from_result(number, values, steps, runs)
            or _from_variable(name, values, number, steps, runs, variables)
        )
        if found is not None:
            return found
    return pattern_of_values(values)


def pattern_of_values(values: Sequence[Any]) -> Pattern:
    """Return a pattern for values that come from nowhere in the runs."""
    distinct = list({canonical(value): value for value in values}.values())
    if len(distinct) > 1 and all(is_number(value) and abs(value) <= _LARGEST for value in distinct):
        middle = median(distinct)
        apart = max(abs(value - middle) for value in distinct)
        if apart <= _CLOSE * abs(middle):
            return Pattern(approx(middle, float(f"{apart:.6g}")), f"{len(distinct)} values close to each other")
    if len(distinct) > MOST_OPTIONS or any(isinstance(value, str) and len(value.split()) > 3 for value in distinct):
        return Pattern(ANY, f"{len(distinct)} different values" if len(distinct) > 1 else "free text")
    return Pattern(one_of(*distinct) if len(distinct) > 1 else distinct[0], count(len(distinct), "value"))


def _from_params(values: Sequence[Any], places: Sequence[Place], runs: Sequence[GoodRun]) -> Pattern | None:
    """Find a parameter that has the value in every run."""
    for name in runs[0].params:
        if is_name(name) and all(
            name in runs[run].params and equal(runs[run].params[name], value)
            for (run, _), value in zip(places, values, strict=True)
        ):
            return Pattern(Variable(name), "the parameter in all runs")
    return None


def _from_result(
    number: int, values: Sequence[Any], steps: Sequence[SeenStep], runs: Sequence[GoodRun]
) -> Pattern | None:
    """Find an earlier step with the value in its result, in every run."""
    wanted = {run: (place, value) for (run, place), value in zip(steps[number].places, values, strict=True)}
    for other, step in enumerate(steps):
        actions = step.make_actions() if set(step.varying) <= set(step.patterns) else ()
        if other == number or len(step.runs) < len(runs) or len(actions) != 1:
            continue
        before = {run: place for run, place in sorted(step.places) if place < wanted[run][0]}
        results = {run: runs[run].calls[place].result for run, place in before.items()}
        if len(results) == len(runs):
            for path in _paths_to(_as_value(results[0]), wanted[0][1]):
                if all(_stands_at(results[run], path, value) for run, (_, value) in wanted.items()):
                    return Pattern(ResultOf(actions[0], path), "from that result in all runs", other)
    return None


def _from_variable(
    name: str, values: Sequence[Any], number: int, steps: Sequence[SeenStep], runs: Sequence[GoodRun],
    variables: dict[str, list[Any]],
) -> Pattern | None:  # fmt: skip
    """Find an argument of another step that has the same value in every run."""
    own = [value for _, value in sorted(zip(steps[number].places, values, strict=True), key=lambda one: one[0])]
    for known, others in variables.items():
        if all(map(equal, own, others)):
            return Pattern(Variable(known), f"the same as ${known} in all runs")
    for step in steps[number + 1 :]:
        if len(step.places) != len(runs) or len(step.runs) != len(runs):
            continue
        for other in step.varying:
            theirs = [call_at(runs, place).arguments[other] for place in sorted(step.places)]
            if is_name(name) and name not in variables and all(map(equal, own, theirs)):
                variables[name] = own
                return Pattern(Variable(name), f"also {other} of {step.tool} in all runs")
    return None


def _as_value(result: Any) -> Any:
    if result is UNANSWERED or not isinstance(result, str):
        return result
    try:
        return parse_json(result)
    except ValueError:
        return result


def _paths_to(value: Any, wanted: Any) -> Iterator[str | None]:
    """Yield the paths at which a value stands in a result, the shortest first."""
    if equal(value, wanted):
        yield None
    waiting: list[tuple[str, Any]] = [("", value)]
    seen = 0
    while waiting and seen < _MOST_LEAVES:
        path, here = waiting.pop(0)
        seen += 1
        children: Sequence[tuple[str, Any]] = ()
        if isinstance(here, Mapping):
            children = [
                (f"{path}.{name}" if path else str(name), one) for name, one in here.items() if is_name(str(name))
            ]
        elif isinstance(here, list):
            children = [(path, one) for one in here]
        for inner, one in children:
            if inner and equal(one, wanted):
                yield inner
            elif inner.count(".") < _DEEPEST:
                waiting.append((inner, one))


def _stands_at(result: Any, path: str | None, value: Any) -> bool:
    found = look_up(result, path)
    return any(
        equal(one, value) or (isinstance(one, list) and any(equal(item, value) for item in one)) for one in found
    )
