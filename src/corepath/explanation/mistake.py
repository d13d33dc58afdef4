"""A mistake in an episode: what is wrong, with which calls, and what follows from it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from corepath.scoring.evidence import Harm


class MistakeKind(StrEnum):
    """What is wrong: the edit that would mend it."""

    SKIPPED = "skipped"
    """Steps are missing before a call."""
    TOO_EARLY = "too early"
    """A call came before a step that must come first, and that came later."""
    WRONG_ARGUMENT = "wrong argument"
    """A call differs from a step only in its arguments."""
    OTHER_CALL = "other call"
    """A call to another tool was made instead of a step."""
    EXTRA = "extra"
    """A call should not have been made."""
    UNFINISHED = "unfinished"
    """Steps are missing at the end."""
    BREACH = "breach"
    """A step broke a rule. No edit of the path mends that."""
    FOLLOWS = "follows"
    """A call is harmful only because of an unwanted call before it."""


@dataclass(frozen=True)
class Mistake:
    """A mistake and what follows from it.

    `call` is the index of the call at fault, or the number of calls if steps are missing at the end. `steps` holds the
    numbers of the steps that are missing or expected instead. `harms` holds the harmful calls that the mistake
    explains, in order. `other` is the index of the call that was made too late, or of the call that undid this one. If
    steps are missing at the end that belong before a call, it is that call. `failed` holds the calls that are no harms,
    and that the tool refused because of the mistake. `after` is the last step that was right before steps that were
    skipped. `tries` holds all calls that tried the same step with wrong arguments, if there are several.
    `is_early` says that a call with wrong arguments also came before steps that must come first. `has_choice` says that
    other steps would do as well as `steps`.
    """

    kind: MistakeKind
    call: int
    steps: tuple[int, ...] = ()
    harms: tuple[Harm, ...] = ()
    other: int | None = None
    failed: tuple[int, ...] = ()
    after: int | None = None
    tries: tuple[int, ...] = ()
    is_early: bool = False
    has_choice: bool = False

    @property
    def first(self) -> Harm | None:
        """The harm of the call at fault, or None if that call is not harmful."""
        return next((harm for harm in self.harms if harm.index == self.call), None)

    @property
    def calls(self) -> tuple[int, ...]:
        """The indexes of the harmful calls, or of the call at fault if none is harmful."""
        if self.harms:
            return tuple(harm.index for harm in self.harms)
        return () if self.kind is MistakeKind.UNFINISHED else (self.call,)

    @property
    def effected(self) -> bool:
        """Whether one of the harmful calls took effect."""
        return any(harm.effected for harm in self.harms)


SPREADING: Final = (
    MistakeKind.SKIPPED, MistakeKind.TOO_EARLY, MistakeKind.WRONG_ARGUMENT, MistakeKind.OTHER_CALL,
)  # fmt: skip
"""The mistakes that make later calls harmful."""
LACKING: Final = (
    MistakeKind.SKIPPED, MistakeKind.OTHER_CALL, MistakeKind.WRONG_ARGUMENT, MistakeKind.UNFINISHED,
)  # fmt: skip
"""The mistakes that leave steps undone."""
