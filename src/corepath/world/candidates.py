"""Candidates: plausible calls to every tool, with values from the prompt and the state."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from itertools import islice, product
from math import prod
from typing import Any, Final

from corepath.notation.call import REQUIRED, Call
from corepath.notation.matchers import Literal
from corepath.notation.parameters import Parameter
from corepath.task import Simulator, Task
from corepath.values import canonical, equal, is_number
from corepath.world.exploring import as_call

MOST_CALLS_PER_TOOL: Final = 40
"""The maximum number of candidate calls for one tool."""
MOST_VALUES: Final = 8
"""The maximum number of plausible values for one argument."""


class Candidates:
    """Finds plausible calls for a task.

    The argument values come from the prompt, the identifiers in the state, the steps and the decoys.
    """

    def __init__(self, task: Task, world: Simulator) -> None:
        self.task, self.world = task, world
        prompt = task.prompt
        quoted = re.findall(r"'([^']{1,80})'|\"([^\"]{1,80})\"", prompt)
        names = list(dict.fromkeys(_names(task.start)))
        aliases = list(task.says.values())
        texts = [*(one or other for one, other in quoted), *(value for value in aliases if isinstance(value, str))]
        texts += [text for text in (*_step_texts(task), *names) if in_prompt(text, prompt)]
        self.texts = list(dict.fromkeys([*texts, *names]))
        self.numbers = list(dict.fromkeys([*numbers_in(prompt), *(value for value in aliases if is_number(value))]))
        self._used = _values_used(task)
        self._families = list(_families(task.start))
        self.whole = True
        """Whether no plausible call or value has been cut from a list so far."""

    def calls(self, tool: str) -> list[Call]:
        """Return candidate calls to a tool, the most plausible first."""
        inputs = self.world.tools[tool].inputs
        columns = [self._values(parameter) for parameter in inputs.values()]
        self.whole = self.whole and prod(map(len, columns)) <= MOST_CALLS_PER_TOOL
        ranks = product(*(range(len(column)) for column in columns))
        best = sorted(islice(ranks, 10 * MOST_CALLS_PER_TOOL**2), key=sum)[:MOST_CALLS_PER_TOOL]
        rows = [[column[rank] for column, rank in zip(columns, row, strict=True)] for row in best]
        return [Call(tool, dict(zip(inputs, row, strict=True))) for row in rows]

    def _values(self, parameter: Parameter) -> list[Any]:
        """Return the values to try for a parameter.

        The default comes first, followed by the parameter's options. If the parameter has no fixed options, the most
        plausible values follow instead.
        """
        values = [] if parameter.default is REQUIRED else [parameter.default]
        if parameter.options is not None:
            values += parameter.options
        else:
            plausible = _distinct(self._plausible_values(parameter))
            self.whole = self.whole and len(plausible) <= MOST_VALUES
            values += plausible[:MOST_VALUES] or parameter.samples
        return _distinct(values)

    def _plausible_values(self, parameter: Parameter) -> list[Any]:
        """Return plausible values for a parameter, the most plausible first.

        Values in steps and decoys come first, then similar identifiers, then any other value that has the right type.
        """
        used = [value for value in self._used.get(parameter.name, ()) if parameter.admits(value)]
        related = [name for family in self._families for value in used if value in family for name in family]
        return [*used, *related, *(value for value in (*self.texts, *self.numbers) if parameter.admits(value))]


def _distinct(values: Iterable[Any]) -> list[Any]:
    """Remove duplicate values. Among equal values, the last one is kept, at the position of the first."""
    return list({canonical(value): value for value in values}.values())


def _values_used(task: Task) -> dict[str, list[Any]]:
    """Return the values in the task's steps and decoys, keyed by argument name."""
    found: dict[str, list[Any]] = {}
    calls = [as_call(call) for decoy in task.decoys.values() for call in decoy.calls]
    pairs = [pair for call in calls if isinstance(call.arguments, Mapping) for pair in call.arguments.items()]
    alphabet = task.automaton.alphabet
    for number in sorted(alphabet.steps):
        for name, pattern in alphabet.actions[number].arguments.fields:
            if isinstance(pattern, Literal):
                pairs.append((name, pattern.value))
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


def _families(value: Any) -> Iterator[list[str]]:
    """Yield groups of similar identifiers in a state: the keys of each mapping, and the strings in each list."""
    if is_dataclass(value):
        for item in vars(value).values():
            yield from _families(item)
    elif isinstance(value, Mapping):
        yield list(value)
        for item in value.values():
            yield from _families(item)
    elif isinstance(value, list):
        texts = [item for item in value if isinstance(item, str)]
        if texts:
            yield texts
        for item in value:
            yield from _families(item)


def _step_texts(task: Task) -> Iterator[str]:
    """Yield the literal string arguments in the task's steps."""
    alphabet = task.automaton.alphabet
    for number in sorted(alphabet.steps):
        for _, pattern in alphabet.actions[number].arguments.fields:
            if isinstance(pattern, Literal) and isinstance(pattern.value, str):
                yield pattern.value


def _names(value: Any) -> Iterator[str]:
    """Yield the identifiers in a state: keys of mappings and short strings, but not field names."""
    if is_dataclass(value):
        for name, item in vars(value).items():
            if not name.startswith("_"):
                yield from _names(item)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from _names(item)
    elif isinstance(value, list):
        for item in value:
            yield from _names(item)
    elif isinstance(value, str) and 0 < len(value) <= 40:
        yield value


def in_prompt(value: Any, prompt: str) -> bool:
    """Return True if `prompt` contains `value`. A string must appear as whole words, a number as a number."""
    if isinstance(value, str):
        return bool(value) and re.search(rf"(?<!\w)(?<!\w[.@]){re.escape(value)}(?!\w)(?![.@]\w)", prompt) is not None
    return is_number(value) and any(equal(number, value) for number in numbers_in(prompt))


@cache
def numbers_in(text: str) -> tuple[float, ...]:
    """Return the numbers that appear in `text`, without duplicates."""
    found = re.findall(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?", text)
    return tuple(dict.fromkeys(float(number.replace(",", "")) for number in found))
