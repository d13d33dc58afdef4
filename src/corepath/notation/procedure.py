"""Procedures: expressions that say in which orders a task's steps may be done.

A procedure is built from actions, and an `action.Action` is itself a `Procedure`. In text, `a >> b` means a, then b.
`a & b` means both in any order, possibly with their steps interleaved. `a | b` means one of them, and `a?` means that a
is optional. `a{3}` and `a{2,4}` repeat a.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import Final

from corepath.errors import TaskError

MOST_IN_TURN: Final = 6
"""The maximum number of parts in a `one_by_one`. Six parts have 720 orders."""


@dataclass(frozen=True)
class Procedure:
    """An expression that says in which orders steps may be done. Combine procedures with `>>`, `&` and `|`."""

    def __rshift__(self, other: Procedure) -> Procedure:
        return seq(self, other)

    def __and__(self, other: Procedure) -> Procedure:
        return any_order(self, other)

    def __or__(self, other: Procedure) -> Procedure:
        return choice(self, other)


@dataclass(frozen=True)
class Seq(Procedure):
    """A sequence: all parts, one after the other. If there are no parts, there is nothing to do."""

    parts: tuple[Procedure, ...]

    def __str__(self) -> str:
        return " >> ".join(_inner(part) for part in self.parts)


@dataclass(frozen=True)
class AnyOrder(Procedure):
    """All parts, with their steps interleaved in any way. If two parts are equal, both must be done."""

    parts: tuple[Procedure, ...]

    def __str__(self) -> str:
        return " & ".join(_inner(part) for part in self.parts)


@dataclass(frozen=True)
class Choice(Procedure):
    """A choice: exactly one of the parts."""

    parts: tuple[Procedure, ...]

    def __str__(self) -> str:
        return " | ".join(_inner(part) for part in self.parts)


@dataclass(frozen=True)
class Repeat(Procedure):
    """A step that is repeated `least` to `most` times in a row."""

    step: Procedure
    least: int
    most: int

    def __str__(self) -> str:
        step = f"({self.step})" if isinstance(self.step, Repeat) else _inner(self.step)
        if (self.least, self.most) == (0, 1):
            return f"{step}?"
        times = str(self.least) if self.least == self.most else f"{self.least},{self.most}"
        return f"{step}{{{times}}}"


def seq(*parts: Procedure) -> Procedure:
    """Require all parts, one after the other: `seq(unlock(), move(to="C"))`."""
    return _join(Seq, parts)


def any_order(*parts: Procedure) -> Procedure:
    """Require all parts, with their steps interleaved in any way: `any_order(seq(a, b), c)` allows a, c, b."""
    return _join(AnyOrder, parts)


def one_by_one(*parts: Procedure) -> Procedure:
    """Require all parts in any order, without interleaving their steps: `one_by_one(seq(a, b), seq(c, d))`."""
    if len(parts) > MOST_IN_TURN:
        raise TaskError.of(f"one_by_one() takes at most {MOST_IN_TURN} parts, because it lists all of their orders")
    return choice(*(seq(*order) for order in permutations(parts))) if parts else seq()


def choice(*parts: Procedure) -> Procedure:
    """Require exactly one of the parts: `choice(approve(), reject())`."""
    if not parts:
        raise TaskError.of("choice() of nothing can never be done; give it at least one part")
    return _join(Choice, parts)


def optional(step: Procedure) -> Procedure:
    """Make a step optional."""
    return repeat(step, 0, 1)


def repeat(
    step: Procedure, least: int | None = None, most: int | None = None, *, times: int | None = None
) -> Procedure:
    """Repeat a step: `repeat(step, times=3)` means 3 times, and `repeat(step, 2, 4)` means 2 to 4 times."""
    if times is not None:
        if least is not None or most is not None:
            raise TaskError.of("repeat() takes either times= or a least and a most number, not both")
        least = most = times
    if least is None:
        raise TaskError.of("repeat() needs a number: repeat(step, times=3) or repeat(step, 2, 4)")
    if most is None:
        most = least
    if not 0 <= least <= most:
        raise TaskError.of(f"repeat() from {least} to {most} times: the numbers must be 0 or more, the smaller first")
    (part,) = _check((step,))
    return Repeat(part, least, most)


def leaves(procedure: Procedure) -> Iterator[Procedure]:
    """Yield a procedure's actions, from left to right."""
    waiting = [procedure]
    while waiting:
        part = waiting.pop()
        match part:
            case Seq(parts) | AnyOrder(parts) | Choice(parts):
                waiting.extend(reversed(parts))
            case Repeat(step):
                waiting.append(step)
            case leaf:
                yield leaf


def _join(kind: type[Seq | AnyOrder | Choice], parts: tuple[Procedure, ...]) -> Procedure:
    """Combine parts into a procedure of class `kind`. Nested procedures of the same class are flattened."""
    flat: list[Procedure] = []
    for part in _check(parts):
        flat.extend(part.parts if isinstance(part, kind) else (part,))
    if len(flat) == 1:
        return flat[0]
    return kind(tuple(flat)) if flat else Seq(())


def _check(parts: tuple[Procedure, ...]) -> tuple[Procedure, ...]:
    """Return the parts unchanged, or raise `TaskError` if one of them is not a procedure."""
    for part in parts:
        if not isinstance(part, Procedure):
            raise TaskError.of(
                f"a procedure consists of actions and procedures, not of {part!r}; "
                "write an action as tool('send')(to=\"Bob\") or read it from text with corepath.action(...)"
            )
    return parts


def _inner(part: Procedure) -> str:
    return f"({part})" if isinstance(part, (Seq, AnyOrder, Choice)) else str(part)
