"""Monitor policies: which call breaks a policy, and what the policies still require.

monitor = Monitor(policies)
memory = monitor.begin()
broken, memory = monitor.observe(memory, call, state, after)

A memory is immutable and hashable. Two runs with equal memories are the same to every policy from then on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from corepath.notation.action import Action
from corepath.notation.call import Call
from corepath.notation.matchers import Scope
from corepath.rules.policy import After, Before, Condition, Needed, Never, Policy
from corepath.rules.private_fields import fields_of
from corepath.values import canonical

Memory = frozenset[tuple[int, str]]
"""What the policies remember. Each item is a policy's index and the variables of a call it has seen, as text.

For a `before` policy, the call is one that permits later calls. For an `after` policy, it is one that still requires a
later call. For a `needed` policy, it is the needed call.
"""

_Bindings = tuple[dict[str, Any] | None, dict[str, Any] | None]


@dataclass(eq=False)
class Monitor:
    """Applies policies to calls, one call at a time. The matches of each distinct call are cached."""

    policies: Sequence[Policy]
    _bindings: dict[str, list[_Bindings]] = field(default_factory=dict, init=False, repr=False)
    _seen: dict[tuple[int, str], Call] = field(default_factory=dict, init=False, repr=False)
    _by_tool: dict[str, list[int]] = field(default_factory=dict, init=False, repr=False)

    def begin(self) -> Memory:
        """Return the memory before the first call."""
        return frozenset()

    def observe(self, memory: Memory, call: Call, state: Any, after: Any) -> tuple[list[Policy], Memory]:
        """Return the policies that `call` breaks, and the memory after the call.

        `state` is the world's state before the call, and `after` is the state after it. A failed call breaks no policy
        and is not remembered.
        """
        if call.failed:
            return [], memory
        numbers = self._concerned(call.tool)
        if not numbers:
            return [], memory
        bindings = self._bind_all(call, numbers)
        broken = [
            self.policies[number]
            for number, bound in zip(numbers, bindings, strict=True)
            if self._breaks(number, bound, memory, state, after)
        ]
        return broken, self._remember(memory, call, numbers, bindings)

    def owed(self, memory: Memory) -> list[Policy]:
        """Return the policies that still require a call."""
        met = {number for number, _ in memory}
        return [
            policy
            for number, policy in enumerate(self.policies)
            if (isinstance(policy, Needed) and number not in met) or (isinstance(policy, After) and number in met)
        ]

    def _concerned(self, tool: str) -> list[int]:
        """Return the indexes of the policies that a call to `tool` may concern."""
        if tool not in self._by_tool:
            self._by_tool[tool] = [number for number, policy in enumerate(self.policies) if _concerns(policy, tool)]
        return self._by_tool[tool]

    def _bind_all(self, call: Call, numbers: Sequence[int]) -> list[_Bindings]:
        """Match a call with both patterns of each policy in `numbers`."""
        text = canonical([call.tool, call.arguments, call.result])
        if text not in self._bindings:
            self._bindings[text] = [
                (
                    {} if first is None else bind(first, call),
                    None if then is None else bind(then, call),
                )
                for first, then in (_patterns(self.policies[number]) for number in numbers)
            ]
        return self._bindings[text]

    def _breaks(self, number: int, bound: _Bindings, memory: Memory, state: Any, after: Any) -> bool:
        """Whether a call breaks one policy. `bound` holds the call's matches with the policy's two patterns."""
        first, then = bound
        match self.policies[number]:
            case Before(pattern):
                return then is not None and not any(
                    bind(pattern, self._seen[number, text], then) is not None
                    for index, text in memory
                    if index == number
                )
            case Never() as policy:
                return first is not None and _is_forbidden(policy, state, after)
        return False

    def _remember(self, memory: Memory, call: Call, numbers: Sequence[int], bindings: Sequence[_Bindings]) -> Memory:
        """Return the memory after a call."""
        added: set[tuple[int, str]] = set()
        removed: set[tuple[int, str]] = set()
        for number, (first, _) in zip(numbers, bindings, strict=True):
            policy = self.policies[number]
            if isinstance(policy, After):
                removed.update(item for item in memory if item[0] == number and self._settles(policy, item, call))
            if first is not None and not isinstance(policy, Never):
                item = (number, canonical(first))
                self._seen.setdefault(item, call)
                added.add(item)
        return (memory - removed) | added if removed or added else memory

    def _settles(self, policy: After, item: tuple[int, str], call: Call) -> bool:
        """Whether `call` is the later call that an `after` policy requires because of the remembered call `item`."""
        bound = bind(policy.first, self._seen[item])
        return bound is not None and bind(policy.then, call, bound) is not None


def find_breaches(monitor: Monitor, calls: Sequence[Call], states: Sequence[Any]) -> dict[int, Policy]:
    """Return the first policy that each call breaks, keyed by the call's index. Other calls are left out.

    `states` holds the state before the first call and the state after each call.
    """
    found: dict[int, Policy] = {}
    memory = monitor.begin()
    for index, call in enumerate(calls):
        broken, memory = monitor.observe(memory, call, states[index], states[index + 1])
        if broken:
            found[index] = broken[0]
    return found


def bind(pattern: Action, call: Call, variables: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    """Match a call with a pattern. Return the variables, including new ones, or None if the call does not match."""
    if call.failed or not pattern.fits_tool(call.tool):
        return None
    scope = Scope(dict(variables or {}))
    if pattern.arguments.matches(call.arguments, scope) and pattern.fits_result(call.result, scope):
        return scope.variables
    return None


def _concerns(policy: Policy, tool: str) -> bool:
    """Whether a call to `tool` can match one of the policy's patterns."""
    patterns = [pattern for pattern in _patterns(policy) if pattern is not None]
    return not patterns or any(pattern.fits_tool(tool) for pattern in patterns)


def _is_forbidden(policy: Never, state: Any, after: Any) -> bool:
    """Whether a matching call is forbidden between these two states.

    A policy about every call forbids entering a state, so it is not broken by calls made after that. If it looks at
    private fields, which record breaches, each call that changes one of these fields breaks it again.
    """
    if policy.when is not None and not policy.when(state):
        return False
    if policy.leaves is None:
        return True
    if not policy.leaves(after):
        return False
    return policy.call is not None or not policy.leaves(state) or _records_more(policy.leaves, state, after)


def _records_more(leaves: Condition, state: Any, after: Any) -> bool:
    """Whether a private field that the condition looks at changes between two states."""
    return any(getattr(state, name) != getattr(after, name, None) for name in fields_of(leaves, after))


def _patterns(policy: Policy) -> tuple[Action | None, Action | None]:
    """Return the pattern that a policy remembers or forbids, and the pattern that it restricts or requires."""
    match policy:
        case Before(first, then) | After(first, then):
            return first, then
        case Needed(call):
            return call, None
    return policy.call, None
