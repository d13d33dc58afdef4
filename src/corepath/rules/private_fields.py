"""Find out which private fields of a world's state a policy looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from corepath.rules.rule import Condition, Never, Rule


def fields_seen(policies: Iterable[Rule], states: Iterable[Any]) -> frozenset[str]:
    """Return the names of the private fields that the policies' conditions look at in these states."""
    conditions = [
        condition
        for policy in policies
        if isinstance(policy, Never)
        for condition in (policy.when, policy.leaves)
        if condition is not None
    ]
    seen: set[str] = set()
    watch: Callable[[Any], Any] | None = None
    for state in states:
        private = _private(state)
        if not conditions or private <= seen:
            break
        watch = watch or _watcher(type(state), seen)
        watched = watch(state)
        for condition in conditions:
            condition(watched)
    return frozenset(seen)


def fields_of(condition: Condition, state: Any) -> set[str]:
    """Return the names of the private fields that a condition looks at in a state."""
    seen: set[str] = set()
    if _private(state):
        condition(_watcher(type(state), seen)(state))
    return seen


def _private(state: Any) -> set[str]:
    """Return the names of a state's private fields."""
    return {name for name in getattr(state, "__dict__", ()) if name.startswith("_")}


def _watcher(kind: type, seen: set[str]) -> Callable[[Any], Any]:
    """Return a function that copies a state. The copy adds the name of each private field to `seen` when it is read."""

    class Watched(kind):  # type: ignore[misc]
        def __getattribute__(self, name: str) -> Any:
            if name.startswith("_") and not name.startswith("__"):
                seen.add(name)
            return super().__getattribute__(name)

    def watch(state: Any) -> Any:
        watched = object.__new__(Watched)
        watched.__dict__.update(vars(state))
        return watched

    return watch
