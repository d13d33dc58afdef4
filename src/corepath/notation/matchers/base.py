"""The interface of all matchers, and the scope in which they are evaluated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

PROBES: Final[tuple[Any, ...]] = ("anything", "", 0, 1, -1, 0.5, 100, True, False, None, [], {}, ["a"], "2025-01-01")
"""Values of every JSON type, tried when there are no better candidates."""


@dataclass
class Scope:
    """The variables and earlier results that are known while one call is matched."""

    variables: dict[str, Any] = field(default_factory=dict)
    results: Mapping[Any, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Matcher(ABC):
    """A condition on one value."""

    @abstractmethod
    def matches(self, value: Any, scope: Scope) -> bool:
        """Whether the value fits. A variable without a value takes this one, in `scope`."""

    @abstractmethod
    def examples(self) -> tuple[Any, ...]:
        """Values that fit, the simplest first, including boundary values."""

    def inner(self) -> tuple[Matcher, ...]:
        """The matchers nested directly in this one."""
        return ()


def walk(matcher: Matcher) -> Iterator[Matcher]:
    """The matcher and all matchers nested in it."""
    waiting = [matcher]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(one.inner())


def try_match(matcher: Matcher, value: Any, scope: Scope) -> bool:
    """Match the value, and undo the bindings of variables if it does not fit."""
    before = dict(scope.variables)
    if matcher.matches(value, scope):
        return True
    scope.variables = before
    return False
