"""The system prompt of a world."""

from __future__ import annotations

from typing import Final

from corepath.task import Simulator

_INSTRUCTIONS: Final = (
    "Do what the user asks by calling the tools. Make one call at a time and read its result before the next one. "
    "Do nothing that nobody asked for. When you are finished, say so in a sentence or two, without a call."
)


def system_prompt(simulator: Simulator) -> str:
    """The rules of the world, and how to work in it."""
    rules = simulator.rules.strip()
    return f"{rules}\n\n{_INSTRUCTIONS}" if rules else _INSTRUCTIONS
