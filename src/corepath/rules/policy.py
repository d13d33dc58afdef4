"""Policies: rules that say why some ways to reach the goal are wrong.

The automaton says which paths are allowed, and policies say why other paths are not. `verify` checks that no golden
path breaks a policy. It also checks that every disallowed path to the goal breaks a policy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from corepath.automaton.alphabet import Severity
from corepath.errors import TaskError, nearest
from corepath.notation.action import Action, Tool

Condition = Callable[[Any], object]
"""A condition on a world's state."""


@dataclass(frozen=True)
class Before:
    """A policy: each call that matches `then` needs an earlier call that matches `first`.

    Variables must have the same values in both calls.
    """

    first: Action
    then: Action
    because: str

    def __str__(self) -> str:
        return f"{self.first.notation} before {self.then.notation}"


@dataclass(frozen=True)
class After:
    """A policy: each call that matches `first` needs a later call that matches `then`.

    Variables must have the same values in both calls.
    """

    first: Action
    then: Action
    because: str

    def __str__(self) -> str:
        return f"after {self.first.notation}, {self.then.notation}"


@dataclass(frozen=True)
class Needed:
    """A policy: the agent must make this call at some point."""

    call: Action
    because: str

    def __str__(self) -> str:
        return f"{self.call.notation} is needed"


@dataclass(frozen=True)
class Never:
    """A policy: the agent must not make this call.

    If `when` is set, the call is forbidden only in states that satisfy `when`. If `leaves` is set, the call is
    forbidden only if the state after it satisfies `leaves`. If `call` is None, the policy applies to every call.
    """

    call: Action | None
    because: str
    when: Condition | None = None
    leaves: Condition | None = None
    severity: Severity = "medium"

    @property
    def always(self) -> bool:
        """Whether the call is forbidden in every state."""
        return self.when is None and self.leaves is None

    def __str__(self) -> str:
        condition = "" if self.always else " in a forbidden state" if self.leaves is None else " into a forbidden state"
        return f"never {'any call' if self.call is None else self.call.notation}{condition}"


Policy = Before | After | Needed | Never


def before(first: Action, then: Action, *, because: str) -> Before:
    """Require an earlier call: `before(scan(plant=p), water.where(plant=p), because="Scan before you water")`."""
    return Before(first, then, because)


def after(first: Action, then: Action, *, because: str) -> After:
    """Require a later call: `after(water.where(plant=p), log.where(plant=p), because="Log every dose")`."""
    return After(first, then, because)


def needed(call: Action, *, because: str) -> Needed:
    """Require a call: `needed(check_balance(account="A123"), because="check the balance")`."""
    return Needed(call, because)


def never(
    call: Action | None = None,
    *,
    because: str,
    when: Condition | None = None,
    leaves: Condition | None = None,
    severity: Severity = "medium",
) -> Never:
    """Forbid a call: `never(drain.any(), because="...")`, `never(move.any(), when=lambda f: f.wet, because="...")`.

    `when` is a condition on the state before the call, and `leaves` is a condition on the state after it. If `call` is
    None, the policy applies to every call.
    """
    if call is None and when is None and leaves is None:
        raise ValueError("never() without a call, when= or leaves= would forbid everything")
    return Never(call, because, when, leaves, severity)


def describe(policy: Policy) -> str:
    """Describe a policy and its reason. The description also serves as the policy's identifier."""
    return f"{policy}: {policy.because}"


def is_order(policy: Policy) -> bool:
    """Return True if the policy depends on the order of calls.

    Policies that require a call, or forbid a call in every state, do not depend on the order.
    """
    return isinstance(policy, (Before, After)) or (isinstance(policy, Never) and not policy.always)


def complete_policy(policy: Policy, tools: Mapping[str, Tool]) -> Policy:
    """Return the policy with the tools' default arguments filled into its patterns.

    Raises `TaskError` if a pattern names an unknown tool.
    """

    def complete(action: Action) -> Action:
        if not any(action.fits_tool(tool) for tool in tools):
            raise TaskError.of(f"policy '{policy}': no tool '{action.tool}'{nearest(action.tool, tools)}")
        return tools[action.tool].complete(action) if action.tool in tools else action

    match policy:
        case Before() | After():
            return replace(policy, first=complete(policy.first), then=complete(policy.then))
        case Needed():
            return replace(policy, call=complete(policy.call))
    return policy if policy.call is None else replace(policy, call=complete(policy.call))
