"""Find out which private fields of a world's state a policy looks at."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from corepath.rules.policy import Condition, Never, Policy


def fields_seen(policies: Iterable[Policy], states: Iterable[Any]) -> frozenset[str]:
    """Return the names of the private fields that the policies' conditions look at in these states."""
    conditions = [
        condition
        for policy in policies
        if isinstance(policy, Never)
        for condition in (policy.when, policy.leaves)
        if condition is not None
    ]
    seen: set[str] = set()
    for state in states if conditions else ():
        for condition in conditions:
            seen |= fields_of(condition, state)
    return frozenset(seen)


def fields_of(condition: Condition, state: Any) -> set[str]:
    """Return the names of the private fields that a condition looks at in a state."""
    if not hasattr(state, "__dict__"):
        return set()
    seen: set[str] = set()

    class Watched(type(state)):  # type: ignore[misc]
        def __getattribute__(self, name: str) -> Any:
            if name.startswith("_") and not name.startswith("__"):
                seen.add(name)
            return super().__getattribute__(name)

    watched = object.__new__(Watched)
    watched.__dict__.update(vars(state))
    condition(watched)
    return seen
