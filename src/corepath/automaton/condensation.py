"""Condensation: trace a run, and remove its self-loops to get the condensed path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from corepath.automaton.automaton import Automaton
from corepath.automaton.harm import Breach
from corepath.automaton.step import Errors, Kind, Position, Step, Take, Token, begin, step
from corepath.notation.call import Call


@dataclass(frozen=True)
class Path:
    """A condensed path: everything that the metrics need to know about a run.

    `tokens` holds one token per step: its action's symbol, or the call if it fits no action. `harm_mask` has a 1 for
    each harmful step and a 0 for each progress step. `states` lists the state after each step. `end` is the run's last
    state. `length` counts all calls, including self-loops. `stays` has a 1 for each step that does not lead to another
    state. These are the harmful steps, except those that advance the task although they break a policy.
    """

    tokens: tuple[Token, ...]
    harm_mask: tuple[int, ...]
    states: tuple[int, ...]
    end: int
    length: int
    stays: tuple[int, ...]


@dataclass(frozen=True)
class Trace:
    """All steps of a run, with the position before each step and the position at the end.

    `take` takes further steps as those of the run were taken.
    """

    steps: tuple[Step, ...]
    positions: tuple[Position, ...]
    take: Take = step

    @property
    def begin(self) -> Position:
        """The position before the first step."""
        return self.positions[0]

    @property
    def end(self) -> Position:
        """The position after the last step."""
        return self.positions[-1]

    @property
    def automaton(self) -> Automaton:
        """The automaton on which the calls were run."""
        return self.begin.automaton

    @cached_property
    def condensed(self) -> tuple[Step, ...]:
        """The steps that are progress or harm. Self-loops are left out."""
        return tuple(step for step in self.steps if step.kind is not Kind.LOOP)

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """One token per condensed step: its action's symbol, or the call if it fits no action."""
        return tuple(step.token for step in self.condensed)

    @cached_property
    def harm_mask(self) -> tuple[int, ...]:
        """One number per condensed step: 1 if the step is harmful, 0 otherwise."""
        return tuple(int(step.kind is Kind.HARM) for step in self.condensed)

    @cached_property
    def path(self) -> Path:
        """The condensed path in the form that the metrics use."""
        states = tuple(step.after for step in self.condensed)
        stays = tuple(int(not step.advances) for step in self.condensed)
        return Path(self.tokens, self.harm_mask, states, self.end.state, len(self.steps), stays)

    def label(self, step: Step) -> str:
        """Return a label for `step`: its action's name, or `?` followed by the call if the call fits no action."""
        return f"?{step.call.label}" if step.symbol is None else self.automaton.alphabet.names[step.symbol]


def trace_calls(
    automaton: Automaton,
    calls: Iterable[Call],
    params: Mapping[str, Any] | None = None,
    errors: Errors = "no_effect",
    breaches: Mapping[int, Breach] | None = None,
    take: Take = step,
) -> Trace:
    """Run the automaton on all calls.

    `params` holds initial values for variables. `errors` says how failed calls count. `breaches` holds the policies
    that calls break, keyed by the call's index. `take` takes the steps.
    """
    position = begin(automaton, params, errors)
    steps: list[Step] = []
    positions = [position]
    for call in calls:
        taken, position = take(position, call, breaches.get(position.index) if breaches else None)
        steps.append(taken)
        positions.append(position)
    return Trace(tuple(steps), tuple(positions), take)
