"""The matchers `OneOf` and `NoneOf`, which combine several options."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from corepath.notation.matchers.base import PROBES, Matcher, Scope, try_match, walk
from corepath.notation.matchers.references import variables
from corepath.values import canonical, is_number


@dataclass(frozen=True)
class OneOf(Matcher):
    """Matches a value that matches at least one of the options."""

    options: tuple[Matcher, ...]

    def matches(self, value: Any, scope: Scope) -> bool:
        return any(try_match(option, value, scope) for option in self.options)

    def examples(self) -> tuple[Any, ...]:
        return unique(example for option in self.options for example in option.examples())

    def inner(self) -> tuple[Matcher, ...]:
        return self.options

    def __str__(self) -> str:
        return f"one_of({', '.join(map(str, self.options))})"


@dataclass(frozen=True)
class NoneOf(Matcher):
    """Matches a value that matches none of the options."""

    options: tuple[Matcher, ...]

    def matches(self, value: Any, scope: Scope) -> bool:
        before = dict(scope.variables)
        found = any(try_match(option, value, scope) for option in self.options)
        scope.variables = before
        return not found

    def examples(self) -> tuple[Any, ...]:
        return copy.deepcopy(self._examples)

    @cached_property
    def _examples(self) -> tuple[Any, ...]:
        nested = (one for option in self.options for one in walk(option))
        excluded = list(islice((example for one in nested for example in one.examples()), 20))
        near = [value for example in excluded for value in _neighbours(example)]
        bound = {name: name for name in variables(self)}
        fitting = (value for value in [*near, *PROBES, *excluded] if self.matches(value, Scope(dict(bound))))
        return unique(islice(fitting, 6))[:4]

    def inner(self) -> tuple[Matcher, ...]:
        return self.options

    def __str__(self) -> str:
        return f"none_of({', '.join(map(str, self.options))})"


def unique(values: Iterable[Any]) -> tuple[Any, ...]:
    """Remove duplicate values."""
    return tuple({canonical(value): value for value in values}.values())


def _neighbours(value: Any) -> Iterator[Any]:
    if is_number(value):
        yield from (value + 1, value - 1)
    elif isinstance(value, str):
        yield from (f"not {value}", value + "x")
