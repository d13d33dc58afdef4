"""Checks the geometry of a drawing: nothing overlaps, and no edge crosses anything but its own ends."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from corepath import Automaton
from corepath.drawing.draw import Drawing
from corepath.drawing.shapes import Box

SVG = "{http://www.w3.org/2000/svg}"
CELL = 64.0
SLACK = 0.11


@lru_cache(maxsize=4)
def parse_svg(svg: str) -> ET.Element:
    return ET.fromstring(svg)


def elements(drawing: Drawing, kind: str) -> Iterator[ET.Element]:
    for element in parse_svg(drawing.svg).iter(f"{SVG}g"):
        if kind in element.get("class", "").split():
            yield element


# Geometry


def walk(element: ET.Element, x: float = 0.0, y: float = 0.0) -> Iterator[tuple[ET.Element, float, float]]:
    """An element and all its descendants, each with the absolute place of its origin."""
    if move := element.get("transform"):
        across, down = map(float, re.findall(r"-?\d+", move))
        assert move == f"translate({across:.0f} {down:.0f})"
        x, y = x + across, y + down
    yield element, x, y
    for inner in element:
        yield from walk(inner, x, y)


def points(d: str, x: float = 0.0, y: float = 0.0) -> Iterator[tuple[float, float]]:
    """Points close to one another on an SVG path, whose origin is at x, y."""
    origin, here, middle = complex(x, y), complex(x, y), 0j
    for command, numbers in re.findall("([A-Za-z])([^A-Za-z]*)", d):
        at = [float(number) for number in re.findall(r"-?\d+", numbers)]
        pairs = [complex(*pair) for pair in zip(at[::2], at[1::2], strict=False)]
        match command:
            case "M":
                here = origin + pairs[0]
                yield here.real, here.imag
                continue
            case "h":
                curves = [[here + at[0]]]
            case "V":
                curves = [[complex(here.real, origin.imag + at[0])]]
            case "l":
                curves = [[here + sum(pairs[: place + 1])] for place in range(len(pairs))]
            case "C":
                curves = [[origin + pair for pair in pairs]]
            case "q":
                curves = [[here + pair for pair in pairs]]
            case "t":
                curves = [[2 * here - middle, here + pairs[0]]]
            case _:
                pytest.fail(f"what is {command} in {d}?")
        for curve in curves:
            steps = 16 if len(curve) > 1 else int(abs(curve[0] - here) / 6) + 1
            for step in range(1, steps + 1):
                point = bezier([here, *curve], step / steps)
                yield point.real, point.imag
            here, middle = curve[-1], curve[0]


def bezier(ends: list[complex], t: float) -> complex:
    """The point at t on a Bézier curve with these control points."""
    while len(ends) > 1:
        ends = [one + (other - one) * t for one, other in pairwise(ends)]
    return ends[0]


def grid(boxes: Iterable[Box]) -> dict[tuple[int, int], list[Box]]:
    found: dict[tuple[int, int], list[Box]] = defaultdict(list)
    for box in boxes:
        for column in range(int(box.left // CELL), int(box.right // CELL) + 1):
            for row in range(int(box.top // CELL), int(box.bottom // CELL) + 1):
                found[column, row].append(box)
    return found


def find_faults(drawing: Drawing) -> Iterator[str]:
    """Everything that is wrong with the geometry of a drawing."""
    root = parse_svg(drawing.svg)
    left, top, width, height = map(float, root.attrib["viewBox"].split())
    if (width, height) != (drawing.width, drawing.height):
        yield "the view box has another size than the drawing"
    for box in drawing.boxes:
        if not (left <= box.left <= box.right <= left + width and top <= box.top < box.bottom <= top + height):
            yield f"{box} is outside"
    near, at = grid(drawing.boxes), state_boxes(drawing)
    for crowd in near.values():
        yield from find_overlaps(crowd)
    for element, across, down in walk(root):
        yield from misplaced_shapes(element, across, down, near)
        if element.get("class") == "edge":
            yield from loose_ends(element, across, down, at)
        if element.get("class") in ("line", "stub"):
            drawn = list(points(element.attrib["d"], across, down))
            for x, y in drawn:
                if not (left <= x <= left + width and top <= y <= top + height):
                    yield f"a line is outside at {x:.0f}, {y:.0f}"
                for box in near.get((int(x // CELL), int(y // CELL)), ()):
                    inside = box.left + SLACK < x < box.right - SLACK and box.top + SLACK < y < box.bottom - SLACK
                    if inside and not is_own_arc(element, *drawn[0], box):
                        yield f"a line crosses {box} at {x:.0f}, {y:.0f}"


def loose_ends(edge: ET.Element, x: float, y: float, at: dict[int, Box]) -> Iterator[str]:
    """Ends of an edge that do not touch their state."""
    first, *_, last = points(next(edge.iter(f"{SVG}path")).attrib["d"], x, y)
    for mark, (across, down) in (("data-from", first), ("data-to", last)):
        box = at[int(edge.attrib[mark])]
        if across not in (box.left, box.right) or 2 * down != box.top + box.bottom:
            yield f"an edge is not at {box} but at {across}, {down}"


def misplaced_shapes(element: ET.Element, x: float, y: float, near: dict[tuple[int, int], list[Box]]) -> Iterator[str]:
    """A message if a shape or text is not inside any of the reported boxes."""
    here = near.get((int(x // CELL), int(y // CELL)), ())
    kind = element.tag.removeprefix(SVG)
    if kind in ("circle", "rect"):
        left, top, right, bottom = extent(element)
        insets = [(box.left - x - left, box.top - y - top, x + right - box.right, y + bottom - box.bottom)
                  for box in here if box.what.startswith("state")]  # fmt: skip
        if not {(0, 0, 0, 0), (-3, -3, -3, -3)} & set(insets):
            yield f"no box is around the shape at {x}, {y}"
    elif kind == "text":
        below = 12 * len(element.findall(f"{SVG}tspan"))
        aside = element.get("class") == "left"
        if not any(
            box.top < y < y + below + 1 < box.bottom
            and abs(x - (box.left if aside else (box.left + box.right) / 2)) < SLACK
            for box in here
        ):
            yield f"no box is around the text at {x}, {y}"


def extent(shape: ET.Element) -> tuple[float, float, float, float]:
    """The left, top, right and bottom of a circle or a rectangle, relative to its origin."""
    if "r" in shape.attrib:
        radius = float(shape.attrib["r"])
        return -radius, -radius, radius, radius
    left, top, width, height = (float(shape.attrib[name]) for name in ("x", "y", "width", "height"))
    return left, top, left + width, top + height


def find_overlaps(boxes: list[Box]) -> Iterator[str]:
    for place, one in enumerate(boxes):
        for other in boxes[place + 1 :]:
            across = min(one.right, other.right) - max(one.left, other.left)
            if across > SLACK and min(one.bottom, other.bottom) - max(one.top, other.top) > SLACK:
                yield f"{one} overlaps {other}"


def is_own_arc(path: ET.Element, x: float, y: float, box: Box) -> bool:
    """Whether the path is the arc of a self-loop that starts at x, y, and the box is its own or that of its state."""
    if "C" not in path.attrib["d"] or not box.what.startswith(("state ", "loop")):
        return False
    return box.left < x < box.right and box.top - 5 < y < box.bottom + 5


def state_boxes(drawing: Drawing) -> dict[int, Box]:
    """The box of each state; collapsed states share one."""
    found: dict[int, Box] = {}
    for box in drawing.boxes:
        kind, _, numbers = box.what.partition(" ")
        if kind in ("state", "states"):
            found.update((int(number), box) for number in numbers.split())
    return found


def states_of_boxes(drawing: Drawing) -> dict[int, list[int]]:
    """The states of each box, by the first of them."""
    states = [list(map(int, state.attrib["data-states"].split())) for state in elements(drawing, "state")]
    return {numbers[0]: numbers for numbers in states}


def drawn_transitions(automaton: Automaton, drawing: Drawing) -> set[tuple[int, int, int]]:
    """The transitions that a drawing shows, including the self-loops in its legend."""
    boxes = states_of_boxes(drawing)
    found = {
        (tail, int(label.attrib["data-action"]), head)
        for edge in elements(drawing, "edge")
        for label in edge.iter(f"{SVG}text")
        for tail in boxes[int(edge.attrib["data-from"])]
        for head in boxes[int(edge.attrib["data-to"])]
    }
    for loop in elements(drawing, "loop"):
        state = int(loop.attrib["data-from"])
        for label in loop.iter(f"{SVG}text"):
            numbers = label.get("data-action") or label.attrib["data-actions"]
            found |= {(state, int(number), state) for number in numbers.split()}
    for legend in elements(drawing, "anywhere"):
        for label in legend.findall(f"{SVG}text[@data-action]"):
            symbol, without = int(label.attrib["data-action"]), label.get("data-not", "").split()
            loops = sum(edges.get(symbol) == state for state, edges in enumerate(automaton.delta))
            assert loops > max(3, 2 * len(without))
            states = [state for state in range(len(automaton.states)) if str(state) not in without]
            found |= {(state, symbol, state) for state in states if symbol not in automaton.due(state)}
    return found


def transitions(automaton: Automaton) -> set[tuple[int, int, int]]:
    return {(state, symbol, to) for state, edges in enumerate(automaton.delta) for symbol, to in edges.items()}


def check(automaton: Automaton, drawing: Drawing) -> None:
    """Assert everything that must hold for every drawing."""
    assert list(find_faults(drawing)) == []
    at = state_boxes(drawing)
    assert sorted(at) == list(range(len(automaton.states)))
    inside = {state for state, box in at.items() if box.what.startswith("states ")}
    if automaton.rule == "acyclic":
        for state, edges in enumerate(automaton.delta):
            for target in edges.values():
                assert at[state] is at[target] or at[state].right < at[target].left
    drawn, wanted = drawn_transitions(automaton, drawing), transitions(automaton)
    assert {one for one in drawn if not inside & {one[0], one[2]}} <= wanted
    assert all(inside & {state, target} for state, _, target in wanted - drawn)
    assert not inside or f"{len(inside):,} of {len(automaton.states):,} states are folded" in drawing.hidden
