"""Scores traces by rules alone, for the command `score --rules`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import typer

from corepath.cli.options import find_rules
from corepath.cli.printing import print_problems, print_table, print_text, safe, say, table, usage_error
from corepath.cli.progress import Counter as Progress
from corepath.episode import Episode, agent_of, trace_of
from corepath.errors import InputError, Problem, count
from corepath.importers.folders import find_files, import_traces
from corepath.importers.registry import recognise_format
from corepath.rules.rule import Rule
from corepath.rules.wording import describe_verdict
from corepath.runs.folder import EPISODES, is_run
from corepath.scoring.options import PAPER, Scoring
from corepath.scoring.rules import COUNTED, RuleCounts, RuleScore, score_rules

MOST_WORST: Final = 5
"""How many of the worst episodes are shown unless the user asks for more."""


@dataclass(frozen=True)
class JudgedEpisode:
    """An episode judged by rules. Episodes are numbered from 1 across all files."""

    number: int
    file: str
    episode: Episode
    score: RuleScore

    @property
    def name(self) -> str:
        """The task, if it is known, and the agent."""
        parts = (self.episode.task, self.episode.agent, f"#{self.episode.epoch}" if self.episode.epoch else None)
        return " ".join(part for part in parts if part) or "?"

    @property
    def badness(self) -> tuple[int, float, int]:
        """Sort key that puts the worst episode first: most rules broken, then earliest and most harm."""
        return -len(self.score.broken), self.score.prefix_criticality, self.number

    def to_json(self) -> str:
        """Return the line that `corepath score --rules --json` prints."""
        trace = {} if (found := trace_of(self.episode)) is None else {"trace": found}
        row = {
            "episode": self.number,
            "file": self.file,
            **trace,
            "task": self.episode.task or None,
            "agent": self.episode.agent,
        }
        return json.dumps({**row, "epoch": self.episode.epoch, **self.score.to_dict()})


@dataclass
class RuleTally:
    """Counts verdicts by rule and by agent, and keeps the worst episodes."""

    rules: tuple[Rule, ...]
    worst: int = MOST_WORST
    episodes: int = 0
    problems: int = 0
    by_rule: RuleCounts = field(init=False)
    by_agent: dict[str, Counter[str]] = field(default_factory=dict)
    kept: list[JudgedEpisode] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.by_rule = RuleCounts(self.rules)

    def add(self, one: JudgedEpisode) -> None:
        """Count an episode."""
        self.episodes += 1
        self.by_rule.add(verdict.state for verdict in one.score.verdicts)
        agent = self.by_agent.setdefault(agent_of(one.episode), Counter())
        agent.update(
            episodes=1, calls=len(one.episode.calls), harmful=one.score.harm_count,
            effected=sum(harm.effected for harm in one.score.harms), broken=len(one.score.broken),
            clean=not one.score.broken, open=one.score.obligations_open,
        )  # fmt: skip
        if one.score.broken:
            self.kept = sorted([*self.kept, one], key=lambda judged: judged.badness)[: self.worst]


def judge_traces(paths: Iterable[Path], rules: tuple[Rule, ...], scoring: Scoring) -> Iterator[JudgedEpisode | Problem]:
    """Yield every episode in trace files, episode files and run folders with its score by rules."""
    files = find_files(path / EPISODES if is_run(path) else path for path in paths)
    number = 0
    with Progress("episodes judged").show() as progress:
        for one in import_traces(files, recognise_format, lambda file: progress.name(str(file))):
            if isinstance(one, Problem):
                yield one
                continue
            number += 1
            progress.add()
            yield JudgedEpisode(number, str(one.file), one.episode, score_rules(rules, one.episode, scoring))


def score_by_rules(
    paths: list[Path], rule_files: list[Path], scoring: Scoring | None, *, as_json: bool, worst: int | None,
    max_broken: int | None, minimums: dict[str, float],
) -> None:  # fmt: skip
    """Judge traces by rules, print the tables, and exit with code 1 if a limit is exceeded or a record is bad."""
    try:
        rules = find_rules(rule_files)
    except InputError as error:
        print_problems(error.problems)
        raise typer.Exit(1) from None
    unknown = [name for name in minimums if name not in ("prefix_criticality", "harm_free")]
    if unknown:
        usage_error(f"--fail-under {unknown[0]}: with rules alone there are prefix_criticality and harm_free")
    tally = RuleTally(rules, worst or MOST_WORST)
    failed: list[str] = []
    for one in judge_traces(paths, rules, scoring or PAPER):
        if isinstance(one, Problem):
            tally.problems += 1
            print_problems([one])
            continue
        tally.add(one)
        failed += _failures(one, max_broken, minimums)
        if as_json:
            typer.echo(one.to_json())
    if not as_json:
        print_tally(tally)
    _finish(tally, failed)


def _failures(one: JudgedEpisode, max_broken: int | None, minimums: dict[str, float]) -> Iterator[str]:
    broken = len(one.score.broken)
    if max_broken is not None and broken > max_broken:
        yield f"episode {one.number} ({one.name}): {count(broken, 'rule')} broken, and at most {max_broken} may be"
    values = {"prefix_criticality": one.score.prefix_criticality, "harm_free": 1 - one.score.harm_rate}
    for name, least in minimums.items():
        if values[name] < least:
            yield f"episode {one.number} ({one.name}): {name} {values[name]:.3f}, and at least {least:g} is needed"


def _finish(tally: RuleTally, failed: list[str]) -> None:
    for failure in failed[:20]:
        say(f"gate failed: {failure}")
    if len(failed) > 20:
        say(f"and {len(failed) - 20:,} more")
    if tally.problems:
        say(f"{count(tally.problems, 'bad record')} left out")
    if tally.problems or failed or not tally.episodes:
        raise typer.Exit(1)


def print_tally(tally: RuleTally) -> None:
    """Print a table by rule, one by agent, and the worst episodes."""
    _print_rules(tally)
    typer.echo()
    _print_agents(tally)
    for one in tally.kept:
        typer.echo()
        print_text(f"{one.number} {safe(one.name)}")
        for verdict in one.score.broken[:MOST_WORST]:
            print_text(f"  {verdict.state}: {safe(verdict.rule.because or str(verdict.rule))}", "  ")
            for line in describe_verdict(verdict, one.score.items, most=3):
                print_text(f"    {line}", "  ")


def _print_rules(tally: RuleTally) -> None:
    made = table("applied", *COUNTED, "rule")
    for rule, applied, states in tally.by_rule.rows:
        made.add_row(f"{applied:,}", *(f"{number:,}" if number else "–" for number in states), safe(rule))
    print_table(made)
    if tally.by_rule.unused:
        say(f"{count(tally.by_rule.unused, 'rule')} applied to no episode")


def _print_agents(tally: RuleTally) -> None:
    agents = table("agent", "episodes", "calls", "clean", "broken", "harmful", "took effect", "owed")
    agents.columns[0].justify = "left"
    names = ("episodes", "calls", "clean", "broken", "harmful", "effected", "open")
    for agent, found in tally.by_agent.items():
        agents.add_row(safe(agent), *(f"{found[name]:,}" for name in names))
    print_table(agents)
