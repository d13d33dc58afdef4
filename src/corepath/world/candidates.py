"""Calls that an agent might think of: every tool of a world, with values from the prompt and from the state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from itertools import islice, product
from typing import Any, Final

from corepath.notation.call import REQUIRED, Call
from corepath.notation.matchers import Literal
from corepath.notation.parameters import Parameter
from corepath.task import Simulator, Task
from corepath.values import canonical, equal, is_number
from corepath.world.exploring import as_call

MOST_CALLS_A_TOOL: Final = 40
"""Ways to call one tool that are thought of."""
MOST_VALUES: Final = 8
"""Values of one argument that are thought of."""


class Pool:
    """Calls that an agent might think of: every tool, with values from the prompt and the state's identifiers."""

    def __init__(self, task: Task, world: Simulator) -> None:
        self.task, self.world = task, world
        prompt = task.prompt
        quoted = re.findall(r"'([^']{1,80})'|\"([^\"]{1,80})\"", prompt)
        names = list(dict.fromkeys(_names(task.start)))
        aliases = list(task.says.values())
        texts = [*(one or other for one, other in quoted), *(one for one in aliases if isinstance(one, str))]
        texts += [one for one in (*_step_texts(task), *names) if in_prompt(one, prompt)]
        self.texts = list(dict.fromkeys([*texts, *names]))
        self.numbers = list(dict.fromkeys([*numbers_in(prompt), *(one for one in aliases if is_number(one))]))
        self._used = _values_used(task)
        self._families = list(_families(task.start))

    def calls(self, tool: str) -> list[Call]:
        """The ways to call a tool, the likeliest first, up to a limit."""
        inputs = self.world.tools[tool].inputs
        columns = [self._values(parameter) for parameter in inputs.values()]
        ranked = sorted(
            islice(product(*(range(len(column)) for column in columns)), 10 * MOST_CALLS_A_TOOL**2), key=sum
        )
        rows = [[column[rank] for column, rank in zip(columns, row, strict=True)] for row in ranked[:MOST_CALLS_A_TOOL]]
        return [Call(tool, dict(zip(inputs, row, strict=True))) for row in rows]

    def _values(self, parameter: Parameter) -> list[Any]:
        """What an argument might be, the likeliest first: as steps and decoys have it, its kind, any value."""
        values = [] if parameter.default is REQUIRED else [parameter.default]
        if parameter.options is not None:
            values += parameter.options
        else:
            used = [value for value in self._used.get(parameter.name, ()) if parameter.admits(value)]
            kin = [one for family in self._families for value in used if value in family for one in family]
            fitting = [value for value in (*self.texts, *self.numbers) if parameter.admits(value)]
            likely = {canonical(value): value for value in (*used, *kin, *fitting)}
            values += list(likely.values())[:MOST_VALUES] or parameter.samples
        return list({canonical(value): value for value in values}.values())


def _values_used(task: Task) -> dict[str, list[Any]]:
    """For each name of an argument the values that the task's steps and decoys give it."""
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
    """Identifiers of the same kind: the keys of one mapping, the texts of one list."""
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
    """The texts that the steps of the procedure are called with."""
    alphabet = task.automaton.alphabet
    for number in sorted(alphabet.steps):
        for _, pattern in alphabet.actions[number].arguments.fields:
            if isinstance(pattern, Literal) and isinstance(pattern.value, str):
                yield pattern.value


def _names(value: Any) -> Iterator[str]:
    """The identifiers in a state: keys and short texts, not the names of its fields."""
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
    """Whether a prompt says the value literally: a text as whole words, a number as a number."""
    if isinstance(value, str):
        return bool(value) and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", prompt) is not None
    return is_number(value) and any(equal(number, value) for number in numbers_in(prompt))


@cache
def numbers_in(text: str) -> tuple[float, ...]:
    """The numbers that stand in a text."""
    found = re.findall(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?", text)
    return tuple(dict.fromkeys(float(one.replace(",", "")) for one in found))
