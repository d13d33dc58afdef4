"""What to fix, as tables and as a section of the page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import log
from typing import Final
from urllib.parse import urlencode

from corepath.errors import count
from corepath.report.fixes import Cluster, Fixes, HarmCount
from corepath.report.table import Column, Table
from corepath.values import visible

MOST_CAUSES: Final = 8
MOST_TOOLS: Final = 16
"""The most rows of the two tables on the page. Further rows are folded."""
MOST_FOLDED: Final = 50
"""The most folded rows of a table on the page. Further rows are only counted."""
LONGEST_NAME: Final = 60
LONGEST_WORDS: Final = 400
_REST: Final = "<code>corepath fix --json</code> has all of them"
_REFUSED: Final = "each kind: calls that took effect + calls that were refused"


def fixes_table(fixes: Fixes) -> Table | None:
    """Build a table of what to fix, with one row per cause, or return None if no episode failed."""
    if not fixes.failed:
        return None
    columns = (
        Column("cause", "cause"), Column("tool", "tool"), Column("argument", "argument"), Column("rule", "rule"),
        Column("episodes", "episodes", ",d"), Column("share", "share %", ".1%"),
        Column("effected", "took\neffect", ",d"), Column("tasks", "tasks", ",d"), Column("agents", "agents", ",d"),
        Column("example", "for example"), Column("fix", "fix"), Column("place", "place"),
        Column("episode", "episode", "d"),
    )  # fmt: skip
    rows = [_row(one, fixes.failed) for one in fixes.clusters]
    unused = {place for place in (1, 2, 3) if all(row[place] is None for row in rows)}
    kept = [place for place in range(len(columns)) if place not in unused]
    return Table(
        f"What to fix: {fixes.failed:,} of {count(fixes.episodes, 'episode')} failed",
        tuple(columns[place] for place in kept),
        tuple(tuple(row[place] for place in kept) for row in rows),
        tuple(fixes.notes()),
    )


def _row(one: Cluster, failed: int) -> tuple[object, ...]:
    example = one.example
    return (
        *one.key, len(one), len(one) / failed, one.effected, len(one.tasks), len(one.agents), example.headline,
        " ".join(example.fix) or None, example.name.place, example.name.number,
    )  # fmt: skip


def tools_table(fixes: Fixes) -> Table | None:
    """Build a table of harmful calls with one row per tool, or return None if there are no harmful calls.

    Each cell counts the calls that took effect and the calls that were refused, e.g. `3 + 1`.
    """
    if not fixes.harms:
        return None
    columns = (
        Column("tool", "tool"), Column("harmful", "harmful", ",d"), Column("effected", "took\neffect", ",d"),
        *(Column(kind, kind.replace("_", "\n", 1).replace("_", " "), ",d") for kind in fixes.kinds),
    )  # fmt: skip
    rows = []
    for tool in fixes.tools:
        counted = [fixes.count_harms(tool, kind) for kind in fixes.kinds]
        cells = [f"{one.effected:,} + {one.refused:,}" if one.total else None for one in counted]
        rows.append((tool, sum(one.total for one in counted), sum(one.effected for one in counted), *cells))
    return Table("Harmful calls by tool", columns, tuple(rows), (_REFUSED,))


# The section of the page


def fix_html(fixes: Fixes) -> str:
    """Return the page's section on what to fix: the causes, the largest first, and harmful calls by tool and kind."""
    notes = "".join(f'<p class="note">{_text(note)}</p>' for note in fixes.notes())
    if not fixes.failed:
        said = "There is no episode that counts." if not fixes.episodes else _none_failed(fixes.episodes)
        return f"<p>{said}</p>{notes}"
    parts = [_causes_html(fixes), *([_matrix_html(fixes)] if fixes.harms else [])]
    return f'{_summary_html(fixes)}<div class="causes">{"".join(parts)}</div>{notes}'


def _none_failed(episodes: int) -> str:
    return "The one episode did not fail." if episodes == 1 else f"None of the {episodes:,} episodes failed."


def _summary_html(fixes: Fixes) -> str:
    """Say how many episodes failed, with a link to the episodes of each kind of cause."""
    kinds = ", ".join(f"{_link({'fault': kind}, kind)} {number:,}" for kind, number in fixes.causes.items())
    return f"<p>{fixes.failed:,} of {count(fixes.episodes, 'episode')} failed. By kind of cause: {kinds}.</p>"


def _causes_html(fixes: Fixes) -> str:
    titles = {"cause": "Cause", "episodes": "Episodes", "example": "For example, and what fixes it"}
    clusters = fixes.clusters
    rows = [_cause_row(one, len(clusters[0])) for one in clusters]
    more = f"{count(len(rows) - MOST_CAUSES, 'more cause')} ({count(sum(map(len, clusters[MOST_CAUSES:])), 'episode')})"
    return _folded("fixes", "Failed episodes by cause", titles, rows, MOST_CAUSES, more)


def _cause_row(one: Cluster, most: int) -> str:
    href, example = _href({"cause": str(one)}), one.example
    about = f" <code><bdi>{_breakable(_name(one.key.about))}</bdi></code>{one.key.after}" if one.key.about else ""
    fix = f'<p class="cure"><b>Fix:</b> <bdi>{_words(" ".join(example.fix))}</bdi></p>' if example.fix else ""
    title = f"All {len(one):,} episodes" if len(one) > 1 else "The episode"
    touched = [count(len(one.tasks), "task")] if one.tasks else []
    touched += [f"{one.effected:,} took effect"] if one.effected else []
    return (
        f'<tr><th scope="row"><a href="{href}" title="{title}">{_text(one.key.kind)}{about}</a></th>'
        f'<td class="number" data-value="{len(one)}">{len(one):,}{_bar(len(one), most)}'
        f"<small>{', '.join(touched)}</small></td>"
        f'<td class="words"><a class="example" data-cause="{_text(str(one))}" href="{href}">'
        f"<bdi>{_words(example.headline)}</bdi></a>{fix}</td></tr>"
    )


def _bar(number: int, most: int) -> str:
    """Draw a bar. It is SVG because the page's policy allows no style attributes."""
    width = round(100 * number / most, 1)
    return (
        '<svg class="amount" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect width="{width}" height="10"/></svg>'
    )


def _matrix_html(fixes: Fixes) -> str:
    kinds = fixes.kinds
    counted = {tool: [fixes.count_harms(tool, kind) for kind in kinds] for tool in fixes.tools}
    most = max(one.effected for row in counted.values() for one in row)
    rows = [
        f'<tr><th scope="row">{_link({"tool": tool}, tool)}</th>'
        f"{''.join(_harm_cell(tool, kind, one, most) for kind, one in zip(kinds, row, strict=True))}</tr>"
        for tool, row in counted.items()
    ]
    titles = {"tool": "Tool", **{kind: kind.replace("_", " ") for kind in kinds}}
    more = count(len(rows) - MOST_TOOLS, "more tool")
    label = "Harmful calls by tool and kind: took effect / refused"
    return _folded("heat harmful-tools", label, titles, rows, MOST_TOOLS, more)


def _harm_cell(tool: str, kind: str, one: HarmCount, most: int) -> str:
    """Return a cell with two links: to the calls that took effect, and to those that were refused."""
    if not one.total:
        return '<td class="number" data-value="0"><span class="note">–</span></td>'
    level = min(9, 1 + int(8 * log(1 + one.effected) / log(1 + most))) if one.effected else 0
    parts = []
    for effect, number, words in (("yes", one.effected, "took effect"), ("no", one.refused, "refused")):
        label = f"{number:,} {words}: {visible(_short(tool))}, {kind.replace('_', ' ')}"
        wanted = {"tool": tool, "harm": kind, "effect": effect}
        parts.append(_link(wanted, f"{number:,}", label) if number else "0")
    saved = f'data-value="{one.effected}" data-saved="{one.effected} / {one.refused}"'
    return f'<td class="number heat{level}" {saved}>{" / ".join(parts)}</td>'


def _folded(name: str, label: str, titles: Mapping[str, str], rows: Sequence[str], shown: int, more: str) -> str:
    """Return a table with a heading. Rows after the first few are in a second table, which is folded."""
    first = f"<h3>{_text(label)}</h3>{_table(name, label, titles, rows[:shown], saved=True)}"
    rest = rows[shown : shown + MOST_FOLDED]
    if not rest:
        return f"<div>{first}</div>"
    left = len(rows) - shown - len(rest)
    note = f'<p class="note">and {left:,} more; {_REST}</p>' if left else ""
    folded = f"<details><summary>{more}</summary>{_table(name, f'{label}, continued', titles, rest)}{note}</details>"
    return f"<div>{first}{folded}</div>"


def _table(name: str, label: str, titles: Mapping[str, str], rows: Iterable[str], *, saved: bool = False) -> str:
    """Return a table in a region that scrolls. If it is `saved`, it has a name in links and in files."""
    number = ' class="number"'
    named = f' data-name="{name.rsplit(maxsplit=1)[-1]}"' if saved else ""
    head = "".join(
        f'<th scope="col" data-key="{key}"{"" if key in ("cause", "tool", "example") else number}>{_text(title)}</th>'
        for key, title in titles.items()
    )
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{_text(label)}"{named}><table class="{name}">'
        f"<caption>{_text(label)}</caption><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


def _href(wanted: Mapping[str, str]) -> str:
    """Return the address of the list of episodes with these filters."""
    return escape(f"#/?{urlencode({key: visible(value) for key, value in wanted.items()})}")


def _link(wanted: Mapping[str, str], text: str, label: str | None = None) -> str:
    named = "" if label is None else f' aria-label="{escape(label)}"'
    return f'<a href="{_href(wanted)}"{named}><bdi>{_name(text)}</bdi></a>'


def _short(text: str, most: int = LONGEST_NAME) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _name(text: str) -> str:
    return _text(_short(text))


def _words(text: str) -> str:
    return _breakable(_text(_short(text, LONGEST_WORDS)))


def _breakable(html: str) -> str:
    """Let lines break after underscores, since the names of tools are long."""
    return html.replace("_", "_<wbr>")


def _text(text: str) -> str:
    return escape(visible(text))
