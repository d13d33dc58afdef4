"""Tables of means: a row a summary, with the paper's columns and ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from corepath.errors import count
from corepath.report.table import Column, Estimate, Table
from corepath.scoring.summary import Summary

AGENTS: Final = "Scores by agent"
NUMBER: Final = ".3f"
PERCENT: Final = ".1%"
PAPER_COLUMNS: Final = (
    Column("harmful", "Harmful\n(total)", ",d"),
    Column("harm_count", "Harmful\n(avg.)", ".2f"),
    Column("efficiency", "Eff.\n(avg.)", NUMBER),
    Column("length", "Len\n(avg.)", ".1f"),
    Column("pc", "PC", NUMBER),
    Column("pc_ktc", "PC-KTC", NUMBER),
    Column("prefix_criticality", "PrefixCrit", NUMBER),
    Column("state_match", "BFCL\nState %", PERCENT),
    Column("response_match", "BFCL\nResp. %", PERCENT),
    Column("pc_hlr", "PC+HLR", NUMBER),
)
"""The columns of the paper's tables, in its order."""
MORE_COLUMNS: Final = (
    Column("episodes", "episodes", ",d"),
    Column("outside", "outside", ",d"),
    Column("unplanted", "unplanted", ",d"),
    *PAPER_COLUMNS[:7],
    Column("harm_rate", "HarmRate", NUMBER),
    Column("directness", "Direct.", NUMBER),
    *PAPER_COLUMNS[7:],
    Column("accepted", "accepted\n%", PERCENT),
    Column("solved", "solved\n%", PERCENT),
)
"""Those, and ours."""
_COUNTS: Final = ("episodes", "outside", "unplanted", "harmful")


@dataclass(frozen=True)
class Means:
    """Which means a table shows: of which columns, with intervals or not, and with a weighted one where asked for."""

    columns: tuple[Column, ...] = PAPER_COLUMNS
    intervals: bool = False
    weights: Mapping[str, float] | None = None


PLAIN: Final = Means()


def summary_table(title: str, what: str, rows: Iterable[Summary], means: Means = PLAIN) -> Table:
    """A row a summary. Columns of what was left out stand there only where something was."""
    listed = list(rows)
    empty = [name for name in ("outside", "unplanted") if not any(getattr(one, name) for one in listed)]
    shown = [column for column in means.columns if column.key not in empty]
    if means.columns is MORE_COLUMNS and what == "agent":  # other rows hold the rollouts of several agents
        shown += [Column(f"pass^{k}", f"pass^{k}", NUMBER) for k in _repeats(listed)]
    notes = [*_notes(listed)]
    if means.weights is not None:
        shown.append(Column("weighted", "weighted", NUMBER))
        said = ", ".join(f"{name} {weight:g}" for name, weight in means.weights.items())
        notes.append(f"weighted: a mean with the weights {said}")
    if means.intervals:
        notes.append("in brackets: 95 % bootstrap intervals that draw tasks anew, from a fixed seed")
    cells = tuple((one.name, *(_of(one, column.key, means) for column in shown)) for one in listed)
    return Table(title, (Column(what, what), *shown), cells, tuple(notes))


def _repeats(rows: Sequence[Summary]) -> list[int]:
    """The k of pass^k: 2, 4, 8 … as far as some task was played so often."""
    most = max((one.most_repeats for one in rows), default=0)
    return [2**power for power in range(1, most.bit_length()) if 2**power <= most]


def _of(one: Summary, key: str, means: Means) -> float | Estimate | None:
    if key in _COUNTS:
        count: int = getattr(one, key)
        return count
    if key == "weighted":
        return one.weighted_mean(means.weights or {})
    if key.startswith("pass^"):
        return one.pass_hat(int(key.removeprefix("pass^")))
    mean, interval = one.mean(key), one.interval(key) if means.intervals else None
    return mean if mean is None or interval is None else Estimate(mean, *interval)


def _notes(rows: Sequence[Summary]) -> Iterable[str]:
    """What the means leave out, or count in a way that must be said."""
    yield from note_undefined(rows)
    if outside := sum(one.outside for one in rows):
        yield f"{count(outside, 'episode')} failed outside the agent: in no mean"
    if unplanted := sum(one.unplanted for one in rows):
        yield f"in {count(unplanted, 'episode')} an agent's fault had no place: in no mean"
    if unasked := sum(one.unasked for one in rows):
        yield f"in {count(unasked, 'episode')} nothing was asked of the agent: in no mean"


def note_undefined(rows: Sequence[Summary]) -> Iterator[str]:
    """A note on episodes without a defined efficiency, if there are any."""
    counted = sum(one.counted for one in rows)
    if undefined := sum(one.undefined for one in rows):
        rule = "counted as 0" if rows[0].undefined_efficiency == "zero" else "left out"
        yield f"efficiency undefined in {undefined:,} of {count(counted, 'episode')} ({rule} in the mean)"
