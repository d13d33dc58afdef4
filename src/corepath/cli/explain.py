"""The command that explains episodes: explain."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from corepath.cli.printing import report, say, wrong_use
from corepath.errors import CorepathError, Problem, TaskError
from corepath.explanation import explain
from corepath.files import load_tasks, read_episodes
from corepath.runs.folder import EPISODES, MANIFEST, RunFolder, is_run
from corepath.runs.plan import Plan, Played
from corepath.score import PAPER, Scoring
from corepath.show import visible
from corepath.sources import Tasks
from corepath.task import Episode, Task

MOST_PRINTED: Final = 20
"""Episodes that are explained where none is named."""


def add_commands(app: typer.Typer) -> None:
    """Give the command line the commands of this file."""
    app.command("explain")(explain_command)


def explain_command(
    episodes: Annotated[
        list[Path],
        typer.Argument(metavar="EPISODES...", help="Episode files (JSON lines) or folders of runs; - reads stdin."),
    ],
    tasks: Annotated[
        list[Path] | None,
        typer.Option("--tasks", "-t", help="Task files, or folders of them; else those of the run or of the worlds."),
    ] = None,
    number: Annotated[
        int | None, typer.Option("--episode", min=1, metavar="N", help="Only the episode of this number, from 1.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object a line, of every episode, for programs.")
    ] = False,
) -> None:
    """Say why episodes score as they do: the cause, each call, and what would have been right."""
    files = _task_files(tasks)
    seen = told = problems = 0
    for line in (line for path in episodes for line in _lines(path, files)):
        if isinstance(line, Problem):
            problems += 1
            report([line])
            continue
        seen += 1
        if seen == number or (number is None and (as_json or seen <= MOST_PRINTED)):
            told += 1
            problems += not _tell(line, seen, as_json=as_json)
        if seen == number:
            break
    if number is not None and not told:
        wrong_use(f"no episode {number}: there {'is 1' if seen == 1 else f'are {seen:,}'}")
    if number is None and seen > told:
        say(f"{seen - told:,} more; see one of them with --episode N, from 1 to {seen:,}, or all of them with --json")
    if problems:
        raise typer.Exit(1)


@dataclass(frozen=True)
class _Line:
    """An episode, where it stands, and how its task is found."""

    episode: Episode
    where: str
    line: int
    task_of: Callable[[Episode], Task]
    scoring: Scoring


def _tell(line: _Line, number: int, *, as_json: bool) -> bool:
    """Explain an episode; whether that could be done."""
    episode = line.episode
    try:
        found = explain(line.task_of(episode), episode, line.scoring)
    except CorepathError as error:
        report([Problem(line.where, line.line, 1, str(error))])
        return False
    if as_json:
        named = {"episode": number, "task": episode.task, "agent": episode.agent, "epoch": episode.epoch}
        typer.echo(json.dumps({**named, **found.to_dict()}))
        return True
    of = [
        episode.task,
        *([episode.agent] if episode.agent else []),
        *([f"epoch {episode.epoch}"] * bool(episode.epoch)),
    ]
    typer.echo(f"{visible(f'episode {number}: ' + ', '.join(part[:120] for part in of))}\n{found}\n")
    return True


def _lines(path: Path, files: dict[str, Task]) -> Iterator[_Line | Problem]:
    """The episodes of a file or of a run."""
    if path.is_dir():
        yield from _lines_of_run(path, files)
        return
    standard = str(path) == "-"
    if not standard and not path.exists():
        wrong_use(f"no such file or folder: {path}")
    name = "<stdin>" if standard else str(path)
    tasks = Tasks(files)
    for line in read_episodes(name, sys.stdin.buffer if standard else None):
        if line.problem is not None:
            yield line.problem
        elif line.episode is not None:
            yield _Line(line.episode, name, line.line, tasks.of, PAPER)


def _lines_of_run(path: Path, files: dict[str, Task]) -> Iterator[_Line]:
    if not is_run(path):
        wrong_use(f"{path} holds no run, as it has no {MANIFEST}; name the files of episodes in it")
    folder = RunFolder.open(path)
    plan = Plan.of(folder)
    find = Played(folder, plan, files)

    def task_of(episode: Episode) -> Task:
        task, why = find(episode.task)
        if task is None:
            raise TaskError.of(f"{episode.task[:120]}: {why}")
        return task

    for line, episode in enumerate(folder.episodes(), start=1):
        yield _Line(episode, str(path / EPISODES), line, task_of, plan.scoring)


def _task_files(paths: list[Path] | None) -> dict[str, Task]:
    for path in paths or []:
        if not path.exists():
            wrong_use(f"no such file or folder: {path}")
    return load_tasks(*paths) if paths else {}
