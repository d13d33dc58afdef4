"""Run an automaton on calls, one step at a time.

position = begin(automaton)
taken, position = step(position, call)

An action's number is called its symbol.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, Literal, Protocol

from corepath.automaton.automaton import Automaton
from corepath.automaton.harm import Breach, HarmKind, kind_of_harm
from corepath.automaton.reading import Forbidden, Reading, Role, Severity
from corepath.notation.call import UNANSWERED, Call, unknown_token

Errors = Literal["no_effect", "harmful", "as_called"]
"""How a failed call counts: as a call without effect, as harmful, or as if it had succeeded."""

Token = int | tuple[str, str]
"""An element of a path: an action's symbol, or the tool and arguments of a call that fits no action."""


class Kind(StrEnum):
    """A call's effect: progress, a self-loop that changes nothing relevant, or harm."""

    PROGRESS = "progress"
    LOOP = "loop"
    HARM = "harm"


@dataclass(frozen=True)
class Step:
    """A call together with its effect on the run.

    `symbol` is the number of the action that the call fits, or None if the call fits no action. `before` and `after`
    are the states before and after the call. `reading` is the alphabet's classification of the call. `harm` says why
    the call is harmful, or is None if the call is not harmful. `breach` is the policy that the call breaks, or
    None.
    """

    index: int
    call: Call
    kind: Kind
    symbol: int | None
    before: int
    after: int
    reading: Reading
    harm: HarmKind | None = None
    breach: Breach | None = None
    is_try: bool = False
    """Whether the call failed and is taken as a try of a step that is due."""

    @cached_property
    def token(self) -> Token:
        """The step's token in the condensed path: its action's symbol, or the call if it fits no action."""
        return unknown_token(self.call) if self.symbol is None else self.symbol

    @property
    def forbidden(self) -> Forbidden | None:
        """The rule that forbids the call, or None if no rule does."""
        return self.reading.forbidden

    @property
    def severity(self) -> Severity | None:
        """The severity of the rule or policy that the call breaks, or None if it breaks none."""
        broken = self.forbidden or self.breach
        return None if broken is None else broken.severity

    @property
    def why(self) -> str | None:
        """The reason for the rule or policy that the call breaks, or None if there is none."""
        broken = self.forbidden or self.breach
        return None if broken is None else broken.why

    @property
    def only_breaks(self) -> bool:
        """Whether the call is harmful only because it breaks a policy."""
        return self.harm is HarmKind.FORBIDDEN and self.forbidden is None

    @property
    def advances(self) -> bool:
        """Whether the call leads to another state. A call that breaks a policy can be harmful and advance the task."""
        return self.after != self.before

    @property
    def ignored(self) -> bool:
        """Whether the call is ignored because the task does not mention it.

        A call that has the arguments of a step but an unexpected result is not ignored, nor is a failed try of a step.
        """
        is_unlisted = self.reading.role is Role.UNLISTED and not self.reading.fits
        return self.kind is Kind.LOOP and is_unlisted and not self.is_try


@dataclass(frozen=True)
class Position:
    """A run's position between two calls. Positions are immutable: `step` returns a new one.

    `variables` holds variable values, and `results` the results of earlier steps that other steps refer to. `done` is a
    bit set of the symbols that were progress so far. `index` is the index of the next call. `errors` says how failed
    calls count.
    """

    automaton: Automaton
    state: int
    variables: Mapping[str, Any] = field(default_factory=dict)
    results: Mapping[Any, Any] = field(default_factory=dict)
    done: int = 0
    index: int = 0
    errors: Errors = "no_effect"

    @property
    def accepted(self) -> bool:
        """Whether the run is in an accepting state."""
        return self.state in self.automaton.accepting


def begin(automaton: Automaton, params: Mapping[str, Any] | None = None, errors: Errors = "no_effect") -> Position:
    """Return the position before the first call.

    `params` holds initial values for variables. `errors` says how failed calls count.
    """
    return Position(automaton, automaton.start, dict(params or {}), errors=errors)


class Take(Protocol):
    """A function that takes steps: `step`, or one that remembers them."""

    def __call__(self, position: Position, call: Call, breach: Breach | None = None, /) -> tuple[Step, Position]:
        """Classify a call as `step` does."""


def step(position: Position, call: Call, breach: Breach | None = None) -> tuple[Step, Position]:
    """Classify a call, and return the resulting step and the position after it.

    `breach` is a policy that the call breaks, or None. It makes the call harmful, and leads to no other state.
    """
    return classify(position, call, read(position, call), breach)


def read(position: Position, call: Call) -> Reading:
    """Return the alphabet's classification of a call at a position."""
    failed = call.failed and position.errors != "as_called"
    return position.automaton.alphabet.read(call, position.variables, position.results, failed=failed)


def classify(position: Position, call: Call, reading: Reading, breach: Breach | None) -> tuple[Step, Position]:
    """Return the step that a call is, and the position after it. `reading` is the call's classification."""
    automaton, state = position.automaton, position.state
    failed = call.failed and position.errors != "as_called"
    kind, after = effect(automaton, state, call, reading, failed=failed)
    harm = None
    if failed and position.errors == "harmful" and kind is not Kind.HARM:
        kind, harm = Kind.HARM, HarmKind.FAILED
    elif kind is Kind.HARM:
        harm = kind_of_harm(automaton, state, position.done, call, reading)
    elif breach is not None:
        kind, harm = Kind.HARM, HarmKind.FORBIDDEN
    is_try = failed and kind is Kind.LOOP and _is_try(automaton, state, call, reading)
    taken = Step(position.index, call, kind, reading.symbol, state, after, reading, harm, breach, is_try)
    return taken, advance(position, taken)


def advance(position: Position, taken: Step) -> Position:
    """Return the position after the step `taken`."""
    automaton, number, errors = position.automaton, position.index + 1, position.errors
    variables, results, done = position.variables, position.results, position.done
    if taken.advances and taken.symbol is not None:
        variables = taken.reading.variables
        done |= 1 << taken.symbol
        action = automaton.alphabet.actions[taken.symbol]
        if taken.call.result is not UNANSWERED and action in automaton.alphabet.referred:
            results = {**results, action: taken.call.result}
    return Position(automaton, taken.after, variables, results, done, number, errors)


def effect(automaton: Automaton, state: int, call: Call, reading: Reading, *, failed: bool) -> tuple[Kind, int]:
    """Return a call's kind and the state after the call. A failed call never changes the state."""
    after = automaton.delta[state].get(reading.symbol) if reading.symbol is not None else None
    if after is not None and after != state and not failed:
        return Kind.PROGRESS, after
    if (
        after is not None
        or _is_allowed(automaton, call, reading)
        or _may_be_due(automaton, state, reading, failed=failed)
    ):
        return Kind.LOOP, state
    if failed and _is_try(automaton, state, call, reading):
        return Kind.LOOP, state
    return Kind.HARM, state


def _is_allowed(automaton: Automaton, call: Call, reading: Reading) -> bool:
    """Whether the task allows the call in every state."""
    ignored = reading.role is Role.UNLISTED and automaton.alphabet.ignores(call.tool)
    return ignored or (reading.loops and reading.role is not Role.FORBIDDEN)


def _is_try(automaton: Automaton, state: int, call: Call, reading: Reading) -> bool:
    """Whether a failed call is a try of a step that is due, with other arguments, or of a tool that no step has."""
    alphabet = automaton.alphabet
    refused = alphabet.listing.refused
    if refused == "harm" or reading.role is not Role.UNLISTED or reading.fits:
        return False
    if refused == "ignore_other_tools" and not alphabet.has_step_with(call.tool):
        return True
    return any(alphabet.actions[number].tool == call.tool for number in automaton.delta[state])


def _may_be_due(automaton: Automaton, state: int, reading: Reading, *, failed: bool) -> bool:
    """Whether the call's arguments are legal in `state`, although the call failed or returned an unexpected result."""
    return (failed or reading.symbol is None) and any(number in automaton.delta[state] for number in reading.fits)
