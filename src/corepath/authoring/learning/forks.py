"""Forks: places where the runs allow a narrow and a wide explanation, so that a person may have to decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from corepath.authoring.learning.arrangement import Arrangement
from corepath.authoring.learning.log import Log


class ForkKind(StrEnum):
    """What is decided."""

    GROUPS = "groups"
    """Whether steps that only some runs have are optional by themselves, or only as in the runs."""
    HALVES = "halves"
    """Whether there are two ways with different orders, or one way with all of them."""
    LISTED = "listed"
    """Whether only the orders that were seen are right."""
    TURNS = "turns"
    """Whether parts are done one by one, or may be interleaved."""
    PAIRS = "pairs"
    """Whether steps that were always in the same order must be."""


ForkKey = tuple[ForkKind, frozenset[int]]


@dataclass(frozen=True)
class Fork:
    """Two explanations of some events. `is_wide` says which one was taken."""

    kind: ForkKind
    narrow: Arrangement
    wide: Arrangement
    is_wide: bool

    @property
    def key(self) -> ForkKey:
        """What identifies the fork if the runs are learned from again."""
        return self.kind, self.wide.events


@dataclass
class Forks:
    """Decides at forks. `settled` holds decisions that were made before; `found` gets all forks.

    `asks` says whether to look for forks that only a person could decide otherwise than the runs do.
    """

    settled: Mapping[ForkKey, bool] = field(default_factory=dict)
    found: dict[ForkKey, Fork] = field(default_factory=dict)
    asks: bool = False

    def choose(self, kind: ForkKind, log: Log, narrow: Arrangement, wide: Arrangement, *, is_wide: bool) -> Arrangement:
        """Return one of two explanations: as settled before, or else the wide one if `is_wide`."""
        key = (kind, frozenset(log.events))
        is_wide = self.settled.get(key, is_wide)
        if narrow != wide:
            self.found[key] = Fork(kind, narrow, wide, is_wide)
        return wide if is_wide else narrow
