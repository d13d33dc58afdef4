"""Arrangements: how the events of runs may be ordered, as nested sequences, turns, choices and options.

An event is a number. It stands for one occurrence of a step, so that no order has an event twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import product
from math import comb, factorial
from random import Random

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

    def __contains__(self, run: Sequence[int]) -> bool:
        """Whether a run is one of the orders."""
        match self.form:
            case Form.EVENT:
                return tuple(run) == (self.event,)
            case Form.OPTIONAL:
                return not run or run in self.parts[0]
            case Form.CHOICE:
                return any(run in part for part in self.parts)
        if not self.events.issuperset(run):
            return False
        pieces = [tuple(event for event in run if event in part.events) for part in self.parts]
        if not all(piece in part for piece, part in zip(pieces, self.parts, strict=True)):
            return False
        if self.form is Form.SEQ:
            return tuple(run) == tuple(event for piece in pieces for event in piece)
        return self.form is Form.ANY_ORDER or all(_is_unbroken(run, piece) for piece in pieces)

    @cached_property
    def first(self) -> frozenset[int]:
        """The events that may come first."""
        match self.form:
            case Form.EVENT:
                return self.events
            case Form.SEQ:
                found: frozenset[int] = frozenset()
                for part in self.parts:
                    found |= part.first
                    if not part.is_optional:
                        break
                return found
        return frozenset().union(*(part.first for part in self.parts))

    def after(self, event: int) -> Arrangement | None:
        """Return what may follow after an event came first, or None if it may not come first."""
        if event not in self.first:
            return None
        match self.form:
            case Form.EVENT:
                return NOTHING
            case Form.OPTIONAL | Form.CHOICE:
                return join(Form.CHOICE, (rest for part in self.parts if (rest := part.after(event)) is not None))
        place = next(place for place, part in enumerate(self.parts) if event in part.first)
        rest = self.parts[place].after(event) or NOTHING
        if self.form is Form.SEQ:
            return join(Form.SEQ, (rest, *self.parts[place + 1 :]))
        others = join(self.form, (*self.parts[:place], *self.parts[place + 1 :]))
        return join(Form.ANY_ORDER if self.form is Form.ANY_ORDER else Form.SEQ, (rest, others))

    @cached_property
    def leaves(self) -> int:
        """How many events it takes to write it: those of alternatives count in each."""
        return 1 if self.form is Form.EVENT else sum(part.leaves for part in self.parts)

    def draw(self, random: Random) -> tuple[int, ...]:
        """Return one of the orders at random."""
        match self.form:
            case Form.EVENT:
                return (self.event,)
            case Form.OPTIONAL:
                return self.parts[0].draw(random) if random.random() < 0.5 else ()
            case Form.CHOICE:
                return random.choice(self.parts).draw(random)
        pieces = [part.draw(random) for part in self.parts]
        if self.form is Form.ANY_ORDER:
            turns = [number for number, piece in enumerate(pieces) for _ in piece]
            random.shuffle(turns)
            waiting = [iter(piece) for piece in pieces]
            return tuple(next(waiting[number]) for number in turns)
        if self.form is Form.ONE_BY_ONE:
            random.shuffle(pieces)
        return tuple(event for piece in pieces for event in piece)

    @cached_property
    def lengths(self) -> dict[int, int]:
        """How many orders there are of each length. Orders that two alternatives share count twice."""
        match self.form:
            case Form.EVENT:
                return {1: 1}
            case Form.OPTIONAL:
                return _add(self.parts[0].lengths, {0: 1})
            case Form.CHOICE:
                found: dict[int, int] = {}
                for part in self.parts:
                    found = _add(found, part.lengths)
                return found
        if self.form is Form.ONE_BY_ONE:
            return self._lengths_in_turn()
        found = {0: 1}
        for part in self.parts:
            longer: dict[int, int] = {}
            for (mine, ways), (more, others) in product(found.items(), part.lengths.items()):
                mixed = comb(mine + more, more) if self.form is Form.ANY_ORDER else 1
                longer[mine + more] = longer.get(mine + more, 0) + ways * others * mixed
            found = longer
        return found

    def _lengths_in_turn(self) -> dict[int, int]:
        """Count the orders of parts that are done one by one. A part that is left out has no turn."""
        found = {(0, 0): 1}
        for part in self.parts:
            longer: dict[tuple[int, int], int] = {}
            for ((mine, turns), ways), (more, others) in product(found.items(), part.lengths.items()):
                key = mine + more, turns + bool(more)
                longer[key] = longer.get(key, 0) + ways * others
            found = longer
        total: dict[int, int] = {}
        for (length, turns), ways in found.items():
            total[length] = total.get(length, 0) + ways * factorial(turns)
        return total

    @cached_property
    def is_optional(self) -> bool:
        """Whether all of it may be left out."""
        match self.form:
            case Form.EVENT:
                return False
            case Form.OPTIONAL:
                return True
            case Form.CHOICE:
                return any(part.is_optional for part in self.parts)
        return all(part.is_optional for part in self.parts)

    @property
    def count(self) -> int:
        """The number of orders."""
        return sum(self.lengths.values())

    def procedure(self, step: Callable[[int], Procedure]) -> Procedure:
        """Return the arrangement as a procedure. `step` gives the action of an event."""
        if self.form is Form.EVENT:
            return step(self.event)
        return _join_procedures(self.form, [part.procedure(step) for part in self.parts])


def _join_procedures(form: Form, parts: Sequence[Procedure]) -> Procedure:
    match form:
        case Form.SEQ:
            return procedure.seq(*parts)
        case Form.ANY_ORDER:
            return procedure.any_order(*parts)
        case Form.ONE_BY_ONE:
            return procedure.one_by_one(*parts)
        case Form.CHOICE:
            return procedure.choice(*parts)
    return procedure.optional(parts[0])


def _add(one: dict[int, int], other: dict[int, int]) -> dict[int, int]:
    return {length: one.get(length, 0) + other.get(length, 0) for length in (*one, *other)}


def _is_unbroken(run: Sequence[int], piece: Sequence[int]) -> bool:
    """Whether the events of a piece stand together in a run."""
    return not piece or tuple(run[run.index(piece[0]) :][: len(piece)]) == tuple(piece)


NOTHING = Arrangement(Form.SEQ)
"""The arrangement of no events."""


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
    return part if part.is_optional else Arrangement(Form.OPTIONAL, (part,))
