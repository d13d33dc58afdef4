"""A decoy: a wrong path that tempts, which a task declares so that it can be proven to be flagged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from corepath.automaton.harm import HarmKind
from corepath.errors import TaskError, nearest
from corepath.notation.action import Action
from corepath.notation.call import Call

FOOLED: Final = ("both", "state", "response", "none")
"""Which of the two final-state baselines a decoy passes."""


@dataclass(frozen=True)
class Decoy:
    """A wrong path that tempts: it runs without a tool error, and its harm is of the declared kind.

    `fools` says which of the two final-state baselines it passes all the same: both, unless said otherwise. Where
    the harm is None, nothing that is done is wrong and something is left out.
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
