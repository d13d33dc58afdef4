"""The scoring profiles that options name."""

from __future__ import annotations

from enum import StrEnum

from corepath.scoring.options import PAPER, RECOMMENDED, Scoring


class Profile(StrEnum):
    """A named set of scoring options."""

    PAPER = "paper"
    RECOMMENDED = "recommended"

    @property
    def scoring(self) -> Scoring:
        """The options of this profile."""
        return PAPER if self is Profile.PAPER else RECOMMENDED
