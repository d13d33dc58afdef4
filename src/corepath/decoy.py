"""Decoys: tempting wrong paths that a task declares, so that verification can prove that they score badly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from corepath.automaton.harm import HarmKind
from corepath.errors import TaskError, nearest
from corepath.notation.action import Action
from corepath.notation.call import Call

FOOLED: Final = ("both", "state", "response", "none")
"""The final-state baselines that a decoy may pass."""


@dataclass(frozen=True)
class Decoy:
    """A tempting wrong path: it runs without a tool error, and its harm is of the declared kind.

    If `harm` is None, no call is wrong but a step is missing. `fools` names the final-state baselines that the decoy
    passes although it is wrong; by default both.
    """

    calls: Sequence[Action | Call | str]
    harm: HarmKind | str | None
    fools: str = "both"

    def __post_init__(self) -> None:
        if self.fools not in FOOLED:
            raise TaskError.of(f"a decoy has no fools='{self.fools}'{nearest(str(self.fools), FOOLED)}")
        kinds = [kind.value for kind in HarmKind]
        if self.harm is not None and self.harm not in kinds:
            raise TaskError.of(f"no kind of harm '{self.harm}'{nearest(str(self.harm), kinds)}")
