"""Reads that are told apart by their results, e.g. the same call on two pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from corepath.authoring.learning.good_run import GoodRun
from corepath.authoring.learning.steps import Place, SeenStep
from corepath.notation.call import UNANSWERED
from corepath.values import canonical, parse_json

_MOST_RESULTS: Final = 50
LONGEST: Final = 200


def tell_apart(steps: Sequence[SeenStep], runs: Sequence[GoodRun]) -> list[SeenStep]:
    """Split each read whose results are the same in every run, but come in different orders, by its results."""
    return [part for step in steps for part in (_split(step, runs) if step.reads else (step,))]


def _split(step: SeenStep, runs: Sequence[GoodRun]) -> Iterator[SeenStep]:
    groups: dict[str, list[Place]] = {}
    values: dict[str, Any] = {}
    for run, place in step.places:
        value = as_json(runs[run].calls[place].result)
        text = canonical(value) if value is not UNANSWERED else ""
        groups.setdefault(text, []).append((run, place))
        values[text] = value
    usual = [text for text, places in groups.items() if len({run for run, _ in places}) == len(runs)]
    patterns = {text: _find_pattern(text, values) for text in usual}
    if len(groups) > _MOST_RESULTS or len(usual) < 2 or None in patterns.values() or not _are_mixed(groups, usual):
        yield step
        return
    for text in usual:
        yield replace(step, places=groups[text], result=patterns[text])
    if rest := [place for text, places in groups.items() if text not in usual for place in places]:
        yield replace(step, places=rest)


def _are_mixed(groups: Mapping[str, Sequence[Place]], usual: Sequence[str]) -> bool:
    """Whether the results come in different orders in different runs."""
    orders: dict[int, list[tuple[int, str]]] = {}
    for text in usual:
        for run, place in groups[text]:
            orders.setdefault(run, []).append((place, text))
    return len({tuple(dict.fromkeys(text for _, text in sorted(found))) for found in orders.values()}) > 1


def _find_pattern(text: str, values: Mapping[str, Any]) -> Any:
    """Return a short pattern that only this result matches, or None if there is none."""
    value = values[text]
    if isinstance(value, Mapping):
        others = [other for one, other in values.items() if one != text and isinstance(other, Mapping)]
        for name, part in value.items():
            short = isinstance(part, (str, int, float, bool)) and len(canonical(part)) <= LONGEST
            if short and all(name not in other or canonical(other[name]) != canonical(part) for other in others):
                return {name: part}
    return value if text and len(text) <= LONGEST else None


def as_json(result: Any) -> Any:
    """Return a result as a value. A text that is JSON stands for its value, as in `returns`."""
    if not isinstance(result, str):
        return result
    try:
        return parse_json(result)
    except ValueError:
        return result
