"""The SVG of a drawing as lanes: steps with their labels and rules, lines, bars and diamonds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from corepath.drawing.draw import MARGIN, Drawing
from corepath.drawing.export import describe_size
from corepath.drawing.shapes import TIP, Box
from corepath.drawing.sketch import Bar, Caption, Frame, Shape, Sketch, StepBox, Wire
from corepath.drawing.step_label import PAD, SIZE, STRIP, StepLabels
from corepath.drawing.text import Text, escape_xml, title
from corepath.errors import count
from corepath.task import Task


def draw_sketch(task: Task, sketch: Sketch, labels: StepLabels) -> Drawing:
    """Return a sketch of a task as SVG."""
    boxes: list[Box] = []
    ordered = sorted(sketch.shapes, key=lambda shape: _LAYERS.index(type(shape)))
    parts = [_draw(shape, labels, boxes) for shape in ordered]
    wide, high = sketch.width + int(2 * MARGIN), sketch.height + int(2 * MARGIN)
    name = escape_xml(task.id or "procedure")
    steps = count(sum(isinstance(shape, StepBox) for shape in sketch.shapes), "step")
    about = f"The procedure as lanes: {steps}. {describe_size(task.automaton)}."
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="lanes" role="img" width="{wide}" height="{high}" '
        f'viewBox="{-MARGIN} {-MARGIN} {wide} {high}" aria-label="{name}">'
        f"{title(task.id or 'procedure')}<desc>{escape_xml(about)}</desc><style>{LANES_STYLE}</style>\n"
        f"{''.join(parts)}</svg>\n"
    )
    return Drawing(svg, wide, high, tuple(boxes), "")


_LAYERS: Final = (Frame, Wire, Bar, StepBox, Caption)


def _draw(shape: Shape, labels: StepLabels, boxes: list[Box]) -> str:
    match shape:
        case StepBox():
            return _draw_step(shape, labels, boxes)
        case Wire():
            by = " ".join("end" if place < 0 else str(place) for place in sorted(shape.by))
            return f'<path class="line" data-by="{by}" d="{_path(shape)}"/>\n'
        case Bar():
            boxes.append(Box(shape.x, shape.y, shape.x + shape.width, shape.y + shape.height, shape.kind))
            return _draw_bar(shape)
        case Frame():
            size = f'width="{shape.width}" height="{shape.height}"'
            return f'<rect class="frame" x="{shape.x}" y="{shape.y}" {size} rx="6"/>\n'
        case Caption():
            text = shape.text
            boxes.append(Box(shape.x, shape.y, shape.x + text.width, shape.y + text.height, f"label {text.lines[0]}"))
            return f"{_text(text, shape.x, shape.y, 'left')}\n"


def _draw_step(box: StepBox, labels: StepLabels, boxes: list[Box]) -> str:
    boxes.append(Box(box.x, box.y, box.x + box.width, box.y + box.height, f"step {box.place}"))
    action = labels.actions[box.symbol]
    top, shown = PAD, []
    for text, kind in labels.texts(box.symbol, box.note):
        shown.append(_text(Text(text.lines, SIZE), box.width // 2, top, kind))
        top += text.height
    if rules := labels.rules_of(box.symbol):
        about = f"{count(len(rules), 'rule')}: {'; '.join(rules)}"
        shown.append(_text(Text((f"§{len(rules)}",), SIZE, about), 6, box.height - STRIP - 1, "rule"))
    full = action.notation if action.name is None else f"{action.name}: {action.notation}"
    kind = "step optional" if box.is_optional else "step"
    return (
        f'<g class="{kind}" data-action="{box.symbol}" data-place="{box.place}" transform="translate({box.x} {box.y})">'
        f'{title(full)}<rect width="{box.width}" height="{box.height}" rx="5"/>{"".join(shown)}</g>\n'
    )


def _draw_bar(bar: Bar) -> str:
    place = f'transform="translate({bar.x} {bar.y})"'
    width, height = bar.width, bar.height
    about = title(bar.about)
    if bar.kind == "diamond":
        across, down = width // 2, height // 2
        shape = f'<path d="M0 {down}l{across} {-down} {across} {down} {-across} {down}z"/>'
        return f'<g class="choice" {place}>{about}{shape}{_text(Text(("or",), SIZE), across, down - 7, "")}</g>\n'
    if bar.kind in ("start", "end"):
        pill = f'<rect width="{width}" height="{height}" rx="12"/>'
        return f'<g class="{bar.kind}" {place}>{pill}{_text(Text((bar.kind,), SIZE), width // 2, 5, "name")}</g>\n'
    if bar.kind == "turns":
        rects = f'<rect width="3" height="{height}"/><rect x="{width - 3}" width="3" height="{height}"/>'
    else:
        rects = f'<rect width="{width}" height="{height}"/>'
    return f'<g class="bar" {place}>{about}{rects}</g>\n'


def _text(shown: Text, x: int, top: float, kind: str) -> str:
    """Return the SVG of a text whose upper edge is at `top`, centred at `x` unless its class says otherwise."""
    first, *rest = map(escape_xml, shown.lines)
    lines = first + "".join(f'<tspan x="{x}" dy="{shown.pitch}">{line}</tspan>' for line in rest)
    y = round(top + shown.pitch * 0.5 + shown.size * 0.34)
    attributes = f' class="{kind}"' if kind else ""
    return f'<text{attributes} x="{x}" y="{y}">{title(shown.full)}{lines}</text>'


def _path(wire: Wire) -> str:
    (x, y), *_ = wire.points
    d = f"M{x} {y}"
    if wire.curved:
        d += _curve(wire.points)
    else:
        for (x, y), (across, down) in pairwise(wire.points):
            d += f"h{across - x}" if down == y else f"V{down}"
    return (d + (TIP[1] if wire.arrow else "")).replace(" -", "-")


def _curve(points: Sequence[tuple[int, int]]) -> str:
    """Return path data for lanes that are linked by curves. Each lane is a pair of points."""
    d, (x, _) = "", points[0]
    lanes = [*zip(points[::2], points[1::2], strict=True)]
    for (_, (end, y)), ((begin, down), _) in pairwise(lanes):
        if y != down:
            across, half = begin - end, f"{(begin - end) // 2} {(down - y) // 2}"
            d += f"h{end - x}q{across // 4} 0 {half}t{half}"
            x = begin
    return f"{d}h{points[-1][0] - x}"


LANES_STYLE: Final = (
    ".lanes{--d-ink:#1f2328;--d-line:#57606a;--d-muted:#57606a;--d-fill:#f6f8fa;--d-paper:#fff;"
    "background:var(--drawing-paper,var(--d-paper));font-family:ui-monospace,Menlo,Consolas,monospace}"
    "@media(prefers-color-scheme:dark){.lanes{--d-ink:#e6edf3;--d-line:#8b949e;--d-muted:#a2abb5;"
    "--d-fill:#161b22;--d-paper:#0d1117}}"
    f".lanes text{{font-size:{SIZE}px;text-anchor:middle;white-space:pre;fill:var(--drawing-ink,var(--d-ink))}}"
    ".lanes .name{font-weight:600}"
    ".lanes .value,.lanes .left,.lanes .rule{fill:var(--drawing-muted,var(--d-muted))}"
    ".lanes .left,.lanes .rule{text-anchor:start}"
    ".lanes path,.lanes rect{fill:none;stroke:var(--drawing-line,var(--d-line));stroke-width:1.2;"
    "stroke-linecap:round;stroke-linejoin:round}"
    ".lanes .step rect,.lanes .start rect,.lanes .end rect,.lanes .choice path{fill:var(--drawing-fill,var(--d-fill))}"
    ".lanes .end rect{stroke-width:2.4}"
    ".lanes .optional rect,.lanes .frame{stroke-dasharray:5 3}"
    ".lanes .bar rect{fill:var(--drawing-line,var(--d-line));stroke:none}"
)
"""The style of every drawing as lanes. A page may override --drawing-ink, -line, -muted, -fill and -paper."""
