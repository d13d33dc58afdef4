"""Whether items can be given a value each, no value twice."""

from __future__ import annotations


def assigned(fits: list[list[int]]) -> bool:
    """Whether each item finds a value of its own; `fits` has for each item the numbers of the values that fit it."""
    owner: dict[int, int] = {}
    holds: dict[int, int] = {}
    for item in range(len(fits)):
        # Breadth first from the item: a value that another item holds is freed by moving that item on.
        reached: dict[int, int] = {}
        queue = [item]
        for one in queue:
            for index in fits[one]:
                if index not in reached:
                    reached[index] = one
                    if index in owner:
                        queue.append(owner[index])
        free = next((index for index in reached if index not in owner), None)
        if free is None:
            return False
        moved: int | None = free
        while moved is not None:
            one = reached[moved]
            owner[moved] = one
            freed = holds.get(one)
            holds[one] = moved
            moved = freed
    return True
