"""Why a call is harmful: the kinds of harm, the first that fits."""

from __future__ import annotations

from enum import StrEnum

from corepath.automaton.alphabet import Reading, Role
from corepath.automaton.automaton import Automaton
from corepath.notation.call import Call


class HarmKind(StrEnum):
    """The ways in which a call can be harmful."""

    MALFORMED = "malformed"
    """Its arguments are not a JSON object."""
    UNKNOWN_TOOL = "unknown_tool"
    """There is no such tool."""
    FORBIDDEN = "forbidden"
    """The task forbids it in every state."""
    REPEATED = "repeated"
    """The step is done and not due again."""
    OUT_OF_ORDER = "out_of_order"
    """A step of the procedure, not legal here."""
    WRONG_ARGUMENT = "wrong_argument"
    """A tool that is legal here, with other arguments."""
    AFTER_COMPLETION = "after_completion"
    """Nothing is due any more."""
    UNLISTED = "unlisted"
    """The task does not speak of it."""
    FAILED = "failed"
    """A legal call that failed, where the scoring counts every failed call as harmful."""


def kind_of_harm(automaton: Automaton, state: int, done: frozenset[int], call: Call, reading: Reading) -> HarmKind:
    """The first kind that fits a call with no transition in a state; `done` are the steps that were progress so far."""
    if reading.role in (Role.MALFORMED, Role.UNKNOWN_TOOL, Role.FORBIDDEN):
        return HarmKind(reading.role.value)
    fits = reading.fits if reading.symbol is None else (reading.symbol,)
    steps = automaton.alphabet.steps.intersection(fits)
    if steps:
        due_again = any(automaton.ahead[state] >> number & 1 for number in steps)
        return HarmKind.REPEATED if not due_again and not done.isdisjoint(steps) else HarmKind.OUT_OF_ORDER
    if _tool_is_legal(automaton, state, call.tool):
        return HarmKind.WRONG_ARGUMENT
    return HarmKind.UNLISTED if automaton.due(state) else HarmKind.AFTER_COMPLETION


def _tool_is_legal(automaton: Automaton, state: int, tool: str) -> bool:
    alphabet = automaton.alphabet
    if any(alphabet.actions[number].tool == tool for number in automaton.delta[state]):
        return True
    return any(pattern.fits_tool(tool) for pattern in (*alphabet.reads, *alphabet.neutral))
