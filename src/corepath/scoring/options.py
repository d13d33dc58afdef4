"""The scoring options and the two predefined profiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeGuard

from corepath.automaton.step import Errors
from corepath.errors import TaskError, nearest
from corepath.scoring.pc_ktc import OrderFallback

HlrReferences = Literal["repaired", "repaired+golden"]
UndefinedEfficiency = Literal["zero", "skip"]


def _check(ok: object, name: str, value: object, wanted: str) -> None:
    """Raise `TaskError` unless `ok` is true. The message names the option, its value and what is `wanted` instead."""
    if not ok:
        raise TaskError.of(f"Scoring: {name} must be {wanted}, not {value!r}")


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


@dataclass(frozen=True)
class Scoring:
    """Scoring options. The defaults are the paper's. The options are stored with every score."""

    lam: float = 0.5
    """λ, the weight of PC against τ⁺ in PC-KTC."""
    beta: float = 0.5
    """β in Prefix Criticality. The smaller β is, the more early harm weighs."""
    order_fallback: OrderFallback = 0.5
    """The value of τ⁺ if fewer than two tokens match: a number, or `"pc"` for PC itself."""
    hlr_references: HlrReferences = "repaired"
    """The paths that PC+HLR compares with: repaired paths only, or golden paths too."""
    errors: Errors = "no_effect"
    """How a failed call counts."""
    undefined_efficiency: UndefinedEfficiency = "zero"
    """How an undefined efficiency counts in a mean. The score itself stays undefined."""
    ktc_budget: int = 200_000
    """The most entries that the PC-KTC search expands. Beyond this number, PC-KTC is an interval."""

    def __post_init__(self) -> None:
        _check(_is_number(self.lam) and 0 <= self.lam <= 1, "lam", self.lam, "a number from 0 to 1")
        _check(
            _is_number(self.beta) and 0 < self.beta < 1, "beta", self.beta, "a number between 0 and 1, both excluded"
        )
        fallback = self.order_fallback
        _check(fallback == "pc" or (_is_number(fallback) and 0 <= fallback <= 1),
               "order_fallback", fallback, 'a number from 0 to 1, or "pc"')  # fmt: skip
        _check(self.hlr_references in ("repaired", "repaired+golden"),
               "hlr_references", self.hlr_references, '"repaired" or "repaired+golden"')  # fmt: skip
        _check(self.errors in ("no_effect", "harmful", "as_called"),
               "errors", self.errors, '"no_effect", "harmful" or "as_called"')  # fmt: skip
        _check(self.undefined_efficiency in ("zero", "skip"),
               "undefined_efficiency", self.undefined_efficiency, '"zero" or "skip"')  # fmt: skip
        _check(
            type(self.ktc_budget) is int and self.ktc_budget >= 0,
            "ktc_budget",
            self.ktc_budget,
            "a whole number of 0 or more",
        )

    @cached_property
    def profile(self) -> str:
        """`paper`, `recommended`, or `custom` for any other combination of options."""
        return {PAPER: "paper", RECOMMENDED: "recommended"}.get(self, "custom")

    @property
    def options(self) -> dict[str, Any]:
        """All options by name."""
        return asdict(self)

    @property
    def recorded(self) -> str | dict[str, Any]:
        """The options as stored in an episode: a profile name, or all options if the profile is `custom`."""
        return self.options if self.profile == "custom" else self.profile

    @classmethod
    def of(cls, recorded: str | Mapping[str, Any]) -> Scoring:
        """Restore the scoring options that were stored in an episode.

        Raises `TaskError` if a profile or an option does not exist or an option's value is invalid.
        """
        if isinstance(recorded, str):
            profiles = {"paper": PAPER, "recommended": RECOMMENDED}
            if recorded not in profiles:
                raise TaskError.of(f"no profile '{recorded[:60]}'{nearest(recorded, profiles)}")
            return profiles[recorded]
        for name in recorded:
            if name not in cls.__dataclass_fields__:
                raise TaskError.of(
                    f"Scoring has no option '{str(name)[:60]}'{nearest(str(name), cls.__dataclass_fields__)}"
                )
        return cls(**recorded)


PAPER = Scoring()
"""The paper's definitions."""
RECOMMENDED = Scoring(order_fallback="pc", hlr_references="repaired+golden", undefined_efficiency="skip")
"""PC-KTC equals PC if there is no order to judge, PC+HLR is at least PC, and undefined efficiencies are skipped."""


def with_options(scoring: Scoring, **options: Any) -> Scoring:
    """Return a copy of `scoring` with some options changed. Options that are None keep their value."""
    return replace(scoring, **{name: value for name, value in options.items() if value is not None})
