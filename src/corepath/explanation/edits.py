"""Edit a path by leaving out, replacing, moving and adding calls, and check whether the new path is valid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from corepath.automaton.step import Kind, Position, step
from corepath.explanation.facts import Facts

Row = tuple[int | None, int | None]
"""A call's index in the old path and a step's number in the new path. Either may be None."""


@dataclass(frozen=True)
class Edits:
    """Edits to a path. Calls are identified by index, and steps by number."""

    out: tuple[int, ...] = ()
    """Calls to leave out."""
    replaced: Mapping[int, int] = field(default_factory=dict)
    """The step that replaces each call."""
    moved: Mapping[int, int] = field(default_factory=dict)
    """For each moved call, the index of the old call that it is put before.

    An index equal to the number of calls means the end of the path.
    """
    added: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """New steps, keyed by the index of the old call that they are put before.

    An index equal to the number of calls means the end of the path.
    """

    @property
    def calls(self) -> tuple[int, ...]:
        """The indexes of the calls that are left out, replaced or moved."""
        return tuple(sorted({*self.out, *self.replaced, *self.moved}))

    @property
    def size(self) -> int:
        """The number of edits."""
        return len(self.out) + len(self.moved) + len(self.replaced) + sum(map(len, self.added.values()))


def apply(facts: Facts, edits: Edits, *, retry: bool = False) -> tuple[Row, ...] | None:
    """Apply `edits`, and return rows that show the old and the new path side by side, without self-loops.

    Return None if the new path is not valid. Calls that stay keep their answers, and new steps are assumed to succeed.
    With `retry`, steps that failed after the first harmful call are assumed to succeed too, because the harm may have
    made them fail.
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
    """Take the step `new` at `position`, or repeat call `index` if `new` is None.

    Return the action's number and the position afterwards. The position is None if the step was not expected or the
    call is harmful.
    """
    if new is not None:
        return new, take_step(position, new)
    return (None, None) if index is None else repeat_call(facts, position, index)


def _edited_order(facts: Facts, edits: Edits) -> Iterator[Row]:
    """Yield the new path in order. Each row has the index of an old call, the number of a new step, or both.

    A row has both if the step replaces the call.
    """
    for place in range(len(facts.steps) + 1):
        yield from ((index, None) for index, before in edits.moved.items() if before == place)
        yield from ((None, symbol) for symbol in edits.added.get(place, ()))
        if place < len(facts.steps) and place not in edits.moved:
            yield place, edits.replaced.get(place)


def _due_step(facts: Facts, position: Position, index: int) -> int | None:
    """Return the step that call `index` attempts, or None if no such step is expected at `position`."""
    due = set(facts.automaton.due(position.state))
    return min(due.intersection(facts.steps[index].reading.fits), default=None)


def failed_after_harm(facts: Facts) -> tuple[int, ...]:
    """Return the indexes of calls after the first harmful call that attempted a step and failed."""
    first, steps = facts.score.harms[0].index, facts.automaton.alphabet.steps
    return tuple(
        step.index for step in facts.steps[first:]
        if step.kind is Kind.LOOP and step.call.failed and steps.intersection(step.reading.fits)
    )  # fmt: skip


def repeat_call(facts: Facts, position: Position, index: int) -> tuple[int | None, Position | None]:
    """Repeat call `index` at another position.

    Return the number of the action that the call matches, and the position afterwards. The number is None if the call
    matches no action, and the position is None if the call is harmful. A harmful call that had failed is assumed to
    succeed if its step is now expected.
    """
    was = facts.steps[index]
    if was.kind is Kind.HARM and was.call.failed and was.symbol is not None and position.errors != "harmful":
        return was.symbol, take_step(position, was.symbol)
    taken, after = step(position, was.call)
    return taken.symbol, None if taken.kind is Kind.HARM else after


def take_step(position: Position, symbol: int) -> Position | None:
    """Return the position after a step, or None if the step is not expected at `position`."""
    after = position.automaton.delta[position.state].get(symbol, position.state)
    return None if after == position.state else replace(position, state=after, done=position.done | {symbol})
