"""PC with Harm-Local Refinement: compare the agent's path with the closest of its repaired versions.

x is the agent's condensed path as a sequence of tokens. A reference is a path that x is compared with. Here, the
references are the repaired paths. A repaired path keeps every step of x that leads to another state. Any other step is
harmful, and is either removed or replaced by an action that is a self-loop in the same state. After the last step, the
repaired path continues like a golden path.

Consecutive harmful steps form a streak. They all happen in the same state, so a streak of w steps can become any word
of at most w loop actions. All these words are aligned with x at once, by means of Levenshtein columns. For each prefix
of x, a column holds the lowest cost of aligning this prefix with the beginning of a reference (see `columns`). The
column after a streak is computed from the column before the streak with a sliding-window minimum. This takes time
linear in |x|, no matter how long the streak is.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from corepath.automaton.automaton import Automaton
from corepath.automaton.condensation import Path
from corepath.automaton.step import Token
from corepath.scoring.alignment import ClosestReference, Pair, Prefix, build_alignment, find_closest
from corepath.scoring.columns import Column, Weights, first_column, index_tokens, next_column
from corepath.scoring.edit_search import Link


@dataclass(frozen=True)
class _Streak:
    """Consecutive harmful steps in one state. A streak may be empty.

    `progress` is the progress step after the streak, or None at the end of the path. A repair may replace the streak
    with up to `most` loop actions. `loops` are the state's loop actions that occur in x. `filler` is any loop action,
    used if no token matches. It is None if the state has no loop actions.
    """

    most: int
    loops: frozenset[Token]
    filler: Token | None
    progress: Token | None


def hlr(path: Path, automaton: Automaton) -> ClosestReference:
    """PC+HLR: the largest 1 − NLD over all repaired paths. Returns the path that attains it."""
    rest = automaton.golden_from(path.end)
    x = path.tokens
    if any(path.stays):
        return find_closest(rest, x, _repair_prefix(path, automaton))
    # There is nothing to repair: take the path itself, then the shortest way to acceptance.
    missing = rest.shortest() if rest else ()
    repaired, pairs = build_alignment([*enumerate(x), *((None, token) for token in missing)])
    return ClosestReference(len(missing), tuple(repaired), tuple(pairs), len(x))


def _repair_prefix(path: Path, automaton: Automaton) -> Prefix:
    """Describe how repaired paths can begin: with the agent's steps, where harmful steps are replaced or removed.

    A repaired path then continues like a golden path.
    """
    x, streaks = path.tokens, list(_streaks(path, automaton))
    indexes = index_tokens(x)
    known: dict[Weights, list[array[int]]] = {}

    def generate(weights: Weights) -> Iterator[Column]:
        last = first_column(len(x))
        for streak in streaks:
            yield last
            last = _column_after(streak, last, x, weights)
            if streak.progress is not None:
                yield last
                last = next_column([(last, indexes[streak.progress])], weights)
        yield last

    def columns(weights: Weights) -> list[array[int]]:
        if weights not in known:
            known.clear()  # columns are large if x is long
            known[weights] = [array("q", column) for column in generate(weights)]
        return known[weights]

    def column(weights: Weights) -> Column:
        return columns(weights)[-1].tolist()

    def trace_back(used: int, weights: Weights) -> tuple[list[Token], list[Pair]]:
        return _trace_back(streaks, columns(weights), x, used, weights)

    return Prefix(tuple(_links(path, streaks)), column, trace_back)


def _links(path: Path, streaks: list[_Streak]) -> Iterator[Link]:
    """Yield one link per step: a progress step stays, and a harmful step is replaced by a loop action or left out."""
    remaining = iter(streaks)
    streak = next(remaining)
    for token, harmful in zip(path.tokens, path.stays, strict=True):
        if harmful:
            filler = () if streak.filler is None else (streak.filler,)
            yield Link((*streak.loops, *filler), optional=True)
        else:
            yield Link((token,), optional=False)
            streak = next(remaining)


def _streaks(path: Path, automaton: Automaton) -> Iterator[_Streak]:
    """Yield the streaks of harmful steps: one before each progress step and one at the end."""
    others = [("read", pattern.notation) for pattern in automaton.alphabet.other_loops]
    state, harms = automaton.start, 0
    in_x = set(path.tokens)

    def streak(progress: Token | None) -> _Streak:
        loops: list[Token] = [*automaton.loops(state), *others]
        usable = frozenset(token for token in loops if token in in_x)
        return _Streak(harms if loops else 0, usable, loops[0] if loops else None, progress)

    for token, harmful, after in zip(path.tokens, path.stays, path.states, strict=True):
        if harmful:
            harms += 1
        else:
            yield streak(token)
            state, harms = after, 0
    yield streak(None)


def _column_after(streak: _Streak, column: Column, x: tuple[Token, ...], weights: Weights) -> Column:
    """Compute the column after a streak from the column before it.

    The word of loop actions that replaces the streak is aligned with a span x[first:last]. Let s = last − first, and
    let m be the number of loop tokens in the span. The best word has min(s, most) tokens, of which min(m, most) match.
    For each `last`, the minimum over `first` splits into two sliding windows: `near` with s ≤ most, and `far` with
    s > most and m ≤ most. A span with m > most is never better than a shorter span.
    """
    if not streak.most:
        return column
    matches = list(accumulate((int(token in streak.loops) for token in x), initial=0))
    gain, match = weights.drop - weights.edge, weights.edge - weights.hit
    near = _Window(
        [cost + match * m + gain * index for index, (cost, m) in enumerate(zip(column, matches, strict=True))]
    )
    far = _Window([cost + match * m for cost, m in zip(column, matches, strict=True)])
    result: Column = []
    reach = 0
    for last in range(len(column)):
        near.add(last)
        near.forget_before(last - streak.most)
        cost = near.lowest() - match * matches[last] - gain * last
        if streak.loops and last > streak.most:
            while matches[last] - matches[reach] > streak.most:
                reach += 1
            far.add(last - streak.most - 1)
            far.forget_before(reach)
            if not far.empty():
                cost = min(cost, far.lowest() - match * matches[last] - gain * streak.most)
        result.append(cost)
    return list(accumulate(result, min))


class _Window:
    """Sliding-window minimum: the lowest value among the indexes that were added and not yet forgotten.

    The deque holds indexes in ascending order, and their values ascend too. So the first index has the lowest value.
    Every index is added and removed only once.
    """

    def __init__(self, values: list[int]) -> None:
        self._values = values
        self._indexes: deque[int] = deque()

    def add(self, index: int) -> None:
        """Add an index that is larger than all indexes added before."""
        while self._indexes and self._values[self._indexes[-1]] >= self._values[index]:
            self._indexes.pop()
        self._indexes.append(index)

    def forget_before(self, index: int) -> None:
        """Remove all indexes smaller than `index`."""
        while self._indexes and self._indexes[0] < index:
            self._indexes.popleft()

    def empty(self) -> bool:
        """Whether no index is left."""
        return not self._indexes

    def lowest(self) -> int:
        """Return the lowest value in the window."""
        return self._values[self._indexes[0]]


def _trace_back(
    streaks: list[_Streak], columns: list[array[int]], x: tuple[Token, ...], used: int, weights: Weights
) -> tuple[list[Token], list[Pair]]:
    """Reconstruct the best repaired prefix, and its alignment with the first `used` tokens of x, from the columns."""
    pieces: list[tuple[int | None, Token | None]] = []
    earlier = reversed(columns)
    after = next(earlier)
    for streak in reversed(streaks):
        if streak.progress is not None:
            before = next(earlier)
            used = _trace_progress(streak.progress, before, after, x, used, weights, pieces)
            after = before
        before = next(earlier)
        first, last = _span(before, after, x, streak, used, weights)
        pieces.extend((index, None) for index in range(used - 1, last - 1, -1))
        pieces.extend(reversed(list(_fill(x, streak, first, last))))
        used, after = first, before
    pieces.extend((index, None) for index in range(used - 1, -1, -1))
    return build_alignment(reversed(pieces))


def _trace_progress(
    progress: Token,
    before: array[int],
    after: array[int],
    x: tuple[Token, ...],
    used: int,
    weights: Weights,
    pieces: list[tuple[int | None, Token | None]],
) -> int:
    """Append to `pieces` the tokens of x that are deleted after a progress step, and then the step itself.

    The alignment is traced from its end to its beginning. Returns how many tokens of x are still to be aligned.
    """
    while True:
        cost = after[used]
        hits = used and x[used - 1] == progress and before[used - 1] + weights.hit - weights.drop == cost
        if hits or (used and before[used - 1] + weights.edge - weights.drop == cost):
            used -= 1
            pieces.append((used, progress))
            return used
        if before[used] + weights.edge == cost:
            pieces.append((None, progress))
            return used
        used -= 1
        pieces.append((used, None))


def _span(
    before: array[int], after: array[int], x: tuple[Token, ...], streak: _Streak, used: int, weights: Weights
) -> tuple[int, int]:
    """Return `first` and `last` of the span x[first:last] that the streak is aligned with."""
    if not streak.most:
        return used, used
    gain, match = weights.drop - weights.edge, weights.edge - weights.hit
    last = used
    while last and after[last - 1] == after[used]:
        last -= 1
    matches = 0
    for first in range(last, -1, -1):
        if first < last:
            matches += x[first] in streak.loops
        cost = before[first] - match * min(matches, streak.most) - gain * min(last - first, streak.most)
        if cost == after[used]:
            return first, last
    raise AssertionError("no span explains the column")


def _fill(x: tuple[Token, ...], streak: _Streak, first: int, last: int) -> Iterator[tuple[int, Token | None]]:
    """Yield each index in x[first:last] with the loop action that is aligned with it, or None if x's token is deleted.

    At most `streak.most` loop actions are used: matching ones first, then the filler.
    """
    matching = [index for index in range(first, last) if x[index] in streak.loops][: streak.most]
    others = streak.most - len(matching)
    matched = set(matching)
    for index in range(first, last):
        if index in matched:
            yield index, x[index]
        elif others:
            others -= 1
            yield index, streak.filler
        else:
            yield index, None
