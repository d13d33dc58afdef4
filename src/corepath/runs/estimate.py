"""About how many tokens an episode takes, without a tokeniser."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from corepath.play.session import Session
from corepath.task import Task

SIGNS_A_TOKEN: Final = 3.6
"""Of JSON and English together, about."""
A_CALL: Final = 60
"""Tokens of a call with its result, about."""


@dataclass(frozen=True)
class Estimate:
    """What one episode of a task takes, if a shortest golden path is taken."""

    tools: int
    step_limit: int
    turns: int
    tokens_a_turn: int
    input_tokens: int
    output_tokens: int


def estimate(task: Task) -> Estimate:
    """The estimate: each turn sends all that was said before it."""
    session = Session(task)
    text = session.system + session.prompt + json.dumps(session.tools)
    base = round(len(text) / SIGNS_A_TOKEN)
    turns = min(task.automaton.lengths) + 1
    grown = A_CALL * turns * (turns - 1) // 2
    return Estimate(len(session.tools), task.step_limit, turns, base, base * turns + grown, A_CALL * turns // 2)
