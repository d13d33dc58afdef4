"""The commands that bring traces in and out: import, export."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated

import typer

from corepath.cli.derive import ToolsOption, write_tasks
from corepath.cli.options import find_sources, present, present_episodes, present_path
from corepath.cli.printing import report, say, wrong_use
from corepath.episode import Episode
from corepath.errors import InputError, Problem, RecordError, TaskError, count
from corepath.files.episodes import episode_json
from corepath.files.lookup import Tasks
from corepath.importers import import_trace
from corepath.importers.export import openai_record
from corepath.importers.registry import FORMATS, SOURCES
from corepath.importers.routing import Routing, read_table
from corepath.runs.entries import read_entries

MOST_SAID = 20
"""Problems that are told one by one."""
MOST_NAMED = 5
"""Calls that are named in one problem."""
OutOption = Annotated[Path | None, typer.Option("--out", help="Where to write. Default: standard output.")]


class To(StrEnum):
    """What `export` writes."""

    OPENAI = "openai"


def add_commands(app: typer.Typer) -> None:
    """Give the command line the commands of this file."""
    app.command("import")(import_command)
    app.command("export")(export_command)


def import_command(
    files: Annotated[list[Path], typer.Argument(help="Files of traces; - reads stdin.", callback=present)],
    format_: Annotated[
        str, typer.Option("--from", metavar="FORMAT", help=f"auto, or one of: {', '.join(FORMATS)}.")
    ] = "auto",
    out_file: OutOption = None,
    task: Annotated[str | None, typer.Option(help="The task that every trace is of: its id, or FILE::ID.")] = None,
    task_by: Annotated[
        str | None, typer.Option(metavar="ATTRIBUTE", help="What of a trace names its task: metadata.flow.")
    ] = None,
    table: Annotated[
        Path | None,
        typer.Option(
            "--map", help="With --task-by: a file of 'NAME: TASK' lines; names may have *.", callback=present_path
        ),
    ] = None,
    agent: Annotated[str | None, typer.Option(help="The agent's name, where the trace does not have one.")] = None,
    tasks_out: Annotated[
        Path | None, typer.Option(help="Also write the tasks that a benchmark's file gives, as derive makes them.")
    ] = None,
    tools_file: ToolsOption = None,
) -> None:
    """Turn stored traces into episodes; good records are kept, bad ones are told."""
    if tools_file is not None and tasks_out is None:
        wrong_use("--tools belongs to --tasks-out: it says how the calls that are expected become tasks")
    if format_.startswith("generic:"):
        present([Path(format_.removeprefix("generic:"))])
    route = _routing(task, task_by, table)
    found = _Counts()
    with _writing(out_file) as write:
        for file in files:
            number = 0
            for made in _read(file, format_):
                if isinstance(made, Problem):
                    found.problem(made)
                    continue
                number += 1
                try:
                    routed = route(made)
                except RecordError as error:
                    found.problem(_of_episode(file, number, str(error)))
                    continue
                write(episode_json(replace(routed, agent=routed.agent or agent)))
                found.good += 1
                if made.task not in ("", routed.task) and made.fingerprint is not None:
                    found.note(_of_episode(file, number, _of_another(made, routed)))
                if any(call.malformed for call in made.calls):
                    found.note(_of_episode(file, number, _malformed(made)))
    source = format_ if format_ in SOURCES else "auto"
    whole = tasks_out is None or write_tasks(files, source, tools_file, tasks_out)
    found.end("episode", out_file)
    if not whole:
        raise typer.Exit(1)


def _routing(task: str | None, task_by: str | None, table: Path | None) -> Routing:
    """How the tasks of traces are told, as the options say."""
    if task == "":
        wrong_use("--task is empty; give the id of a task")
    if task is not None and task_by is not None:
        wrong_use("--task and --task-by exclude each other")
    if table is not None and task_by is None:
        wrong_use("--map belongs to --task-by: it says which task a name stands for")
    named = task
    if task is not None and ("::" in task or Path(task).is_file()):
        found = find_sources([task])
        if len(found) > 1:
            wrong_use(f"--task {task}: it has {count(len(found), 'task')}; name one, as in {task}::{found[0].id}")
        named = found[0].id
    return Routing(named, task_by, read_table(table) if table else {})


def export_command(
    files: Annotated[
        list[Path], typer.Argument(help="Episode files (JSON lines) or folders of runs.", callback=present_episodes)
    ],
    to: Annotated[To, typer.Option(help="The format.")] = To.OPENAI,
    out_file: OutOption = None,
) -> None:
    """Write episodes in a format of others: one JSON object with `messages` a line."""
    found = _Counts()
    with _writing(out_file) as write:
        for file in files:
            for line in read_entries(file, Tasks()):
                if isinstance(line, Problem):
                    found.problem(line)
                else:
                    found.good += 1
                    write(json.dumps(_EXPORTS[to](line.episode)))
    found.end("conversation", out_file)


_EXPORTS = {To.OPENAI: openai_record}


def _read(file: Path, format_: str) -> Iterator[Episode | Problem]:
    try:
        yield from import_trace(file, format_)
    except InputError as error:
        yield from error.problems
    except TaskError as error:
        wrong_use(f"--from: {error}")


def _of_episode(file: Path, number: int, message: str) -> Problem:
    return Problem("<stdin>" if str(file) == "-" else str(file), 1, 1, f"episode {number}: {message}")


def _of_another(played: Episode, routed: Episode) -> str:
    return (
        f"played on '{played.task[:120]}' (seed {played.seed or 0}), and now of '{routed.task[:120]}': "
        "its seed, fingerprint and scores are dropped"
    )


def _malformed(episode: Episode) -> str:
    named = [f"{place} ({call.tool[:60]})" for place, call in enumerate(episode.calls, start=1) if call.malformed]
    which = ", ".join(named[:MOST_NAMED]) + (f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else "")
    calls = "call" if len(named) == 1 else "calls"
    return f"the arguments of {calls} {which} are no JSON object; kept as they were sent"


class _Counts:
    """What went well and what did not."""

    def __init__(self) -> None:
        self.good = self.bad = self.odd = 0

    def problem(self, problem: Problem) -> None:
        self.bad += 1
        if self.bad <= MOST_SAID:
            report([problem])

    def note(self, problem: Problem) -> None:
        """Something odd in what is kept."""
        self.odd += 1
        if self.odd <= MOST_SAID:
            report([problem])

    def end(self, what: str, out_file: Path | None) -> None:
        if self.odd > MOST_SAID:
            say(f"and {self.odd - MOST_SAID:,} more such notes")
        if self.bad > MOST_SAID:
            say(f"and {self.bad - MOST_SAID:,} more")
        where = f" in {out_file}" if out_file and self.good else ""
        left = f"; {count(self.bad, 'bad record')} left out" if self.bad else ""
        say(f"{count(self.good, what)}{where}{left}")
        if self.bad or not self.good:
            raise typer.Exit(1)


@contextmanager
def _writing(path: Path | None) -> Iterator[Callable[[str], None]]:
    """Write lines; a file is there in whole or not at all, and one that was there stays where there are no lines."""
    if path is None:
        yield typer.echo
        return
    if path.is_dir():
        wrong_use(f"{path} is a folder; give a file with --out")
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            yield _to(file)
        if temporary.stat().st_size:
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _to(file: IO[str]) -> Callable[[str], None]:
    def write(line: str) -> None:
        file.write(line + "\n")

    return write
