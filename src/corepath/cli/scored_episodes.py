"""Scores episodes one at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from pathlib import Path
from typing import Final

from corepath.cli.progress import Counter, count_lines
from corepath.episode import NO_AGENT_ACTIONS, free_record, trace_of
from corepath.errors import CorepathError, Problem
from corepath.files.lookup import Tasks
from corepath.rules.rule import Rule
from corepath.runs.entries import Entry, read_entries
from corepath.runs.folder import EPISODES
from corepath.scoring.options import Scoring
from corepath.scoring.score import Score, score

_RECORDED: Final = ("reward", NO_AGENT_ACTIONS)
"""Keys in an episode's record that `to_json` repeats."""


@dataclass(frozen=True)
class ScoredEpisode:
    """An episode and its score. Episodes are numbered from 1 across all files."""

    number: int
    entry: Entry
    score: Score

    @property
    def name(self) -> str:
        """The task, the agent, and the epoch if it is not 0, e.g. `farm/water_plant oracle #1`."""
        episode = self.entry.episode
        agent = f" {episode.agent}" if episode.agent else ""
        epoch = f" #{episode.epoch}" if episode.epoch else ""
        return f"{episode.task}{agent}{epoch}"

    @property
    def badness(self) -> tuple[float, int, int]:
        """Sort key that puts the worst episode first: lowest PC, then most harmful calls, then file order."""
        return self.score.pc, -self.score.harm_count, self.number

    def to_json(self) -> str:
        """Return the line that `corepath score --json` prints."""
        episode = self.entry.episode
        place = {"episode": self.number, "file": self.entry.file, "line": self.entry.line}
        variant = {"seed": episode.seed} if episode.seed else {}
        trace = {} if (found := trace_of(episode)) is None else {"trace": found}
        row = {**place, **trace, "task": episode.task, **variant, "agent": episode.agent, "epoch": episode.epoch}
        record = free_record(episode)
        recorded = {name: record[name] for name in _RECORDED if name in record}
        return json.dumps({**row, **self.score.to_dict(), **recorded})


def score_episodes(
    places: Iterable[Path], tasks: Tasks, scoring: Scoring | None, rules: Sequence[Rule] = ()
) -> Iterator[ScoredEpisode | Problem]:
    """Yield every episode with its score, or a problem if the episode cannot be read or scored.

    If `scoring` is None, each episode is scored with the options in its record. A call that breaks one of the `rules`
    is harmful too.
    """
    listed = list(places)
    total = sum(count_lines(place / EPISODES if place.is_dir() else place) for place in listed)
    number = 0
    with Counter("episodes scored", total).show() as progress:
        for line in (line for place in listed for line in read_entries(place, tasks)):
            progress.add()
            if isinstance(line, Problem):
                yield line
                continue
            number += 1
            try:
                found = score(line.task, line.episode, scoring or line.scoring, rules=rules)
                yield ScoredEpisode(number, line, found)
            except CorepathError as error:
                yield line.problem(str(error))


def pick_worst(scored: Iterable[ScoredEpisode], most: int | None) -> Iterable[ScoredEpisode]:
    """Return the `most` worst episodes, starting with the worst. If `most` is None, return `scored` as it is."""
    return scored if most is None else nsmallest(most, scored, key=lambda one: one.badness)
