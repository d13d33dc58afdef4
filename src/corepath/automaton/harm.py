"""The kinds of harm, and how to tell the kind of a harmful call."""

from __future__ import annotations

from enum import StrEnum

from corepath.automaton.alphabet import Reading, Role
from corepath.automaton.automaton import Automaton
from corepath.notation.call import Call


class HarmKind(StrEnum):
    """Why a call is harmful."""

    MALFORMED = "malformed"
    """The arguments are not a JSON object."""
    UNKNOWN_TOOL = "unknown_tool"
    """The tool does not exist."""
    FORBIDDEN = "forbidden"
    """The task forbids the call in every state."""
    REPEATED = "repeated"
    """The step was done already and is not due again."""
    OUT_OF_ORDER = "out_of_order"
    """A step of the procedure, at the wrong time."""
    WRONG_ARGUMENT = "wrong_argument"
    """A tool that is legal in this state, with wrong arguments."""
    AFTER_COMPLETION = "after_completion"
    """The procedure is finished, and no step is due any more."""
    UNLISTED = "unlisted"
    """The task does not mention the call."""
    FAILED = "failed"
    """A legal call that failed, if the scoring counts failed calls as harmful."""


def kind_of_harm(automaton: Automaton, state: int, done: frozenset[int], call: Call, reading: Reading) -> HarmKind:
    """The kind of harm of a call without a transition in the state; `done` are the steps that were progress so far."""
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
    """Whether some call of the tool is legal in the state."""
    alphabet = automaton.alphabet
    if any(alphabet.actions[number].tool == tool for number in automaton.delta[state]):
        return True
    return any(pattern.fits_tool(tool) for pattern in (*alphabet.reads, *alphabet.neutral))
