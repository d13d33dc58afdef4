"""The metrics of one path, assembled in one place for `score` and for the sensitivity analysis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from corepath.automaton.automaton import Automaton
from corepath.automaton.condensation import Path
from corepath.scoring.alignment import ClosestReference
from corepath.scoring.efficiency import directness, efficiency
from corepath.scoring.harm_rate import harm_rate
from corepath.scoring.hlr import hlr
from corepath.scoring.options import Scoring
from corepath.scoring.path_correctness import path_correctness
from corepath.scoring.pc_ktc import Composite, pc_ktc
from corepath.scoring.prefix_criticality import prefix_criticality


@dataclass(frozen=True)
class Metrics:
    """Every metric of a path on an automaton, computed on first access.

    Metrics that depend on an option of the scoring are methods; the others are properties.
    """

    path: Path
    automaton: Automaton

    @cached_property
    def nearest(self) -> ClosestReference:
        """The golden path nearest to the path; its similarity is PC."""
        return path_correctness(self.path, self.automaton)

    @cached_property
    def repair(self) -> ClosestReference:
        """The repaired path nearest to the path, for PC+HLR."""
        return hlr(self.path, self.automaton)

    @property
    def pc(self) -> float:
        """Path Correctness."""
        return self.nearest.similarity

    def pc_ktc(self, scoring: Scoring) -> Composite:
        """PC-KTC, exact or as an interval."""
        return pc_ktc(self.path, self.automaton, self.nearest, scoring.lam, scoring.order_fallback, scoring.ktc_budget)

    def hlr_reference(self, scoring: Scoring) -> ClosestReference:
        """The reference of PC+HLR; its similarity is the score."""
        with_golden = scoring.hlr_references == "repaired+golden"
        return self.nearest if with_golden and self.pc > self.repair.similarity else self.repair

    def prefix_criticality(self, scoring: Scoring) -> float:
        """Prefix Criticality."""
        return prefix_criticality(self.path.harm_mask, scoring.beta)

    @property
    def harm_rate(self) -> float:
        """Harmful-Call Rate."""
        return harm_rate(self.path.harm_mask)

    @property
    def harm_count(self) -> int:
        """The number of harmful calls."""
        return sum(self.path.harm_mask)

    @property
    def efficiency(self) -> float | None:
        """Efficiency; None if it is undefined."""
        return efficiency(self.path, self.automaton)

    @property
    def directness(self) -> float | None:
        """Share of calls that were progress; None if it is undefined."""
        return directness(self.path, self.automaton)

    @property
    def accepted(self) -> bool:
        """Whether the run ended in an accepting state."""
        return self.path.end in self.automaton.accepting

    @property
    def missing_steps(self) -> int:
        """The fewest steps from the end of the run to acceptance."""
        return self.automaton.missing[self.path.end]
