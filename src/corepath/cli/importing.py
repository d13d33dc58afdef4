"""The commands that convert traces to episodes and back: import, export."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import IO, Annotated, Final

import typer

from corepath.cli.derive import Derivation, ReadsOption, ToolsOption, WritesOption, write_tasks
from corepath.cli.options import OutFileOption, find_sources, require_episodes, require_path, require_paths
from corepath.cli.printing import print_problems, say, usage_error
from corepath.episode import Episode
from corepath.errors import InputError, Problem, RecordError, TaskError, count
from corepath.files.episodes import episode_json
from corepath.files.lookup import Tasks
from corepath.importers import import_trace
from corepath.importers.export import openai_record
from corepath.importers.registry import FORMATS, SOURCES
from corepath.importers.routing import Routing, read_table
from corepath.runs.entries import read_entries

MOST_PRINTED: Final = 20
"""Maximum number of problems to print. The rest are only counted."""
MOST_NAMED: Final = 5
"""Maximum number of calls that one message lists."""

FilesArgument = Annotated[
    list[Path], typer.Argument(help="Files of traces; - reads standard input.", callback=require_paths)
]
FormatOption = Annotated[
    str, typer.Option("--from", metavar="FORMAT", help=f"Format of the traces: auto, {', '.join(FORMATS)}.")
]
TaskOption = Annotated[str | None, typer.Option(help="Task of all traces: its id, or FILE::ID.")]
TaskByOption = Annotated[
    str | None, typer.Option(metavar="ATTRIBUTE", help="Attribute of a trace that names its task: metadata.flow.")
]
MapOption = Annotated[
    Path | None,
    typer.Option(
        "--map", help="With --task-by: file of 'NAME: TASK' lines; * in a name matches anything.", callback=require_path
    ),
]
AgentOption = Annotated[str | None, typer.Option(help="Name of the agent, for traces that do not have one.")]
TasksOutOption = Annotated[
    Path | None, typer.Option(help="Also write the tasks of a benchmark's file here, as derive makes them.")
]


class To(StrEnum):
    """The formats that `export` writes."""

    OPENAI = "openai"


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the app."""
    app.command("import")(import_command)
    app.command("export")(export_command)


def import_command(
    files: FilesArgument,
    format_: FormatOption = "auto",
    out_file: OutFileOption = None,
    task: TaskOption = None,
    task_by: TaskByOption = None,
    table: MapOption = None,
    agent: AgentOption = None,
    tasks_out: TasksOutOption = None,
    tools_file: ToolsOption = None,
    writes: WritesOption = None,
    reads: ReadsOption = None,
) -> None:
    """Convert stored traces to episodes; bad records are reported and left out."""
    for option, given in (("--tools", tools_file), ("--writes", writes), ("--reads", reads)):
        if given is not None and tasks_out is None:
            usage_error(f"{option} belongs to --tasks-out: it says how the calls that are expected become tasks")
    if format_.startswith("generic:"):
        require_paths([Path(format_.removeprefix("generic:"))])
    routing = _make_routing(task, task_by, table)
    log = _Log()
    with _open_output(out_file) as write:
        for file in files:
            for episode in _import_file(file, format_, routing, log):
                write(episode_json(replace(episode, agent=episode.agent or agent)))
    complete = True
    if tasks_out is not None:
        source = format_ if format_ in SOURCES else "auto"
        complete = write_tasks(Derivation(source, tools_file, writes, reads), files, tasks_out)
    log.finish("episode", out_file)
    if not complete:
        raise typer.Exit(1)


def _make_routing(task: str | None, task_by: str | None, table: Path | None) -> Routing:
    """Turn the options into a rule that assigns tasks to traces."""
    if task == "":
        usage_error("--task is empty; give the id of a task")
    if task is not None and task_by is not None:
        usage_error("--task and --task-by exclude each other")
    if table is not None and task_by is None:
        usage_error("--map belongs to --task-by: it says which task a name stands for")
    return Routing(None if task is None else _task_id(task), task_by, read_table(table) if table else {})


def _task_id(task: str) -> str:
    """Return the id of a task that the user named by id or by file."""
    if "::" not in task and not Path(task).is_file():
        return task
    found = find_sources([task])
    if len(found) > 1:
        usage_error(f"--task {task}: it has {count(len(found), 'task')}; name one, as in {task}::{found[0].id}")
    return found[0].id


def _import_file(file: Path, format_: str, routing: Routing, log: _Log) -> Iterator[Episode]:
    """Yield the episodes in a file, each with its task. Problems and notes go to the log."""
    number = 0
    for made in _read(file, format_):
        if isinstance(made, Problem):
            log.add_problem(made)
            continue
        number += 1
        try:
            episode = routing(made)
        except RecordError as error:
            log.add_problem(_problem(file, number, str(error)))
            continue
        log.good += 1
        yield episode
        if made.task not in ("", episode.task) and made.fingerprint is not None:
            log.add_note(_problem(file, number, _describe_new_task(made, episode)))
        if any(call.malformed for call in made.calls):
            log.add_note(_problem(file, number, _describe_malformed(made)))


def _read(file: Path, format_: str) -> Iterator[Episode | Problem]:
    try:
        yield from import_trace(file, format_)
    except InputError as error:
        yield from error.problems
    except TaskError as error:
        usage_error(f"--from: {error}")


def _problem(file: Path, number: int, message: str) -> Problem:
    return Problem("<stdin>" if str(file) == "-" else str(file), 1, 1, f"episode {number}: {message}")


def _describe_new_task(played: Episode, routed: Episode) -> str:
    return (
        f"played on '{played.task[:120]}' (seed {played.seed or 0}), and now of '{routed.task[:120]}': "
        "its seed, fingerprint and scores are dropped"
    )


def _describe_malformed(episode: Episode) -> str:
    named = [f"{place} ({call.tool[:60]})" for place, call in enumerate(episode.calls, start=1) if call.malformed]
    which = ", ".join(named[:MOST_NAMED]) + (f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else "")
    calls = "call" if len(named) == 1 else "calls"
    return f"the arguments of {calls} {which} are no JSON object; kept as they were sent"


def export_command(
    files: Annotated[
        list[Path], typer.Argument(help="Episode files (JSON lines) or run folders.", callback=require_episodes)
    ],
    to: Annotated[To, typer.Option(help="Format to write.")] = To.OPENAI,
    out_file: OutFileOption = None,
) -> None:
    """Convert episodes to another format: one JSON object with `messages` per line."""
    log = _Log()
    with _open_output(out_file) as write:
        for file in files:
            for line in read_entries(file, Tasks()):
                if isinstance(line, Problem):
                    log.add_problem(line)
                else:
                    log.good += 1
                    write(json.dumps(_EXPORTS[to](line.episode)))
    log.finish("conversation", out_file)


_EXPORTS: Final = {To.OPENAI: openai_record}


@dataclass
class _Log:
    """Counts good and bad records, and prints the first problems and notes."""

    good: int = 0
    bad: int = 0
    notes: int = 0

    def add_problem(self, problem: Problem) -> None:
        """Count a record that is left out, and print the problem."""
        self.bad += 1
        if self.bad <= MOST_PRINTED:
            print_problems([problem])

    def add_note(self, problem: Problem) -> None:
        """Count and print a note on a record that is kept."""
        self.notes += 1
        if self.notes <= MOST_PRINTED:
            print_problems([problem])

    def finish(self, what: str, out_file: Path | None) -> None:
        """Print the counts. Exit with code 1 if a record was left out or if there are no good records."""
        if self.notes > MOST_PRINTED:
            say(f"and {self.notes - MOST_PRINTED:,} more such notes")
        if self.bad > MOST_PRINTED:
            say(f"and {self.bad - MOST_PRINTED:,} more")
        where = f" in {out_file}" if out_file and self.good else ""
        dropped = f"; {count(self.bad, 'bad record')} left out" if self.bad else ""
        say(f"{count(self.good, what)}{where}{dropped}")
        if self.bad or not self.good:
            raise typer.Exit(1)


@contextmanager
def _open_output(path: Path | None) -> Iterator[Callable[[str], None]]:
    """Yield a function that writes a line to the file, or to standard output if `path` is None.

    The file is replaced at the end, so that it is never incomplete. If there are no lines, it is left unchanged.
    """
    if path is None:
        yield typer.echo
        return
    if path.is_dir():
        usage_error(f"{path} is a folder; give a file with --out")
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            yield _line_writer(file)
        if temporary.stat().st_size:
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _line_writer(file: IO[str]) -> Callable[[str], None]:
    def write(line: str) -> None:
        file.write(line + "\n")

    return write
