"""The parts of an explanation: a headline, one note per call, and findings."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from corepath.automaton.harm import HarmKind
from corepath.automaton.step import Kind
from corepath.explanation.sentences import cut
from corepath.values import visible

WIDEST_CALL: Final = 70
"""Maximum number of characters shown of each call in the step list."""


class FindingKind(StrEnum):
    """What a finding is about, in the order in which findings are listed."""

    OUTSIDE = "outside"
    """The episode failed outside the agent."""
    DIVERGED = "diverged"
    """The first call that is on no golden path."""
    HARM = "harm"
    """Harmful calls with the same reason."""
    RULE = "rule"
    """A rule that was broken, or that still required something at the end."""
    SKIPPED = "skipped"
    """Steps that were never done, although later steps were tried."""
    STOPPED = "stopped"
    """The agent stopped before the task was complete."""
    UNDONE = "undone"
    """A call whose effect a later call took back."""
    UNSEEN = "unseen"
    """A call that was sent before the agent saw an answer that the call depends on."""
    WASTE = "waste"
    """Legal calls that did not help."""
    STATE = "state"
    """The final state and the path disagree on whether the episode is right."""
    ANSWER = "answer"
    """A wrong or missing final answer."""
    FIX = "fix"
    """The smallest change that makes the path valid."""


class CauseKind(StrEnum):
    """What is at fault in an episode. The values are labels for people."""

    SKIPPED = "skipped a step"
    WRONG_ARGUMENT = "wrong argument"
    TOO_EARLY = "too early"
    REPEATED = "repeated"
    AGAINST_A_RULE = "against a rule"
    NOT_EXPECTED = "not expected"
    WRONG_TIME = "at the wrong time"
    UNDONE = "done and undone"
    STOPPED = "stopped early"
    HANDED_OVER = "handed over"
    NO_CALL = "made no call"
    REFUSED = "refused by the tool"
    UNKNOWN_TOOL = "unknown tool"
    MALFORMED = "malformed arguments"
    UNEXPECTED_RESULT = "ignored a result"
    WRONG_STATE = "wrong final state"
    WRONG_ANSWER = "wrong answer"
    LIMIT = "ran into a limit"
    OUTSIDE = "failed outside the agent"


@dataclass(frozen=True)
class Cause:
    """What is at fault: the kind, and the tool and the argument that it is about if there are any.

    `calls` holds the indexes of the calls at fault, the first mistake first. `effected` says whether one of them took
    effect. If a step is missing, `tool` is the tool of that step.
    """

    kind: CauseKind
    tool: str | None = None
    argument: str | None = None
    calls: tuple[int, ...] = ()
    effected: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the cause as JSON."""
        tool, argument = (None if name is None else visible(name) for name in (self.tool, self.argument))
        return {"kind": self.kind.value, "tool": tool, "argument": argument, "calls": list(self.calls),
                "effected": self.effected}  # fmt: skip


class EditKind(StrEnum):
    """What an edit does to a path."""

    ADD = "add"
    LEAVE_OUT = "leave out"
    MOVE = "move"
    CHANGE = "change"
    KEEP = "keep"


@dataclass(frozen=True)
class Edit:
    """One edit of a repair. `text` is an instruction, e.g. `In call 3, change amount to 50`.

    `call` is the index of the call that is changed, moved or left out. For an added step, it is the index of the call
    that the step goes before; the number of calls stands for the end. `action` is the number of the step that is added,
    or that the call becomes. `also` holds the indexes of further calls that are left out with this one. `then` holds
    the numbers of further steps that are added right after it.
    """

    kind: EditKind
    call: int | None
    action: int | None
    text: str
    also: tuple[int, ...] = ()
    then: tuple[int, ...] = ()

    def __str__(self) -> str:
        return self.text

    def to_dict(self) -> dict[str, Any]:
        """Return the edit as JSON. `also` and `then` are left out if they are empty."""
        shown = {**vars(self), "kind": self.kind.value, "also": list(self.also), "then": list(self.then)}
        return {name: value for name, value in shown.items() if name not in ("also", "then") or value}


@dataclass(frozen=True)
class Difference:
    """A place where a call's arguments differ from the step that the call should have been.

    `path` is the place in the arguments, e.g. `flights[2].flight_number`. `given` and `expected` are texts for people,
    and never the same text. `given` is `ABSENT` if the call has no such value.
    """

    path: str
    given: str
    expected: str


ABSENT: Final = "not given"
"""The text for a value that a call lacks. A string with this text would be in quotes."""


@dataclass(frozen=True)
class Note:
    """A call with a short comment. `index` counts from 0, as in a score.

    `differences` says how the call's arguments differ from the step that the call should have been, if they do.
    """

    index: int
    call: str
    kind: Kind
    harm: HarmKind | None
    text: str
    turn: int | None
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True)
class Finding:
    """One observation about the episode. `calls` holds the indexes of the calls involved."""

    kind: FindingKind
    text: str
    calls: tuple[int, ...]


@dataclass(frozen=True)
class Explanation:
    """Why an episode got its score: a headline with the cause, a note on each call, and findings.

    `cause` is what is at fault, or None if nothing is. `fix` is the smallest repair, as edits. `repair` shows the path
    side by side with its repair. Each row has a call's index and an action's number, and either may be None. `fix` and
    `repair` are empty if there is nothing to repair or no repair was found.
    """

    headline: str
    notes: tuple[Note, ...]
    findings: tuple[Finding, ...]
    repair: tuple[tuple[int | None, int | None], ...] = ()
    cause: Cause | None = None
    fix: tuple[Edit, ...] = ()

    def __str__(self) -> str:
        parts = [self.headline]
        if self.notes:
            parts.append("\n".join(self._lines()))
        if self.findings:
            parts.append("\n".join(f"  {finding.kind:<8}  {finding.text}" for finding in self.findings))
        return "\n\n".join(parts)

    def _lines(self) -> list[str]:
        """Format the lines of the step list."""
        digits = len(str(len(self.notes)))
        width = min(WIDEST_CALL, max(len(note.call) for note in self.notes))
        return [
            f"  {note.index + 1:>{digits}}  {note.kind:<8}  {cut(note.call, width):<{width}}  {note.text}"
            for note in self.notes
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as JSON."""
        return {
            "headline": self.headline,
            "cause": None if self.cause is None else self.cause.to_dict(),
            "fix": [edit.to_dict() for edit in self.fix],
            "steps": [
                {"index": note.index, "call": note.call, "kind": note.kind.value,
                 "harm": None if note.harm is None else note.harm.value, "text": note.text, "turn": note.turn,
                 "differences": [dict(vars(one)) for one in note.differences]}
                for note in self.notes
            ],
            "findings": [
                {"kind": finding.kind.value, "text": finding.text, "calls": list(finding.calls)}
                for finding in self.findings
            ],
        }  # fmt: skip
