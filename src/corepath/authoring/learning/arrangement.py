"""Arrangements: how the events of runs may be ordered, as nested sequences, turns, choices and options.

An event is a number. It stands for one occurrence of a step, so that no order has an event twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import comb, factorial

from corepath.notation import procedure
from corepath.notation.procedure import Procedure


class Form(StrEnum):
    """How the parts of an arrangement belong together."""

    EVENT = "event"
    SEQ = "seq"
    ANY_ORDER = "any_order"
    ONE_BY_ONE = "one_by_one"
    CHOICE = "choice"
    OPTIONAL = "optional"


@dataclass(frozen=True)
class Arrangement:
    """A set of orders. `event` is set if the form is EVENT; all other forms have parts."""

    form: Form
    parts: tuple[Arrangement, ...] = ()
    event: int = -1

    @cached_property
    def events(self) -> frozenset[int]:
        """All events in the arrangement."""
        return (
            frozenset((self.event,)) if self.form is Form.EVENT else frozenset().union(*(p.events for p in self.parts))
        )

    def size(self, events: frozenset[int]) -> int:
        """Count the orders that have exactly these events."""
        match self.form:
            case Form.EVENT:
                return int(events == self.events)
            case Form.OPTIONAL:
                return self.parts[0].size(events) if events else 1
            case Form.CHOICE:
                return sum(part.size(events) for part in self.parts)
        if not events <= self.events:
            return 0
        total, length, present = 1, 0, 0
        for part in self.parts:
            mine = events & part.events
            total *= part.size(mine)
            if not total:
                return 0
            length, present = length + len(mine), present + bool(mine)
            if self.form is Form.ANY_ORDER:
                total *= comb(length, len(mine))
        return total * factorial(present) if self.form is Form.ONE_BY_ONE else total

    def procedure(self, step: Callable[[int], Procedure]) -> Procedure:
        """Return the arrangement as a procedure. `step` gives the action of an event."""
        if self.form is Form.EVENT:
            return step(self.event)
        return _JOIN[self.form](*(part.procedure(step) for part in self.parts))


_JOIN = {
    Form.SEQ: procedure.seq,
    Form.ANY_ORDER: procedure.any_order,
    Form.ONE_BY_ONE: procedure.one_by_one,
    Form.CHOICE: procedure.choice,
    Form.OPTIONAL: procedure.optional,
}


def leaf(event: int) -> Arrangement:
    """Return the arrangement of one event."""
    return Arrangement(Form.EVENT, event=event)


def join(form: Form, parts: Iterable[Arrangement]) -> Arrangement:
    """Join arrangements. Sequences within sequences and the like are flattened, and equal alternatives are one."""
    flat: list[Arrangement] = []
    for part in parts:
        same = part.form is form and form is not Form.ONE_BY_ONE
        flat.extend(part.parts if same else (part,))
    if form is Form.CHOICE:
        flat = list(dict.fromkeys(flat))
    return flat[0] if len(flat) == 1 else Arrangement(form, tuple(flat))


def in_sequence(events: Iterable[int]) -> Arrangement:
    """Return the arrangement with these events in this order only."""
    return join(Form.SEQ, map(leaf, events))


def optional(part: Arrangement) -> Arrangement:
    """Return the arrangement of `part` or nothing."""
    return part if part.form is Form.OPTIONAL else Arrangement(Form.OPTIONAL, (part,))
