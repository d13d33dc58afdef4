"""Estimate how many tokens an episode takes, without a tokeniser."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from corepath.play.session import Session
from corepath.task import Task

CHARACTERS_PER_TOKEN: Final = 3.6
"""A rough average for a mix of JSON and English."""
TOKENS_PER_CALL: Final = 60
"""A rough average for a call with its result."""


@dataclass(frozen=True)
class Estimate:
    """The estimated cost of one episode that follows a shortest golden path.

    `tokens_a_turn` counts what every turn sends: the rules, the prompt and the tools.
    """

    tools: int
    step_limit: int
    turns: int
    tokens_a_turn: int
    input_tokens: int
    output_tokens: int


def estimate(task: Task) -> Estimate:
    """Estimate how many tokens an episode takes. Every turn sends the whole conversation so far."""
    session = Session(task)
    text = session.system + session.prompt + json.dumps(session.tools)
    base = round(len(text) / CHARACTERS_PER_TOKEN)
    turns = min(task.automaton.lengths) + 1
    history = TOKENS_PER_CALL * turns * (turns - 1) // 2
    output = TOKENS_PER_CALL * turns // 2
    return Estimate(len(session.tools), task.step_limit, turns, base, base * turns + history, output)
