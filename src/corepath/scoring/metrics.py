"""All metrics for one path, as used by `score` and by the sensitivity analysis."""

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
    """All metrics for a path on an automaton.

    Metrics that depend on scoring options are methods. All other metrics are properties.
    """

    path: Path
    automaton: Automaton

    @cached_property
    def nearest(self) -> ClosestReference:
        """The golden path closest to the agent's path. Its similarity is PC."""
        return path_correctness(self.path, self.automaton)

    @cached_property
    def repair(self) -> ClosestReference:
        """The repaired path closest to the agent's path, used for PC+HLR."""
        return hlr(self.path, self.automaton)

    @property
    def pc(self) -> float:
        """Path Correctness."""
        return self.nearest.similarity

    def pc_ktc(self, scoring: Scoring) -> Composite:
        """Compute PC-KTC, or an interval that contains it if the search exceeds its budget."""
        return pc_ktc(self.path, self.automaton, self.nearest, scoring.lam, scoring.order_fallback, scoring.ktc_budget)

    def hlr_reference(self, scoring: Scoring) -> ClosestReference:
        """Return the path that PC+HLR compares the agent's path with. Its similarity is the PC+HLR score."""
        with_golden = scoring.hlr_references == "repaired+golden"
        return self.nearest if with_golden and self.pc > self.repair.similarity else self.repair

    def prefix_criticality(self, scoring: Scoring) -> float:
        """Compute Prefix Criticality."""
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
        """Efficiency, or None if undefined."""
        return efficiency(self.path, self.automaton)

    @property
    def directness(self) -> float | None:
        """The share of calls that were progress, or None if undefined."""
        return directness(self.path, self.automaton)

    @property
    def accepted(self) -> bool:
        """Whether the run ended in an accepting state."""
        return self.path.end in self.automaton.accepting

    @property
    def missing_steps(self) -> int:
        """The smallest number of steps from the run's last state to an accepting state."""
        return self.automaton.missing[self.path.end]
