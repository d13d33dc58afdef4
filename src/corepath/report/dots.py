"""The figure that comes first: a dot and an interval for each agent, in the scores that matter most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from corepath.report.definitions import definition
from corepath.report.markup import foreign, list_link, text
from corepath.report.plot import short, text_of
from corepath.report.ranking import LONGEST_NAME, split_floor
from corepath.report.results import Results
from corepath.report.table import Column
from corepath.scoring.summary import REWARD, USAGE, Interval, Summary


@dataclass(frozen=True)
class Measure:
    """A score from 0 to 1 that the figure shows: its key, its title, and what is good."""

    key: str
    title: str
    good: str
    is_share: bool = True

    def format(self, value: float) -> str:
        """Format a value: a share as percent, any other score with three decimals."""
        return f"{100 * value:.1f} %" if self.is_share else f"{value:.3f}"

    def format_interval(self, interval: Interval | None) -> str:
        """Format an interval, or return an empty string if there is none."""
        if interval is None:
            return ""
        low, high = interval
        return f"{100 * low:.0f}–{100 * high:.0f}" if self.is_share else f"{low:.2f}–{high:.2f}"


MEASURES: Final = (
    Measure("solved", "Solved", "more is better"),
    Measure("harm_effected", "Harm took effect", "less is better"),
    Measure("pc", "PC", "more is better", is_share=False),
)
_BESIDE: Final = (
    Column(REWARD, "reward", ".3f"), Column("cost", "cost", ".4f"), Column("tokens", "tokens", ",.0f"),
    Column("seconds", "seconds", ",.1f"),
)  # fmt: skip
"""What the source recorded, shown beside the dots where it is known."""
assert {column.key for column in _BESIDE} == {REWARD, *USAGE}


@dataclass(frozen=True)
class Dot:
    """A mean and its interval. The interval is None if there is only one task."""

    mean: float
    interval: Interval | None


@dataclass(frozen=True)
class Row:
    """An agent's dots, one for each measure, and what the source recorded. What is undefined is None."""

    agent: str
    dots: tuple[Dot | None, ...]
    beside: tuple[float | None, ...] = ()


@dataclass(frozen=True)
class Dots:
    """A dot and an interval for each agent and measure, best first.

    `floor` has the agents that do nothing or only read. `bands` is the range of their means for each measure, or None
    if it is unknown.
    """

    title: str
    measures: tuple[Measure, ...]
    rows: tuple[Row, ...]
    bands: tuple[Interval | None, ...] = ()
    floor: tuple[str, ...] = ()
    beside: tuple[Column, ...] = ()

    @property
    def note(self) -> str:
        """What the figure shows, in words."""
        parts = ["Dot: the mean over episodes. Line: its 95 % interval, drawn over tasks."]
        if any(band is not None for band in self.bands):
            parts.append(f"Band: the floor, from agents that do nothing or only read ({', '.join(self.floor)}).")
        return " ".join(parts)

    def html(self) -> str:
        """Return the figure as an HTML table with a small drawing in each cell."""
        heads = [f'<th scope="col" data-key="agent" title="{escape(definition("agent"))}">agent</th>']
        heads += [_head(one.key, f"{one.title} <small>{one.good}</small>", "dot number") for one in self.measures]
        heads += [_head(column.key, escape(column.line), "number") for column in self.beside]
        several = len(self.rows) > 1
        body = "".join(self._row(row, compared=several) for row in self.rows)
        axis = "".join(f'<td class="dot">{_axis(one)}</td>' for one in self.measures)
        rest = len(self.beside) + several
        more = '<td><span class="hidden">compare</span></td>' if several else ""
        return (
            f'<table class="scores dots"><caption>{text(self.title)}</caption><thead><tr>{"".join(heads)}{more}</tr>'
            f'</thead><tbody>{body}</tbody><tfoot aria-hidden="true"><tr><td></td>{axis}{"<td></td>" * rest}</tr>'
            f'</tfoot></table><p class="note">{text(self.note)}</p>'
        )

    def _row(self, row: Row, *, compared: bool) -> str:
        cells = "".join(map(_dot_cell, self.measures, row.dots, self.bands))
        for column, value in zip(self.beside, row.beside, strict=True):
            full = "" if value is None else f' data-value="{round(value, 6)}"'
            cells += f'<td class="number" data-title="{column.line}"{full}>{escape(column.cell(value))}</td>'
        if compared:
            best = self.rows[0].agent
            cells += f"<td>{'' if row.agent == best else list_link('compare', a=best, b=row.agent)}</td>"
        return f'<tr><th scope="row">{foreign(short(row.agent, LONGEST_NAME))}</th>{cells}</tr>'

    def svg(self) -> str:
        """Return the figure as one SVG element, for other documents."""
        return _draw(self)


def dots(results: Results) -> Dots:
    """Build the figure from results. Measures that no agent has are left out."""
    agents, floor = split_floor(results)
    agents = [one for one in agents if one.counted]
    measures = tuple(one for one in MEASURES if _is_known(one.key, agents))
    beside = tuple(column for column in _BESIDE if _is_known(column.key, agents))
    rows = tuple(_row(one, measures, beside) for one in agents)
    bands = tuple(_band(floor, measure.key) for measure in measures)
    return Dots("Agents, best first", measures, rows, bands, tuple(one.name for one in floor), beside)


def _is_known(score: str, agents: Iterable[Summary]) -> bool:
    return any(one.values(score) for one in agents)


def _row(one: Summary, measures: Iterable[Measure], beside: Iterable[Column]) -> Row:
    own = tuple(_dot(one, measure.key) for measure in measures)
    return Row(one.name, own, tuple(one.mean(column.key) for column in beside))


def _dot(one: Summary, score: str) -> Dot | None:
    mean = one.mean(score)
    return None if mean is None else Dot(mean, one.interval(score))


def _band(floor: Iterable[Summary], score: str) -> Interval | None:
    means = [mean for one in floor if (mean := one.mean(score)) is not None]
    return (min(means), max(means)) if means else None


# Cells of the table


def _head(key: str, html: str, kind: str) -> str:
    return f'<th scope="col" class="{kind}" data-key="{key}" title="{escape(definition(key))}">{html}</th>'


def _dot_cell(measure: Measure, dot: Dot | None, band: Interval | None) -> str:
    if dot is None:
        return '<td class="dot number">–</td>'
    beside = measure.format_interval(dot.interval)
    words = f"{measure.format(dot.mean)} <small>{beside}</small>" if beside else measure.format(dot.mean)
    parts = "".join(f'<line class="grid" x1="{at}%" x2="{at}%" y1="0" y2="100%"/>' for at in (0, 50, 100))
    if band is not None:
        parts = f'<rect class="band" x="{_at(band[0])}" width="{_at(band[1] - band[0])}" height="100%"/>{parts}'
    if dot.interval is not None:
        low, high = map(_at, dot.interval)
        parts += f'<line class="reach" x1="{low}" x2="{high}" y1="50%" y2="50%"/>'
    parts += f'<circle cx="{_at(dot.mean)}" cy="50%" r="5"/>'
    about = f'class="dot number {measure.key}" data-title="{measure.title}" data-value="{round(dot.mean, 6)}"'
    return f'<td {about}><div><svg aria-hidden="true">{parts}</svg><span>{words}</span></div></td>'


def _at(value: float) -> str:
    return f"{100 * value:.2f}".rstrip("0").rstrip(".") + "%"


def _axis(measure: Measure) -> str:
    ends = ("0", "50", "100 %") if measure.is_share else ("0", "0.5", "1")
    return f'<div><span class="axis">{"".join(f"<span>{one}</span>" for one in ends)}</span></div>'


# One SVG

_NAME, _PANEL, _GAP, _ROW, _TOP = 190, 200, 84, 26, 44
TINTS: Final = {"solved": "#2f6db0", "harm_effected": "#b3261e", "pc": "#2f6db0"}
"""The colour of each measure's dots in SVG and PDF."""


def _draw(figure: Dots) -> str:
    width = _NAME + len(figure.measures) * (_PANEL + _GAP)
    height = _TOP + len(figure.rows) * _ROW + 52
    parts = [_panel(figure, place) for place in range(len(figure.measures))]
    for number, row in enumerate(figure.rows):
        parts.append(_words(0, _TOP + number * _ROW + 17, text_of(row.agent, 28)))
    parts.append(_words(0, height - 10, text_of(figure.note, 400), size=11))
    return (
        f'<svg class="dots" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{text(figure.title)}" font-family="system-ui, sans-serif" font-size="13">'
        f"<title>{text(figure.title)}</title>{''.join(parts)}</svg>"
    )


def _panel(figure: Dots, place: int) -> str:
    measure, band = figure.measures[place], figure.bands[place]
    left, bottom = _NAME + place * (_PANEL + _GAP), _TOP + len(figure.rows) * _ROW
    parts = [_words(left, 16, escape(measure.title), weight=600), _words(left, 32, escape(measure.good), size=11)]
    if band is not None:
        parts.append(f'<rect x="{left + band[0] * _PANEL:.1f}" y="{_TOP}" height="{bottom - _TOP}" fill="currentColor" '
                     f'width="{max(1, (band[1] - band[0]) * _PANEL):.1f}" fill-opacity=".12"/>')  # fmt: skip
    for at, label in zip((0, 0.5, 1), ("0", "50", "100 %") if measure.is_share else ("0", "0.5", "1"), strict=True):
        x = left + at * _PANEL
        parts.append(f'<path d="M{x} {_TOP}V{bottom}" stroke="currentColor" stroke-opacity=".2"/>'
                     + _words(x, bottom + 16, label, size=11, anchor="middle"))  # fmt: skip
    for number, row in enumerate(figure.rows):
        parts += _svg_dot(measure, row.dots[place], left, _TOP + number * _ROW + 13)
    return "".join(parts)


def _svg_dot(measure: Measure, dot: Dot | None, left: float, y: float) -> Sequence[str]:
    if dot is None:
        return [_words(left + _PANEL + 14, y + 4, "–")]
    tint, parts = TINTS[measure.key], []
    if dot.interval is not None:
        low, high = (left + end * _PANEL for end in dot.interval)
        parts.append(f'<path d="M{low:.1f} {y}H{high:.1f}" stroke="{tint}" stroke-width="2"/>')
    parts.append(f'<circle cx="{left + dot.mean * _PANEL:.1f}" cy="{y}" r="4.5" fill="{tint}"/>')
    return [*parts, _words(left + _PANEL + 14, y + 4, measure.format(dot.mean))]


def _words(x: float, y: float, html: str, *, size: int = 13, weight: int = 400, anchor: str = "start") -> str:
    return (
        f'<text x="{x}" y="{y}" font-size="{size}" font-weight="{weight}" text-anchor="{anchor}" '
        f'fill="currentColor">{html}</text>'
    )
