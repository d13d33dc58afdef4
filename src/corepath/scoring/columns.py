"""Compute the Levenshtein distance to all paths of a graph at once, with one table column per node.

x is the agent's condensed path as a sequence of tokens. A reference is a path that x is compared with, i.e. a path
through the graph. The column C of a node has |x| + 1 cells. C[i] is the lowest cost of aligning the first i tokens of x
with any path that leads to the node, minus i·drop. Thanks to this offset, deleting a token of x leaves the value in the
table unchanged. A running minimum over the cells then accounts for all deletions.

Invariant: the values in a column never rise. The cost of aligning all of x is C[|x|] + |x|·drop.
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

    `edge` is the cost of inserting or substituting a reference token. `hit` is the cost of a match. `drop` is the cost
    of deleting a token of x.
    """

    edge: int
    hit: int
    drop: int


EDITS = Weights(edge=1, hit=0, drop=1)
"""Plain edit distance."""


def index_tokens(x: Sequence[Token]) -> dict[Token, list[int]]:
    """Map each token in x to its indexes in ascending order."""
    found: dict[Token, list[int]] = defaultdict(list)
    for index, token in enumerate(x):
        found[token].append(index)
    return dict(found)


def first_column(length: int) -> Column:
    """Return the start node's column, in which every token of x is deleted. `length` is the length of x."""
    return [0] * (length + 1)


def next_column(before: Sequence[tuple[Column, Sequence[int]]], weights: Weights) -> Column:
    """Compute a node's column from the columns of its predecessors.

    `before` has one pair per incoming edge: the predecessor's column, and the indexes at which the edge's token occurs
    in x.
    """
    edge, hit, drop = weights.edge, weights.hit - weights.drop, weights.drop
    lowest = before[0][0] if len(before) == 1 else list(map(min, *(column for column, _ in before)))
    column = [edge + lowest[0]]
    # Written out rather than with min, because this is the innermost loop of all scores.
    column += [edge + (one if one < used - drop else used - drop) for used, one in pairwise(lowest)]  # noqa: FURB136
    lowered = False
    for earlier, matching in before:
        for index in matching:
            cost = earlier[index] + hit
            if cost < column[index + 1]:
                column[index + 1] = cost
                lowered = True
    return list(accumulate(column, min)) if lowered else column
