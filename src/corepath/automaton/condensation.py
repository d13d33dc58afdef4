"""Condensation: all steps of a run, and those that count once self-loops are dropped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from corepath.automaton.automaton import Automaton
from corepath.automaton.step import Errors, Kind, Position, Step, Token, begin, step
from corepath.notation.call import Call


@dataclass(frozen=True)
class Path:
    """A condensed path, which is all that the metrics see of a run.

    `states` are the automaton's states after each condensed step; `length` counts all calls, self-loops included.
    """

    tokens: tuple[Token, ...]
    harm_mask: tuple[int, ...]
    states: tuple[int, ...]
    end: int
    length: int


@dataclass(frozen=True)
class Trace:
    """All steps of a run, and where it ended."""

    begin: Position
    steps: tuple[Step, ...]
    end: Position

    @property
    def automaton(self) -> Automaton:
        """The automaton that was run."""
        return self.begin.automaton

    @cached_property
    def condensed(self) -> tuple[Step, ...]:
        """The steps that were progress or harm; self-loops are dropped."""
        return tuple(step for step in self.steps if step.kind is not Kind.LOOP)

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """What the condensed path is compared by."""
        return tuple(step.token for step in self.condensed)

    @cached_property
    def harm_mask(self) -> tuple[int, ...]:
        """1 for each condensed step that is harmful."""
        return tuple(int(step.kind is Kind.HARM) for step in self.condensed)

    @cached_property
    def path(self) -> Path:
        """The condensed path."""
        states = tuple(step.after for step in self.condensed)
        return Path(self.tokens, self.harm_mask, states, self.end.state, len(self.steps))

    def label(self, step: Step) -> str:
        """The step as a person reads it; an unknown call begins with `?`."""
        return f"?{step.call.label}" if step.symbol is None else self.automaton.alphabet.names[step.symbol]


def trace_calls(
    automaton: Automaton,
    calls: Iterable[Call],
    params: Mapping[str, Any] | None = None,
    errors: Errors = "no_effect",
) -> Trace:
    """All calls, one after the other."""
    first = position = begin(automaton, params, errors)
    steps: list[Step] = []
    for call in calls:
        taken, position = step(position, call)
        steps.append(taken)
    return Trace(first, tuple(steps), position)
