"""The two named ways to score."""

from __future__ import annotations

from enum import StrEnum

from corepath.scoring.options import PAPER, RECOMMENDED, Scoring


class Profile(StrEnum):
    """Which options scoring starts from."""

    PAPER = "paper"
    RECOMMENDED = "recommended"

    @property
    def scoring(self) -> Scoring:
        """The options."""
        return PAPER if self is Profile.PAPER else RECOMMENDED
