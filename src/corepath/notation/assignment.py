"""Bipartite matching: decide whether every item can be assigned a different value."""

from __future__ import annotations


def can_assign(fits: list[list[int]]) -> bool:
    """Return True if every item can be assigned a different value.

    `fits` has one list per item, with the indexes of the values that fit the item.
    """
    owner: dict[int, int] = {}
    holds: dict[int, int] = {}
    for item in range(len(fits)):
        # Search for an augmenting path, breadth first: a value becomes free if its owner can move to another value.
        reached: dict[int, int] = {}
        queue = [item]
        for one in queue:
            for value in fits[one]:
                if value not in reached:
                    reached[value] = one
                    if value in owner:
                        queue.append(owner[value])
        free = next((value for value in reached if value not in owner), None)
        if free is None:
            return False
        given: int | None = free
        while given is not None:
            one = reached[given]
            owner[given] = one
            freed = holds.get(one)
            holds[one] = given
            given = freed
    return True
