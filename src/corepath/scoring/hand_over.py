"""Recognise calls that hand the conversation over to a human.

A call hands over if its tool's name says so: `transfer_to_human_agents`, `hand_over`, `handoff`, `escalate_to_support`,
`request_human`, `connect_to_operator` and the like. A call that failed, or that is a step of the task, does not count.
Names decide, because few traces say what a tool does. This is the only place that does so.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from corepath.automaton.step import Kind, Step

_WORDS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_PEOPLE: Final = re.compile("agents?|humans?|operators?|person|people|rep(resentative)?s?|staff|specialists?|"
                            "supervisors?|support|team|manager")  # fmt: skip
_PASSES: Final = ("transfer", "connect", "forward", "route", "redirect", "refer", "pass")
_ASKS: Final = ("request", "contact", "call", "ask", "need", "get", "notify", "talk", "speak", "chat", "wait")


def is_hand_over(step: Step) -> bool:
    """Whether a call handed the conversation over to a human."""
    return step.kind is not Kind.PROGRESS and not step.call.failed and hands_over(step.call.tool)


@cache
def hands_over(tool: str) -> bool:
    """Whether a tool's name says that it hands over to a human."""
    words = [word.lower() for word in _WORDS.findall(tool)]
    joined = " ".join(words)
    if any(word.startswith("escalat") or word in ("handover", "handoff") for word in words):
        return True
    if joined.startswith(("hand over", "hand off")) or joined.endswith(("hand over", "hand off")):
        return True
    passes, asks = (any(word in verbs for word in words) for verbs in (_PASSES, _ASKS))
    if passes and "to" in words and any(map(_PEOPLE.fullmatch, words[words.index("to") :])):
        return True
    return "human" in words and (passes or asks)
