"""Make the rules of worlds and tasks in Python.

The automaton says which paths are allowed, and the policies of a task say why other paths are not. `verify` checks that
no golden path breaks a policy. It also checks that every disallowed path to the goal breaks a policy. A call that
failed breaks no policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from corepath.automaton.reading import Severity
from corepath.errors import TaskError, nearest
from corepath.notation.action import Action, Tool
from corepath.rules.rule import AtLeast, Condition, Eventually, Never, Requires, Rule, Said


def before(first: Action, then: Action, *, because: str) -> Requires:
    """Require an earlier call: `before(scan(plant=p), water.where(plant=p), because="Scan before you water")`."""
    return Requires(first, then, because=because, attempted=False)


def after(first: Action, then: Action, *, because: str) -> Eventually:
    """Require a later call: `after(water.where(plant=p), log.where(plant=p), because="Log every dose")`."""
    return Eventually(first, then, because=because, attempted=False)


def needed(call: Action, *, because: str) -> AtLeast:
    """Require a call: `needed(check_balance(account="A123"), because="check the balance")`."""
    return AtLeast(1, call, each=False, because=because, attempted=False)


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
    return Never(call, when=when, leaves=leaves, because=because, severity=severity, attempted=False)


def describe(rule: Rule) -> str:
    """Describe a rule and its reason. The description also serves as the rule's identifier."""
    return f"{rule}: {rule.because}"


def is_order(rule: Rule) -> bool:
    """Return True if the rule depends on the order of calls.

    Rules that require a call, or forbid a call in every state, do not depend on the order.
    """
    return isinstance(rule, (Requires, Eventually)) or (isinstance(rule, Never) and not rule.always)


def complete_policy(rule: Rule, tools: Mapping[str, Tool]) -> Rule:
    """Return the rule with the tools' default arguments filled into its patterns.

    Raises `TaskError` if a pattern names an unknown tool.
    """

    def complete(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(complete, value))
        if not isinstance(value, Action) or isinstance(value, Said):
            return value
        if not any(value.fits_tool(tool) for tool in tools):
            raise TaskError.of(f"policy '{rule}': no tool '{value.tool}'{nearest(value.tool, tools)}")
        return tools[value.tool].complete(value) if value.tool in tools else value

    return replace(rule, **{one.name: complete(getattr(rule, one.name)) for one in fields(rule)})
