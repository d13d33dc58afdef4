"""Calls that come too early, although a world does not notice: they use what only a later call tells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final

from corepath.authoring.learning.log import Run
from corepath.files.tool_file import Tools
from corepath.notation.call import Call
from corepath.values import is_number, parse_json

_SHORTEST: Final = 3
"""Shorter values are not looked for within texts."""


@dataclass(frozen=True)
class Early:
    """Calls of a path that may come too early: earlier than in any run, before a call that they may depend on.

    `is_sure` says that one does: it has a value that only a later call tells, or it is a read before a write, not
    answered alike in all runs. `reads` holds the places of other reads before a write. Those are early only if they are
    answered otherwise than in the runs.
    """

    is_sure: bool = False
    reads: tuple[int, ...] = ()


def find_early(run: Run, runs: Iterable[Run], calls_of: Callable[[int], Sequence[Call]], tools: Tools) -> Early:
    """Find calls that come before others in an order that no known run has.

    `calls_of` gives the calls of an event in all runs.
    """
    known = {pair for one in runs for pair in combinations(one, 2)}
    is_sure, reads = False, set()
    for place, event in enumerate(run):
        for later in run[place + 1 :]:
            if (event, later) not in known:
                mine, second = calls_of(event), calls_of(later)[0]
                is_sure = is_sure or uses_result(mine[0], second)
                if tools.kind(mine[0].tool) == "read" and tools.kind(second.tool) == "write":
                    is_sure = is_sure or len({str(call.result) for call in mine}) > 1
                    reads.add(place)
    return Early(is_sure, tuple(sorted(reads)))


def uses_result(first: Call, second: Call) -> bool:
    """Whether a call has a value that the other call's result tells, and that is not in the other's arguments."""
    given = set(_leaves(second.arguments))
    told = [value for value in _leaves(second.result) if value not in given]
    return any(_is_told(value, told) for value in _leaves(first.arguments) if value not in given)


def _is_told(value: str | float, told: Iterable[str | float]) -> bool:
    """Whether a value is among those that are told, or a part of a text."""
    return any(
        value == one or (isinstance(one, str) and len(str(value)) >= _SHORTEST and str(value) in one) for one in told
    )


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
