"""Decoys: tempting wrong paths in a task. Verification uses them to prove that wrong paths score badly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from corepath.automaton.harm import HarmKind
from corepath.errors import TaskError, nearest
from corepath.notation.action import Action
from corepath.notation.call import Call

FOOLED: Final = ("both", "state", "response", "none")
"""The allowed values of `Decoy.fools`. `state` and `response` are the two baselines that judge only how a run ends."""


@dataclass(frozen=True)
class Decoy:
    """A tempting wrong path. Its calls cause no tool errors, but the path contains a harm of kind `harm`.

    If `harm` is None, the path contains no harm but lacks a step. `fools` says which of the two final-state baselines
    accept the path although it is wrong: `both`, `state`, `response` or `none`.
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
