"""Levenshtein distance against all paths of a graph at once, with one column of the table for each node.

Let x be the agent's condensed path. The column C of a node has |x| + 1 cells: C[i] is the lowest cost of aligning the
first i tokens of x with any path that leads to the node, minus i·drop. Thanks to this offset, deleting a token of x
changes nothing in the table, and a running minimum over the cells accounts for all deletions.

Invariant: a column never rises. The cost of aligning all of x is C[|x|] + |x|·drop.
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
    """The costs of an alignment.

    `edge` is the cost of a reference token that is inserted or substituted, `hit` that of a reference token that
    matches, and `drop` that of a token of x that is deleted.
    """

    edge: int
    hit: int
    drop: int


EDITS = Weights(edge=1, hit=0, drop=1)
"""Plain edit distance."""


def index_tokens(x: Sequence[Token]) -> dict[Token, list[int]]:
    """The indexes of each token in x, in ascending order."""
    found: dict[Token, list[int]] = defaultdict(list)
    for index, token in enumerate(x):
        found[token].append(index)
    return dict(found)


def first_column(length: int) -> Column:
    """The column of the start node: every token of x so far is deleted."""
    return [0] * (length + 1)


def next_column(before: Sequence[tuple[Column, Sequence[int]]], weights: Weights) -> Column:
    """The column of a node, from the columns of its predecessors.

    `before` has a pair for each incoming edge: the column at its other end and the indexes of its token in x.
    """
    edge, hit, drop = weights.edge, weights.hit - weights.drop, weights.drop
    lowest = before[0][0] if len(before) == 1 else list(map(min, *(column for column, _ in before)))
    column = [edge + lowest[0]]
    # Written out rather than with min: this is the innermost loop of all scores.
    column += [edge + (one if one < used - drop else used - drop) for used, one in pairwise(lowest)]  # noqa: FURB136
    lowered = False
    for earlier, matching in before:
        for index in matching:
            cost = earlier[index] + hit
            if cost < column[index + 1]:
                column[index + 1] = cost
                lowered = True
    return list(accumulate(column, min)) if lowered else column
