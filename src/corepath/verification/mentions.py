"""Check that the names and numbers in a task's prompt and policies exist in the task."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from corepath.notation.matchers import Literal, walk
from corepath.rules.rule import Rule
from corepath.values import canonical
from corepath.verification.subject import Subject
from corepath.verification.wording import normalise, readable_text
from corepath.world.candidates import numbers_in
from corepath.world.exploring import as_call
from corepath.world.state import encode

MOST_COUNTED: Final = 12
"""Numbers up to this one may count things, and need not occur in the task."""
_QUOTED: Final = re.compile(r"(?<!\w)'([^'\n]{1,200})'(?!\w)")


def check_mentions(subject: Subject) -> Iterator[str]:
    """Check that the names in policies occur in the start state, in a call, or in a text that the agent can read."""
    task = subject.task
    known = _known(subject) + _unescape(readable_text(task, subject.world))
    for policy in task.policies:
        for text in _texts(policy):
            if normalise(text) not in known:
                yield f"'{policy}' speaks of {text!r}, which does not occur in the task"


def note_mentions(subject: Subject) -> Iterator[str]:
    """List the names and numbers in the prompt that occur nowhere else in the task. A person must say whether they may.

    A threshold need not occur, and neither need a name in a condition that does not apply.
    """
    task = subject.task
    known = _known(subject)
    for text in dict.fromkeys(_QUOTED.findall(task.prompt)):
        if normalise(text).strip(".,") not in known:
            yield f"the prompt speaks of '{text}', which occurs nowhere else in the task"
    numbers = {number for text in (known, subject.world.rules) for number in numbers_in(text)}
    for number in numbers_in(_QUOTED.sub("", task.prompt).replace(",", ", ")):
        if number not in numbers and abs(number) > MOST_COUNTED:
            yield f"the prompt speaks of {number:g}, which occurs nowhere else in the task"


def _known(subject: Subject) -> str:
    """Return the values in the start state, on golden paths and in decoys as normalised text."""
    task = subject.task
    made = [canonical([edge.call.arguments, edge.call.result]) for edge in subject.edges]
    decoys = [canonical(as_call(call).arguments) for decoy in task.decoys.values() for call in decoy.calls]
    others = [*task.says.values(), task.answer if isinstance(task.answer, (str, int, float)) else None]
    return _unescape("\n".join([encode(task.start), *made, *decoys, *map(canonical, others)]))


def _unescape(text: str) -> str:
    """Normalise JSON text so that strings can be found in it as they are."""
    return normalise(text.replace("\\n", " ").replace('\\"', '"'))


def _texts(policy: Rule) -> Iterator[str]:
    """Yield the literal strings in a policy's patterns."""
    for pattern in policy.patterns:
        for one in walk(pattern.arguments):
            if isinstance(one, Literal) and isinstance(one.value, str):
                yield one.value
