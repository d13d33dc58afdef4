"""The report page: one self-contained HTML file with the tables, the figures, and every task and episode.

The page loads nothing from elsewhere. Text that agents wrote is either encoded in a data block or escaped.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from importlib.resources import files
from shlex import quote
from typing import Final, NamedTuple

from corepath.drawing.draw import STYLE
from corepath.drawing.lane_shapes import LANES_STYLE
from corepath.errors import Problem, count
from corepath.report.definitions import definition
from corepath.report.dots import Dots, dots
from corepath.report.figures import HeatMap, Scatter, core_versus_bfcl, heat_map, pareto_view
from corepath.report.fix_tables import fix_html
from corepath.report.markup import foreign, text
from corepath.report.page_data import encode, page_data
from corepath.report.plot import scale_css
from corepath.report.ranking import compare_all, headline
from corepath.report.results import Result, Results
from corepath.report.summary_table import PAGE_COLUMNS, Means, note_exclusions
from corepath.report.table import Column, Table
from corepath.report.tables import agents_table, faults_table, harms_table, reward_table, rules_table, worlds_table
from corepath.values import visible

MOST_PROBLEMS: Final = 100
"""The most problems that the page lists. Further problems are only counted."""

_MEANS: Final = Means(PAGE_COLUMNS)
_STYLES: Final = ("page.css", "drawing.css", "episode.css", "overview.css", "fix.css", "print.css")
_SCRIPTS: Final = (
    "basics.js", "data.js", "saving.js", "lists.js", "search.js", "overview.js", "drawing.js", "lanes.js", "task.js",
    "call.js", "walk.js", "episode.js", "diff.js", "keys.js", "fix.js", "page.js",
)  # fmt: skip


class _Section(NamedTuple):
    """A section of the page. `name` is its entry in the table of contents."""

    id: str
    name: str
    title: str
    html: str


def page(results: Results, shown: Sequence[Result] | None = None) -> str:
    """Return the report page as HTML.

    The page has the episodes of `shown`, or all episodes if it is None. Its tables and figures are of all episodes.
    Equal results give the same HTML. Control characters are escaped.
    """
    listed = results.results if shown is None else shown
    styles = [*map(_asset, _STYLES), scale_css(), STYLE, LANES_STYLE]
    style, script = "\n".join(styles), "\n\n".join(map(_asset, _SCRIPTS))
    figures = _Figures.of(results)
    blocks = list(_blocks(results, listed, figures))  # first: sections use what it explains
    sections = list(_sections(results, figures))
    parts = {
        "policy": f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        "style": style,
        "script": script,
        "facts": _facts(results, listed),
        "listed": _count_listed(results, listed),
        "contents": "".join(f'<li><a href="#{one.id}">{one.name}</a></li>' for one in sections),
        "sections": "\n".join(
            f'<section id="{one.id}" aria-labelledby="{one.id}-title">'
            f'<h2 id="{one.id}-title">{text(one.title)}</h2>\n{one.html}</section>'
            for one in sections
        ),
        "blocks": "\n".join(_block(name, data) for name, data in blocks),
    }
    html = re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _asset("page.html"))
    return "\n".join(map(visible, html.split("\n")))


def _asset(name: str) -> str:
    return files("corepath.report").joinpath("assets", name).read_text("utf-8").strip()


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}'"


def _block(name: str, data: str) -> str:
    return f'<script type="application/octet-stream" id="{name}">{data}</script>'


def _blocks(results: Results, listed: Sequence[Result], figures: _Figures) -> Iterator[tuple[str, str]]:
    """Yield an (id, encoded data) pair for each block: the episodes, the pairs of agents, the figures to save."""
    yield from page_data(results, listed)
    yield "pairs", encode(compare_all(results))
    yield "drawn", encode(figures.drawn)


@dataclass(frozen=True)
class _Figures:
    """The figures of the page."""

    ranked: Dots
    heat: HeatMap
    scatters: Mapping[str, Scatter]

    @classmethod
    def of(cls, results: Results) -> _Figures:
        scatters = {"core-versus-bfcl": core_versus_bfcl(results), "pareto": pareto_view(results)}
        return cls(dots(results), heat_map(results), {name: one for name, one in scatters.items() if one.points})

    @property
    def has_heat(self) -> bool:
        return any(cell.value is not None for row in self.heat.cells for cell in row)

    @property
    def drawn(self) -> dict[str, str]:
        """The figures as SVG, by name."""
        drawn = {name: one.svg() for name, one in self.scatters.items()}
        return (
            drawn
            | ({"heat-map": self.heat.svg()} if self.has_heat else {})
            | ({"agents": self.ranked.svg()} if self.ranked.measures else {})
        )


# The overview


def _facts(results: Results, listed: Sequence[Result]) -> str:
    """Return the introduction as HTML: the result, what it covers, and which episodes the means leave out."""
    result = headline(results)
    lead = f'<p class="result">{result}</p>' if result else ""
    places = f" From {', '.join(map(foreign, results.places))}." if results.places else ""
    rest = _describe_rest(results, listed)
    return f"{lead}<p>{' '.join(_sentences(results))}{places}</p>{rest}{_problems(results.problems)}"


def _count_listed(results: Results, listed: Sequence[Result]) -> str:
    """Return a paragraph that says how many episodes the page lists, or an empty string if it lists all."""
    if len(listed) >= len(results):
        return ""
    return f'<p class="rest">Listed are the {len(listed):,} of {count(len(results), "episode")} in this page.</p>'


def _describe_rest(results: Results, listed: Sequence[Result]) -> str:
    """Return a paragraph that says which episodes are in the page, and how to see the rest. Empty if all are."""
    if len(listed) >= len(results):
        return ""
    there = {id(result) for result in listed}
    failed = sum(result.failed for result in results.results)
    shown_failed = sum(result.failed for result in listed)
    missing = next(result for result in results.results if id(result) not in there)
    runs = " ".join(map(quote, results.places)) or "RUN"
    command = f"corepath report {runs} --only {quote(missing.task_name)} --episodes all"
    verb = "is" if len(listed) == 1 else "are"
    return (
        f'<p class="rest">{len(listed):,} of {count(len(results), "episode")} {verb} in this page, '
        f"with {shown_failed:,} of the {failed:,} that failed. All tables, figures and counts are of all episodes. "
        f"For the other episodes, make a page of one task, world or agent: <code><bdi>{text(command)}</bdi></code></p>"
    )


def _sentences(results: Results) -> Iterator[str]:
    if not results.results:
        yield "There are no episodes here."
    else:
        tasks = {result.task_name for result in results.results}
        yield (
            f"{count(len(results.results), 'episode')} of {count(len(results.by_agent), 'agent')} on "
            f"{count(len(tasks), 'task')} in {count(len(results.by_world), 'world')}, "
            f"scored with the profile <b>{escape(results.scoring.profile)}</b>."
        )
    outside = sum(one.outside for one in results.by_agent.values())
    if results.results and outside == len(results.results):
        yield "All of them failed outside the agents, so there are no means."
    else:
        yield from (f"{note}." for note in note_exclusions(results.by_agent.values()))
    if missing := len({one.task_name for one in results.results if not one.can_be_explained}):
        shown = f"Only what was recorded is shown for {count(missing, 'task')}"
        yield f"{shown}: the task or its episodes are not available."
    yield from (f"{text(note)}." for note in results.notes)


def _problems(problems: tuple[Problem, ...]) -> str:
    """Return a collapsible list of the lines that could not be read or scored, or an empty string if there are none."""
    if not problems:
        return ""
    lines = "".join(f"<li>{foreign(str(problem))}</li>" for problem in problems[:MOST_PROBLEMS])
    rest = len(problems) - MOST_PROBLEMS
    more = f"<p>and {rest:,} more</p>" if rest > 0 else ""
    return (
        f"<details><summary>{count(len(problems), 'line')} could not be read or scored and "
        f"{'is' if len(problems) == 1 else 'are'} in no table</summary><ul>{lines}</ul>{more}</details>"
    )


def _sections(results: Results, figures: _Figures) -> Iterator[_Section]:
    if not results.results:
        return
    yield _agents(results, figures.ranked)
    yield _Section("fix", "What to fix", "What to fix", fix_html(results.fixes))
    if len(results.by_agent) > 1:
        yield _Section("compare", "A and B", "Is B better than A?", _WITHOUT_SCRIPT)
    if harms := harms_table(results):
        yield _table("harms", "Harmful calls", harms)
    yield _worlds(results, figures)
    if reward := reward_table(results.agreements):
        yield _table("reward", "Reward", reward)
    if rules := rules_table(results):
        yield _table("rules", "Rules", rules)
    if figures.scatters:
        drawn = "".join(_figure(name, one) for name, one in figures.scatters.items())
        yield _Section("figures", "Figures", "Paths and final states", f'<div class="figures">{drawn}</div>')
    if faults := faults_table(results):
        yield _table("faults", "Failure modes", faults)


_WITHOUT_SCRIPT: Final = (
    '<div id="pair"><p>A script compares two agents: it is off, or this browser is too old.</p></div>'
)


def _agents(results: Results, ranked: Dots) -> _Section:
    """Return the section that comes first: who is best, and all scores folded."""
    table = agents_table(results, _MEANS)
    figure = _scrollable(ranked.html(), ranked.title, "agents") if ranked.measures else ""
    scores = _folded("All scores", _with_meanings(table, "scores"))
    return _Section("agents", "Agents", ranked.title, figure + scores)


def _worlds(results: Results, figures: _Figures) -> _Section:
    table, heat = worlds_table(results, _MEANS), figures.heat
    scores = _folded("All scores by world", _with_meanings(table, "worlds"))
    if not figures.has_heat:
        return _Section("worlds", "Worlds", table.title, scores)
    return _Section("worlds", "Worlds", heat.title, _scrollable(heat.html(), heat.title, "heat-map") + scores)


def _table(id_: str, name: str, table: Table) -> _Section:
    return _Section(id_, name, table.title, _scrollable(table.html(), table.title, id_))


def _folded(summary: str, html: str) -> str:
    return f'<details class="more"><summary>{text(summary)}</summary>{html}</details>'


def _with_meanings(table: Table, name: str) -> str:
    """Return a table with a list of what its columns mean, for those who cannot hover over a header."""
    return _scrollable(table.html(), table.title, name) + _folded("What the columns mean", _meanings(table.columns))


def _meanings(columns: Iterable[Column]) -> str:
    listed = ((column.line, definition(column.key)) for column in columns)
    rows = "".join(f"<dt>{text(title)}</dt><dd>{text(about)}</dd>" for title, about in listed if about)
    return f'<dl class="meanings">{rows}</dl>'


def _scrollable(html: str, label: str, name: str) -> str:
    """Wrap a table in a scrollable region called `label`. The table's notes stay below the region.

    `name` is the name of the table in links and in saved files.
    """
    table, end, notes = html.partition("</table>")
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{text(label)}" data-name="{name}">{table}{end}'
        f"</div>{notes}"
    )


def _figure(name: str, scatter: Scatter) -> str:
    return (
        f'<figure data-name="{name}"><figcaption>{text(scatter.title)}</figcaption>{scatter.svg()}'
        f"<p>{text(scatter.note)}</p></figure>"
    )
