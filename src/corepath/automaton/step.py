"""Running an automaton on calls, one step at a time.

position = begin(automaton)
taken, position = step(position, call)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal

from corepath.automaton.alphabet import Forbidden, Reading, Role
from corepath.automaton.automaton import Automaton
from corepath.automaton.harm import HarmKind, kind_of_harm
from corepath.notation.call import UNANSWERED, Call, unknown_token

Errors = Literal["no_effect", "harmful", "as_called"]
"""What a failed call is: without effect, harmful, or as if it had not failed."""

Token = int | tuple[str, str]
"""What paths are compared by: the number of an action, or an unknown call's tool and arguments."""


class Kind(StrEnum):
    """What a call did."""

    PROGRESS = "progress"
    LOOP = "loop"
    HARM = "harm"


@dataclass(frozen=True)
class Step:
    """One call, labelled: what it was and the states before and after it."""

    index: int
    call: Call
    kind: Kind
    symbol: int | None
    before: int
    after: int
    reading: Reading
    harm: HarmKind | None = None

    @property
    def token(self) -> Token:
        """What it is compared by; an unknown call equals no action."""
        return unknown_token(self.call) if self.symbol is None else self.symbol

    @property
    def forbidden(self) -> Forbidden | None:
        """The rule that forbids it."""
        return self.reading.forbidden

    @property
    def ignored(self) -> bool:
        """An unlisted call that the task lets pass; a step's call with another result is not unlisted."""
        return self.kind is Kind.LOOP and self.reading.role is Role.UNLISTED and not self.reading.fits


@dataclass(frozen=True)
class Position:
    """Where a run stands: the state, what is bound, what is done. A value; `step` gives the next one."""

    automaton: Automaton
    state: int
    variables: Mapping[str, Any] = field(default_factory=dict)
    results: Mapping[Any, Any] = field(default_factory=dict)
    done: frozenset[int] = frozenset()
    taken: int = 0
    errors: Errors = "no_effect"

    @property
    def accepted(self) -> bool:
        """Whether the task could end here."""
        return self.state in self.automaton.accepting


def begin(automaton: Automaton, params: Mapping[str, Any] | None = None, errors: Errors = "no_effect") -> Position:
    """The position before the first call; `params` give variables their values."""
    return Position(automaton, automaton.start, dict(params or {}), errors=errors)


def step(position: Position, call: Call) -> tuple[Step, Position]:
    """One call: what it is here, and the position after it."""
    automaton, state = position.automaton, position.state
    failed = call.failed and position.errors != "as_called"
    reading = automaton.alphabet.read(call, position.variables, position.results, failed=failed)
    kind, after = _effect(automaton, state, reading, failed=failed)
    harm: HarmKind | None = None
    if failed and position.errors == "harmful" and kind is not Kind.HARM:
        kind, harm = Kind.HARM, HarmKind.FAILED
    elif kind is Kind.HARM:
        harm = kind_of_harm(automaton, state, position.done, call, reading)
    taken = Step(position.taken, call, kind, reading.symbol, state, after, reading, harm)
    return taken, advance(position, taken)


def advance(position: Position, taken: Step) -> Position:
    """The position after a step."""
    automaton, number, errors = position.automaton, position.taken + 1, position.errors
    variables, results, done = position.variables, position.results, position.done
    if taken.kind is Kind.PROGRESS and taken.symbol is not None:
        variables = taken.reading.variables
        done = done | {taken.symbol}
        if taken.call.result is not UNANSWERED:
            results = {**results, automaton.alphabet.actions[taken.symbol]: taken.call.result}
    return Position(automaton, taken.after, variables, results, done, number, errors)


def _effect(automaton: Automaton, state: int, reading: Reading, *, failed: bool) -> tuple[Kind, int]:
    """Progress, self-loop or harm, and the state after; a failed call does not advance."""
    edges = automaton.delta[state]
    after = edges.get(reading.symbol) if reading.symbol is not None else None
    if after is not None and after != state and not failed:
        return Kind.PROGRESS, after
    # Of a call without a result that tells, every step is looked at that it may have been.
    unsettled = (failed or reading.symbol is None) and any(number in edges for number in reading.fits)
    ignored = reading.role is Role.UNLISTED and automaton.alphabet.unlisted == "ignore"
    allowed = reading.loops and reading.role is not Role.FORBIDDEN
    return (Kind.LOOP if after is not None or unsettled or allowed or ignored else Kind.HARM), state
