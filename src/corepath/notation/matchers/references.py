"""Matchers that refer to other calls: variables, and results of earlier steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from corepath.notation.matchers.base import Matcher, Scope, walk
from corepath.values import equal, look_up, to_notation


@dataclass(frozen=True)
class Variable(Matcher):
    """Matches a variable's value.

    The value comes from the episode's params or from the first step that used the variable.
    """

    name: str

    def matches(self, value: Any, scope: Scope) -> bool:
        if self.name in scope.variables:
            return equal(scope.variables[self.name], value)
        scope.variables[self.name] = value
        return True

    def examples(self) -> tuple[Any, ...]:
        return (self.name,)

    def __str__(self) -> str:
        return f"${self.name}"


@dataclass(frozen=True)
class ResultOf(Matcher):
    """Matches an action's latest result, or the part of that result at `path`.

    If the result or part is a list, its items match too.
    """

    action: Any
    path: str | None

    def matches(self, value: Any, scope: Scope) -> bool:
        if scope.lenient and self.action not in scope.results:
            return True
        return any(equal(found, value) for found in self.values(scope))

    def values(self, scope: Scope) -> list[Any]:
        """Return the values that match: the result, or its part at `path`.

        If that is a list, its items match too. Returns an empty list if the action has no result yet.
        """
        if self.action not in scope.results:
            return []
        found = look_up(scope.results[self.action], self.path)
        return found + [item for one in found if isinstance(one, (list, tuple)) for item in one]

    def examples(self) -> tuple[Any, ...]:
        return (f"<{self}>",)

    def __str__(self) -> str:
        path = "" if self.path is None else f", {to_notation(self.path)}"
        return f"result_of({self.action}{path})"


def depends_on_calls(matcher: Matcher) -> bool:
    """Return True if the matcher contains a variable or a `result_of`, so that other calls affect what it matches."""
    return any(isinstance(one, (Variable, ResultOf)) for one in walk(matcher))


def variables(matcher: Matcher) -> set[str]:
    """Return the names of the variables in a matcher."""
    return {one.name for one in walk(matcher) if isinstance(one, Variable)}
