"""The table that `corepath score` prints: a row per episode, and the means."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from corepath.cli.printing import print_scores, say
from corepath.cli.scored_episodes import ScoredEpisode, pick_worst
from corepath.episode import exclusion, reward_of
from corepath.report.summary_table import NUMBER, note_exclusions, note_undefined
from corepath.report.table import Column, Table
from corepath.scoring.options import PAPER, Scoring
from corepath.scoring.score import Score
from corepath.scoring.summary import BROKEN, REWARD, Summary

_COLUMNS: Final = (
    Column("length", "calls", ".1f"),
    Column("harm_count", "harm", ".1f"),
    Column("pc", "PC", NUMBER),
    Column("pc_ktc", "KTC", NUMBER, rank=1),
    Column("prefix_criticality", "Prefix", NUMBER, rank=1),
    Column("harm_rate", "Rate", NUMBER, rank=2),
    Column("efficiency", "Eff.", NUMBER, rank=1),
    Column("directness", "Direct.", NUMBER, rank=3),
    Column("pc_hlr", "HLR", NUMBER, rank=2),
    Column("state_match", "State", NUMBER),
    Column("response_match", "Resp.", NUMBER, rank=1),
    Column("answer_match", "Ans.", NUMBER),
    Column(BROKEN, "broken", ".1f"),
    Column(REWARD, "reward", NUMBER),
    Column("accepted", "accepted"),
)
_BASELINES: Final = ("state_match", "response_match")
_OPTIONAL: Final = (*_BASELINES, "answer_match", BROKEN, REWARD)
"""Columns that appear only if an episode has a value for them."""
_AVERAGED: Final = tuple(column.key for column in _COLUMNS)
_OWN: Final = tuple(key for key in _AVERAGED if key not in (BROKEN, REWARD))
"""Columns whose values are in every score."""
_SHARES: Final = (*_BASELINES, "answer_match", "accepted")
"""Yes-or-no columns, whose mean is a percentage."""


def print_score_table(scored: Iterable[ScoredEpisode], worst: int | None, *, wide: bool) -> None:
    """Print a row for each episode, the means over all episodes, and notes.

    If `worst` is not None, print only that many of the worst episodes. If `wide` is True, print all columns.
    """
    totals = Totals()
    rows = [_row(one) for one in pick_worst(totals.add_all(scored), worst)]
    if not rows:
        return
    if totals.summary is not None and totals.summary.episodes > 1:
        rows.append(_mean_row(totals.summary))
    print_scores(_make_table(rows, totals.optional), wide=wide)
    for note in totals.notes():
        say(note)


def _make_table(rows: Iterable[tuple[Any, ...]], optional: Container[str]) -> Table:
    """Make a table from rows with cells for all columns. Of the optional columns, keep only those in `optional`."""
    columns = (Column("episode", "episode"), *_COLUMNS)
    shown = [place for place, one in enumerate(columns) if one.key not in _OPTIONAL or one.key in optional]
    cells = tuple(tuple(row[place] for place in shown) for row in rows)
    return Table("", tuple(columns[place] for place in shown), cells)


@dataclass
class Totals:
    """Means and counts over all scored episodes."""

    summaries: dict[Scoring, Summary] = field(default_factory=dict)
    """One summary for each set of scoring options, since scores with different options cannot be averaged."""
    optional: set[str] = field(default_factory=set)
    """The optional columns in which some episode has a value."""
    short_paths: bool = False
    """Whether a perfect path has a lower PC-KTC because it is too short to have an order."""

    def add_all(self, scored: Iterable[ScoredEpisode]) -> Iterator[ScoredEpisode]:
        """Add each episode to the totals, and yield the episode."""
        for one in scored:
            self._add(one)
            yield one

    def _add(self, one: ScoredEpisode) -> None:
        episode, score = one.entry.episode, one.score
        way = score.scoring
        if way not in self.summaries:
            self.summaries[way] = Summary("", way.undefined_efficiency, _AVERAGED)
        values = {key: getattr(score, key) for key in _OWN} | {"harms": (), REWARD: reward_of(episode)}
        if score.verdicts:
            values[BROKEN] = len(score.broken)
        self.summaries[way].add(replace(episode, scores=values))
        self.optional.update(key for key in _OPTIONAL if values.get(key) is not None)
        if self.optional.intersection(_BASELINES):
            self.optional.update(_BASELINES)
        perfect = exclusion(episode) is None and score.pc == 1
        self.short_paths |= perfect and way == PAPER and score.pc_ktc != 1

    @property
    def summary(self) -> Summary | None:
        """The summary of all episodes, or None if they were scored with different options."""
        return next(iter(self.summaries.values())) if len(self.summaries) == 1 else None

    def notes(self) -> Iterator[str]:
        """Yield notes on the table, e.g. how many episodes the means leave out."""
        if self.summary is None:
            profiles = ", ".join(sorted({way.profile for way in self.summaries}))
            yield f"no mean: these were scored in different ways ({profiles}); score them alike with --profile"
        else:
            yield from note_undefined([self.summary])
        yield from note_exclusions(self.summaries.values())
        if self.short_paths:
            yield ("a perfect path of fewer than two steps has PC-KTC 0.750: there is no order to judge, and the "
                   "paper's profile counts that as half; --profile recommended lets PC stand alone")  # fmt: skip


def _row(one: ScoredEpisode) -> tuple[Any, ...]:
    """Return an episode's table row, with cells for all columns."""
    score, reward = one.score, reward_of(one.entry.episode)
    cells = {column.key: getattr(score, column.key, None) for column in _COLUMNS}
    cells |= {
        "length": str(score.length),
        "harm_count": str(score.harm_count),
        "pc_ktc": _ktc(score),
        **{key: _yes_or_no(getattr(score, key)) for key in _SHARES},
        BROKEN: str(len(score.broken)),
        REWARD: None if reward is None else f"{reward:g}",
        "accepted": _yes_or_no(score.accepted),
    }
    return (f"{one.number} {one.name}", *cells.values())


def _mean_row(summary: Summary) -> tuple[Any, ...]:
    """Return the table row with the mean of each column."""
    return (f"mean of {summary.counted:,}", *(_mean(summary, column.key) for column in _COLUMNS))


def _mean(summary: Summary, key: str) -> float | str | None:
    mean = summary.mean(key)
    return f"{100 * mean:.0f} %" if key in _SHARES and mean is not None else mean


def _yes_or_no(match: bool | None) -> str | None:  # noqa: FBT001
    return None if match is None else "yes" if match else "no"


def _ktc(score: Score) -> float | str:
    """Return PC-KTC, or its interval as text if the exact value is unknown."""
    if score.pc_ktc_lower == score.pc_ktc_upper:
        return score.pc_ktc
    return f"{score.pc_ktc_lower:.3f}–{score.pc_ktc_upper:.3f}"
