"""The shapes in a drawing: a state with its self-loops and harmful calls, and an edge with its labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import ceil
from typing import Final, TypeVar

from corepath.automaton.automaton import Automaton
from corepath.drawing.collapse import Group
from corepath.drawing.layout import Route, Size
from corepath.drawing.text import Text, escape_xml, fit_text, title

FONT, SMALL = 12, 10
WIDEST_LABEL, MOST_LINES, WIDEST_NAME, WIDEST_SMALL = 26, 3, 22, 24
RADIUS: Final = 19
MOST_SHOWN: Final = 3
"""Maximum number of self-loops, and of harmful calls, named at a state. The rest are only counted."""
_LOOP: Final = 20
_DROP: Final = 7
_STUB: Final = 14

T = TypeVar("T")


@dataclass(frozen=True)
class Box:
    """The rectangle that a shape or label takes up. `what` identifies the shape or label, e.g. `state 3`."""

    left: float
    top: float
    right: float
    bottom: float
    what: str

    def shift(self, x: int, y: int) -> Box:
        """Return the box moved by `x` and `y`."""
        return Box(self.left + x, self.top + y, self.right + x, self.bottom + y, self.what)


@dataclass(frozen=True)
class Node:
    """A drawn state or group of states, centred at (0, 0), with self-loops above and harmful calls below."""

    automaton: Automaton
    group: Group
    common: Mapping[int, tuple[int, ...]]
    harms: Sequence[tuple[str, int]]

    @cached_property
    def lines(self) -> tuple[Text, ...]:
        """The text inside the shape."""
        if not self.group.caption:
            return (fit_text(self.automaton.states[self.group.states[0]], FONT, WIDEST_NAME),)
        actions = self.automaton.alphabet.actions
        listed = ", ".join(dict.fromkeys(actions[symbol].tool for symbol in self.group.actions))
        first, *rest = self.group.caption
        lines = [fit_text(first, FONT, WIDEST_LABEL)]
        if rest:
            lines.append(fit_text(" · ".join(rest), SMALL, 2 * WIDEST_SMALL))
        return (*lines, fit_text(listed, SMALL, WIDEST_SMALL + 8, MOST_LINES))

    @cached_property
    def loops(self) -> tuple[int, ...]:
        """The actions whose self-loops are drawn at this node. Common self-loops are in the legend instead."""
        if self.group.caption:
            return ()
        return tuple(symbol for symbol in self.automaton.loops(self.group.states[0]) if symbol not in self.common)

    @cached_property
    def loop_texts(self) -> tuple[tuple[str, Text], ...]:
        """The (data attributes, label) pairs for the self-loops, from bottom to top."""
        names = self.automaton.alphabet.names
        kept, rest = _split_shown(self.loops)
        shown = [(f'data-action="{one}"', action_label(self.automaton, one, SMALL, WIDEST_SMALL)) for one in kept]
        if rest:
            mark = f'data-actions="{" ".join(map(str, rest))}"'
            shown.append((mark, Text((f"+{len(rest)} more",), SMALL, ", ".join(names[one] for one in rest))))
        return tuple(reversed(shown))

    @cached_property
    def harm_texts(self) -> tuple[tuple[str, Text], ...]:
        """The (data attributes, label) pairs for the harmful calls, from top to bottom."""
        kept, rest = _split_shown(self.harms)
        shown = [
            (f' data-harm="{escape_xml(call)}"', fit_text(call, SMALL, WIDEST_SMALL + 4, ending=f" ×{times:,}"))
            for call, times in kept
        ]
        if rest:
            others = f"+{len(rest):,} other{'s' * (len(rest) > 1)}"
            shown.append(("", Text((others,), SMALL, ", ".join(f"{call} ×{times:,}" for call, times in rest))))
        return tuple(shown)

    @cached_property
    def reach(self) -> int:
        """Half the width of the shape."""
        return RADIUS if self._round else ceil(max(one.width for one in self.lines) / 2) + 10

    @cached_property
    def size(self) -> Size:
        """The space that the node takes up, including its labels and the arrow heads on both sides."""
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
        return not self.group.caption and self.lines[0].width <= 2 * RADIUS - 8

    @property
    def _tall(self) -> int:
        return RADIUS if self._round else max(15, ceil(sum(one.height for one in self.lines) / 2) + 7)

    @property
    def _starts(self) -> bool:
        return self.automaton.start in self.group.states

    @property
    def first_state(self) -> int:
        """The node's first state, which identifies the node in data attributes."""
        return self.group.states[0]

    def draw(self, boxes: list[Box]) -> str:
        """Return the node's SVG, and add the boxes around its shape and labels to `boxes`."""
        return "".join((self._shape(boxes), self._loops(boxes), *self._harms(boxes)))

    def _shape(self, boxes: list[Box]) -> str:
        accepts = not self.automaton.accepting.isdisjoint(self.group.states)
        states = " ".join(map(str, self.group.states))
        what = "states" if self.group.caption else "state"
        boxes.append(Box(-self.reach, -self._tall, self.reach, self._tall, f"{what} {states}"))
        rings = "".join(self._ring(inset) for inset in ((0, 3) if accepts else (0,)))
        arrow = _path_element(f"M{-self.reach - 24} 0h24{TIP[1]}") if self._starts else ""
        top = -sum(one.height for one in self.lines) / 2
        shown = []
        for place, one in enumerate(self.lines):
            shown.append(_text_element(one, 0, top, "small" if place else ""))
            top += one.height
        kind = "state folded" if self.group.caption else "state"
        inside = f"{title(self._about)}{arrow}{rings}{''.join(shown)}"
        return f'<g class="{kind}" data-states="{states}">{inside}</g>\n'

    @property
    def _about(self) -> str:
        names = self.automaton.alphabet.names
        if self.group.caption:
            listed = ", ".join(names[symbol] for symbol in self.group.actions)
            return f"{', '.join(self.group.caption)}: {listed}"
        state = self.group.states[0]
        roles = [role for role, so in (("start", self._starts), ("accepting", state in self.automaton.accepting)) if so]
        if not roles:
            return self.lines[0].full
        return f"{self.automaton.states[state]} ({', '.join(roles)})"

    def _ring(self, inset: int) -> str:
        if self._round:
            return f'<circle r="{RADIUS - inset}"/>'
        wide, high = self.reach - inset, self._tall - inset
        return f'<rect x="{-wide}" y="{-high}" width="{2 * wide}" height="{2 * high}" rx="{10 - inset}"/>'

    def _loops(self, boxes: list[Box]) -> str:
        if not self.loops:
            return ""
        foot = 17 if self._round else self._tall
        peak, bottom = -self._tall - 22, -self._tall - _LOOP + 3
        boxes.append(Box(-14, bottom, 14, -self._tall, "loop"))
        parts = [_path_element(f"M-9 {-foot}C-20 {peak} 20 {peak} 9 {-foot}l-1 -5 4 1 -3 4 0 -4 2 0 -2 4")]
        for mark, one in self.loop_texts:
            bottom -= one.height
            parts.append(draw_text(one, 0, bottom, "small", mark, boxes))
        return f'<g class="loop" data-from="{self.first_state}">{"".join(parts)}</g>\n'

    def _harms(self, boxes: list[Box]) -> Iterator[str]:
        begin, top = self._tall, self._tall + _DROP
        for mark, one in self.harm_texts:
            middle = top + one.height // 2
            stub = f"M0 {begin}V{middle}h{_STUB - 4}"
            cross = f"M{_STUB - 5} {middle - 3}l6 6m0-6l-6 6"
            label = draw_text(one, _STUB + 4, top, "left", "", boxes)
            content = f'<path class="stub" d="{stub}"/><path class="cross" d="{cross}"/>{label}'
            yield f'<g class="harm" data-from="{self.first_state}"{mark}>{content}</g>\n'
            begin, top = middle, top + one.height


@dataclass(frozen=True)
class Link:
    """One edge for all actions that lead from one node to another, with the labels stacked above the edge."""

    symbols: tuple[int, ...]
    labels: tuple[Text, ...]

    @property
    def size(self) -> Size:
        """The space that the labels above the edge take up."""
        wide = ceil(max((one.width for one in self.labels), default=0) / 2)
        above = sum(one.height for one in self.labels) + 3 * len(self.labels)
        return Size(wide, wide, above, 3)

    def draw(self, tail: Node, head: Node, route: Route, boxes: list[Box]) -> str:
        """Return the edge's SVG relative to its tail, and add its labels' boxes to `boxes`."""
        first, last = route.lanes[0], route.lanes[-1]
        along = 1 if last.end > last.begin else -1
        d = f"M{along * tail.reach} 0"
        x = first.begin + along * tail.reach
        for lane, after in pairwise(route.lanes):
            if lane.y != after.y:
                across, half = after.begin - lane.end, f"{(after.begin - lane.end) // 2} {(after.y - lane.y) // 2}"
                d += f"h{lane.end - x}q{across // 4} 0 {half}t{half}"
                x = after.begin
        d += f"h{last.end - along * head.reach - x}{TIP[along]}"
        top = route.label[1] - first.y - self.size.above
        labels = []
        for symbol, one in zip(self.symbols, self.labels, strict=False):
            labels.append(draw_text(one, route.label[0] - first.begin, top, "", f'data-action="{symbol}"', boxes))
            top += one.height + 3
        ends = f'data-to="{head.first_state}" data-from="{tail.first_state}"'
        return f'<g class="edge" {ends}>{_path_element(d)}{"".join(labels)}</g>\n'


def action_label(
    automaton: Automaton, symbol: int, size: int, widest: int, most_lines: int = 1, ending: str = ""
) -> Text:
    """Return an action's name as a label, with the action's notation as a tooltip."""
    name, notation = automaton.alphabet.names[symbol], automaton.alphabet.actions[symbol].notation
    made = fit_text(name, size, widest, most_lines, ending)
    full = notation if notation.startswith(name) else f"{name}: {notation}"
    if not made.full and notation in (name, f"{name}()"):
        full = ""
    return Text(made.lines, size, full)


def _split_shown(items: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    """Split items into those to name in the drawing and the rest, which are only counted."""
    return (items, ()) if len(items) <= MOST_SHOWN else (items[:MOST_SHOWN], items[MOST_SHOWN:])


# SVG


def draw_text(shown: Text, x: int, top: float, kind: str, mark: str, boxes: list[Box]) -> str:
    """Return the SVG for a label, and add its box to `boxes`. `mark` holds the label's data attributes."""
    left = x if kind == "left" else x - shown.width / 2
    boxes.append(Box(left, top, left + shown.width, top + shown.height, f"label {shown.lines[0]}"))
    return _text_element(shown, x, top, kind, mark)


def _text_element(shown: Text, x: int, top: float, kind: str, mark: str = "") -> str:
    """Return the SVG for a label whose upper edge is at `top`.

    The label starts at `x` if `kind` is `left`, and is centred at `x` otherwise.
    """
    first, *rest = map(escape_xml, shown.lines)
    lines = first + "".join(f'<tspan x="0" dy="{shown.pitch}">{line}</tspan>' for line in rest)
    attributes = (f' class="{kind}"' if kind else "") + (f" {mark}" if mark else "")
    y = round(top + shown.pitch * 0.5 + shown.size * 0.34)
    return f'<text transform="translate({x} {y})"{attributes}>{title(shown.full)}{lines}</text>'


TIP: Final = {1: "l-7 -3 2 3 -2 3 7 -3 -5 -1 0 2 5 -1", -1: "l7 -3 -2 3 2 3 -7 -3 5 -1 0 2 -5 -1"}
"""Path data for an arrow head to the right (1) and to the left (-1). The strokes fill the arrow head."""


def _path_element(d: str) -> str:
    return f'<path class="line" d="{d.replace(" -", "-")}"/>'
