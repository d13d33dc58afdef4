"""Matchers that refer to other calls: variables and results of earlier steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from corepath.notation.matchers.base import Matcher, Scope, walk
from corepath.values import equal, look_up, to_notation


@dataclass(frozen=True)
class Variable(Matcher):
    """The value of a variable: from the episode's params, or from the first step that matched it."""

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
    """The result of the latest successful step of an action, or the part of it at a path."""

    action: Any
    path: str | None

    def matches(self, value: Any, scope: Scope) -> bool:
        return any(equal(found, value) for found in self.values(scope))

    def values(self, scope: Scope) -> list[Any]:
        """The result and, if it is a list, each of its items; empty before the action succeeded."""
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
    """Whether other calls decide which values fit: there is a variable or a `result_of` in the matcher."""
    return any(isinstance(one, (Variable, ResultOf)) for one in walk(matcher))


def variables(matcher: Matcher) -> set[str]:
    """The names of the variables in a matcher."""
    return {one.name for one in walk(matcher) if isinstance(one, Variable)}
