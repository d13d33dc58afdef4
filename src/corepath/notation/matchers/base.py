"""The interface that all matchers share, and the scope in which they are evaluated."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

PROBES: Final[tuple[Any, ...]] = ("anything", "", 0, 1, -1, 0.5, 100, True, False, None, [], {}, ["a"], "2025-01-01")
"""Values of every JSON type, which serve as test values if there are no better ones."""


@dataclass
class Scope:
    """The variables and earlier results that are known while a call is matched.

    If `lenient` is True, a reference to a result that is not known yet matches every value.
    """

    variables: dict[str, Any] = field(default_factory=dict)
    results: Mapping[Any, Any] = field(default_factory=dict)
    lenient: bool = False


@dataclass(frozen=True)
class Matcher(ABC):
    """A condition on a value."""

    @abstractmethod
    def matches(self, value: Any, scope: Scope) -> bool:
        """Return True if `value` matches. Matching sets variables that have no value in `scope` yet."""

    @abstractmethod
    def examples(self) -> tuple[Any, ...]:
        """Return values that match, the simplest first, including boundary values."""

    def inner(self) -> tuple[Matcher, ...]:
        """Return the matchers that are directly nested in this matcher."""
        return ()


def walk(matcher: Matcher) -> Iterator[Matcher]:
    """Yield the matcher and all matchers nested in it, at any depth."""
    waiting = [matcher]
    while waiting:
        one = waiting.pop()
        yield one
        waiting.extend(one.inner())


def try_match(matcher: Matcher, value: Any, scope: Scope) -> bool:
    """Return True if `value` matches. Otherwise, restore the variables in `scope` and return False."""
    before = dict(scope.variables)
    if matcher.matches(value, scope):
        return True
    scope.variables = before
    return False
