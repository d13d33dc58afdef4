"""Check a world as a whole: its rules in words agree with its policies, and it behaves the same in another process."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from corepath.task import Task
from corepath.verification.wording import normalise
from corepath.world.world import World


def check_rules(world: World[Any], tasks: Iterable[Task]) -> Iterator[str]:
    """Check that each sentence of the rules is the reason for a policy in some task, or is listed as advice.

    Advice must be quoted from the rules.
    """
    reasons = {normalise(policy.because).rstrip(".") for task in tasks for policy in task.policies}
    advice = {normalise(text).rstrip(".") for text in world.advice}
    sentences = [normalise(sentence).rstrip(".") for sentence in split_sentences(world.rules)]
    for sentence in sentences:
        if sentence not in advice and not any(reason in sentence for reason in reasons):
            yield f"no policy quotes the rule '{sentence}'; write a policy for it, or list it in advice="
    for text in sorted(advice):
        if text not in sentences:
            yield f"advice: '{text}' is not a sentence of the rules"


def split_sentences(text: str) -> list[str]:
    """Split text into sentences."""
    return [sentence for sentence in re.split(r"(?<=[.!?])\s+", " ".join(text.split())) if sentence]
