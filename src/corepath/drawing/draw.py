"""An automaton as a picture: progress from left to right, self-loops above the states, harmful calls below them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from corepath.automaton.automaton import Automaton
from corepath.drawing.collapse import Group, folded, unfolded
from corepath.drawing.export import counted
from corepath.drawing.layout import Edge, laid_out
from corepath.drawing.shapes import (
    FONT,
    MOST_LINES,
    MOST_SHOWN,
    SMALL,
    WIDEST_LABEL,
    WIDEST_SMALL,
    Box,
    Link,
    Node,
    boxed,
    label,
)
from corepath.drawing.text import CELL, Text, cells, escaped, readable, text, title
from corepath.errors import count

MARGIN: Final = 14.5
"""Half a pixel more than a whole number: then level lines fall on pixels rather than between two."""
NARROWEST: Final = 440
"""The legend has at least this much room."""

Harms = Mapping[int, Sequence[tuple[str, int]]]
"""For a state the harmful calls that were made there, each with how often."""


@dataclass(frozen=True)
class Drawing:
    """A picture as SVG, with the boxes of its states and labels in the coordinates of its view box.

    `hidden` says in words what it does not show.
    """

    svg: str
    width: int
    height: int
    boxes: tuple[Box, ...]
    hidden: str


def draw(
    automaton: Automaton,
    harms: Harms = MappingProxyType({}),
    *,
    collapsed: bool = False,
    name: str = "",
) -> Drawing:
    """The drawing of an automaton, with harmful calls where they were made.

    Collapsed, the states between two that every path goes through are one box, and so is the middle of a long chain.

    Each node is drawn around 0, 0 in a group that is moved to its place, with the edges that begin there. So the same
    shapes are the same text, and a drawing packs well.

    A page can find things by their marks. States are `g.state[data-states~=…]`, several of them in a box; edges are
    `g.edge[data-from][data-to]`, self-loops `g.loop[data-from]` and `g.anywhere`, all of them with a `data-action` for
    each label; harmful calls are `g.harm[data-from][data-harm]`. From and to are the first of a box's states.
    """
    groups = folded(automaton) if collapsed else unfolded(automaton)
    common = _common(automaton)
    nodes = [Node(automaton, group, common, _summed(group, harms)) for group in groups]
    links = _links(automaton, groups)
    start = next(number for number, group in enumerate(groups) if automaton.start in group.states)
    edges = [Edge(tail, head, link.size) for (tail, head), link in links.items()]
    layout = laid_out([node.size for node in nodes], edges, start)
    parts: list[list[str]] = [[] for _ in nodes]
    around: list[list[Box]] = [[] for _ in nodes]
    for ((tail, head), link), route in zip(links.items(), layout.routes, strict=True):
        parts[tail].append(link.drawn(nodes[tail], nodes[head], route, around[tail]))
    for node, drawn, near in zip(nodes, parts, around, strict=True):
        drawn.append(node.drawn(near))
    boxes = [box.moved(*place) for near, place in zip(around, layout.places, strict=True) for box in near]
    legend, width, height = _legend(automaton, common, layout.width, layout.height, boxes)
    hidden = " ".join(_hidden(automaton, nodes))
    about = f"{counted(automaton)}. {_ends(automaton)} {hidden}".rstrip()
    wide, high = width + int(2 * MARGIN), height + int(2 * MARGIN)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="automaton" role="img" width="{wide}" height="{high}" '
        f'viewBox="{-MARGIN} {-MARGIN} {wide} {high}" aria-label="{escaped(name or "automaton")}">'
        f"{title(name or 'automaton')}<desc>{escaped(about)}</desc><style>{STYLE}</style>\n"
        + "".join(
            f'<g transform="translate({x} {y})">\n{"".join(drawn)}</g>\n'
            for (x, y), drawn in sorted(zip(layout.places, parts, strict=True))
        )
        + f"{legend}</svg>\n"
    )
    return Drawing(svg, wide, high, tuple(boxes), hidden)


def _links(automaton: Automaton, groups: Sequence[Group]) -> dict[tuple[int, int], Link]:
    """The edges between nodes. One that a folded box speaks of has no labels."""
    group_of = {state: number for number, group in enumerate(groups) for state in group.states}
    symbols: dict[tuple[int, int], dict[int, None]] = {}
    for state, edges in enumerate(automaton.delta):
        for symbol, target in edges.items():
            tail, head = group_of[state], group_of[target]
            if tail != head:
                symbols.setdefault((tail, head), {})[symbol] = None
    made = {}
    for (tail, head), found in symbols.items():
        said = found.keys() <= {*groups[tail].actions, *groups[head].actions}
        labels = () if said else tuple(label(automaton, symbol, FONT, WIDEST_LABEL, MOST_LINES) for symbol in found)
        made[tail, head] = Link(tuple(found), labels)
    return made


def _summed(group: Group, harms: Harms) -> list[tuple[str, int]]:
    """The harmful calls made in the states of a group, the most frequent first."""
    times: dict[str, int] = {}
    for state in group.states:
        for call, often in harms.get(state, ()):
            times[call] = times.get(call, 0) + often
    return sorted(times.items(), key=lambda one: (-one[1], one[0]))


# Self-loops that are nearly everywhere


def _common(automaton: Automaton) -> dict[int, tuple[int, ...]]:
    """The actions that are self-loops in most states, each with the states in which it is not allowed at all.

    They are said once below the drawing rather than at every state.
    """
    loops, allowed = Counter[int](), Counter[int]()
    for state, edges in enumerate(automaton.delta):
        loops.update(automaton.loops(state))
        allowed.update(edges.keys())
    missing = {symbol: len(automaton.states) - allowed[symbol] for symbol in sorted(loops)}
    common = [symbol for symbol in missing if loops[symbol] > max(MOST_SHOWN, 2 * missing[symbol])]
    return {
        symbol: tuple(state for state, edges in enumerate(automaton.delta) if symbol not in edges)
        for symbol in sorted(common, key=lambda symbol: missing[symbol] > 0)
    }


def _legend(
    automaton: Automaton, common: Mapping[int, tuple[int, ...]], width: int, height: int, boxes: list[Box]
) -> tuple[str, int, int]:
    """The line that says which self-loops are anywhere, and how large the drawing is with it."""
    if not common:
        return "", width, height
    room = max(width, NARROWEST)
    heading = Text(("↺ anywhere:",), SMALL)
    gap = round(2 * CELL * SMALL)
    x, top = 0, height + 14
    parts = [boxed(heading, x, top, "left", "", boxes)]
    x += heading.width + gap
    widest = x
    for symbol, without in common.items():
        one, mark = _entry(automaton, symbol, without)
        if x + one.width > room and x > gap:
            x, top = heading.width + gap, top + one.pitch + 2
        parts.append(boxed(one, x, top, "left", mark, boxes))
        widest = max(widest, x + one.width)
        x += one.width + gap
    return f'<g class="anywhere">{"".join(parts)}</g>\n', max(width, widest), top + heading.pitch


def _entry(automaton: Automaton, symbol: int, without: tuple[int, ...]) -> tuple[Text, str]:
    """A self-loop that is said once, with the states in which it is none, and its marks."""
    mark = f'data-action="{symbol}"'
    if not without:
        return label(automaton, symbol, SMALL, 2 * WIDEST_SMALL), mark
    listed = ", ".join(readable(automaton.states[state]) for state in without[:5])
    short = len(without) < 5 and cells(listed) <= WIDEST_SMALL
    but = listed if short else f"{len(without):,} of {len(automaton.states):,} states"
    made = label(automaton, symbol, SMALL, 3 * WIDEST_SMALL, ending=f" (not in {but})")
    every = ", ".join(automaton.states[state] for state in without)
    full = f"{made.full or automaton.alphabet.names[symbol]}, not in {every}"
    return Text(made.lines, SMALL, full), f'{mark} data-not="{" ".join(map(str, without))}"'


def _ends(automaton: Automaton) -> str:
    """Where paths begin and end, in words."""
    first, *others = (text(automaton.states[state], FONT, 60).lines[0] for state in sorted(automaton.accepting)[:3])
    more = len(automaton.accepting) - 1 - len(others)
    ends = ", ".join([first, *others, *([f"{more:,} more"] if more else [])])
    return f"Start: {text(automaton.states[automaton.start], FONT, 60).lines[0]}. Accepting: {ends}."


def _hidden(automaton: Automaton, nodes: Sequence[Node]) -> Iterator[str]:
    """What the drawing does not show, a sentence each."""
    sizes = [len(node.group.states) for node in nodes if node.group.words]
    if sizes:
        yield (
            f"{sum(sizes):,} of {len(automaton.states):,} states are folded into {count(len(sizes), 'box', 'boxes')}, "
            "with the steps and self-loops among them."
        )
    for what, counts in (
        ("self-loop", [len(node.loops) for node in nodes]),
        ("harmful call", [len(node.harms) for node in nodes]),
    ):
        hidden = [count - MOST_SHOWN for count in counts if count > MOST_SHOWN]
        if hidden:
            yield f"Counted but not named: {count(sum(hidden), what)} at {count(len(hidden), 'state')}."


STYLE: Final = (
    ".automaton{--d-ink:#1f2328;--d-line:#57606a;--d-muted:#656d76;--d-harm:#cf222e;--d-fill:#f6f8fa;--d-paper:#fff;"
    "background:var(--drawing-paper,var(--d-paper));font-family:ui-monospace,Menlo,Consolas,monospace}"
    "@media(prefers-color-scheme:dark){.automaton{--d-ink:#e6edf3;--d-line:#8b949e;--d-muted:#9198a1;--d-harm:#ff7b72;"
    "--d-fill:#161b22;--d-paper:#0d1117}}"
    f".automaton text{{font-size:{FONT}px;text-anchor:middle;white-space:pre;"
    "fill:var(--drawing-ink,var(--d-ink))}"
    f".automaton .small,.automaton .left{{font-size:{SMALL}px;fill:var(--drawing-muted,var(--d-muted))}}"
    ".automaton .left{text-anchor:start}"
    ".automaton path,.automaton circle,.automaton rect{fill:none;stroke:var(--drawing-line,var(--d-line));"
    "stroke-width:1.2;stroke-linecap:round;stroke-linejoin:round}"
    ".automaton circle,.automaton rect{fill:var(--drawing-fill,var(--d-fill))}"
    ".automaton .folded rect{stroke-dasharray:5 3}"
    ".automaton .loop .line{stroke:var(--drawing-muted,var(--d-muted));stroke-width:1}"
    ".automaton .harm path{stroke:var(--drawing-harm,var(--d-harm))}"
    ".automaton .harm .stub{stroke-dasharray:3 3}"
    ".automaton .harm text{fill:var(--drawing-harm,var(--d-harm))}"
)
"""The style of every drawing. A page may set --drawing-ink, -line, -muted, -harm, -fill and -paper as it likes."""
