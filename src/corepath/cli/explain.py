"""The command that explains episodes: explain."""

from __future__ import annotations

import json
from collections.abc import Iterator
from heapq import nsmallest
from typing import Annotated, Final

import typer

from corepath.cli.options import EpisodesArgument, JsonOption, TasksOption, find_tasks
from corepath.cli.printing import report, say, wrong_use
from corepath.cli.progress import Count
from corepath.cli.score import badness
from corepath.errors import CorepathError, Problem, nearest
from corepath.explanation import explain
from corepath.runs.entries import Entry, read_entries
from corepath.scoring.score import score
from corepath.values import visible

MOST_PRINTED: Final = 20
"""Episodes that are explained where none is named."""

_Numbered = tuple[int, Entry]


def add_commands(app: typer.Typer) -> None:
    """Give the command line the commands of this file."""
    app.command("explain")(explain_command)


def explain_command(
    episodes: EpisodesArgument,
    tasks: TasksOption = None,
    numbers: Annotated[
        list[int] | None,
        typer.Option("--episode", min=1, metavar="N", help="Only the episode of this number, from 1; may be repeated."),
    ] = None,
    worst: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the N worst: lowest PC, then most harm.")
    ] = None,
    agent: Annotated[str | None, typer.Option(help="Only episodes of this agent.")] = None,
    task: Annotated[str | None, typer.Option(help="Only episodes of this task.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Say why episodes score as they do: the cause, each call, and what would have been right."""
    reader = _Reader(agent, task, frozenset(numbers or ()))
    known = find_tasks(tasks)
    chosen = reader.choose(line for place in episodes for line in read_entries(place, known))
    if worst is not None:
        chosen = iter(reader.find_worst(chosen, worst))
    told = 0
    for number, entry in chosen:
        if as_json or worst is not None or numbers or told < MOST_PRINTED:
            reader.problems += not _print(number, entry, as_json=as_json)
        told += 1
    reader.check_found(told)
    if not (as_json or worst or numbers) and told > MOST_PRINTED:
        say(f"{told - MOST_PRINTED:,} more; choose with --worst N, --episode N, --agent or --task; --json gives all")
    if reader.problems:
        raise typer.Exit(1)


class _Reader:
    """The episodes that a user asks for, and what was met on the way."""

    def __init__(self, agent: str | None, task: str | None, numbers: frozenset[int]) -> None:
        self.agent, self.task, self.numbers = agent, task, numbers
        self.seen = self.problems = 0
        self.agents: set[str] = set()
        self.tasks: set[str] = set()

    def choose(self, lines: Iterator[Entry | Problem]) -> Iterator[_Numbered]:
        """Those of the agent, the task and the numbers that were named."""
        for line in lines:
            if isinstance(line, Problem):
                self.problems += 1
                report([line])
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

    def find_worst(self, chosen: Iterator[_Numbered], most: int) -> list[_Numbered]:
        """The worst of them, the very worst first."""
        with Count("episodes scored").shown() as progress:
            rated = []
            for number, entry in chosen:
                progress.add()
                try:
                    rated.append((badness(number, score(entry.task, entry.episode, entry.scoring)), number, entry))
                except CorepathError as error:
                    self.problems += 1
                    report([entry.problem(str(error))])
                rated = nsmallest(most, rated, key=lambda one: one[0])
        return [(number, entry) for _, number, entry in rated]

    def check_found(self, told: int) -> None:
        """End the command where nothing is what was asked for."""
        if self.numbers and max(self.numbers) > self.seen:
            wrong_use(f"no episode {max(self.numbers)}: there {'is 1' if self.seen == 1 else f'are {self.seen:,}'}")
        if told or not self.seen:
            return
        if self.agent is not None and self.agent not in self.agents:
            wrong_use(f"no episode of agent '{self.agent}'{nearest(self.agent, self.agents)}")
        if self.task is not None and self.task not in self.tasks:
            wrong_use(f"no episode of task '{self.task}'{nearest(self.task, self.tasks)}")
        wrong_use("no episode is of all that was named")


def _print(number: int, entry: Entry, *, as_json: bool) -> bool:
    """Explain an episode; whether that could be done."""
    episode = entry.episode
    try:
        found = explain(entry.task, episode, entry.scoring)
    except CorepathError as error:
        report([entry.problem(str(error))])
        return False
    if as_json:
        place = {"episode": number, "file": entry.file, "line": entry.line}
        named = {**place, "task": episode.task, "agent": episode.agent, "epoch": episode.epoch}
        typer.echo(json.dumps({**named, **found.to_dict()}))
        return True
    of = [
        episode.task,
        *([episode.agent] if episode.agent else []),
        *([f"epoch {episode.epoch}"] * bool(episode.epoch)),
    ]
    typer.echo(f"{visible(f'episode {number}: ' + ', '.join(part[:120] for part in of))}\n{found}\n")
    return True
