"""The verdict on a task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Verdict:
    """The result of verifying a task: the failures, and how much was executed and searched."""

    task: str
    world: str
    seed: int
    failures: tuple[str, ...]
    seeds: int = 1
    """Number of variants executed."""
    golden_paths: int = 0
    lengths: tuple[int, ...] = ()
    pairs: int = 0
    rounds: int = 0
    nodes: int = 0
    depth: int | None = None
    """Number of extra calls up to which the search is complete, or None if it is not complete without extra calls.

    Golden calls in any order, and reads, are not extra.
    """
    moves: int = 0
    """Number of ways that were made by moving one call of a golden path. They are made only if `depth` is None."""
    exhausted: bool = False
    """Whether the search visited every node that can be reached, and no plausible call was left untried."""
    decoys: Mapping[str, str] = field(default_factory=dict)
    """The baselines that each decoy fools, keyed by the decoy's name."""
    policies: tuple[str, ...] = ()
    """Policies that were broken without a tool error. The world does not enforce them."""
    says: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether there are no failures."""
        return not self.failures

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON."""
        return {"task": self.task, "world": self.world, "ok": self.ok, **vars(self)}
