"""What an explanation is made of: a note a call, findings, and one line above them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from corepath.automaton.harm import HarmKind
from corepath.automaton.step import Kind
from corepath.explanation.words import cut

WIDEST_CALL: Final = 70
"""Signs of a call that a line of the step list has room for."""


class FindingKind(StrEnum):
    """What a finding is about; findings stand in this order."""

    OUTSIDE = "outside"
    """The episode failed outside the agent."""
    DIVERGED = "diverged"
    """The first call that no golden path has in its place."""
    HARM = "harm"
    """Harmful calls that have one reason."""
    SKIPPED = "skipped"
    """Steps that were never done, though later ones were tried."""
    STOPPED = "stopped"
    """Steps that the agent never came to."""
    UNDONE = "undone"
    """A call whose effect a later one took back."""
    UNSEEN = "unseen"
    """An act that was sent before the answer was seen on which it depends."""
    WASTE = "waste"
    """Legal calls that brought nothing."""
    STATE = "state"
    """Where the final state says something else than the path."""
    ANSWER = "answer"
    """A final answer that is not what the task asks for."""
    REPAIR = "repair"
    """The smallest change that makes the path valid, and the golden path that is nearest."""


@dataclass(frozen=True)
class Note:
    """One call of the episode, in words. `index` counts from 0, as in a score."""

    index: int
    call: str
    kind: Kind
    harm: HarmKind | None
    text: str
    turn: int | None


@dataclass(frozen=True)
class Finding:
    """One thing to know about the episode, and the indices of the calls that it speaks of."""

    kind: FindingKind
    text: str
    calls: tuple[int, ...]


@dataclass(frozen=True)
class Explanation:
    """Why a score is what it is: the cause in one line, a note a call, and what was found.

    `repair` is the path beside the repair that is told: the index of a call and the number of an action, a row a pair;
    None where there is none.
    """

    headline: str
    notes: tuple[Note, ...]
    findings: tuple[Finding, ...]
    repair: tuple[tuple[int | None, int | None], ...] = ()

    def __str__(self) -> str:
        parts = [self.headline]
        if self.notes:
            parts.append("\n".join(self._lines()))
        if self.findings:
            parts.append("\n".join(f"  {finding.kind:<8}  {finding.text}" for finding in self.findings))
        return "\n\n".join(parts)

    def _lines(self) -> list[str]:
        most = len(str(len(self.notes)))
        width = min(WIDEST_CALL, max(len(note.call) for note in self.notes))
        return [
            f"  {note.index + 1:>{most}}  {note.kind:<8}  {cut(note.call, width):<{width}}  {note.text}"
            for note in self.notes
        ]

    def to_dict(self) -> dict[str, Any]:
        """The explanation as JSON."""
        return {
            "headline": self.headline,
            "steps": [
                {"index": note.index, "call": note.call, "kind": note.kind.value,
                 "harm": None if note.harm is None else note.harm.value, "text": note.text, "turn": note.turn}
                for note in self.notes
            ],
            "findings": [
                {"kind": finding.kind.value, "text": finding.text, "calls": list(finding.calls)}
                for finding in self.findings
            ],
        }  # fmt: skip
