"""Actions, which are the steps in a procedure, and tools, which create actions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from corepath.errors import TaskError
from corepath.notation.call import REQUIRED, UNANSWERED, Call
from corepath.notation.matchers import Fields, Literal, Matcher, Scope
from corepath.notation.patterns import as_matcher, open_objects
from corepath.notation.procedure import Procedure
from corepath.notation.subsumption import covers
from corepath.values import key_text, parse_json, to_notation, tool_text


@dataclass(frozen=True)
class Action(Procedure):
    """One step in a procedure: a tool, a pattern for its arguments and, optionally, a pattern for its result.

    In a task's `reads`, `neutral` and `forbid`, the tool may be a glob such as `get_*`.
    """

    tool: str
    arguments: Fields
    result: Matcher | None = None
    name: str | None = field(default=None, compare=False)

    def returns(self, pattern: Any) -> Action:
        """Return a copy that requires a matching result: `check(policy="P1").returns({"status": "conflict"})`."""
        return replace(self, result=open_objects(as_matcher(pattern)))

    def named(self, name: str) -> Action:
        """Return a copy of the action with this name."""
        return replace(self, name=name)

    def fits_tool(self, tool: str) -> bool:
        """Return True if the action's tool name or glob matches `tool`."""
        return tool == self.tool or (self.is_glob and fnmatchcase(tool, self.tool))

    def fits_result(self, result: Any, scope: Scope) -> bool:
        """Return True if `result` matches the action's result pattern, or if the action has no result pattern.

        A string matches if either the string itself or the JSON value that it contains matches.
        """
        if self.result is None:
            return True
        if result is UNANSWERED:
            return False
        if self.result.matches(result, scope):
            return True
        if not isinstance(result, str):
            return False
        try:
            return self.result.matches(parse_json(result), scope)
        except ValueError:
            return False

    def covers(self, other: Action) -> bool:
        """Return True if this action matches every call that `other` matches."""
        if not self.fits_tool(other.tool) or not covers(self.arguments, other.arguments):
            return False
        return self.result is None or (other.result is not None and covers(self.result, other.result))

    def examples(self) -> tuple[Call, ...]:
        """Return example calls that match the action, the simplest first."""
        return tuple(Call(self.tool, arguments) for arguments in self.arguments.examples())

    @property
    def is_literal(self) -> bool:
        """Whether all arguments have fixed values and any result is accepted."""
        fields = self.arguments
        return not fields.open and self.result is None and all(isinstance(p, Literal) for _, p in fields.fields)

    @cached_property
    def is_glob(self) -> bool:
        """Whether the tool's name is a glob."""
        return any(sign in self.tool for sign in "*?[")

    @cached_property
    def notation(self) -> str:
        """The action written as a call, e.g. `deposit(amount=100)`, even if the action has a name of its own."""
        parts = [f"{key_text(name)}={pattern}" for name, pattern in self.arguments.fields]
        call = f"{tool_text(self.tool)}({', '.join([*parts, '...'] if self.arguments.open else parts)})"
        return call if self.result is None else f"{call} -> {self.result}"

    def __str__(self) -> str:
        return tool_text(self.name) if self.name else self.notation


@dataclass(frozen=True)
class Tool:
    """A tool's name and, if known, its parameters with their defaults. Call the tool to create an action.

    With `deposit = tool("deposit")`, the action `deposit(amount=100)` allows this argument and no other,
    `deposit.where(amount=100)` allows other arguments too, and `deposit.any()` allows any arguments.
    """

    name: str
    parameters: Mapping[str, Any] | None = None

    def __call__(self, /, **arguments: Any) -> Action:
        """Create an action with exactly these arguments."""
        return self._action(arguments, is_open=False)

    def where(self, /, **arguments: Any) -> Action:
        """Create an action that requires these arguments and allows others."""
        return self._action(arguments, is_open=True)

    def any(self) -> Action:
        """Create an action that allows any arguments."""
        return self._action({}, is_open=True)

    def fill_defaults(self, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Add default values for missing arguments."""
        if self.parameters is None:
            return arguments
        missing = {
            name: default
            for name, default in self.parameters.items()
            if default is not REQUIRED and name not in arguments
        }
        return {**arguments, **missing} if missing else arguments

    def complete(self, action: Action) -> Action:
        """Return the action with default values for missing arguments.

        An action that allows other arguments is returned unchanged. Raises `TaskError` if the action has an unknown
        argument or lacks a required one.
        """
        if action.arguments.open or self.parameters is None:
            return action
        given = dict(action.arguments.fields)
        if unknown := [name for name in given if name not in self.parameters]:
            has = f"it has {', '.join(self.parameters)}" if self.parameters else "it has none"
            raise TaskError.of(f"tool '{self.name}' has no argument '{unknown[0]}'; {has}")
        full = self.fill_defaults(given)
        if missing := [name for name in self.parameters if name not in full]:
            raise TaskError.of(f"'{action.notation}' lacks the argument '{missing[0]}' of tool '{self.name}'; "
                               "give it a value or ANY, or open the pattern with '...'")  # fmt: skip
        return replace(action, arguments=_fields(full, is_open=False))

    def _action(self, arguments: Mapping[str, Any], *, is_open: bool) -> Action:
        return Action(self.name, _fields(arguments, is_open=is_open))

    def __str__(self) -> str:
        if self.parameters is None:
            return tool_text(self.name)
        parameters = [
            key_text(name) if default is REQUIRED else f"{key_text(name)}={to_notation(default)}"
            for name, default in self.parameters.items()
        ]
        return f"{tool_text(self.name)}({', '.join(parameters)})"


def _fields(arguments: Mapping[str, Any], *, is_open: bool) -> Fields:
    return Fields(tuple((name, as_matcher(value)) for name, value in arguments.items()), is_open)
