"""Edit distance against many references at once: the column that every metric crosses edges with.

A column holds, for each number of tokens of x used so far, the lowest cost of aligning them with some path that
leads to a node. Costs are kept less `drop` for each token used, so that dropping a token of x is free: a column
is then closed by a running minimum, and it never rises.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from corepath.automaton.step import Token

Column = list[int]


@dataclass(frozen=True)
class Weights:
    """What an alignment costs.

    `edge` for a reference token inserted or put for another, `hit` for one that matches, `drop` for a token of x
    that is left over.
    """

    edge: int
    hit: int
    drop: int


EDITS = Weights(edge=1, hit=0, drop=1)
"""Plain edit distance."""


def places(x: Sequence[Token]) -> dict[Token, list[int]]:
    """Where each token stands in x."""
    found: dict[Token, list[int]] = defaultdict(list)
    for place, token in enumerate(x):
        found[token].append(place)
    return dict(found)


def first_column(length: int) -> Column:
    """The column before any reference token: all of x so far dropped."""
    return [0] * (length + 1)


def cross(before: Sequence[tuple[Column, Sequence[int]]], weights: Weights) -> Column:
    """The column after one more reference token.

    `before` has, for each edge that leads here, the column at its other end and the places of its token in x.
    """
    edge, hit, drop = weights.edge, weights.hit - weights.drop, weights.drop
    lowest = before[0][0] if len(before) == 1 else list(map(min, *(column for column, _ in before)))
    column = [edge + lowest[0]]
    # Written out rather than with min: this is the innermost loop of all scores.
    column += [edge + (one if one < used - drop else used - drop) for used, one in pairwise(lowest)]  # noqa: FURB136
    lowered = False
    for earlier, matching in before:
        for place in matching:
            cost = earlier[place] + hit
            if cost < column[place + 1]:
                column[place + 1] = cost
                lowered = True
    return list(accumulate(column, min)) if lowered else column
