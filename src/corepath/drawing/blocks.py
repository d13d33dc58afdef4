"""Blocks: the nested parts of a drawing as lanes, such as a sequence, a fork or a choice.

A block is a procedure in which each step has a place of its own, so that the same action may stand in several places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain, combinations, pairwise, permutations
from math import factorial
from typing import Final

from corepath.notation.action import Action
from corepath.notation.procedure import MOST_IN_TURN, AnyOrder, Choice, Procedure, Repeat, Seq

MOST_UNROLLED: Final = 8
"""A repetition of at most this many steps in all is drawn once for each time."""
_DEEPEST: Final = 60
_PARTS_OF: Final = {factorial(parts): parts for parts in range(2, MOST_IN_TURN + 1)}
"""The number of parts that have so many orders."""


class Form(StrEnum):
    """How the parts of a block belong together."""

    STEP = "step"
    SEQ = "one after the other"
    ANY_ORDER = "all, in any order"
    ONE_BY_ONE = "all, one at a time"
    PARTIAL_ORDER = "all, each after those with an arrow to it"
    CHOICE = "one of them"
    REPEAT = "several times"
    UNBROKEN = "in one go"
    BEGUN = "in one go, and begun"


@dataclass(frozen=True)
class Block:
    """A step, or several blocks that belong together.

    A step has the number of its action, `symbol`, and its place in the drawing. A repetition is done `least` to `most`
    times. It has one part, or a part for each time. In a partial order, `links` are pairs of parts, the earlier one
    first. An unbroken part is not interleaved with the other parts of the fork that it is in.
    """

    form: Form
    parts: tuple[Block, ...] = ()
    symbol: int = -1
    place: int = -1
    least: int = 1
    most: int = 1
    links: tuple[tuple[int, int], ...] = ()

    @property
    def can_be_skipped(self) -> bool:
        """Whether there is nothing that must be done."""
        if self.form is Form.STEP:
            return False
        if self.form is Form.CHOICE:
            return any(part.can_be_skipped for part in self.parts)
        return (self.form is Form.REPEAT and self.least == 0) or all(part.can_be_skipped for part in self.parts)

    @property
    def steps(self) -> Iterator[Block]:
        """The steps, from left to right."""
        if self.form is Form.STEP:
            yield self
        for part in self.parts:
            yield from part.steps

    @property
    def is_optional(self) -> bool:
        """Whether the block is done once or not at all."""
        return self.form is Form.REPEAT and (self.least, self.most) == (0, 1)


NOTHING: Final = Block(Form.SEQ)


def step(symbol: int) -> Block:
    """Return a step."""
    return Block(Form.STEP, symbol=symbol)


def from_procedure(procedure: Procedure, symbol_of: Callable[[Action], int]) -> Block | None:
    """Return a procedure as a block, or None if it is nested too deeply to draw."""
    return _from_procedure(procedure, symbol_of) if _is_shallow(procedure) else None


def _is_shallow(procedure: Procedure) -> bool:
    layer = [procedure]
    for _ in range(_DEEPEST):
        inner: list[Procedure] = []
        for one in layer:
            if isinstance(one, (Seq, AnyOrder, Choice)):
                inner.extend(one.parts)
            elif isinstance(one, Repeat):
                inner.append(one.step)
        layer = inner
        if not layer:
            return True
    return False


def _from_procedure(procedure: Procedure, symbol_of: Callable[[Action], int]) -> Block:
    match procedure:
        case Action():
            return step(symbol_of(procedure))
        case Seq(parts):
            return seq(*(_from_procedure(part, symbol_of) for part in parts))
        case AnyOrder(parts):
            return any_order(*(_from_procedure(part, symbol_of) for part in parts))
        case Choice(parts):
            return choice(*(_from_procedure(part, symbol_of) for part in parts))
        case Repeat(inner, least, most):
            return repeat(_from_procedure(inner, symbol_of), least, most)
    raise TypeError(procedure)


# Every function here returns a block with the same paths as the parts that it is given, in a form that draws well.


def seq(*parts: Block) -> Block:
    """Return the parts one after the other."""
    return _join(Form.SEQ, parts)


def any_order(*parts: Block) -> Block:
    """Return all parts in any order. If no part can be interrupted, they are done one by one."""
    flat = _flatten(Form.ANY_ORDER, parts)
    if any(part.form is Form.UNBROKEN for part in flat) and all(
        part.form in (Form.STEP, Form.UNBROKEN) for part in flat
    ):
        return one_by_one(*(part.parts[0] if part.form is Form.UNBROKEN else part for part in flat))
    return _join(Form.ANY_ORDER, flat)


def one_by_one(*parts: Block) -> Block:
    """Return all parts in any order, not interleaved."""
    form = Form.ANY_ORDER if all(part.form is Form.STEP for part in parts) else Form.ONE_BY_ONE
    return parts[0] if len(parts) == 1 else Block(form, tuple(parts))


def unbroken(part: Block) -> Block:
    """Return a part that is not interleaved with others."""
    return part if part.form is Form.STEP else Block(Form.UNBROKEN, (part,))


def repeat(part: Block, least: int, most: int) -> Block:
    """Return a part that is done several times. A short repetition is unrolled."""
    if most == 0 or part == NOTHING or (least, most) == (1, 1):
        return NOTHING if most == 0 else part
    if part.can_be_skipped:
        least = 0
    if part.is_optional and most == 1:
        return part
    times = most if most * sum(1 for _ in part.steps) <= MOST_UNROLLED else 1
    return Block(Form.REPEAT, (part,) * times, least=least, most=most)


def choice(*parts: Block) -> Block:
    """Return a choice. What all parts begin or end with is taken out, and a list of all orders becomes those orders."""
    flat = tuple(dict.fromkeys(_flatten(Form.CHOICE, parts)))
    if NOTHING in flat:
        rest = [part for part in flat if part != NOTHING]
        return repeat(choice(*rest), 0, 1) if rest else NOTHING
    if len(flat) == 1:
        return flat[0]
    lines = [_line(part) for part in flat]
    if in_turn := _in_turn(lines):
        return in_turn
    begin, end = _common(lines), _common([line[::-1] for line in lines])
    shortest = min(map(len, lines))
    begin = min(begin, shortest)
    end = min(end, shortest - begin)
    if begin or end:
        inner = [seq(*line[begin : len(line) - end]) for line in lines]
        return seq(*lines[0][:begin], choice(*inner), *lines[0][len(lines[0]) - end :])
    return Block(Form.CHOICE, flat)


def _line(block: Block) -> tuple[Block, ...]:
    return block.parts if block.form is Form.SEQ else (block,)


def _common(lines: list[tuple[Block, ...]]) -> int:
    """Return the number of parts with which all lines begin."""
    number = 0
    for parts in zip(*lines, strict=False):
        if any(part != parts[0] for part in parts):
            break
        number += 1
    return number


def _in_turn(lines: list[tuple[Block, ...]]) -> Block | None:
    """Return the block whose orders are these lines, done one by one. None if there is no such block."""
    known, first = set(lines), lines[0]
    wanted = _PARTS_OF.get(len(known))
    if wanted is None or any(len(line) != len(first) for line in lines):
        return None
    cuts = [place for place in range(1, len(first)) if first[place:] + first[:place] in known]
    for chosen in combinations(cuts, wanted - 1):
        pieces = [first[begin:end] for begin, end in pairwise((0, *chosen, len(first)))]
        if {tuple(chain.from_iterable(order)) for order in permutations(pieces)} == known:
            return one_by_one(*(seq(*piece) for piece in pieces))
    return None


def _join(form: Form, parts: tuple[Block, ...]) -> Block:
    flat = _flatten(form, parts)
    return flat[0] if len(flat) == 1 else Block(form, flat) if flat else NOTHING


def _flatten(form: Form, parts: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return the parts without nested blocks of the same form, and without those in which there is nothing to do."""
    flat: list[Block] = []
    for part in parts:
        flat.extend(part.parts if part.form is form else (part,) if part != NOTHING or form is Form.CHOICE else ())
    return tuple(flat)


def join_unbroken(block: Block, *, in_fork: bool = False) -> Block:
    """Return the block with unbroken parts only where they are in a fork. Elsewhere nothing could come in between."""
    if block.form is Form.STEP:
        return block
    inner = in_fork or block.form is Form.ANY_ORDER
    parts = tuple(join_unbroken(part, in_fork=inner) for part in block.parts)
    if block.form is Form.UNBROKEN and not in_fork:
        return parts[0]
    return seq(*parts) if block.form is Form.SEQ else replace(block, parts=parts)


def number_steps(block: Block, first: int = 0) -> Block:
    """Return the block with its steps' places numbered from left to right, starting with `first`."""
    if block.form is Form.STEP:
        return replace(block, place=first)
    numbered = []
    for part in block.parts:
        numbered.append(number_steps(part, first))
        first += sum(1 for _ in part.steps)
    return replace(block, parts=tuple(numbered))
