"""Edits to a path: calls left out, replaced, moved and added, and whether the edited path is valid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from corepath.automaton.step import Kind, Position, step
from corepath.explanation.facts import Facts

Row = tuple[int | None, int | None]
"""The index of a call in the old path and the number of a step in the edited one, either of them None."""


@dataclass(frozen=True)
class Edits:
    """Edits to a path. Calls are given by index, steps by number."""

    out: tuple[int, ...] = ()
    """Calls left out."""
    replaced: Mapping[int, int] = field(default_factory=dict)
    """Calls with the steps that replace them."""
    moved: Mapping[int, int] = field(default_factory=dict)
    """Calls with the call they are moved before; the number of calls means the end."""
    added: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Steps by the call they are added before; the number of calls means the end."""

    @property
    def calls(self) -> tuple[int, ...]:
        """The calls that are edited."""
        return tuple(sorted({*self.out, *self.replaced, *self.moved}))

    @property
    def size(self) -> int:
        """The number of edits."""
        return len(self.out) + len(self.moved) + len(self.replaced) + sum(map(len, self.added.values()))


def apply(facts: Facts, edits: Edits, *, retry: bool = False) -> tuple[Row, ...] | None:
    """Apply edits: the old path side by side with the new one, without self-loops; None if the new one is not valid.

    Calls that stay keep their answers, and new steps succeed. With `retry`, steps that failed after the first harmful
    call succeed too: without the harm they may.
    """
    position = facts.score.trace.begin
    retried = set(failed_after_harm(facts)).difference(edits.replaced) if retry else set[int]()
    rows: list[Row] = []
    for index, new in _edited_order(facts, edits):
        if index is not None and index in edits.out:
            rows += [(index, None)] if facts.steps[index].kind is not Kind.LOOP else []
            continue
        attempt = _due_step(facts, position, index) if index is not None and index in retried else new
        symbol, after = _continue(facts, position, index, attempt)
        if after is None:
            return None
        if after.state != position.state:
            rows.append((None if index in edits.moved else index, symbol))
        position = after
    return tuple(rows) if position.accepted else None


def _continue(
    facts: Facts, position: Position, index: int | None, new: int | None
) -> tuple[int | None, Position | None]:
    """Do the new step, or repeat the call if there is none; returns the action and the position, None after harm."""
    if new is not None:
        return new, take_step(position, new)
    return (None, None) if index is None else repeat_call(facts, position, index)


def _edited_order(facts: Facts, edits: Edits) -> Iterator[Row]:
    """The calls and the new steps in the order of the edited path."""
    for place in range(len(facts.steps) + 1):
        yield from ((index, None) for index, before in edits.moved.items() if before == place)
        yield from ((None, symbol) for symbol in edits.added.get(place, ()))
        if place < len(facts.steps) and place not in edits.moved:
            yield place, edits.replaced.get(place)


def _due_step(facts: Facts, position: Position, index: int) -> int | None:
    """The step that a call tries and that is due at a position, if any."""
    due = set(facts.automaton.due(position.state))
    return min(due.intersection(facts.steps[index].reading.fits), default=None)


def failed_after_harm(facts: Facts) -> tuple[int, ...]:
    """The calls after the first harmful one that tried a step and failed."""
    first, steps = facts.score.harms[0].index, facts.automaton.alphabet.steps
    return tuple(
        step.index for step in facts.steps[first:]
        if step.kind is Kind.LOOP and step.call.failed and steps.intersection(step.reading.fits)
    )  # fmt: skip


def repeat_call(facts: Facts, position: Position, index: int) -> tuple[int | None, Position | None]:
    """Repeat a call at another position; returns the action that it matches and the position, None after harm.

    A harmful call that failed succeeds where its step is due.
    """
    was = facts.steps[index]
    if was.kind is Kind.HARM and was.call.failed and was.symbol is not None and position.errors != "harmful":
        return was.symbol, take_step(position, was.symbol)
    taken, after = step(position, was.call)
    return taken.symbol, None if taken.kind is Kind.HARM else after


def take_step(position: Position, symbol: int) -> Position | None:
    """The position after a step, or None if it is not due."""
    after = position.automaton.delta[position.state].get(symbol, position.state)
    return None if after == position.state else replace(position, state=after, done=position.done | {symbol})
