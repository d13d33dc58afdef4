"""The report page: one self-contained HTML file with the tables, the figures, and every task and episode.

The page loads nothing from elsewhere. Text that agents wrote is either encoded in a data block or escaped.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Final, NamedTuple

from corepath.drawing.draw import STYLE
from corepath.drawing.lane_shapes import LANES_STYLE
from corepath.errors import Problem, count
from corepath.report.figures import Scatter, core_versus_bfcl, heat_map, pareto_view
from corepath.report.page_data import page_data
from corepath.report.results import Results
from corepath.report.summary_table import MORE_COLUMNS, Means, note_exclusions
from corepath.report.table import Table
from corepath.report.tables import agents_table, faults_table, harms_table, reward_table, rules_table, worlds_table
from corepath.values import visible

MOST_PROBLEMS: Final = 100
"""The most problems that the page lists. Further problems are only counted."""

_MEANS: Final = Means(MORE_COLUMNS)
_STYLES: Final = ("page.css", "drawing.css", "episode.css")
_SCRIPTS: Final = (
    "basics.js",
    "data.js",
    "lists.js",
    "drawing.js",
    "lanes.js",
    "task.js",
    "call.js",
    "walk.js",
    "episode.js",
    "diff.js",
    "keys.js",
    "page.js",
)


class _Section(NamedTuple):
    """A section of the page. `name` is its entry in the table of contents."""

    id: str
    name: str
    title: str
    html: str


def page(results: Results) -> str:
    """Return the report page as HTML.

    Equal results give the same HTML. Control characters are escaped.
    """
    style, script = "\n".join([*map(_asset, _STYLES), STYLE, LANES_STYLE]), "\n\n".join(map(_asset, _SCRIPTS))
    sections = list(_sections(results))
    parts = {
        "policy": f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        "style": style,
        "script": script,
        "facts": _facts(results),
        "contents": "".join(f'<li><a href="#{one.id}">{one.name}</a></li>' for one in sections),
        "sections": "\n".join(
            f'<section id="{one.id}" aria-labelledby="{one.id}-title">'
            f'<h2 id="{one.id}-title">{_text(one.title)}</h2>\n{one.html}</section>'
            for one in sections
        ),
        "blocks": "\n".join(_block(name, text) for name, text in page_data(results)),
    }
    html = re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], _asset("page.html"))
    return "\n".join(map(visible, html.split("\n")))


def _asset(name: str) -> str:
    return files("corepath.report").joinpath("assets", name).read_text("utf-8").strip()


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}'"


def _block(name: str, text: str) -> str:
    return f'<script type="application/octet-stream" id="{name}">{text}</script>'


# The overview


def _facts(results: Results) -> str:
    """Return the introduction as HTML: what the results cover, and which episodes the means leave out."""
    places = f"<p>From {', '.join(map(_foreign, results.places))}.</p>" if results.places else ""
    return f"<p>{' '.join(_sentences(results))}</p>{places}{_problems(results.problems)}"


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
    if missing := len({one.task_name for one in results.results if one.task is None and not one.rules}):
        yield f"Only what was recorded is shown for {count(missing, 'task')}: the task is not available."
    yield from (f"{_text(note)}." for note in results.notes)


def _problems(problems: tuple[Problem, ...]) -> str:
    """Return a collapsible list of the lines that could not be read or scored, or an empty string if there are none."""
    if not problems:
        return ""
    lines = "".join(f"<li>{_foreign(str(problem))}</li>" for problem in problems[:MOST_PROBLEMS])
    rest = len(problems) - MOST_PROBLEMS
    more = f"<p>and {rest:,} more</p>" if rest > 0 else ""
    return (
        f"<details><summary>{count(len(problems), 'line')} could not be read or scored and "
        f"{'is' if len(problems) == 1 else 'are'} in no table</summary><ul>{lines}</ul>{more}</details>"
    )


def _sections(results: Results) -> Iterable[_Section]:
    if not results.results:
        return
    yield _table("agents", "Agents", agents_table(results, _MEANS))
    yield _table("worlds", "Worlds", worlds_table(results, _MEANS))
    if reward := reward_table(results.agreements):
        yield _table("reward", "Reward", reward)
    if rules := rules_table(results):
        yield _table("rules", "Rules", rules)
    heat = heat_map(results)
    if any(cell.value is not None for row in heat.cells for cell in row):
        yield _Section("heat", "Heat map", heat.title, _scrollable(heat.html(), heat.title))
    scatters = [scatter for scatter in (core_versus_bfcl(results), pareto_view(results)) if scatter.points]
    if scatters:
        drawn = f'<div class="figures">{"".join(map(_figure, scatters))}</div>'
        yield _Section("figures", "Figures", "Paths and final states", drawn)
    if faults := faults_table(results):
        yield _table("faults", "Failure modes", faults)
    if harms := harms_table(results):
        yield _table("harms", "Harmful calls", harms)


def _table(id_: str, name: str, table: Table) -> _Section:
    return _Section(id_, name, table.title, _scrollable(table.html(), table.title))


def _scrollable(html: str, label: str) -> str:
    """Wrap a table in a scrollable region called `label`. The table's notes stay below the region."""
    table, end, notes = html.partition("</table>")
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{_text(label)}">{table}{end}</div>{notes}'


def _figure(scatter: Scatter) -> str:
    return (
        f"<figure><figcaption>{_text(scatter.title)}</figcaption>{scatter.svg()}<p>{_text(scatter.note)}</p></figure>"
    )


def _foreign(text: str) -> str:
    """Escape text from agents or files for HTML, and isolate its writing direction from the surrounding text."""
    return f"<bdi>{_text(text)}</bdi>"


def _text(text: str) -> str:
    return escape(visible(text))
