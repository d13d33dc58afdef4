"""Find the policy that a call broke itself, so that no other call is blamed for it."""

from __future__ import annotations

from corepath.automaton.harm import HarmKind
from corepath.explanation.facts import Facts
from corepath.explanation.value_text import message_text
from corepath.rules.rule import Never
from corepath.scoring.evidence import Harm

FEWEST_WORDS = 3
"""A policy's reason is quoted only if it has at least this many words. A shorter reason is a fragment."""


def broken_policy(facts: Facts, harm: Harm) -> str | None:
    """Return the reason for the policy that a call broke, or None if the call broke none itself.

    A policy about a state is broken by the call that leads into the state, and not by calls made there later. A call
    that the tool refused breaks a policy only if the policy is about the attempt.
    """
    if harm.why is None:
        return None
    step = facts.steps[harm.index]
    if step.forbidden is not None or step.breach is None:
        return harm.why
    rules = [rule for rule in facts.task.policies if rule.because == harm.why]
    if not rules:
        return harm.why
    if step.call.failed and not any(rule.attempted for rule in rules):
        return None
    states = [rule for rule in rules if isinstance(rule, Never) and rule.leaves is not None]
    if len(states) < len(rules) or facts.replay is None:
        return harm.why
    before = facts.replay.states[harm.index]
    return None if all(rule.leaves is not None and rule.leaves(before) for rule in states) else harm.why


def quote_policy(facts: Facts, harm: Harm) -> str:
    """Say what the agent was told, if the call broke that. Otherwise return an empty string."""
    why = broken_policy(facts, harm)
    if why is None or harm.kind is HarmKind.FORBIDDEN or len(why.split()) < FEWEST_WORDS:
        return ""
    return f'the agent was told: "{message_text(why)}"'
