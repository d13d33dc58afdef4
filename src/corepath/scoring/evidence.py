"""Evidence for the scores: harmful calls with their causes, and the paths that a run was compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from corepath.automaton.alphabet import Severity
from corepath.automaton.condensation import Trace
from corepath.automaton.harm import HarmKind
from corepath.automaton.step import Kind, Token
from corepath.scoring.alignment import Closest, Pair
from corepath.scoring.causes import Cause, find_causes


@dataclass(frozen=True)
class Harm:
    """One harmful call: its number, kind and severity, whether it took effect, its cause, and why it is forbidden."""

    index: int
    kind: HarmKind
    severity: Severity | None
    effected: bool
    cause: Cause | None
    why: str | None

    def to_dict(self) -> dict[str, Any]:
        """The harm as JSON."""
        cause = None if self.cause is None else dict(vars(self.cause))
        shown = {**vars(self), "kind": self.kind.value, "cause": cause}
        if self.why is None:
            del shown["why"]
        return shown


@dataclass(frozen=True)
class Reference:
    """A path that the condensed path was compared with, as names of actions, and how the two align."""

    path: tuple[str, ...]
    alignment: tuple[Pair, ...]


_NEVER_RUN: Final = (HarmKind.MALFORMED, HarmKind.UNKNOWN_TOOL)


def list_harms(trace: Trace) -> tuple[Harm, ...]:
    """The harmful calls of a run, in order."""
    causes = find_causes(trace)
    return tuple(
        Harm(
            index=step.index,
            kind=step.harm,
            severity=step.forbidden.severity if step.forbidden else None,
            effected=not step.call.failed and step.harm not in _NEVER_RUN,
            cause=causes.get(step.index),
            why=step.forbidden.why if step.forbidden else None,
        )
        for step in trace.condensed
        if step.kind is Kind.HARM and step.harm is not None
    )


def name_reference(trace: Trace, found: Closest) -> Reference:
    """The reference with its actions by name."""

    def name(token: Token) -> str:
        return trace.automaton.alphabet.names[token] if isinstance(token, int) else token[1]

    return Reference(tuple(map(name, found.path)), found.pairs)
