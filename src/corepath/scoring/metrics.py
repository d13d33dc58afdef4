"""All metrics for one path, as used by `score`, by batches and by the sensitivity analysis.

The kernel computes them. What would take it too long, because there are too many golden paths, is searched: the nearest
golden path, PC-KTC and the repaired path, as `alignment`, `pc_ktc` and `hlr` describe. Both ways are exact.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from corepath.automaton.automaton import Automaton
from corepath.automaton.condensation import Path
from corepath.automaton.flat import FlatAutomaton, flat_form
from corepath.automaton.step import Kind, Token, effect
from corepath.notation.call import Call
from corepath.scoring import kernel
from corepath.scoring.alignment import ClosestReference
from corepath.scoring.arrays import COMPILED, numbers, zeros
from corepath.scoring.hlr import hlr
from corepath.scoring.options import Scoring
from corepath.scoring.path_correctness import path_correctness
from corepath.scoring.pc_ktc import Composite, pc_ktc

MOST_CELLS: Final = 200_000 if COMPILED else 2_000
"""The most cells of a table that the kernel computes. Beyond that, searching is faster."""
MOST_BITS: Final = 60
"""The longest path of which the kernel keeps a column of the Levenshtein table in two words."""
MOST_KEPT: Final = 4_096
"""The most condensed paths per task for which the results of searches are kept."""
UNKNOWN: Final = ("", "")
"""Stands for every call that fits no action. No token of a golden path equals it."""
PC, PC_KTC, PC_HLR = 1, 2, 4
"""What the kernel left to do."""


class Measured(NamedTuple):
    """The metrics of a path. An undefined metric is None."""

    pc: float
    pc_ktc_lower: float
    pc_ktc_upper: float
    prefix_criticality: float
    harm_rate: float
    harm_count: int
    efficiency: float | None
    directness: float | None
    pc_hlr: float
    accepted: bool
    missing_steps: int


class Searched(NamedTuple):
    """What was searched for a path. What the kernel computed is None here."""

    pc: float | None
    pc_ktc: Composite | None
    pc_hlr: float | None


@dataclass(frozen=True)
class Metrics:
    """All metrics for a path on an automaton, and the paths that it is compared with."""

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

    def hlr_reference(self, scoring: Scoring) -> ClosestReference:
        """Return the path that PC+HLR compares the agent's path with. Its similarity is the PC+HLR score."""
        with_golden = scoring.hlr_references == "repaired+golden"
        return self.nearest if with_golden and self.nearest.similarity > self.repair.similarity else self.repair

    def measure(self, scoring: Scoring) -> Measured:
        """Compute all metrics. Results are kept for paths that come again."""
        path, kept = self.path, flat_form(self.automaton).kept
        tokens = tuple(token if isinstance(token, int) else -1 for token in path.tokens)
        key = (tokens, path.harm_mask, path.stays, path.states, path.end, path.length, scoring)
        if key not in kept:
            if len(kept) >= MOST_KEPT:
                kept.clear()
            kept[key] = self._measure(scoring)
        found: Measured = kept[key]
        return found

    def _measure(self, scoring: Scoring) -> Measured:
        path, flat = self.path, flat_form(self.automaton)
        symbols = flat.symbols
        work = Workspace(flat, len(path.tokens), scoring)
        x = numbers([token if isinstance(token, int) else symbols for token in path.tokens])
        before = numbers((self.automaton.start, *path.states[:-1]))
        kernel.measure(
            flat.graph, x, numbers(path.harm_mask), numbers(path.stays), before, len(path.tokens), path.length,
            path.end, work.options, work.place, work.columns, work.live, work.out, 0,
        )  # fmt: skip
        todo = int(work.out[11])
        return finish(work.out, 0, self.search(todo, scoring) if todo else None)

    def search(self, todo: int, scoring: Scoring) -> Searched:
        """Search for what the kernel left to do. Results are kept for paths that come again."""
        path, kept = self.path, flat_form(self.automaton).kept
        tokens = tuple(token if isinstance(token, int) else -1 for token in path.tokens)
        key = (tokens, path.harm_mask, path.stays, path.end, scoring, todo)
        if key not in kept:
            if len(kept) >= MOST_KEPT:
                kept.clear()
            kept[key] = self._search(todo, scoring)
        found: Searched = kept[key]
        return found

    def _search(self, todo: int, scoring: Scoring) -> Searched:
        with_golden = todo & PC and scoring.hlr_references == "repaired+golden"
        ktc = None
        if todo & PC_KTC:
            ktc = pc_ktc(
                self.path, self.automaton, self.nearest, scoring.lam, scoring.order_fallback, scoring.ktc_budget
            )
        return Searched(
            self.nearest.similarity if todo & PC else None,
            ktc,
            self.hlr_reference(scoring).similarity if todo & PC_HLR or with_golden else None,
        )


class Workspace:
    """The options and the arrays that the kernel works in, for paths of at most `length` steps."""

    def __init__(self, flat: FlatAutomaton, length: int, scoring: Scoring) -> None:
        self.options = kernel_options(scoring)
        self.place = zeros(flat.symbols + 1)
        self.columns = zeros(min(flat.nodes * (length + 1), MOST_CELLS) + length + 1 if flat.is_whole else 0)
        self.live = zeros(max(flat.nodes, flat.longest) + 1 if flat.is_whole else 0)
        self.out = array("d", bytes(8 * kernel.WIDTH))


def kernel_options(scoring: Scoring) -> array[float]:
    """Return the scoring options as the kernel takes them."""
    fallback = -1.0 if scoring.order_fallback == "pc" else float(scoring.order_fallback)
    golden_too = scoring.hlr_references == "repaired+golden"
    return array("d", (scoring.lam, scoring.beta, fallback, golden_too, MOST_CELLS, MOST_BITS))


def measure_calls(automaton: Automaton, calls: Sequence[Call], scoring: Scoring) -> Measured:
    """Compute all metrics of calls on an automaton whose calls are coded, without looking at steps one by one."""
    flat = flat_form(automaton)
    known = flat.codes(scoring.errors)
    coded = numbers(list(map(known.code, calls)))
    length = len(calls)
    work = Workspace(flat, length, scoring)
    x, harm, before, mark = zeros(length), zeros(length), zeros(length), zeros(length)
    n = -1
    while n < 0:
        n, end = kernel.condense(known.rows, coded, 0, length, automaton.start, x, harm, before, mark, work.place)
        if n < 0:
            known.fill(end)
    kernel.measure(
        flat.graph, x, harm, harm, before, n, length, end, work.options, work.place, work.columns, work.live,
        work.out, 0,
    )  # fmt: skip
    todo = int(work.out[11])
    if not todo:
        return finish(work.out, 0, None)
    metrics = Metrics(make_path(automaton, x[:n], harm[:n], before[:n], end, length), automaton)
    return finish(work.out, 0, metrics.search(todo, scoring))


def follow_calls(automaton: Automaton, calls: Sequence[Call], scoring: Scoring) -> Measured:
    """Compute the same metrics on an automaton that is too large to code its calls, without making steps."""
    state, errors = automaton.start, scoring.errors
    x: list[int] = []
    harm: list[int] = []
    before: list[int] = []
    unknown = len(automaton.alphabet.actions)
    for call in calls:
        failed = call.failed and errors != "as_called"
        reading = automaton.alphabet.read(call, {}, {}, failed=failed)
        kind, after = effect(automaton, state, call, reading, failed=failed)
        is_harm = kind is Kind.HARM or (failed and errors == "harmful")
        if is_harm or kind is Kind.PROGRESS:
            x.append(unknown if reading.symbol is None else reading.symbol)
            harm.append(int(is_harm))
            before.append(state)
        state = after
    return Metrics(make_path(automaton, x, harm, before, state, len(calls)), automaton).measure(scoring)


def make_path(
    automaton: Automaton, x: Sequence[int], harm: Sequence[int], before: Sequence[int], end: int, length: int
) -> Path:
    """Convert a condensed run to a path. All calls that fit no action become the same token."""
    symbols = len(automaton.alphabet.actions)
    tokens: list[Token] = [symbol if symbol < symbols else UNKNOWN for symbol in x]
    mask = tuple(harm)
    return Path(tuple(tokens), mask, (*before[1:], end)[: len(x)], end, length, mask)


def finish(out: Sequence[float], at: int, searched: Searched | None) -> Measured:
    """Read the metrics of an episode that the kernel wrote from `at` on, and those that were searched."""
    pc, ktc, prefix, rate, efficiency, directness, repaired, harms, _, accepted, missing, _ = out[
        at : at + kernel.WIDTH
    ]
    lower = upper = ktc
    if searched is not None:
        pc = pc if searched.pc is None else searched.pc
        repaired = repaired if searched.pc_hlr is None else searched.pc_hlr
        if searched.pc_ktc is not None:
            lower, upper = searched.pc_ktc.lower, searched.pc_ktc.upper
    return Measured(
        pc, lower, upper, prefix, rate, int(harms), None if efficiency < 0 else efficiency,
        None if directness < 0 else directness, repaired, bool(accepted), int(missing),
    )  # fmt: skip
