"""Whether rules imply another rule: no trace of sample events breaks it and keeps them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from corepath.rules.rule import Rule
from corepath.rules.witness import Question, search

MOST_TRACES: Final = 2_000
"""How many traces a search tries. If it is not over then, the rule counts as not implied."""


def is_implied(rule: Rule, by: Sequence[Rule], most: int = MOST_TRACES) -> bool:
    """Return True if a search shows that every trace of sample events that breaks a rule breaks one of `by` too."""
    return bool(by) and search(Question((rule, *by), breaks=0), most).is_impossible
