"""List what a person should look at in a task, because no check can decide it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from corepath.notation.call import Call
from corepath.task import Task
from corepath.verification.mentions import note_mentions
from corepath.verification.subject import Subject, execute
from corepath.verification.trials import Trials
from corepath.world.candidates import in_prompt
from corepath.world.world import World


def list_notes(task: Task, world: World[Any]) -> list[str]:
    """List what a person should look at: names that occur nowhere else, and texts that may give the answer away."""
    subject = execute(task, world)
    return list(dict.fromkeys([*note_mentions(subject), *_note_errors(subject), *_note_docstrings(subject)]))


def _note_errors(subject: Subject) -> Iterator[str]:
    """Yield the errors that name another tool or a value that the agent must find out.

    Each golden call is made at every node of the golden paths, so also too early and too late.
    """
    world, secrets = subject.world, Trials(subject, mirrored=True).secrets
    calls = {str(edge.call): edge.call for edge in subject.rounds[0].edges}
    for node in subject.rounds[0].nodes:
        for call in calls.values():
            answered, _ = world.answer(node.state, Call(call.tool, call.arguments))
            if answered.error and _gives_away(
                answered.error, [tool for tool in world.tools if tool != call.tool], secrets
            ):
                yield f"the error of {call.tool} may give the answer away: {answered.error[:200]}"


def _gives_away(error: str, tools: Sequence[str], secrets: Sequence[Any]) -> bool:
    """Whether an error names one of the tools or secrets."""
    if any(re.search(rf"\b{tool}\b", error) for tool in tools):
        return True
    return any(isinstance(secret, str) and in_prompt(secret, error) for secret in secrets)


def _note_docstrings(subject: Subject) -> Iterator[str]:
    """Yield the tools whose docstrings contain a value that the agent must find out."""
    secrets = [secret for secret in Trials(subject, mirrored=True).secrets if isinstance(secret, str)]
    for tool in subject.world.tools.values():
        for secret in secrets:
            if len(secret) > 1 and in_prompt(secret, tool.description):
                yield f"the docstring of {tool.name} contains '{secret}', which the agent is to find out"
