"""Evidence for the scores: the harmful calls with their causes, and the reference paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from corepath.automaton.alphabet import Severity
from corepath.automaton.condensation import Trace
from corepath.automaton.harm import HarmKind
from corepath.automaton.step import Kind, Token
from corepath.scoring.alignment import ClosestReference, Pair
from corepath.scoring.causes import Cause, find_causes


@dataclass(frozen=True)
class Harm:
    """One harmful call.

    `index` is the number of the call, `effected` says whether it was executed without an error, `cause` is the skipped
    step that explains it, and `why` is the reason given by the rule that forbids it.
    """

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
    """A path that the condensed path is compared with, as names of actions, and their alignment."""

    path: tuple[str, ...]
    alignment: tuple[Pair, ...]


_NEVER_RUN: Final = (HarmKind.MALFORMED, HarmKind.UNKNOWN_TOOL)


def list_harms(trace: Trace) -> tuple[Harm, ...]:
    """List the harmful calls of a run, in order."""
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


def name_reference(trace: Trace, found: ClosestReference) -> Reference:
    """Turn a reference into names of actions."""

    def name(token: Token) -> str:
        return trace.automaton.alphabet.names[token] if isinstance(token, int) else token[1]

    return Reference(tuple(map(name, found.path)), found.pairs)
