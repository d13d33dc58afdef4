"""Check a task's wording: its prompt, its aliases and the reasons for its policies."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from corepath.task import Task
from corepath.verification.subject import Subject
from corepath.world.candidates import in_prompt
from corepath.world.world import World

FEWEST_WORDS: Final = 3
"""Number of words that a reason has at least."""
_CONJUNCTIONS: Final = "and|or|but|then|so|if|unless|until|while|when|before|after|once|as|because|where"
_BEGINS: Final = re.compile(rf"(^|[.,;:!?()-]|\b({_CONJUNCTIONS}))\s*$")
_ENDS: Final = re.compile(rf"\s*($|[.,;:!?()-]|({_CONJUNCTIONS})\b)")


def check_wording(subject: Subject) -> Iterator[str]:
    """Check that the task has a prompt and a goal.

    Also check that the aliases and the reasons for policies are quoted from text that the agent can read.
    """
    task, world = subject.task, subject.world
    if not task.prompt.strip():
        yield "the prompt is empty"
    if task.goal is None:
        yield "there is no goal: say what must hold of the state at the end"
    readable = normalise(readable_text(task, world))
    yield from _check_reasons(task, readable)
    for phrase in task.says:
        if not phrase.strip() or not in_prompt(normalise(phrase), readable):
            yield f"says: '{phrase}' stands neither in the prompt nor in the world's rules nor in a docstring"


def readable_text(task: Task, world: World[Any]) -> str:
    """Return what the agent can read before its first call: the prompt, the rules and the tools' docstrings."""
    docs = "\n".join(tool.description for tool in world.tools.values())
    return f"{task.prompt}\n{world.rules}\n{docs}"


def _check_reasons(task: Task, readable: str) -> Iterator[str]:
    """Check that the reason for each policy and each forbidden call is quoted from `readable`."""
    reasons = [(str(policy), policy.because) for policy in task.policies]
    of_policies = {policy.because for policy in task.policies}
    reasons += [
        (f"never {forbidden.call.notation}", forbidden.why or "")
        for forbidden in task.automaton.alphabet.forbid
        if forbidden.why not in of_policies
    ]
    fragments: dict[str, None] = {}
    for rule, because in reasons:
        if not because.strip():
            yield f"{rule}: no reason; quote the prompt, the world's rules or a tool's docstring in because="
        elif normalise(because) not in readable:
            yield f"{rule}: '{because}' stands neither in the prompt nor in the world's rules nor in a docstring"
        elif not _is_clause(because, readable):
            fragments[because] = None
    for because in fragments:
        yield f"because='{because}' is not a whole clause: quote one that says what to do"


def _is_clause(because: str, readable: str) -> bool:
    """Whether a reason is a whole clause of the text: it begins after a punctuation mark and ends before one.

    A conjunction may stand in place of the mark. A clause has at least three words, and more to say than "do what was
    asked".
    """
    quoted = normalise(because).rstrip(".")
    if len(quoted.split()) < FEWEST_WORDS or "what was asked" in quoted:
        return False
    return any(
        _BEGINS.search(readable[: found.start()]) and _ENDS.match(readable[found.end() :])
        for found in re.finditer(re.escape(quoted), readable)
    )


def normalise(text: str) -> str:
    """Convert text to lower case, with single spaces between words."""
    return " ".join(text.split()).casefold()
