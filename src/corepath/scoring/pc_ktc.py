"""PC-KTC: Path Correctness and the order of what was done, Kendall's τ, taken together.

The golden path that is best for both at once is found by a best-first search over golden paths and alignments: what
is expanded next is what can still become best, so the first way that reaches the end is the answer. A place in the
search is a node of the golden graph together with the tokens of x that may still be matched from there and how many
matched ones stand to the right of each: no more of the past bears on the future.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import accumulate
from typing import Final, Literal, cast

from corepath.automaton.automaton import Automaton
from corepath.automaton.condensation import Path
from corepath.automaton.golden_paths import Golden, lengths_of
from corepath.automaton.step import Token
from corepath.scoring.alignment import Closest, similarity
from corepath.scoring.columns import EDITS, Column, cross, first_column, places

OrderFallback = float | Literal["pc"]
"""τ⁺ where fewer than two tokens match: a number, or PC itself."""

FEW: Final = 64
"""So many golden paths are simply listed."""
_ROUNDING: Final = 1e-13
_Open = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Composite:
    """PC-KTC, certain to lie between `lower` and `upper`; the two are equal where it is exact."""

    lower: float
    upper: float

    @property
    def exact(self) -> bool:
        """Whether it is known for certain."""
        return self.lower == self.upper


@dataclass(frozen=True)
class _Formula:
    """λ·PC + (1−λ)·τ⁺."""

    lam: float
    fallback: OrderFallback

    def __call__(self, pc: float, inversions: int, pairs: int) -> float:
        if pairs:
            return self.lam * pc + (1 - self.lam) * (1 - inversions / pairs)
        return self.lam * pc + (1 - self.lam) * (pc if self.fallback == "pc" else self.fallback)

    def ceiling(self, pc: float, *, ordered: bool) -> float:
        """More than any path can have whose PC is no better: everything in order, where there is an order at all."""
        return max(self(pc, 0, 1), self(pc, 0, 0)) if ordered else self(pc, 0, 0)


def pc_ktc(
    path: Path, automaton: Automaton, nearest: Closest, lam: float, fallback: OrderFallback, budget: int
) -> Composite:
    """PC-KTC (Eq. 5): the largest λ·PC + (1−λ)·τ⁺ over all golden paths, PC and τ⁺ of the same path.

    `nearest` is the path that PC found. Past `budget` places searched, the answer is an interval.
    """
    golden, x = automaton.golden, path.tokens
    formula = _Formula(lam, fallback)
    known = formula(nearest.similarity, *concordance(x, nearest.path))
    ceiling = formula.ceiling(nearest.similarity, ordered=_may_match_two(golden, x))
    if known >= ceiling - _ROUNDING or golden.count == 1:
        return Composite(known, known)
    if golden.count <= FEW:
        for one in golden.paths():
            order = concordance(x, one)
            if formula(nearest.similarity, *order) > known:  # no path has a better PC than the nearest one
                known = max(known, formula(_similarity(x, one), *order))
        return Composite(known, known)
    blurred = golden.blurred(set(x))
    return _Search(blurred.graph if blurred else golden, x, formula).best(known, ceiling, budget)


def concordance(x: Sequence[Token], path: Sequence[Token]) -> tuple[int, int]:
    """Inversions and pairs of matches: each token of x goes with the earliest free one of its kind in the path."""
    free = {token: iter(at) for token, at in places(path).items()}
    inversions = 0
    ranks: list[int] = []
    for token in x:
        if token in free and (rank := next(free[token], None)) is not None:
            place = bisect(ranks, rank)
            inversions += len(ranks) - place
            ranks.insert(place, rank)
    return inversions, len(ranks) * (len(ranks) - 1) // 2


def _may_match_two(golden: Golden, x: Sequence[Token]) -> bool:
    """Whether x has two tokens that golden paths have at all."""
    return sum(token in golden.symbols for token in x) >= 2


def _similarity(x: Sequence[Token], path: Sequence[Token]) -> float:
    where = places(x)
    column = first_column(len(x))
    for token in path:
        column = cross([(column, where.get(token, ()))], EDITS)
    return similarity(column[-1] + len(x), len(x), len(path))


@dataclass
class _Place:
    """What the future of a search depends on, and what can still come of it."""

    node: int
    left: int
    """How many steps of the golden path are left."""
    length: int
    """How many it has in all."""
    matches: int
    open: _Open
    """The places in x that may still be matched, each with how many matched ones stand to its right."""
    futures: tuple[tuple[int, int], ...] = ()
    """For each number of further matches: the inversions that they add at least, and the pairs there are then."""
    after: list[tuple[int, int, int]] | None = None
    """For each edge: its symbol, the place it leads to, and the inversions it adds."""

    def __post_init__(self) -> None:
        cheapest = sorted(right for _, right in self.open)[: self.left]
        totals = range(self.matches, self.matches + len(cheapest) + 1)
        pairs = [matches * (matches - 1) // 2 for matches in totals]
        self.futures = tuple(zip(accumulate(cheapest, initial=0), pairs, strict=True))


class _Search:
    """The best-first search for one x."""

    def __init__(self, golden: Golden, x: Sequence[Token], formula: _Formula) -> None:
        self.golden, self.x, self.formula = golden, x, formula
        self.backwards = places(x[::-1])
        self.places: list[_Place] = []
        self.numbers: dict[tuple[int, int, int, int, _Open], int] = {}
        self.rest: dict[tuple[int, int], Column] = {}
        self.heap: list[tuple[float, int, int, int, int, int, int]] = []
        self.seen: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def best(self, known: float, ceiling: float, budget: int) -> Composite:
        """The largest value, or an interval that holds it."""
        n, golden = len(self.x), self.golden
        if len(golden.edges) * golden.lengths.bit_count() * (n + golden.longest + 1) > 50 * budget:
            return Composite(known, ceiling)
        beginning = self._matchable(golden.start, tuple((place, 0) for place in range(n)))
        for length in lengths_of(golden.lengths):
            self._offer(self._place(golden.start, length, length, 0, beginning), 0, 0, 0, known)
        while self.heap:
            bound, left, unused, number, used, distance, inversions = heappop(self.heap)
            if -bound <= known + _ROUNDING:
                break
            if not left and not unused:
                return Composite(-bound, -bound)
            if (distance, inversions) not in self.seen[number, used]:
                continue
            if not budget:
                return Composite(max(known, self._straight_on(number, used, distance, inversions)), -bound)
            budget -= 1
            for onward in self._onward(number, used, distance, inversions):
                self._offer(*onward, known)
        return Composite(known, known)

    def _onward(self, number: int, used: int, distance: int, inversions: int) -> Iterator[tuple[int, int, int, int]]:
        """One token of x left over, or one more step of the golden path, with a token of x or without."""
        unused = used < len(self.x)
        if unused:
            yield number, used + 1, distance + 1, inversions
        for symbol, after, added in self._after(number):
            yield after, used, distance + 1, inversions + added
            if unused:
                yield after, used + 1, distance + (self.x[used] != symbol), inversions + added

    def _straight_on(self, number: int, used: int, distance: int, inversions: int) -> float:
        """The value of a golden path that goes on from here by what looks best at each step."""
        while self.places[number].left or used < len(self.x):
            onward = self._onward(number, used, distance, inversions)
            number, used, distance, inversions = max(onward, key=self._promise)
        return self._bound(self.places[number], 0, distance, inversions)

    def _promise(self, there: tuple[int, int, int, int]) -> tuple[float, int, int]:
        number, used, distance, inversions = there
        place = self.places[number]
        return self._bound(place, len(self.x) - used, distance, inversions), -place.left, used

    def _offer(self, number: int, used: int, distance: int, inversions: int, known: float) -> None:
        """Note a place to go on from, unless it cannot become best or is no better than one noted before."""
        offered = self.seen.setdefault((number, used), [])
        for d, i in offered:
            if d <= distance and i <= inversions:
                return
        place = self.places[number]
        unused = len(self.x) - used
        bound = self._bound(place, unused, distance, inversions)
        if bound > known + _ROUNDING:
            offered[:] = [(d, i) for d, i in offered if d < distance or i < inversions]
            offered.append((distance, inversions))
            heappush(self.heap, (-bound, place.left, unused, number, used, distance, inversions))

    def _bound(self, place: _Place, unused: int, distance: int, inversions: int) -> float:
        """What can still be had from here at most."""
        edits = distance + self._rest(place.node, place.left)[unused] + unused
        pc = similarity(edits, len(self.x), place.length)
        return max(self.formula(pc, inversions + added, pairs) for added, pairs in place.futures)

    def _rest(self, node: int, left: int) -> Column:
        """The fewest edits from here for each number of unused tokens, less that number (see `columns`)."""
        waiting = [(node, left)]
        while waiting:
            here = waiting[-1]
            if here in self.rest:
                waiting.pop()
                continue
            edges = [(symbol, (after, here[1] - 1)) for symbol, after in self._edges(*here)]
            needs = [key for _, key in edges if key not in self.rest]
            if needs:
                waiting.extend(needs)
            elif edges:
                self.rest[here] = cross([(self.rest[key], self.backwards.get(s, ())) for s, key in edges], EDITS)
            else:
                self.rest[here] = first_column(len(self.x))
        return self.rest[node, left]

    def _edges(self, node: int, left: int) -> list[tuple[int, int]]:
        """The edges from which the golden path can end in time."""
        if not left:
            return []
        return [edge for edge in self.golden.edges[node] if self.golden.lengths_from[edge[1]] >> (left - 1) & 1]

    def _after(self, number: int) -> list[tuple[int, int, int]]:
        place = self.places[number]
        if place.after is None:
            place.after = [self._taken(place, *edge) for edge in self._edges(place.node, place.left)]
        return place.after

    def _taken(self, place: _Place, symbol: int, after: int) -> tuple[int, int, int]:
        """One edge: it matches the earliest open token of its kind."""
        still_open, added, matches = place.open, 0, place.matches
        match = next((one for one in place.open if self.x[one[0]] == symbol), None)
        if match is not None:
            at, added = match
            matches += 1
            still_open = tuple((one, right + (one < at)) for one, right in place.open if one != at)
        still_open = self._matchable(after, still_open)
        target = self._place(after, place.left - 1, place.length, matches, still_open)
        return symbol, target, added

    def _place(self, node: int, left: int, length: int, matches: int, still_open: _Open) -> int:
        key = (node, left, length, matches, still_open)
        if key not in self.numbers:
            self.numbers[key] = len(self.places)
            self.places.append(_Place(*key))
        return self.numbers[key]

    def _matchable(self, node: int, still_open: _Open) -> _Open:
        """Without the tokens that no way from the node can match any more."""
        left = cast("dict[Token, int]", dict(self.golden.most_of[node]))
        kept: list[tuple[int, int]] = []
        for one in still_open:
            token = self.x[one[0]]
            if left.get(token):
                left[token] -= 1
                kept.append(one)
        return tuple(kept)
