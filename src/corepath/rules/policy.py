"""Policies: the reasons for which a way to the goal is a wrong one, each with the words that tell the agent.

An automaton says what is allowed; a policy says why not otherwise. `verify` holds every golden path against the
policies, and finds in them the reason for each way to the goal that the automaton rejects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from corepath.automaton.alphabet import Severity
from corepath.errors import TaskError, nearest
from corepath.notation.action import Action, Tool
from corepath.notation.call import Call
from corepath.notation.matchers import Scope

Condition = Callable[[Any], object]
"""A question about the state of a world."""


@dataclass(frozen=True)
class Before:
    """The first call stands before each of the second kind; variables must agree."""

    first: Action
    then: Action
    because: str

    def __str__(self) -> str:
        return f"{self.first.notation} before {self.then.notation}"


@dataclass(frozen=True)
class After:
    """Once the first call is done, the second must follow before the end; variables must agree."""

    first: Action
    then: Action
    because: str

    def __str__(self) -> str:
        return f"after {self.first.notation}, {self.then.notation}"


@dataclass(frozen=True)
class Needed:
    """The call must be made before the end."""

    call: Action
    because: str

    def __str__(self) -> str:
        return f"{self.call.notation} is needed"


@dataclass(frozen=True)
class Never:
    """The call must not be made: never, or not in a state for which `when` holds, or not if it `leaves` such a one."""

    call: Action | None
    because: str
    when: Condition | None = None
    leaves: Condition | None = None
    severity: Severity = "medium"

    @property
    def always(self) -> bool:
        """Whether it holds in every state, as a forbidden call does."""
        return self.when is None and self.leaves is None

    def __str__(self) -> str:
        condition = "" if self.always else " in such a state" if self.leaves is None else " into such a state"
        return f"never {'any call' if self.call is None else self.call.notation}{condition}"


Policy = Before | After | Needed | Never


def before(first: Action, then: Action, *, because: str) -> Before:
    """`before(scan(plant=p), water.where(plant=p), because="Scan a plant before you water it")`."""
    return Before(first, then, because)


def after(first: Action, then: Action, *, because: str) -> After:
    """`after(water.where(plant=p), log.where(plant=p), because="Log every dose")`."""
    return After(first, then, because)


def needed(call: Action, *, because: str) -> Needed:
    """`needed(check_balance(account="A123"), because="check the balance")`."""
    return Needed(call, because)


def never(
    call: Action | None = None,
    *,
    because: str,
    when: Condition | None = None,
    leaves: Condition | None = None,
    severity: Severity = "medium",
) -> Never:
    """`never(override_limits.any(), because="...")`, or `never(move.any(), when=lambda farm: farm.wet, because="...")`.

    `when` is asked of the state before the call, `leaves` of the state after it; without a call it is about every one.
    """
    if call is None and when is None and leaves is None:
        raise ValueError("never() without a call, when= or leaves= would forbid everything")
    return Never(call, because, when, leaves, severity)


def named(policy: Policy) -> str:
    """The policy and its reason, which tell it apart."""
    return f"{policy}: {policy.because}"


def is_order(policy: Policy) -> bool:
    """Whether it is about order, rather than a call that is forbidden or needed."""
    return isinstance(policy, (Before, After)) or (isinstance(policy, Never) and not policy.always)


def completed(policy: Policy, tools: Mapping[str, Tool]) -> Policy:
    """The policy with its patterns completed with the tools' defaults."""

    def full(action: Action) -> Action:
        if not any(action.fits_tool(tool) for tool in tools):
            raise TaskError.of(f"policy '{policy}': no tool '{action.tool}'{nearest(action.tool, tools)}")
        return tools[action.tool].complete(action) if action.tool in tools else action

    match policy:
        case Before() | After():
            return replace(policy, first=full(policy.first), then=full(policy.then))
        case Needed():
            return replace(policy, call=full(policy.call))
    return policy if policy.call is None else replace(policy, call=full(policy.call))


def breaks(policy: Policy, done: Sequence[Call], call: Call, state: Any, after: Any) -> bool:
    """Whether the call breaks the policy, after the calls done so far; `state` and `after` are those around it."""
    match policy:
        case Before(first, then):
            bound = _bound(then, call, {})
            return bound is not None and not any(_bound(first, earlier, bound) is not None for earlier in done)
        case Never(pattern):
            return (
                (pattern is None or _bound(pattern, call, {}) is not None)
                and (policy.when is None or bool(policy.when(state)))
                and (policy.leaves is None or bool(policy.leaves(after)))
            )
    return False


def concerns(policy: Policy, tool: str) -> bool:
    """Whether a call of the tool could break the policy."""
    match policy:
        case Before(_, then):
            return then.fits_tool(tool)
        case Never(pattern):
            return pattern is None or pattern.fits_tool(tool)
    return False


def owes(policy: Policy, done: Sequence[Call]) -> bool:
    """Whether the policy still asks for something after the calls done so far."""
    match policy:
        case Needed(call):
            return not any(_bound(call, one, {}) is not None for one in done)
        case After(first, then):
            for index, one in enumerate(done):
                bound = _bound(first, one, {})
                if bound is not None and not any(_bound(then, late, bound) is not None for late in done[index + 1 :]):
                    return True
    return False


def _bound(pattern: Action, call: Call, variables: Mapping[str, Any]) -> dict[str, Any] | None:
    """The variables under which the call fits the pattern, or None where it does not."""
    if not pattern.fits_tool(call.tool) or call.failed:
        return None
    scope = Scope(dict(variables))
    if pattern.arguments.matches(call.arguments, scope) and pattern.fits_result(call.result, scope):
        return scope.variables
    return None
