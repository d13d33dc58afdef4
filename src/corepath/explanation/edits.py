"""Changes to a path: what is left out, replaced, moved and added, and whether the changed path is a valid one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from corepath.automaton.step import Kind, Position, step
from corepath.explanation.facts import Facts

Row = tuple[int | None, int | None]
"""A call of the old path and a step of the changed one, by number; None where one of them has nothing there."""


@dataclass(frozen=True)
class Edits:
    """Calls by index, steps by number. `moved` and `added` say before which call; the number of calls is the end."""

    out: tuple[int, ...] = ()
    replaced: Mapping[int, int] = field(default_factory=dict)
    moved: Mapping[int, int] = field(default_factory=dict)
    added: Mapping[int, tuple[int, ...]] = field(default_factory=dict)

    @property
    def calls(self) -> tuple[int, ...]:
        """The calls that do not stay as they are."""
        return tuple(sorted({*self.out, *self.replaced, *self.moved}))

    @property
    def put_in(self) -> int:
        """How many steps are put in."""
        return len(self.replaced) + sum(map(len, self.added.values()))

    @property
    def size(self) -> int:
        """How many calls and steps are touched."""
        return len(self.out) + len(self.moved) + self.put_in


def changed(facts: Facts, edits: Edits, *, mended: bool = False) -> tuple[Row, ...] | None:
    """The old path beside the changed one, without calls that only loop; None where the changed one is not valid.

    A call that stays is taken as it was answered; a step that is put in is taken to succeed. With `mended` also a step
    succeeds that was refused after the first harmful call: without the harm it may.
    """
    position = facts.score.trace.begin
    refused = refused_after_harm(facts) if mended else ()
    rows: list[Row] = []
    for index, put_in in _in_order(facts, edits):
        if index is not None and index in edits.out:
            rows += [(index, None)] if facts.steps[index].kind is not Kind.LOOP else []
            continue
        symbol, after = put_in, None
        if index in refused and index not in edits.replaced:
            due = set(facts.steps[index or 0].reading.fits).intersection(facts.automaton.due(position.state))
            symbol = min(due, default=None)
        if symbol is not None:
            after = with_step(position, symbol)
        elif index is not None:
            symbol, after = kept(facts, position, index)
        if after is None:
            return None
        if after.state != position.state:
            rows.append((None if index in edits.moved else index, symbol))
        position = after
    return tuple(rows) if position.accepted else None


def refused_after_harm(facts: Facts) -> tuple[int, ...]:
    """The calls after the first harmful one that tried a step and failed."""
    first, steps = facts.score.harms[0].index, facts.automaton.alphabet.steps
    return tuple(
        step.index for step in facts.steps[first:]
        if step.kind is Kind.LOOP and step.call.failed and steps.intersection(step.reading.fits)
    )  # fmt: skip


def _in_order(facts: Facts, edits: Edits) -> Iterator[Row]:
    """The calls and the steps that are put in, in their new order."""
    for place in range(len(facts.steps) + 1):
        yield from ((index, None) for index, before in edits.moved.items() if before == place)
        yield from ((None, symbol) for symbol in edits.added.get(place, ()))
        if place < len(facts.steps) and place not in edits.moved:
            yield place, edits.replaced.get(place)


def kept(facts: Facts, position: Position, index: int) -> tuple[int | None, Position | None]:
    """What a call is at another position, and where it leads; None where it is harmful there.

    One that failed as a harmful call is taken to succeed where its step is due.
    """
    was = facts.steps[index]
    if was.kind is Kind.HARM and was.call.failed and was.symbol is not None and position.errors != "harmful":
        return was.symbol, with_step(position, was.symbol)
    taken, after = step(position, was.call)
    return taken.symbol, None if taken.kind is Kind.HARM else after


def with_step(position: Position, symbol: int) -> Position | None:
    """Where a step leads; None where it is not due."""
    after = position.automaton.delta[position.state].get(symbol, position.state)
    return None if after == position.state else replace(position, state=after, done=position.done | {symbol})
