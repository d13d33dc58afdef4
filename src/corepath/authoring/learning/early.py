"""Calls that come too early, although a world does not notice: they use what only a later call tells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any, Final

from corepath.authoring.learning.log import Run
from corepath.files.tool_file import Tools
from corepath.notation.call import Call
from corepath.values import is_number, parse_json

_SHORTEST: Final = 3
"""Shorter values are not looked for within texts."""


def is_early(first: Call, second: Call, tools: Tools) -> bool:
    """Whether a call may come too early if it comes before another one.

    That is so for a read before a write, and for a call with a value that the other call's result tells.
    """
    if tools.kind(first.tool) == "read" and tools.kind(second.tool) == "write":
        return True
    given = set(_leaves(second.arguments))
    told = [value for value in _leaves(second.result) if value not in given]
    return any(_is_told(value, told) for value in _leaves(first.arguments) if value not in given)


def _is_told(value: str | float, told: Iterable[str | float]) -> bool:
    """Whether a value is among those that are told, or a part of a text."""
    return any(
        value == one or (isinstance(one, str) and len(str(value)) >= _SHORTEST and str(value) in one) for one in told
    )


def comes_early(run: Run, runs: Iterable[Run], is_doubtful: Callable[[int, int], bool]) -> bool:
    """Whether two events come in a doubtful order that no known run has."""
    known = {pair for one in runs for pair in combinations(one, 2)}
    return any(pair not in known and is_doubtful(*pair) for pair in combinations(run, 2))


def _leaves(value: Any) -> Iterator[str | float]:
    """Yield the texts and numbers in a value. A text that is JSON stands for its value."""
    waiting = [value]
    while waiting:
        here = waiting.pop()
        if isinstance(here, str):
            try:
                here = parse_json(here)
            except ValueError:
                yield here
                continue
        if isinstance(here, Mapping):
            waiting.extend(here.values())
        elif isinstance(here, list):
            waiting.extend(here)
        elif is_number(here):
            yield here
