"""Draw an automaton as SVG: progress from left to right, self-loops above the states, harmful calls below."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from corepath.automaton.automaton import Automaton
from corepath.drawing.collapse import Group, collapse, keep_all
from corepath.drawing.export import describe_size
from corepath.drawing.layout import Edge, Layout, lay_out
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
    action_label,
    draw_text,
)
from corepath.drawing.text import CELL, Text, cells, escape_xml, fit_text, make_printable, title
from corepath.errors import count

MARGIN: Final = 14.5
"""Space around the drawing. The half pixel keeps horizontal lines sharp."""
NARROWEST: Final = 440
"""Minimum width of the legend."""

Harms = Mapping[int, Sequence[tuple[str, int]]]
"""For each state, the harmful calls made there and the number of times each was made."""


@dataclass(frozen=True)
class Drawing:
    """An SVG picture.

    `boxes` are the rectangles around states and labels, in view box coordinates. `hidden` describes what the picture
    leaves out.
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
    """Draw an automaton, with harmful calls at the states in which they were made.

    If `collapsed` is True, the states between two unavoidable states share a box, and so do the states in the middle of
    a long chain. A state is unavoidable if every path goes through it.

    Each node is drawn at the origin of a translated group, together with its outgoing edges. Equal shapes then have
    equal SVG text, and the drawing compresses well.

    Web pages find elements by class and data attributes:

    - States are `g.state[data-states~=…]`. A collapsed box lists several states.
    - Edges are `g.edge[data-from][data-to]`.
    - Self-loops are `g.loop[data-from]`, or `g.anywhere` in the legend.
    - Each label on an edge or self-loop has a `data-action`.
    - Harmful calls are `g.harm[data-from][data-harm]`.

    `data-from` and `data-to` name the first state in a box.
    """
    groups = collapse(automaton) if collapsed else keep_all(automaton)
    common = _common_loops(automaton)
    nodes = [Node(automaton, group, common, _count_harms(group, harms)) for group in groups]
    links = _links(automaton, groups)
    start = next(number for number, group in enumerate(groups) if automaton.start in group.states)
    edges = [Edge(tail, head, link.size) for (tail, head), link in links.items()]
    layout = lay_out([node.size for node in nodes], edges, start)
    parts, boxes = _draw_nodes(nodes, links, layout)
    legend, width, height = _legend(automaton, common, layout.width, layout.height, boxes)
    hidden = " ".join(_describe_hidden(automaton, nodes))
    description = f"{describe_size(automaton)}. {_describe_ends(automaton)} {hidden}".rstrip()
    wide, high = width + int(2 * MARGIN), height + int(2 * MARGIN)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="automaton" role="img" width="{wide}" height="{high}" '
        f'viewBox="{-MARGIN} {-MARGIN} {wide} {high}" aria-label="{escape_xml(name or "automaton")}">'
        f"{title(name or 'automaton')}<desc>{escape_xml(description)}</desc><style>{STYLE}</style>\n"
        f"{''.join(parts)}{legend}</svg>\n"
    )
    return Drawing(svg, wide, high, tuple(boxes), hidden)


def _draw_nodes(
    nodes: Sequence[Node], links: Mapping[tuple[int, int], Link], layout: Layout
) -> tuple[list[str], list[Box]]:
    """Draw the nodes from left to right, each as an SVG group with its outgoing edges.

    Return the SVG groups, and the boxes of all nodes and labels.
    """
    contents: list[list[str]] = [[] for _ in nodes]
    boxes: list[list[Box]] = [[] for _ in nodes]
    for ((tail, head), link), route in zip(links.items(), layout.routes, strict=True):
        contents[tail].append(link.draw(nodes[tail], nodes[head], route, boxes[tail]))
    for node, content, own in zip(nodes, contents, boxes, strict=True):
        content.append(node.draw(own))
    parts = [
        f'<g transform="translate({x} {y})">\n{"".join(content)}</g>\n'
        for (x, y), content in sorted(zip(layout.places, contents, strict=True))
    ]
    return parts, [box.shift(*place) for own, place in zip(boxes, layout.places, strict=True) for box in own]


def _links(automaton: Automaton, groups: Sequence[Group]) -> dict[tuple[int, int], Link]:
    """Return the edges between nodes, keyed by the indexes of the edge's tail and head.

    An edge has no labels if a collapsed box lists all of its actions.
    """
    group_of = {state: number for number, group in enumerate(groups) for state in group.states}
    symbols: dict[tuple[int, int], dict[int, None]] = {}
    for state, edges in enumerate(automaton.delta):
        for symbol, target in edges.items():
            tail, head = group_of[state], group_of[target]
            if tail != head:
                symbols.setdefault((tail, head), {})[symbol] = None
    links = {}
    for (tail, head), found in symbols.items():
        is_listed = found.keys() <= {*groups[tail].actions, *groups[head].actions}
        shown = () if is_listed else found
        labels = tuple(action_label(automaton, symbol, FONT, WIDEST_LABEL, MOST_LINES) for symbol in shown)
        links[tail, head] = Link(tuple(found), labels)
    return links


def _count_harms(group: Group, harms: Harms) -> list[tuple[str, int]]:
    """Return the harmful calls made in a group's states with their counts, most frequent first."""
    times: dict[str, int] = {}
    for state in group.states:
        for call, often in harms.get(state, ()):
            times[call] = times.get(call, 0) + often
    return sorted(times.items(), key=lambda one: (-one[1], one[0]))


# The legend


def _common_loops(automaton: Automaton) -> dict[int, tuple[int, ...]]:
    """Map each action that is a self-loop in many states to the states in which it is not allowed.

    The legend names these actions once, instead of at every state.
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
    """Draw the legend with the common self-loops.

    Return the legend's SVG, and the width and height of the drawing including the legend.
    """
    if not common:
        return "", width, height
    room = max(width, NARROWEST)
    heading = Text(("↺ anywhere:",), SMALL)
    gap = round(2 * CELL * SMALL)
    x, top = 0, height + 14
    parts = [draw_text(heading, x, top, "left", "", boxes)]
    x += heading.width + gap
    widest = x
    for symbol, without in common.items():
        entry, mark = _legend_entry(automaton, symbol, without)
        if x + entry.width > room and x > gap:
            x, top = heading.width + gap, top + entry.pitch + 2
        parts.append(draw_text(entry, x, top, "left", mark, boxes))
        widest = max(widest, x + entry.width)
        x += entry.width + gap
    return f'<g class="anywhere">{"".join(parts)}</g>\n', max(width, widest), top + heading.pitch


def _legend_entry(automaton: Automaton, symbol: int, without: tuple[int, ...]) -> tuple[Text, str]:
    """Return the legend's label for a self-loop, and the label's data attributes.

    The label also says in which states the action is not allowed. These states are `without`.
    """
    mark = f'data-action="{symbol}"'
    if not without:
        return action_label(automaton, symbol, SMALL, 2 * WIDEST_SMALL), mark
    listed = ", ".join(make_printable(automaton.states[state]) for state in without[:5])
    is_short = len(without) < 5 and cells(listed) <= WIDEST_SMALL
    exceptions = listed if is_short else f"{len(without):,} of {len(automaton.states):,} states"
    label = action_label(automaton, symbol, SMALL, 3 * WIDEST_SMALL, ending=f" (not in {exceptions})")
    every = ", ".join(automaton.states[state] for state in without)
    full = f"{label.full or automaton.alphabet.names[symbol]}, not in {every}"
    return Text(label.lines, SMALL, full), f'{mark} data-not="{" ".join(map(str, without))}"'


def _describe_ends(automaton: Automaton) -> str:
    """Return text that names the start state and the accepting states."""
    first, *others = (fit_text(automaton.states[state], FONT, 60).lines[0] for state in sorted(automaton.accepting)[:3])
    more = len(automaton.accepting) - 1 - len(others)
    ends = ", ".join([first, *others, *([f"{more:,} more"] if more else [])])
    return f"Start: {fit_text(automaton.states[automaton.start], FONT, 60).lines[0]}. Accepting: {ends}."


def _describe_hidden(automaton: Automaton, nodes: Sequence[Node]) -> Iterator[str]:
    """Yield sentences about what the drawing leaves out."""
    sizes = [len(node.group.states) for node in nodes if node.group.caption]
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
"""The style of every drawing. A page may override --drawing-ink, -line, -muted, -harm, -fill and -paper."""
