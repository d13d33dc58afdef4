"""Draw a task's procedure as lanes: steps from left to right, forks and joins, choices as diamonds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from corepath.drawing.blocks import Block, Form, from_procedure, number_steps
from corepath.drawing.decompose import decompose
from corepath.drawing.draw import Drawing
from corepath.drawing.lane_shapes import draw_sketch
from corepath.drawing.layout import Edge, Route, Size, lay_out
from corepath.drawing.placing import allows_the_same
from corepath.drawing.sketch import GAP, SIDE, Bar, Caption, Frame, Shape, Sketch, StepBox, Wire, in_rows, shift, wire
from corepath.drawing.step_label import SIZE, StepLabels
from corepath.drawing.text import Text
from corepath.notation.procedure import leaves
from corepath.rules.rule import Rule
from corepath.task import Task

ROOM: Final = 1150
"""The width that drawings should fit in. With a page's margins, that makes 1,280 pixels."""
MOST_STEPS: Final = 250
"""A task with more steps has no drawing as lanes."""
ACCEPTED: Final = -1
"""Stands for the end in the places of a line."""
_LANE_GAP: Final = 8
_PAD: Final = 8
_BAR: Final = 6


def find_lanes(task: Task) -> Block | None:
    """Return a task's procedure as a block with numbered steps, or None if it has no form that can be drawn as lanes.

    A task that is given as an automaton, or whose procedure repeats the same steps over and over, gets the block that
    the automaton decomposes into. Such a block allows exactly the paths that the automaton does.
    """
    own = _own_lanes(task)
    repeats = own is None or _size(own) > len({one.symbol for one in own.steps})
    found = decompose(task.automaton) if repeats else None
    if found is not None and (own is None or _size(found) < _size(own)) and allows_the_same(found, task.automaton):
        own = found
    return None if own is None or _size(own) > MOST_STEPS else number_steps(own)


def _own_lanes(task: Task) -> Block | None:
    procedure = task.automaton.procedure
    if procedure is None:
        return None
    symbols = {(one, one.name): number for number, one in reversed([*enumerate(task.automaton.alphabet.actions)])}
    known = {(leaf, leaf.name) for leaf in leaves(procedure)}  # type: ignore[attr-defined]
    if len(known - symbols.keys()):
        return None
    return from_procedure(procedure, lambda action: symbols[action, action.name])


def _size(block: Block) -> int:
    return sum(1 for _ in block.steps)


def draw_lanes(
    task: Task, block: Block | None = None, rules: Sequence[Rule] = (), *, room: int = ROOM, counted: bool = False
) -> Drawing | None:
    """Draw a task's procedure as lanes, at most `room` pixels wide if that is possible. None if it has no lanes.

    `block` is what `find_lanes` returns, if it is known already. Steps that a policy or one of `rules` names have a
    badge. If `counted` is True, there is room in each step for the numbers that a page writes there.

    Web pages find elements by class and data attributes:

    - Steps are `g.step[data-action][data-place]`. Each step has a place of its own.
    - Lines are `path.line[data-by]`. Whoever did a step at one of these places went along the line, or whoever was
      accepted if the place is `end`.
    - The beginning and the end are `g.start` and `g.end`.
    """
    block = block or find_lanes(task)
    if block is None:
        return None
    labels = StepLabels(task, rules, counted=counted)
    pen = _Pen(labels)
    parts = block.parts if block.form is Form.SEQ else (block,)
    beside = pen.labels.end_size[0] + GAP
    tried = []
    for inner in (room - 2 * SIDE, room - 2 * beside):
        drawn = [pen.draw(part, inner) for part in parts]
        ends = (pen.end("start", frozenset()), pen.end("end", frozenset({ACCEPTED})))
        tried.append(in_rows([ends[0], *drawn, ends[1]], room, is_whole=True))
    return draw_sketch(task, min(tried, key=lambda sketch: (sketch.width > room, sketch.height)), labels)


@dataclass(frozen=True)
class _Pen:
    """Lays out blocks as sketches."""

    labels: StepLabels

    def draw(self, block: Block, room: int) -> Sketch:
        """Return a block as a sketch, at most `room` pixels wide if that is possible."""
        match block.form:
            case Form.STEP:
                return self._step(block)
            case Form.SEQ:
                return in_rows([self.draw(part, room) for part in block.parts], room)
            case Form.ANY_ORDER | Form.ONE_BY_ONE:
                return self._fork(block, room)
            case Form.CHOICE:
                return self._choice(block, room)
            case Form.PARTIAL_ORDER:
                return self._partial_order(block)
            case Form.REPEAT:
                return self._repeat(block, room)
        return _framed(self.draw(block.parts[0], room - 2 * _PAD), "in one go")

    def end(self, kind: str, by: frozenset[int]) -> Sketch:
        """Return the mark at which every path starts or ends."""
        width, height = self.labels.end_size
        bar = Bar(0, 0, width, height, kind, f"The {kind}.")
        return Sketch(width, height, height // 2, height // 2, (bar,), by, by, is_step=True)

    def _step(self, block: Block, note: str = "", *, is_optional: bool = False) -> Sketch:
        width, height = self.labels.size(block.symbol, note)
        box = StepBox(0, 0, width, height, block.symbol, block.place, is_optional, note)
        own = frozenset({block.place})
        return Sketch(width, height, height // 2, height // 2, (box,), own, own, is_step=True)

    def _repeat(self, block: Block, room: int) -> Sketch:
        if block.is_optional:
            (part,) = block.parts
            if part.form is Form.STEP:
                return self._step(part, "optional", is_optional=True)
            return _framed(self.draw(part, room - 2 * _PAD), "optional")
        often = f"{block.least} times" if block.least == block.most else f"{block.least} to {block.most} times"
        if len(block.parts) == 1:
            (part,) = block.parts
            if part.form is Form.STEP:
                return self._step(part, often, is_optional=block.least == 0)
            return _framed(self.draw(part, room - 2 * _PAD), often)
        inner = [
            self._step(part, "if needed", is_optional=True)
            if number >= block.least and part.form is Form.STEP
            else self.draw(part, room - 2 * _PAD)
            for number, part in enumerate(block.parts)
        ]
        return _framed(in_rows(inner, room - 2 * _PAD), often)

    def _fork(self, block: Block, room: int) -> Sketch:
        """Stack the parts between two bars. Bars are double if the parts must not be interleaved."""
        in_turn = block.form is Form.ONE_BY_ONE
        wide = 10 if in_turn else 5
        lanes = [self.draw(part, room - 2 * (wide + GAP)) for part in block.parts]
        head = 18 if in_turn else 0
        tops, height, widest = _stack(lanes, head)
        end = wide + GAP + widest + GAP
        shapes: list[Shape] = []
        for lane, top in zip(lanes, tops, strict=True):
            y, leave = top + lane.enter, top + lane.leave
            shapes.append(Wire(((wide, y), (wide + GAP, y)), lane.first, lane.is_step))
            shapes += shift(lane.shapes, wide + GAP, top)
            shapes.append(Wire(((wide + GAP + lane.width, leave), (end, leave)), lane.last))
        enters = [top + lane.enter for lane, top in zip(lanes, tops, strict=True)]
        leaves_ = [top + lane.leave for lane, top in zip(lanes, tops, strict=True)]
        kind = "turns" if in_turn else "fork"
        about = f"{block.form.value}.".capitalize()
        shapes += [_bar(0, wide, enters, kind, about), _bar(end, wide, leaves_, kind, about)]
        if in_turn:
            shapes.append(Caption(wide + 6, 0, Text(("one at a time",), SIZE)))
        return _around(end + wide, height, enters, leaves_, shapes, lanes)

    def _choice(self, block: Block, room: int) -> Sketch:
        """Stack the parts between a diamond and the line in which they come together."""
        half, turn, begin, close = 17, 42, 56, 12
        lanes = [self.draw(part, room - begin - 2 * close) for part in block.parts]
        tops, height, widest = _stack(lanes, 0)
        end = begin + widest + 2 * close
        enters = [top + lane.enter for lane, top in zip(lanes, tops, strict=True)]
        leaves_ = [top + lane.leave for lane, top in zip(lanes, tops, strict=True)]
        enter, leave = _middle(enters), _middle(leaves_)
        shapes: list[Shape] = []
        for lane, top in zip(lanes, tops, strict=True):
            y, bottom = top + lane.enter, top + lane.leave
            shapes.append(wire((2 * half, enter), turn, (begin, y), lane.first, arrow=lane.is_step))
            shapes += shift(lane.shapes, begin, top)
            shapes.append(wire((begin + lane.width, bottom), end - close, (end, leave), lane.last))
        shapes.append(Bar(0, enter - 12, 2 * half, 24, "diamond", "One of them."))
        return _around(end, height, enters, leaves_, shapes, lanes)

    def _partial_order(self, block: Block) -> Sketch:
        """Lay out steps in layers, each after those that must come before it, between two bars."""
        steps = [self._step(part) for part in block.parts]
        links = _links_with_ends(block)
        sizes = [Size(one.width / 2, one.width / 2 + 2, one.height / 2 + 1, one.height / 2 + 1) for one in steps]
        sizes += [Size(_BAR, _BAR, 14, 14)] * 2
        layout = lay_out(sizes, [Edge(tail, head, Size(0, 0, 2, 2)) for tail, head in links], len(steps))
        half = [*(one.width // 2 for one in steps), _BAR // 2, _BAR // 2]
        shapes: list[Shape] = []
        for (tail, head), route in zip(links, layout.routes, strict=True):
            by = steps[head if head < len(steps) else tail].first
            shapes.append(Wire(_along(route, half[tail], half[head]), by, head < len(steps), curved=True))
        for one, (x, y) in zip(steps, layout.places, strict=False):
            shapes += shift(one.shapes, x - one.width // 2, y - one.height // 2)
        (left, enter), (right, leave) = layout.places[len(steps) :]
        about = f"{block.form.value}.".capitalize()
        shapes += [Bar(x - _BAR // 2, y - 14, _BAR, 28, "fork", about) for x, y in layout.places[len(steps) :]]
        moved = shift(shapes, _BAR // 2 - left, 0)
        every = frozenset(one.place for one in block.parts)
        return Sketch(right - left + _BAR, layout.height, enter, leave, tuple(moved), every, every)


def _links_with_ends(block: Block) -> list[tuple[int, int]]:
    """Return the links of a partial order, also those from a bar before all steps and to a bar after all of them."""
    number = len(block.parts)
    heads, tails = {head for _, head in block.links}, {tail for tail, _ in block.links}
    begin = [(number, one) for one in range(number) if one not in heads]
    return [*begin, *block.links, *((one, number + 1) for one in range(number) if one not in tails)]


def _along(route: Route, before: int, after: int) -> tuple[tuple[int, int], ...]:
    """Return the ends of a route's lanes, without what is inside its first and its last node."""
    points = [point for lane in route.lanes for point in ((lane.begin, lane.y), (lane.end, lane.y))]
    points[0] = (points[0][0] + before, points[0][1])
    points[-1] = (points[-1][0] - after, points[-1][1])
    return tuple(points)


def _stack(lanes: Sequence[Sketch], head: int) -> tuple[list[int], int, int]:
    """Return the upper edges of lanes below each other, their height together with `head`, and the widest width."""
    tops, top = [], head
    for lane in lanes:
        tops.append(top)
        top += lane.height + _LANE_GAP
    return tops, top - _LANE_GAP, max(lane.width for lane in lanes)


def _middle(ys: Sequence[int]) -> int:
    return (ys[0] + ys[-1]) // 2


def _bar(x: int, width: int, ys: Sequence[int], kind: str, about: str) -> Bar:
    top = 0 if kind == "turns" else ys[0] - 8
    return Bar(x, top, width, ys[-1] + 8 - top, kind, about)


def _around(
    width: int, height: int, enters: Sequence[int], leaves_: Sequence[int], shapes: list[Shape], lanes: list[Sketch]
) -> Sketch:
    first = _union(lane.first for lane in lanes)
    last = _union(lane.last for lane in lanes)
    return Sketch(width, height, _middle(enters), _middle(leaves_), tuple(shapes), first, last)


def _union(sets: Iterable[frozenset[int]]) -> frozenset[int]:
    return frozenset().union(*sets)


def _framed(inner: Sketch, words: str) -> Sketch:
    """Put a dashed frame with a caption around a sketch."""
    text = Text((words,), SIZE)
    width, head = max(inner.width, text.width) + 2 * _PAD, text.height + _PAD
    y, leave = inner.enter + head, inner.leave + head
    shapes: list[Shape] = [
        Frame(0, 0, width, inner.height + head + _PAD),
        Caption(_PAD, 4, text),
        Wire(((0, y), (_PAD, y)), inner.first, inner.is_step),
        *shift(inner.shapes, _PAD, head),
        Wire(((_PAD + inner.width, leave), (width, leave)), inner.last),
    ]
    return Sketch(width, inner.height + head + _PAD, y, leave, tuple(shapes), inner.first, inner.last)
