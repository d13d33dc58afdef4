"""Draw a scatter plot as SVG, and the colours of all figures."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Final

from corepath.values import visible

if TYPE_CHECKING:
    from corepath.report.figures import Point, Scatter

SHAPES: Final = ("circle", "square", "triangle", "diamond")
COLOURS: Final = ("#3b6fb6", "#c2571a", "#2e8b57", "#8a4fbf", "#b8860b", "#c03a6b", "#1f8f9c", "#6b6b6b")
"""Colours that are readable on white and on black. Agents also differ in shape, not by colour alone."""
SCALE: Final = (
    "#e8f1fb", "#cadcee", "#acc6e2", "#8fb0d5", "#729bc8", "#5686bb", "#3c70ac", "#305c91", "#234877", "#17355d",
)  # fmt: skip
"""Colours for values from 0 to 1 in ten steps, for the page and for PDF. Each is darker than the one before, so that
the scale can be read in grey."""
LONGEST_NAME: Final = 40

_WIDTH, _HEIGHT = 620, 460
_LEFT, _TOP, _RIGHT, _BOTTOM = 62, 16, 16, 52
_LINE = 17


def scatter_svg(scatter: Scatter) -> str:
    """Return a scatter plot as an SVG element. It uses the text colour of the surrounding page."""
    return _Plot(scatter).svg()


class _Plot:
    def __init__(self, scatter: Scatter) -> None:
        self.scatter = scatter

    def svg(self) -> str:
        agents = self.scatter.agents
        rows = -(-len(agents) // 4)
        height = _HEIGHT + (0 if self.scatter.named else 10 + rows * _LINE)
        parts = [*self._frame(), *self._front(), *map(self._point, self.scatter.points)]
        parts += self._names() if self.scatter.named else self._legend(agents)
        return (
            f'<svg class="scatter" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
            f'aria-label="{escape(self.scatter.title)}" font-family="system-ui, sans-serif" font-size="12">'
            f"<title>{escape(self.scatter.title)}</title>{''.join(parts)}</svg>"
        )

    def _x(self, value: float) -> float:
        return round(_LEFT + value * (_WIDTH - _LEFT - _RIGHT), 2)

    def _y(self, value: float) -> float:
        return round(_HEIGHT - _BOTTOM - value * (_HEIGHT - _TOP - _BOTTOM), 2)

    def _frame(self) -> list[str]:
        parts = []
        for step in range(6):
            at = step / 5
            x, y = self._x(at), self._y(at)
            parts.append(f'<path class="grid" d="M{x} {self._y(0)}V{self._y(1)}M{self._x(0)} {y}H{self._x(1)}" '
                         'fill="none" stroke="currentColor" stroke-opacity=".15"/>')  # fmt: skip
            parts.append(_number(x, self._y(0) + 18, "middle", at) + _number(_LEFT - 8, y + 4, "end", at))
        if self.scatter.diagonal:
            parts.append(f'<path d="M{self._x(0)} {self._y(0)}L{self._x(1)} {self._y(1)}" fill="none" '
                         'stroke="currentColor" stroke-opacity=".5" stroke-dasharray="4 4"/>')  # fmt: skip
        middle = self._y(0.5)
        parts.append(f'<text x="{self._x(0.5)}" y="{_HEIGHT - 12}" text-anchor="middle" fill="currentColor">'
                     f"{escape(self.scatter.x_title)}</text>"
                     f'<text transform="translate(16 {middle}) rotate(-90)" text-anchor="middle" fill="currentColor">'
                     f"{escape(self.scatter.y_title)}</text>")  # fmt: skip
        return parts

    def _front(self) -> list[str]:
        """Return the SVG for the Pareto front: a line in steps, through its points."""
        if not self.scatter.front:
            return []
        corners = "L".join(f"{self._x(x)} {self._y(y)}" for x, y in self.scatter.front)
        return [f'<path class="front" d="M{corners}" fill="none" stroke="currentColor" stroke-width="1.5"/>']

    def _point(self, point: Point) -> str:
        x, y = self._x(point.x), self._y(point.y)
        ring = f'<circle cx="{x}" cy="{y}" r="9" fill="none" stroke="currentColor"/>' if point.marked else ""
        world = "" if point.world is None else f' data-world="{escape(visible(point.world))}"'
        tip = f"{visible(point.label)}: {self.scatter.x_title.partition(':')[0]} {point.x:.3f}, "
        tip += f"{self.scatter.y_title.partition(':')[0]} {point.y:.3f}"
        return (
            f'<g class="point" data-agent="{escape(visible(point.agent))}"{world}><title>{escape(tip)}</title>{ring}'
            f"{_mark(x, y, self.scatter.agents.index(point.agent))}</g>"
        )

    def _legend(self, agents: Sequence[str]) -> list[str]:
        parts = []
        for number, agent in enumerate(agents):
            x = _LEFT + number % 4 * (_WIDTH - _LEFT) / 4
            y = _HEIGHT + 6 + number // 4 * _LINE
            parts.append(_mark(x, y - 4, number))
            parts.append(f'<text x="{x + 10:.1f}" y="{y}" fill="currentColor">{text_of(agent, 18)}</text>')
        return parts

    def _names(self) -> list[str]:
        """Return the SVG for a name beside each point. Names are moved up or down so that they do not overlap."""
        parts = []
        taken: list[tuple[float, float, float]] = []
        for point in sorted(self.scatter.points, key=lambda one: (-one.y, one.x, one.agent)):
            text = short(point.agent, 24)
            wide = 6.6 * len(text)
            x, y = self._x(point.x), self._y(point.y)
            left = x + 12 if x + 12 + wide < _WIDTH else x - 12 - wide
            at = _free(left, y + 4, wide, taken)
            taken.append((left, at, wide))
            if abs(at - y - 4) > 1:
                parts.append(f'<path d="M{x} {y}L{left if left > x else left + wide:.1f} {at - 4:.1f}" fill="none" '
                             'stroke="currentColor" stroke-opacity=".3"/>')  # fmt: skip
            parts.append(f'<text x="{left:.1f}" y="{at:.1f}" fill="currentColor">{escape(visible(text))}</text>')
        return parts


def _number(x: float, y: float, anchor: str, value: float) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="currentColor">{value:.1f}</text>'


def _free(left: float, y: float, wide: float, taken: Sequence[tuple[float, float, float]]) -> float:
    """Return the y nearest to `y` at which a name overlaps no other name, or `y` itself if there is no room.

    `taken` has the left end, y and width of each name that is already placed.
    """
    for away in range(60):
        for at in (y + away * 7, y - away * 7):
            apart = all(abs(at - other) >= 14 or left > end + width or end > left + wide for end, other, width in taken)
            if _TOP + 8 <= at <= _HEIGHT - _BOTTOM + 4 and apart:
                return at
    return y


def _mark(x: float, y: float, number: int) -> str:
    colour, shape = COLOURS[number % len(COLOURS)], SHAPES[shape_of(number)]
    style = f'fill="{colour}" fill-opacity=".75" stroke="{colour}"'
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" {style}/>'
    corners = {
        "square": "M-4-4H4V4H-4Z",
        "triangle": "M0-5L5 4H-5Z",
        "diamond": "M0-5.5L5 0L0 5.5L-5 0Z",
    }
    return f'<path transform="translate({x:.1f} {y:.1f})" d="{corners[shape]}" {style}/>'


def level_of(value: float) -> int:
    """Return the index in `SCALE` for a value from 0 to 1."""
    return min(len(SCALE) - 1, max(0, int(value * len(SCALE))))


def ink_on(colour: str) -> str:
    """Return the colour in which text is readable on a colour: almost black, or white."""
    return "#101418" if luminance(colour) > 0.2 else "#ffffff"


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour such as `#3b6fb6`, from 0 for black to 1 for white (WCAG 2)."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def scale_css() -> str:
    """Return the style of the classes `heat0` to `heat9`. The dark scheme reads the scale from its other end."""
    pairs = zip(SCALE, reversed(SCALE), strict=True)
    return "\n".join(
        f".heat{level} {{ background: light-dark({light}, {dark}); "
        f"color: light-dark({ink_on(light)}, {ink_on(dark)}); }}"
        for level, (light, dark) in enumerate(pairs)
    )


def shape_of(number: int) -> int:
    """Return the index in `SHAPES` for the agent with this number. When colours repeat, the shapes differ."""
    return (number + number // len(COLOURS)) % len(SHAPES)


def short(text: str, most: int = LONGEST_NAME) -> str:
    """Shorten a name to at most `most` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def text_of(text: str, most: int = LONGEST_NAME) -> str:
    """Shorten a name, and escape it for SVG or HTML."""
    return escape(visible(short(text, most)))
