"""Calls: a tool and its arguments, as an agent sent them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from corepath.values import canonical, key_text, to_notation, tool_text


class _Absent:
    """A sentinel for a missing value, used when `None` is a valid value."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __copy__(self) -> _Absent:
        return self

    def __deepcopy__(self, memo: object) -> _Absent:
        return self

    def __reduce__(self) -> str:
        return self._name  # unpickling gives the same object


UNANSWERED: Final = _Absent("UNANSWERED")
"""The result of a call that never got a result."""
REQUIRED: Final = _Absent("REQUIRED")
"""The default of a parameter that has no default."""
_NO_ARGUMENTS: Final = _Absent("_NO_ARGUMENTS")

LONGEST_LABEL: Final = 200


@dataclass(frozen=True)
class Call:
    """A tool and its arguments, as the agent sent them. An executed call also has a `result` or an `error`.

    `time` says when the call was made, in seconds since 1970. It does not count when calls are compared.
    """

    tool: str
    arguments: Any = field(default_factory=dict)
    result: Any = UNANSWERED
    error: Any = None
    id: str | None = None
    turn: int | None = None
    time: float | None = field(default=None, compare=False)
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __init__(
        self,
        tool: str,
        arguments: Any = _NO_ARGUMENTS,
        result: Any = UNANSWERED,
        error: Any = None,
        id: str | None = None,  # noqa: A002
        turn: int | None = None,
        time: float | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        fields = self.__dict__  # three times as fast as the method that a frozen dataclass gets
        fields["tool"] = tool
        fields["arguments"] = {} if arguments is _NO_ARGUMENTS else arguments
        fields["result"] = result
        fields["error"] = error
        fields["id"] = id
        fields["turn"] = turn
        fields["time"] = time
        fields["extra"] = {} if extra is None else extra

    @property
    def failed(self) -> bool:
        """Whether the call returned an error."""
        return self.error is not None and self.error is not False and self.error != ""

    @property
    def malformed(self) -> bool:
        """Whether the arguments are something other than a JSON object."""
        return type(self.arguments) is not dict and not isinstance(self.arguments, Mapping)

    @cached_property
    def text(self) -> str:
        """The tool, the arguments and the result as canonical JSON: all that a rule sees of a call, but its time."""
        return canonical([self.tool, self.arguments, self.result, self.failed])

    @cached_property
    def label(self) -> str:
        """The tool and its arguments for display, shortened if they are long."""
        if self.malformed:
            return _cut(f"{self.tool}({to_notation(self.arguments)})")
        if not self.arguments:
            return _cut(self.tool)
        return _cut(f"{self.tool}({_arguments(self.arguments)})")

    def __str__(self) -> str:
        if self.malformed:
            return f"{self.tool}({to_notation(self.arguments)})"
        return f"{tool_text(self.tool)}({_arguments(self.arguments)})"


def unknown_token(call: Call) -> tuple[str, str]:
    """Return a call's tool and canonical arguments. Calls that match no action are compared by this pair."""
    return (call.tool, canonical(call.arguments))


def _arguments(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{key_text(str(name))}={to_notation(value)}" for name, value in arguments.items())


def _cut(text: str) -> str:
    if len(text) <= LONGEST_LABEL:
        return text
    return f"{text[: LONGEST_LABEL - 30]}… ({len(text)} characters)"
