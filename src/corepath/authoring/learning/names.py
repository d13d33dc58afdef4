"""Names for learned actions: the tool's name, and a telling value if several actions share a tool."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, takewhile
from typing import Any, Final

from corepath.authoring.learning.steps import SeenStep
from corepath.notation.action import Action
from corepath.notation.matchers import ResultOf
from corepath.values import canonical, is_number, tool_text

_PIECE: Final = re.compile(r"[A-Za-z0-9_]+")
_WORD: Final = re.compile(r"\w+")
_NUMBERS: Final = re.compile(r"[0-9_.]+")
_SHORT: Final = 12
"""Longer texts lose what all of them begin and end with."""
_LONGEST_WORD: Final = 24
_LONGEST: Final = 36
_LONGEST_TOOL: Final = 80


def name_actions(steps: Sequence[SeenStep]) -> list[tuple[Action, ...]]:
    """Return the named actions of each step."""
    tools = Counter(step.tool for step in steps)
    taken: set[str] = set()
    known: dict[Action, Action] = {}
    found: list[tuple[Action, ...]] = []
    for step in steps:
        wanted = _as_name(step.tool)
        if tools[step.tool] > 1 and (value := _telling_value(step, steps)) is not None:
            wanted = f"{wanted}_{value}"
        named = replace(step, patterns={name: _name_source(one, known) for name, one in step.patterns.items()})
        found.append(tuple(action.named(_free_name(wanted, taken)) for action in named.make_actions()))
        known |= {action: action for action in found[-1]}
    return found


def _as_name(tool: str) -> str:
    """Return a tool's name, or a short name of its letters and digits if it would need quotes or is very long."""
    if tool_text(tool) == tool and len(tool) <= _LONGEST_TOOL:
        return tool
    return "_".join(_WORD.findall(tool))[:_LONGEST] or "step"


def _name_source(pattern: Any, known: Mapping[Action, Action]) -> Any:
    """Return a reference to a result with the named action, so that it is written by that name."""
    return (
        replace(pattern, action=known.get(pattern.action, pattern.action)) if isinstance(pattern, ResultOf) else pattern
    )


def _telling_value(step: SeenStep, steps: Sequence[SeenStep]) -> str | None:
    """Return a short value, or two, that no other step of the same tool has, or None if there is none."""
    same = [_values_of(other) for other in steps if other.tool == step.tool]
    mine, others = (
        _values_of(step),
        [_values_of(other) for other in steps if other.tool == step.tool and other is not step],
    )
    words = {name: word for name in mine if (word := _as_word(name, mine, same))}
    for names in (*((name,) for name in words), *combinations(words, 2)):
        text = "_".join(words[name] for name in names)
        if len(text) <= _LONGEST and not any(_are_equal(mine, other, names) for other in others):
            return text
    return None


def _are_equal(one: Mapping[str, Any], other: Mapping[str, Any], names: Iterable[str]) -> bool:
    return all(name in other and canonical(one[name]) == canonical(other[name]) for name in names)


def _as_word(name: str, values: Mapping[str, Any], same: Sequence[Mapping[str, Any]]) -> str:
    """Return a value as a part of a name: without what all values of the argument begin and end with."""
    value = values[name]
    items = value if isinstance(value, list) else [value]
    if items and all(map(is_number, items)):
        text = "_".join(str(item) if isinstance(item, int) else f"{item:g}" for item in items)
        return text if _NUMBERS.fullmatch(text) and len(text) <= _LONGEST_WORD else ""
    if not isinstance(value, str):
        return ""
    text = value
    texts = list(dict.fromkeys(str(one[name]) for one in same if name in one))
    if len(texts) > 1 and len(text) > _SHORT:
        begin, end = _common_start(texts), _common_start([one[::-1] for one in texts])
        text = text[begin : len(text) - end]
    found = "_".join(_PIECE.findall(text))
    return found if len(found) <= _LONGEST_WORD else ""


def _common_start(texts: Sequence[str]) -> int:
    """Return how many letters all texts begin with, up to the last whole word."""
    alike = takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False))
    return len(re.sub("[A-Za-z0-9]*$", "", "".join(letters[0] for letters in alike)))


def _values_of(step: SeenStep) -> dict[str, Any]:
    """Return the arguments that are always the same, and what the result must be."""
    result = step.result if isinstance(step.result, Mapping) else {"": step.result}
    return {**step.fixed, **{f"-> {name}": value for name, value in result.items()}}


def _free_name(wanted: str, taken: set[str]) -> str:
    names = (wanted, *(f"{wanted}_{number}" for number in range(2, len(taken) + 3)))
    name = next(name for name in names if name not in taken)
    taken.add(name)
    return name
