"""The shapes of a drawing as lanes, before they become SVG, and how shapes are put next to each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from corepath.drawing.text import Text

GAP: Final = 18
"""The distance between two steps, with the arrow between them."""
SIDE: Final = 10
"""The space to the left and right of a sequence of several rows, for the lines from row to row."""
ROW_GAP: Final = 24
"""The distance between two rows of a sequence, with the line from the end of one to the beginning of the other."""

Points = tuple[tuple[int, int], ...]
Places = frozenset[int]


@dataclass(frozen=True)
class StepBox:
    """A step. `note` says how often it is done, if that is not exactly once."""

    x: int
    y: int
    width: int
    height: int
    symbol: int
    place: int
    is_optional: bool = False
    note: str = ""


@dataclass(frozen=True)
class Wire:
    """A line along some points. Whoever did a step at one of the places `by` went along it. `curved` bends smoothly."""

    points: Points
    by: Places
    arrow: bool = False
    curved: bool = False


@dataclass(frozen=True)
class Bar:
    """The beginning or the end of a fork, or of a choice (`diamond`)."""

    x: int
    y: int
    width: int
    height: int
    kind: str
    about: str


@dataclass(frozen=True)
class Frame:
    """A dashed frame around several steps."""

    x: int
    y: int
    width: int
    height: int


@dataclass(frozen=True)
class Caption:
    """A few words about what is below them."""

    x: int
    y: int
    text: Text


Shape = StepBox | Wire | Bar | Frame | Caption


@dataclass(frozen=True)
class Sketch:
    """Shapes in a rectangle that is entered on the left, at the height `enter`, and left on the right at `leave`.

    `first` and `last` are the places of the steps that come first and last.
    """

    width: int
    height: int
    enter: int
    leave: int
    shapes: tuple[Shape, ...]
    first: Places = frozenset()
    last: Places = frozenset()
    is_step: bool = False


def shift(shapes: Iterable[Shape], x: int, y: int) -> list[Shape]:
    """Return the shapes moved by `x` and `y`."""
    return [
        replace(one, points=tuple((across + x, down + y) for across, down in one.points))
        if isinstance(one, Wire)
        else replace(one, x=one.x + x, y=one.y + y)
        for one in shapes
    ]


def wire(begin: tuple[int, int], turn: int, end: tuple[int, int], by: Places, *, arrow: bool = False) -> Wire:
    """Return a line that goes up or down at the x coordinate `turn`."""
    if begin[1] == end[1]:
        return Wire((begin, end), by, arrow)
    return Wire((begin, (turn, begin[1]), (turn, end[1]), end), by, arrow)


@dataclass
class _Row:
    """A row of a sequence that takes several rows."""

    parts: list[Sketch] = field(default_factory=list)

    @property
    def width(self) -> int:
        return sum(part.width for part in self.parts) + GAP * (len(self.parts) - 1)

    @property
    def above(self) -> int:
        return max(part.enter for part in self.parts)

    @property
    def height(self) -> int:
        return self.above + max(part.height - part.enter for part in self.parts)


def in_rows(parts: Sequence[Sketch], room: int, *, is_whole: bool = False) -> Sketch:
    """Put parts one after the other, in several rows if they are wider than `room`.

    If `is_whole` is True, nothing comes before or after them.
    """
    row = _Row(list(parts))
    if row.width <= room or len(parts) == 1:
        shapes, leave = _draw_row(row)
        return Sketch(
            row.width, row.height, row.above, leave, tuple(shapes), parts[0].first, parts[-1].last, len(parts) == 1
        )
    return _stack(_break(parts, room - 2 * SIDE), is_whole=is_whole)


def _break(parts: Sequence[Sketch], room: int) -> list[_Row]:
    """Break parts into as few rows as fit, with about the same width each."""
    fewest = len(_fill(parts, room))
    narrow, wide = max(part.width for part in parts), max(room, *(part.width for part in parts))
    while narrow < wide:
        middle = (narrow + wide) // 2
        if len(_fill(parts, middle)) > fewest:
            narrow = middle + 1
        else:
            wide = middle
    return _fill(parts, wide)


def _fill(parts: Sequence[Sketch], room: int) -> list[_Row]:
    rows = [_Row()]
    for part in parts:
        if rows[-1].parts and rows[-1].width + GAP + part.width > room:
            rows.append(_Row())
        rows[-1].parts.append(part)
    return rows


def _draw_row(row: _Row) -> tuple[list[Shape], int]:
    """Return the shapes of a row, and the height at which it is left."""
    shapes: list[Shape] = []
    x, y = 0, row.above
    before: Sketch | None = None
    for part in row.parts:
        if before is not None:
            begin = (x - GAP, y)
            shapes.append(wire(begin, x - GAP // 2 - 2, (x, row.above), part.first, arrow=part.is_step))
        top = row.above - part.enter
        shapes += shift(part.shapes, x, top)
        x, y = x + part.width + GAP, top + part.leave
        before = part
    return shapes, y


def _stack(rows: Sequence[_Row], *, is_whole: bool) -> Sketch:
    """Put rows below each other, with a line from the end of each to the beginning of the next."""
    width = max(row.width for row in rows) + 2 * SIDE
    shapes: list[Shape] = []
    top = leave = 0
    end: tuple[int, int] | None = None
    for row in rows:
        drawn, bottom = _draw_row(row)
        y = top + row.above
        first = row.parts[0]
        if end is None and not is_whole:
            shapes.append(Wire(((0, y), (SIDE, y)), first.first, first.is_step))
        elif end is not None:
            between = top - ROW_GAP // 2
            path = (end, (width - 2, end[1]), (width - 2, between), (2, between), (2, y), (SIDE, y))
            shapes.append(Wire(path, first.first, first.is_step))
        shapes += shift(drawn, SIDE, top)
        leave = top + bottom
        end = (SIDE + row.width, leave)
        top += row.height + ROW_GAP
    last = rows[-1].parts[-1].last
    if end is not None and not is_whole:
        shapes.append(Wire((end, (width, leave)), last))
    return Sketch(width, top - ROW_GAP, rows[0].above, leave, tuple(shapes), rows[0].parts[0].first, last)
