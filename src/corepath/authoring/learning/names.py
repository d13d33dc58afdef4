"""Names for learned actions: the tool's name, and a telling value if several actions share a tool."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from corepath.authoring.learning.steps import SeenStep
from corepath.notation.action import Action
from corepath.notation.matchers import ResultOf
from corepath.values import canonical

_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,23}|[0-9]{1,8}")


def name_actions(steps: Sequence[SeenStep]) -> list[tuple[Action, ...]]:
    """Return the named actions of each step."""
    tools = Counter(step.tool for step in steps)
    taken: set[str] = set()
    known: dict[Action, Action] = {}
    found: list[tuple[Action, ...]] = []
    for step in steps:
        wanted = step.tool
        if tools[step.tool] > 1 and (value := _telling_value(step, steps)) is not None:
            wanted = f"{step.tool}_{value}"
        named = replace(step, patterns={name: _name_source(one, known) for name, one in step.patterns.items()})
        found.append(tuple(action.named(_free_name(wanted, taken)) for action in named.make_actions()))
        known |= {action: action for action in found[-1]}
    return found


def _name_source(pattern: Any, known: Mapping[Action, Action]) -> Any:
    """Return a reference to a result with the named action, so that it is written by that name."""
    return (
        replace(pattern, action=known.get(pattern.action, pattern.action)) if isinstance(pattern, ResultOf) else pattern
    )


def _telling_value(step: SeenStep, steps: Sequence[SeenStep]) -> str | None:
    """Return a short value that no other step of the same tool has, or None if there is none."""
    others = [_values_of(other) for other in steps if other.tool == step.tool and other is not step]
    for name, value in _values_of(step).items():
        text = str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else ""
        told_apart = all(name not in other or canonical(other[name]) != canonical(value) for other in others)
        if told_apart and _WORD.fullmatch(text):
            return text
    return None


def _values_of(step: SeenStep) -> dict[str, Any]:
    """Return the arguments that are always the same, and what the result must be."""
    result = step.result if isinstance(step.result, Mapping) else {"": step.result}
    return {**step.fixed, **{f"-> {name}": value for name, value in result.items()}}


def _free_name(wanted: str, taken: set[str]) -> str:
    names = (wanted, *(f"{wanted}_{number}" for number in range(2, len(taken) + 3)))
    name = next(name for name in names if name not in taken)
    taken.add(name)
    return name
