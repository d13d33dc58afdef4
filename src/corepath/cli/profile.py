"""The scoring profiles that users can choose."""

from __future__ import annotations

from enum import StrEnum

from corepath.scoring.options import PAPER, RECOMMENDED, Scoring


class Profile(StrEnum):
    """A named set of scoring options."""

    PAPER = "paper"
    RECOMMENDED = "recommended"

    @property
    def scoring(self) -> Scoring:
        """The profile's scoring options."""
        return PAPER if self is Profile.PAPER else RECOMMENDED
