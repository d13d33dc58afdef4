"""What episodes with the same cause have in common, so that they can be grouped."""

from __future__ import annotations

from typing import Final, NamedTuple

OTHER: Final = "other cause"
"""The kind of cause of a failed episode whose explanation names no cause."""
_WHATEVER_WAS_DUE: Final = ("made no call", "ran into a limit")
"""Kinds of cause that are the same whichever step was due."""
_DUE: Final = ("stopped early", "handed over")
"""Kinds of cause that are about the tool of the step that was due."""


class CauseKey(NamedTuple):
    """What the failures of a cluster have in common. Parts that do not apply are None."""

    kind: str
    tool: str | None = None
    argument: str | None = None
    rule: str | None = None

    @classmethod
    def of(cls, kind: str | None, tool: str | None, argument: str | None) -> CauseKey:
        """Return the key of a cause. `kind` is None if no cause was found."""
        if kind in _WHATEVER_WAS_DUE:
            return cls(kind)
        return cls(OTHER if kind is None else kind, tool, argument)

    @property
    def about(self) -> str:
        """What the cause is about: a rule, a tool, or an argument of a tool. Empty if it is about nothing of these."""
        if self.rule is not None:
            return self.rule
        if self.tool is None:
            return ""
        return self.tool if self.argument is None else f"{self.tool}({self.argument}=…)"

    @property
    def after(self) -> str:
        """The words that follow what the cause is about."""
        return " is missing" if self.about and self.kind in _DUE else ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.about}{self.after}" if self.about else self.kind
