"""A call: what the agent did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from corepath.values import canonical, key_text, tool_text, written


class _Absent:
    """The value of what was not given, where `None` is a value of its own."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name

    def __copy__(self) -> _Absent:
        return self

    def __deepcopy__(self, memo: object) -> _Absent:
        return self

    def __reduce__(self) -> str:
        return self._name  # there is one of it in every process


UNANSWERED: Final = _Absent("UNANSWERED")
"""The result of a call to which no answer came."""
REQUIRED: Final = _Absent("REQUIRED")
"""The default of a tool's parameter that has none."""

LONGEST_LABEL: Final = 200


@dataclass(frozen=True)
class Call:
    """What the agent sent: a tool and its arguments; once executed, also its result or its error."""

    tool: str
    arguments: Any = field(default_factory=dict)
    result: Any = UNANSWERED
    error: Any = None
    id: str | None = None
    turn: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @property
    def failed(self) -> bool:
        """The environment answered with an error."""
        return self.error is not None and self.error is not False and self.error != ""

    @property
    def malformed(self) -> bool:
        """The arguments are not a JSON object."""
        return type(self.arguments) is not dict and not isinstance(self.arguments, Mapping)

    @property
    def label(self) -> str:
        """Tool and arguments as a person would write them, cut where they are long."""
        if self.malformed:
            return _cut(f"{self.tool}({written(self.arguments)})")
        if not self.arguments:
            return _cut(self.tool)
        return _cut(f"{self.tool}({_arguments(self.arguments)})")

    def __str__(self) -> str:
        if self.malformed:
            return f"{self.tool}({written(self.arguments)})"
        return f"{tool_text(self.tool)}({_arguments(self.arguments)})"


def unknown_token(call: Call) -> tuple[str, str]:
    """The token of a call that is no action: the same for the same tool and equal arguments only."""
    return (call.tool, canonical(call.arguments))


def _arguments(arguments: Mapping[str, Any]) -> str:
    return ", ".join(f"{key_text(str(name))}={written(value)}" for name, value in arguments.items())


def _cut(text: str) -> str:
    if len(text) <= LONGEST_LABEL:
        return text
    return f"{text[: LONGEST_LABEL - 30]}… ({len(text)} characters)"
