"""The command that explains episodes: explain."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import nsmallest
from pathlib import Path
from typing import Annotated, Final

import typer

from corepath.cli.explanation_text import print_explanation
from corepath.cli.options import (
    EpisodesArgument,
    JsonOption,
    RulesOption,
    TasksOption,
    WorstOption,
    find_rules,
    find_tasks,
)
from corepath.cli.printing import fail, print_problems, print_text, say, usage_error
from corepath.cli.progress import Counter
from corepath.errors import CorepathError, MissingExtraError, Problem, nearest
from corepath.explanation import Explanation, explain, explain_rules
from corepath.files.lookup import Tasks
from corepath.report.scores_file import is_scores, read_scored
from corepath.rules.rule import Rule
from corepath.runs.entries import Entry, read_entries
from corepath.scoring.rules import RuleScore, score_rules
from corepath.scoring.score import Score, score

MOST_PRINTED: Final = 20
"""Maximum number of episodes to explain if the user chose none."""

_Numbered = tuple[int, Entry]
_Badness = tuple[float, int, int, int]


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the app."""
    app.command("explain")(explain_command)


def explain_command(
    episodes: EpisodesArgument,
    tasks: TasksOption = None,
    rules: RulesOption = None,
    numbers: Annotated[
        list[int] | None,
        typer.Option("--episode", min=1, metavar="N", help="Only the episode with this number; may be repeated."),
    ] = None,
    worst: WorstOption = None,
    agent: Annotated[str | None, typer.Option(help="Only episodes of this agent.")] = None,
    task: Annotated[str | None, typer.Option(help="Only episodes of this task.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Explain the scores of episodes: the cause, every call, and what would have been right."""
    chooser = _Chooser(agent, task, frozenset(numbers or ()), find_rules(rules))
    known = find_tasks(tasks)
    chosen = chooser.choose(line for place in episodes for line in _read(place, known))
    if worst is not None:
        chosen = chooser.find_worst(chosen, worst)
    most = None if as_json or worst is not None or numbers else MOST_PRINTED
    found = 0
    for number, entry in chosen:
        if most is None or found < most:
            chooser.problems += not _print_explanation(number, entry, chooser.rules, as_json=as_json)
        found += 1
    chooser.finish(found, most)


def _read(place: Path, tasks: Tasks) -> Iterator[Entry | Problem]:
    """Yield the episodes of a run folder, an episode file or a file of scores."""
    if not is_scores(place):
        yield from read_entries(place, tasks)
        return
    try:
        yield from read_scored(place, tasks)
    except MissingExtraError:
        raise
    except CorepathError as error:
        fail(str(error))


@dataclass
class _Chooser:
    """Chooses the episodes that match the user's options, and counts all episodes and problems."""

    agent: str | None
    task: str | None
    numbers: frozenset[int]
    rules: tuple[Rule, ...] = ()
    seen: int = 0
    problems: int = 0
    agents: set[str] = field(default_factory=set)
    tasks: set[str] = field(default_factory=set)

    def choose(self, lines: Iterable[Entry | Problem]) -> Iterator[_Numbered]:
        """Yield the number and entry of each episode that matches the options, and print the problems."""
        for line in lines:
            if isinstance(line, Problem):
                self._add_problem(line)
                continue
            self.seen += 1
            episode = line.episode
            self.agents.add(episode.agent or "")
            self.tasks.add(episode.task)
            fits = self.agent in (None, episode.agent) and self.task in (None, episode.task)
            if fits and (not self.numbers or self.seen in self.numbers):
                yield self.seen, line
            if self.numbers and self.seen >= max(self.numbers):
                return

    def find_worst(self, chosen: Iterable[_Numbered], most: int) -> Iterator[_Numbered]:
        """Return the `most` worst of the chosen episodes, starting with the worst."""
        return (one for _, one in nsmallest(most, self._score(chosen), key=lambda pair: pair[0]))

    def _score(self, chosen: Iterable[_Numbered]) -> Iterator[tuple[_Badness, _Numbered]]:
        with Counter("episodes scored").show() as progress:
            for number, entry in chosen:
                progress.add()
                try:
                    yield _badness(number, _score(entry, self.rules)), (number, entry)
                except CorepathError as error:
                    self._add_problem(entry.problem(str(error)))

    def _add_problem(self, problem: Problem) -> None:
        self.problems += 1
        print_problems([problem])

    def finish(self, found: int, most: int | None) -> None:
        """Print how many episodes were left out because of `most`. Exit with code 1 if there were problems."""
        self._check_found(found)
        if most is not None and found > most:
            say(f"{found - most:,} more; choose with --worst N, --episode N, --agent or --task; --json gives all")
        if self.problems:
            raise typer.Exit(1)

    def _check_found(self, found: int) -> None:
        """Exit with code 2 if no episode matches the options."""
        if self.numbers and max(self.numbers) > self.seen:
            usage_error(f"no episode {max(self.numbers)}: there {'is 1' if self.seen == 1 else f'are {self.seen:,}'}")
        if found or not self.seen:
            return
        if self.agent is not None and self.agent not in self.agents:
            usage_error(f"no episode of agent '{self.agent}'{nearest(self.agent, self.agents)}")
        if self.task is not None and self.task not in self.tasks:
            usage_error(f"no episode of task '{self.task}'{nearest(self.task, self.tasks)}")
        usage_error("no episode matches all of these options")


def _score(entry: Entry, rules: tuple[Rule, ...]) -> Score | RuleScore:
    """Score an episode on its task, with rules beside it, or by the rules alone if it has no task.

    Without `rules`, these are the rules by which the episode was scored.
    """
    rules = rules or entry.rules
    if entry.lost is not None:
        raise CorepathError(entry.lost)
    try:
        task = entry.task
    except CorepathError:
        if not rules:
            raise
        return score_rules(rules, entry.episode, entry.scoring)
    return score(task, entry.episode, entry.scoring, rules=rules)


def _badness(number: int, scored: Score | RuleScore) -> _Badness:
    """Sort key that puts the worst episode first: lowest PC, most harmful calls, most broken rules, then file order."""
    pc = scored.pc if isinstance(scored, Score) else 1.0
    return pc, -scored.harm_count, -len(scored.broken), number


def _explain(entry: Entry, rules: tuple[Rule, ...]) -> Explanation:
    scored = _score(entry, rules)
    if isinstance(scored, RuleScore):
        return explain_rules(scored)
    return explain(entry.task, entry.episode, scored=scored)


def _print_explanation(number: int, entry: Entry, rules: tuple[Rule, ...], *, as_json: bool) -> bool:
    """Print an episode's explanation. Return False if the episode cannot be explained."""
    episode = entry.episode
    try:
        found = _explain(entry, rules)
    except CorepathError as error:
        print_problems([entry.problem(str(error))])
        return False
    if as_json:
        place = {"episode": number, "file": entry.file, "line": entry.line}
        named = {**place, "task": episode.task, "agent": episode.agent, "epoch": episode.epoch}
        typer.echo(json.dumps({**named, **found.to_dict()}))
    else:
        epoch = f"epoch {episode.epoch}" if episode.epoch else None
        name = ", ".join(part[:120] for part in (episode.task, episode.agent, epoch) if part) or "?"
        print_text(f"episode {number}: {name}")
        print_explanation(found)
        typer.echo()
    return True
