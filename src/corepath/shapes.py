"""The shapes of a drawing: a state with its self-loops and harmful calls, and an edge with its labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, TypeVar

from corepath.automaton import Automaton
from corepath.folding import Group
from corepath.layout import Route, Size
from corepath.lettering import Text, escaped, text, title

FONT, SMALL = 12.0, 10.0
WIDEST_LABEL, MOST_LINES, WIDEST_NAME, WIDEST_SMALL = 26, 3, 22, 24
RADIUS: Final = 19.0
MOST_SHOWN: Final = 3
"""At a state, so many self-loops and so many harmful calls are shown; the others are counted."""
_LOOP: Final = 20.0
_DROP: Final = 7.0
_STUB: Final = 14.0

T = TypeVar("T")


@dataclass(frozen=True)
class Box:
    """The room that something takes in a drawing."""

    left: float
    top: float
    right: float
    bottom: float
    what: str


@dataclass(frozen=True)
class Node:
    """A state, or several as one, with its self-loops above it and its harmful calls below."""

    automaton: Automaton
    group: Group
    common: Mapping[int, tuple[int, ...]]
    harms: Sequence[tuple[str, int]]

    @cached_property
    def lines(self) -> tuple[Text, ...]:
        """What stands in the shape."""
        if not self.group.words:
            return (text(self.automaton.states[self.group.states[0]], FONT, WIDEST_NAME),)
        actions = self.automaton.alphabet.actions
        listed = ", ".join(dict.fromkeys(actions[symbol].tool for symbol in self.group.actions))
        first, *rest = self.group.words
        said = [text(first, FONT, WIDEST_LABEL)]
        if rest:
            said.append(text(" · ".join(rest), SMALL, 2 * WIDEST_SMALL))
        return (*said, text(listed, SMALL, WIDEST_SMALL + 8, MOST_LINES))

    @cached_property
    def loops(self) -> tuple[int, ...]:
        """The self-loops that are drawn here."""
        if self.group.words:
            return ()
        return tuple(symbol for symbol in self.automaton.loops(self.group.states[0]) if symbol not in self.common)

    @cached_property
    def loop_texts(self) -> tuple[tuple[str, Text], ...]:
        """The labels of the self-loops with their marks, the lowest first."""
        names = self.automaton.alphabet.names
        kept, rest = _few(self.loops)
        shown = [(f'data-action="{one}"', label(self.automaton, one, SMALL, WIDEST_SMALL)) for one in kept]
        if rest:
            mark = f'data-actions="{" ".join(map(str, rest))}"'
            shown.append((mark, Text((f"+{len(rest)} more",), SMALL, ", ".join(names[one] for one in rest))))
        return tuple(reversed(shown))

    @cached_property
    def harm_texts(self) -> tuple[tuple[str, Text], ...]:
        """The labels of the harmful calls with their marks, the highest first."""
        kept, rest = _few(self.harms)
        shown = [
            (f' data-harm="{escaped(call)}"', text(call, SMALL, WIDEST_SMALL + 4, ending=f" ×{times:,}"))
            for call, times in kept
        ]
        if rest:
            others = f"+{len(rest):,} other{'s' * (len(rest) > 1)}"
            shown.append(("", Text((others,), SMALL, ", ".join(f"{call} ×{times:,}" for call, times in rest))))
        return tuple(shown)

    @cached_property
    def reach(self) -> float:
        """How far the shape reaches to the left and to the right."""
        return RADIUS if self._round else max(one.width for one in self.lines) / 2 + 10

    @cached_property
    def size(self) -> Size:
        """The room it needs, with that for arrow heads at both sides."""
        loops, stubs = self.loop_texts, self.harm_texts
        above = max((one.width for _, one in loops), default=0) / 2
        aside = max((_STUB + 4 + one.width for _, one in stubs), default=0)
        return Size(
            max(self.reach + 14 + 22 * self._starts, above),
            max(self.reach + 14, above, aside),
            self._tall + (_LOOP + sum(one.height for _, one in loops) if loops else 0) + 4,
            self._tall + (_DROP + sum(one.height for _, one in stubs) if stubs else 0) + 4,
        )

    @property
    def _round(self) -> bool:
        return not self.group.words and self.lines[0].width <= 2 * RADIUS - 8

    @property
    def _tall(self) -> float:
        return RADIUS if self._round else max(15.0, sum(one.height for one in self.lines) / 2 + 7)

    @property
    def _starts(self) -> bool:
        return self.automaton.start in self.group.states

    def drawn(self, place: tuple[float, float], boxes: list[Box]) -> str:
        """The node at its place; its boxes are noted."""
        return "".join((self._shape(*place, boxes), self._loops(*place, boxes), self._harms(*place, boxes)))

    def _shape(self, x: float, y: float, boxes: list[Box]) -> str:
        listed = " ".join(map(str, self.group.states))
        accepts = not self.automaton.accepting.isdisjoint(self.group.states)
        what = "states" if self.group.words else "state"
        boxes.append(Box(x - self.reach, y - self._tall, x + self.reach, y + self._tall, f"{what} {listed}"))
        rings = "".join(self._ring(x, y, inset) for inset in ((0, 3) if accepts else (0,)))
        arrow = ""
        if self._starts:
            tip = x - self.reach
            arrow = f'<path class="line" d="M{px(tip - 24)} {px(y)}H{px(tip - 6)}"/>{_arrow(tip, y, 1)}'
        top = y - sum(one.height for one in self.lines) / 2
        shown = []
        for place, one in enumerate(self.lines):
            shown.append(_text(one, x, top, "small" if place else ""))
            top += one.height
        kind = "state folded" if self.group.words else "state"
        return f'<g class="{kind}" data-{what}="{listed}">{title(self._about)}{arrow}{rings}{"".join(shown)}</g>'

    @property
    def _about(self) -> str:
        names = self.automaton.alphabet.names
        if self.group.words:
            listed = ", ".join(names[symbol] for symbol in self.group.actions)
            return f"{', '.join(self.group.words)}: {listed}"
        state = self.group.states[0]
        roles = [role for role, so in (("start", self._starts), ("accepting", state in self.automaton.accepting)) if so]
        return self.automaton.states[state] + (f" ({', '.join(roles)})" if roles else "")

    def _ring(self, x: float, y: float, inset: float) -> str:
        if self._round:
            return f'<circle cx="{px(x)}" cy="{px(y)}" r="{px(RADIUS - inset)}"/>'
        wide, high = self.reach - inset, self._tall - inset
        return (
            f'<rect x="{px(x - wide)}" y="{px(y - high)}" width="{px(2 * wide)}" height="{px(2 * high)}" '
            f'rx="{px(10 - inset)}"/>'
        )

    def _loops(self, x: float, y: float, boxes: list[Box]) -> str:
        if not self.loops:
            return ""
        foot = y - (0.866 * RADIUS if self._round else self._tall)
        peak = y - self._tall - 22
        arc = f"M{px(x - 9)} {px(foot)}C{px(x - 20)} {px(peak)} {px(x + 20)} {px(peak)} {px(x + 9.6)} {px(foot - 3)}"
        head = f"M{px(x + 9)} {px(foot)}l-1.2 -6.6 5.6 2z"
        boxes.append(Box(x - 14, y - self._tall - _LOOP + 3, x + 14, y - self._tall, "loop"))
        parts = [f'<path class="line" d="{arc}"/><path class="head" d="{head}"/>']
        bottom = y - self._tall - _LOOP + 3
        for mark, one in self.loop_texts:
            bottom -= one.height
            parts.append(boxed(one, x, bottom, "small", mark, boxes))
        return f'<g class="loop" data-from="{self.group.states[0]}">{"".join(parts)}</g>'

    def _harms(self, x: float, y: float, boxes: list[Box]) -> str:
        listed = " ".join(map(str, self.group.states))
        begin, top = y + self._tall, y + self._tall + _DROP
        parts = []
        for mark, one in self.harm_texts:
            middle = top + one.height / 2
            stub = f"M{px(x)} {px(begin)}V{px(middle)}h{px(_STUB - 4)}"
            cross = f"M{px(x + _STUB - 5)} {px(middle - 2.5)}l5 5m0 -5l-5 5"
            named = boxed(one, x + _STUB + 4, top, "left", "", boxes)
            drawn = f'<path class="stub" d="{stub}"/><path class="cross" d="{cross}"/>{named}'
            parts.append(f'<g class="harm" data-from="{listed}"{mark}>{drawn}</g>')
            begin, top = middle, top + one.height
        return "".join(parts)


@dataclass(frozen=True)
class Link:
    """All progress from one node to another: one edge with its labels one above the other."""

    symbols: tuple[int, ...]
    labels: tuple[Text, ...]

    @property
    def size(self) -> Size:
        """The room that the labels need, above the edge."""
        wide = max((one.width for one in self.labels), default=0) / 2
        above = sum(one.height for one in self.labels) + 3 * len(self.labels)
        return Size(wide, wide, above, 3)

    def drawn(self, tail: Group, head: Group, route: Route, reaches: tuple[float, float], boxes: list[Box]) -> str:
        """The edge along its route; the boxes of its labels are noted."""
        along = 1 if route.lanes[-1].end > route.lanes[-1].begin else -1
        tip = route.lanes[-1].end - along * reaches[1]
        d = f"M{px(route.lanes[0].begin + along * reaches[0])} {px(route.lanes[0].y)}"
        for lane, after in pairwise(route.lanes):
            if lane.y != after.y:
                middle = px((lane.end + after.begin) / 2)
                d += f"H{px(lane.end)}C{middle} {px(lane.y)} {middle} {px(after.y)} {px(after.begin)} {px(after.y)}"
        d += f"H{px(tip - along * 6)}"
        x, y = route.label
        top = y - self.size.above
        labels = []
        for symbol, one in zip(self.symbols, self.labels, strict=False):
            labels.append(boxed(one, x, top, "", f'data-action="{symbol}"', boxes))
            top += one.height + 3
        ends = f'data-from="{" ".join(map(str, tail.states))}" data-to="{" ".join(map(str, head.states))}"'
        line = f'<path class="line" d="{d}"/>{_arrow(tip, route.lanes[-1].y, along)}'
        return f'<g class="edge" {ends}>{line}{"".join(labels)}</g>'


def label(automaton: Automaton, symbol: int, size: float, widest: int, most_lines: int = 1, ending: str = "") -> Text:
    """The name of an action; what it stands for is shown to who points at it."""
    name, notation = automaton.alphabet.names[symbol], automaton.alphabet.actions[symbol].notation
    made = text(name, size, widest, most_lines, ending)
    full = notation if notation.startswith(name) else f"{name}: {notation}"
    if not made.full and notation in (name, f"{name}()"):
        full = ""
    return Text(made.lines, size, full)


def _few(items: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    """Those that are shown and those that are only counted."""
    return (items, ()) if len(items) <= MOST_SHOWN else (items[:MOST_SHOWN], items[MOST_SHOWN:])


# SVG


def boxed(shown: Text, x: float, top: float, kind: str, mark: str, boxes: list[Box]) -> str:
    """A text whose box is noted."""
    left = x if kind == "left" else x - shown.width / 2
    boxes.append(Box(left, top, left + shown.width, top + shown.height, f"label {shown.lines[0]}"))
    return _text(shown, x, top, kind, mark)


def _text(shown: Text, x: float, top: float, kind: str, mark: str = "") -> str:
    """A text below `top`: around x, or right of it."""
    first = top + shown.pitch * 0.5 + shown.size * 0.34
    if len(shown.lines) == 1:
        lines = escaped(shown.lines[0])
    else:
        lines = "".join(
            f'<tspan x="{px(x)}" y="{px(first + place * shown.pitch)}">{escaped(line)}</tspan>'
            for place, line in enumerate(shown.lines)
        )
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} {mark + " " if mark else ""}x="{px(x)}" y="{px(first)}">{title(shown.full)}{lines}</text>'


def _arrow(x: float, y: float, along: int) -> str:
    return f'<path class="head" d="M{px(x)} {px(y)}l{-8 * along} -3.6 {2 * along} 3.6 {-2 * along} 3.6z"/>'


def px(value: float) -> str:
    """A number in short."""
    return f"{value:.1f}".removesuffix(".0")
