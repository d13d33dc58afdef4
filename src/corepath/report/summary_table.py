"""Tables of means: one row per summary, with the paper's columns and our own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from corepath.episode import EXCLUSIONS
from corepath.errors import count
from corepath.report.table import Column, Estimate, Muted, Table
from corepath.scoring.summary import BROKEN, REWARD, USAGE, Summary

AGENTS: Final = "Scores by agent"
NUMBER: Final = ".3f"
PERCENT: Final = ".1%"
PAPER_COLUMNS: Final = (
    Column("harmful", "Harmful\n(total)", ",d", "Harm\ntotal"),
    Column("harm_count", "Harmful\n(avg.)", ".2f", "Harm\navg.", 3),
    Column("efficiency", "Eff.\n(avg.)", NUMBER, "Eff.", 1),
    Column("length", "Len\n(avg.)", ".1f", "Len", 3),
    Column("pc", "PC", NUMBER),
    Column("pc_ktc", "PC-KTC", NUMBER, "PC-\nKTC", 1),
    Column("prefix_criticality", "PrefixCrit", NUMBER, "Prefix\nCrit", 1),
    Column("state_match", "BFCL\nState %", PERCENT, "State\n%", 1),
    Column("response_match", "BFCL\nResp. %", PERCENT, "Resp.\n%", 2),
    Column("pc_hlr", "PC+HLR", NUMBER, "PC+\nHLR", 2),
)
"""The columns in the paper's tables, in the paper's order."""
MORE_COLUMNS: Final = (
    Column("episodes", "episodes", ",d", "epi-\nsodes", 4),
    Column("outside", "outside", ",d", "out-\nside", 5),
    Column("unplanted", "unplanted", ",d", "un-\nplanted", 5),
    *PAPER_COLUMNS[:7],
    Column("harm_rate", "HarmRate", NUMBER, "Harm\nRate", 4),
    Column("directness", "Direct.", NUMBER, rank=5),
    *PAPER_COLUMNS[7:],
    Column("accepted", "accepted\n%", PERCENT, rank=4),
    Column("solved", "solved\n%", PERCENT),
)
"""The columns in the paper's tables, and our own."""
PAGE_COLUMNS: Final = (
    Column("solved", "solved\n%", PERCENT),
    Column("harm_effected", "harm took\neffect %", PERCENT),
    *(one for one in MORE_COLUMNS if one.key == "pc"),
    Column("accepted", "accepted\n%", PERCENT),
    *(one for one in MORE_COLUMNS if one.key not in ("solved", "accepted", "pc", "episodes", "outside", "unplanted")),
    *MORE_COLUMNS[:3],
)
"""The columns in the tables of the page: those that matter most come first."""
_COUNTS: Final = ("episodes", "outside", "unplanted", "harmful")


@dataclass(frozen=True)
class Means:
    """Options for a table of means: its columns, whether to show intervals, and weights for a weighted mean.

    There is no weighted mean if `weights` is None.
    """

    columns: tuple[Column, ...] = PAPER_COLUMNS
    intervals: bool = False
    weights: Mapping[str, float] | None = None


PLAIN: Final = Means()


def summary_table(title: str, what: str, rows: Iterable[Summary], means: Means = PLAIN) -> Table:
    """Build a table with one row per summary. `what` names the first column: agent, world or task."""
    summaries = list(rows)
    columns = _columns(what, summaries, means)
    cells = tuple((one.name, *(_cell(one, column.key, means) for column in columns)) for one in summaries)
    return Table(title, (Column(what, what), *columns), cells, tuple(_notes(summaries, means)))


_IF_KNOWN: Final = (Column(REWARD, "reward", NUMBER), Column(BROKEN, "Broken\n(avg.)", ".2f", "Bro-\nken"))
"""Columns that are shown only if an episode has a value."""
_USED: Final = (Column("cost", "cost", ".4f"), Column("tokens", "tokens", ",.0f"), Column("seconds", "seconds", ",.1f"))
"""Columns of the page for what the episodes used, which are shown only if the source recorded it."""
assert tuple(column.key for column in _USED) == USAGE


def _columns(what: str, rows: Sequence[Summary], means: Means) -> list[Column]:
    """Choose the columns to show.

    Columns that count episodes left out of the means are shown only if a count is not 0, and what the source recorded
    only if an episode has it.
    """
    columns = [column for column in means.columns if not _is_empty(column.key, rows)]
    known = (*_IF_KNOWN, *_USED) if means.columns is PAGE_COLUMNS else _IF_KNOWN
    columns += [column for column in known if _is_known(column.key, rows)]
    if what == "agent" and means.columns in (MORE_COLUMNS, PAGE_COLUMNS):  # other rows mix the rollouts of agents
        columns += [Column(f"pass^{k}", f"pass^{k}", NUMBER, rank=4) for k in _repeats(rows)]
    if means.weights is not None:
        columns.append(Column("weighted", "weighted", NUMBER))
    return columns


def _is_empty(key: str, rows: Sequence[Summary]) -> bool:
    return key in ("outside", "unplanted") and not any(getattr(one, key) for one in rows)


def _is_known(key: str, rows: Sequence[Summary]) -> bool:
    return any(one.values(key) for one in rows)


def _repeats(rows: Sequence[Summary]) -> list[int]:
    """Return the values of k for the pass^k columns: 2, 4, 8, …, up to the most times that any task was played."""
    most = max((one.most_repeats for one in rows), default=0)
    return [2**power for power in range(1, most.bit_length()) if 2**power <= most]


def _cell(one: Summary, key: str, means: Means) -> float | Estimate | Muted | None:
    """Return a summary's value for a column, or None if the value is undefined.

    On the page, the efficiency of those who finished nothing is muted, since it looks at the number of calls alone.
    """
    if key in _COUNTS:
        count: int = getattr(one, key)
        return count
    if key == "weighted":
        return one.weighted_mean(means.weights or {})
    if key.startswith("pass^"):
        return one.pass_hat(int(key.removeprefix("pass^")))
    if means.columns is PAGE_COLUMNS and key == "efficiency" and _finished_nothing(one):
        return Muted(one.mean(key) or 0.0)
    mean, interval = one.mean(key), one.interval(key) if means.intervals else None
    return mean if mean is None or interval is None else Estimate(mean, *interval)


def _finished_nothing(one: Summary) -> bool:
    return one.mean("accepted") == 0 and one.mean("efficiency") is not None


def _notes(rows: Sequence[Summary], means: Means) -> Iterator[str]:
    """Yield the notes below a table: how the means are computed, and what they leave out."""
    if means.columns is PAGE_COLUMNS and any(map(_finished_nothing, rows)):
        yield "Eff. is shown as – where no task was finished: it looks at the number of calls alone"
    yield from note_undefined(rows)
    yield from note_exclusions(rows)
    if means.weights is not None:
        weights = ", ".join(f"{name} {weight:g}" for name, weight in means.weights.items())
        yield f"weighted: a mean with the weights {weights}"
    if means.intervals:
        yield "in brackets: 95 % bootstrap intervals that draw tasks anew, from a fixed seed"


def note_undefined(rows: Sequence[Summary]) -> Iterator[str]:
    """Yield a note about episodes with undefined efficiency, if there are any."""
    if undefined := sum(one.undefined for one in rows):
        counted = sum(one.counted for one in rows)
        rule = "counted as 0" if rows[0].undefined_efficiency == "zero" else "left out"
        yield f"efficiency undefined in {undefined:,} of {count(counted, 'episode')} ({rule} in the mean)"


def note_exclusions(rows: Iterable[Summary]) -> Iterator[str]:
    """Yield one note per reason for leaving episodes out of the means, with the number of episodes."""
    summaries = list(rows)
    for name, reason in EXCLUSIONS.items():
        if episodes := sum(getattr(one, name) for one in summaries):
            yield f"{count(episodes, 'episode')} left out of the means: {reason}"
