"""Bipartite matching: whether each item can get a value of its own."""

from __future__ import annotations


def can_assign(fits: list[list[int]]) -> bool:
    """Whether each item can have a value of its own; `fits` lists the values (as numbers) that fit each item."""
    owner: dict[int, int] = {}
    holds: dict[int, int] = {}
    for item in range(len(fits)):
        # Search for an augmenting path, breadth first: a taken value is freed by moving its owner to another one.
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
