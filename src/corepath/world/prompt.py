"""The system prompt for a world's tasks."""

from __future__ import annotations

from typing import Final

from corepath.task import Simulator

_INSTRUCTIONS: Final = (
    "Do what the user asks by calling the tools. Make one call at a time and read its result before the next one. "
    "Do nothing that nobody asked for. When you are finished, say so in a sentence or two, without a call."
)


def system_prompt(simulator: Simulator) -> str:
    """Return the system prompt: the world's rules, and instructions on how to work in the world."""
    rules = simulator.rules.strip()
    return f"{rules}\n\n{_INSTRUCTIONS}" if rules else _INSTRUCTIONS
