"""The commands that convert traces to episodes: import, formats."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Annotated, Final

import typer

from corepath.cli.derive import Derivation, ReadsOption, ToolsOption, WritesOption, write_tasks
from corepath.cli.options import OutFileOption, find_sources, require_path, require_paths
from corepath.cli.printing import print_problems, print_table, safe, say, table, usage_error
from corepath.cli.progress import Counter
from corepath.episode import Episode
from corepath.errors import InputError, Problem, RecordError, TaskError, count
from corepath.files.episodes import episode_bytes
from corepath.garbage import rare_garbage_collection
from corepath.importers.expected_calls import is_source
from corepath.importers.folders import NO_FILES, Imported, find_files, import_traces
from corepath.importers.format import Format
from corepath.importers.reading import readable
from corepath.importers.registry import (
    FORMATS,
    SOURCES,
    describe_format,
    explain_formats,
    find_format,
    recognise_format,
)
from corepath.importers.renaming import Renaming
from corepath.importers.routing import Routing, read_table
from corepath.runs.folder import EPISODES, is_run

MOST_PRINTED: Final = 20
"""Maximum number of problems to print. The rest are only counted."""
MOST_NAMED: Final = 5
"""Maximum number of calls that one message lists."""
_BUFFER: Final = 2**18
"""How many bytes are written at a time."""

FilesArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="TRACES", help="Files of traces, or folders with such files; - reads standard input.",
        callback=require_paths,
    ),
]  # fmt: skip
FormatOption = Annotated[
    str, typer.Option("--from", metavar="FORMAT", help="Format of the traces, or auto; corepath formats lists them.")
]
TaskOption = Annotated[str | None, typer.Option(help="Task of all traces: its id, or FILE::ID.")]
TaskByOption = Annotated[
    str | None,
    typer.Option(
        metavar="WHERE", help="What names the task: a field, as in metadata.flow, or path:PATTERN, as in "
        "'path:{task}/*.json'.",
    ),
]  # fmt: skip
MapOption = Annotated[
    Path | None,
    typer.Option(
        "--map", help="With --task-by: file of 'NAME: TASK' lines; * in a name matches anything.", callback=require_path
    ),
]
AgentOption = Annotated[str | None, typer.Option(help="Name of the agent, for traces that do not have one.")]
AgentByOption = Annotated[str | None, typer.Option(metavar="WHERE", help="What names the agent, as for --task-by.")]
RenameOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="OLD=NEW", help="Rename tools: 'mcp__*__=' removes a prefix; or a file of 'OLD: NEW' lines. Repeatable."
    ),
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN", help="Of the files in a folder take only those, as in '*.traj'. Repeatable."),
]
TasksFromOption = Annotated[
    Path | None,
    typer.Option(help="File with the tasks of τ²-bench results that lack them.", callback=require_path),
]
TasksOutOption = Annotated[
    Path | None, typer.Option(help="Also write the tasks of a benchmark's file here, as derive makes them.")
]


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the app."""
    app.command("import")(import_command)
    app.command("formats")(formats_command)


def import_command(
    paths: FilesArgument,
    format_: FormatOption = "auto",
    out_file: OutFileOption = None,
    task: TaskOption = None,
    task_by: TaskByOption = None,
    map_file: MapOption = None,
    agent: AgentOption = None,
    agent_by: AgentByOption = None,
    rename: RenameOption = None,
    only: OnlyOption = None,
    tasks_from: TasksFromOption = None,
    tasks_out: TasksOutOption = None,
    tools_file: ToolsOption = None,
    writes: WritesOption = None,
    reads: ReadsOption = None,
) -> None:
    """Convert stored traces to episodes; bad records are reported and left out."""
    for option, given in (("--tools", tools_file), ("--writes", writes), ("--reads", reads)):
        if given is not None and tasks_out is None:
            usage_error(f"{option} belongs to --tasks-out: it says how the calls that are expected become tasks")
    change = _Change(_make_routing(task, task_by, map_file, agent, agent_by), _make_renaming(rename))
    choose = choose_format(format_, tasks_from)
    log = Log()
    files = trace_files(paths, only, log)
    with open_output(out_file) as write, Counter("episodes").show() as counter, rare_garbage_collection():
        for one in import_traces(files, choose, lambda file: counter.name(str(file))):
            if (episode := change(one, log)) is not None:
                counter.add()
                write(episode_bytes(episode))
    complete = True
    if tasks_out is not None:
        source = format_ if format_ in SOURCES else "auto"
        sources = [one for one in files if one in paths or is_source(one)]
        complete = write_tasks(Derivation(source, tools_file, writes, reads), sources, tasks_out)
    log.finish("episode", out_file)
    if not complete:
        raise typer.Exit(1)


def trace_files(paths: list[Path], only: list[str] | None, log: Log) -> list[Path]:
    """Find the trace files that the user named. Of a run folder, only the episodes are taken."""
    found: dict[Path, None] = {}
    for path in paths:
        files = find_files([path / EPISODES if is_run(path) else path], only or [])
        if not files:
            log.add_problem(Problem(str(path), 1, 1, f"{NO_FILES}; other files are named with --only '*.txt'"))
        found |= dict.fromkeys(files)
    return list(found)


def choose_format(name: str, tasks_from: Path | None) -> Callable[[Path], Format]:
    """Return a function that returns a file's format: the named one, or the one that is recognised."""
    if name.startswith("generic:"):
        require_paths([Path(name.removeprefix("generic:"))])
    if tasks_from is not None and name not in ("auto", "tau2"):
        usage_error(f"--tasks-from belongs to the format tau2, not to {name}")
    settings = {} if tasks_from is None else {"tau2": str(tasks_from)}
    if name == "auto":
        return lambda file: recognise_format(file, settings)
    try:
        found = find_format(f"{name}:{settings[name]}" if name in settings else name)
    except TaskError as error:
        usage_error(f"--from: {error}")
    return lambda _: found


def _make_routing(
    task: str | None, task_by: str | None, map_file: Path | None, agent: str | None, agent_by: str | None
) -> Routing:
    """Turn the options into a rule that assigns tasks and agents to traces."""
    if task == "":
        usage_error("--task is empty; give the id of a task")
    if task is not None and task_by is not None:
        usage_error("--task and --task-by exclude each other")
    if map_file is not None and task_by is None:
        usage_error("--map belongs to --task-by: it says which task a name stands for")
    if agent is not None and agent_by is not None:
        usage_error("--agent and --agent-by exclude each other")
    try:
        task_id = None if task is None else _task_id(task)
        return Routing(task_id, task_by, read_table(map_file) if map_file else {}, agent, agent_by)
    except TaskError as error:
        usage_error(f"--task-by and --agent-by: {error}")


def _make_renaming(rules: list[str] | None) -> Renaming:
    try:
        return Renaming.parse(rules or [])
    except TaskError as error:
        usage_error(f"--rename: {error}")


def _task_id(task: str) -> str:
    """Return the id of a task that the user named by id or by file."""
    if "::" not in task and not Path(task).is_file():
        return task
    found = find_sources([task])
    if len(found) > 1:
        usage_error(f"--task {task}: it has {count(len(found), 'task')}; name one, as in {task}::{found[0].id}")
    return found[0].id


@dataclass(frozen=True)
class _Change:
    """Sets the tasks, agents and tools of imported episodes."""

    routing: Routing
    renaming: Renaming

    def __call__(self, found: Imported | Problem, log: Log) -> Episode | None:
        """Return the changed episode, or None if it cannot be read. Problems and notes go to the log."""
        if isinstance(found, Problem):
            log.add_problem(found)
            return None
        made = found.episode
        try:
            episode = self.routing(self.renaming(made), found.file)
        except RecordError as error:
            log.add_problem(_problem(found, str(error)))
            return None
        log.good += 1
        if made.task not in ("", episode.task) and made.fingerprint is not None:
            log.add_note(_problem(found, _describe_new_task(made, episode)))
        if any([type(call.arguments) is not dict and call.malformed for call in made.calls]):  # noqa: C419  # faster
            log.add_note(_problem(found, _describe_malformed(made)))
        return episode


def _problem(found: Imported, message: str) -> Problem:
    return Problem(str(found.file), 1, 1, f"episode {found.number}: {message}")


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


def formats_command(
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Say for each format why this file is not in it.",
                                    callback=require_path),
    ] = None,
) -> None:  # fmt: skip
    """List the formats that import reads, or say why a file is in none of them."""
    made = table("format", "about")
    made.columns[0].justify = "left"
    if file is None:
        for name in FORMATS:
            made.add_row(name, safe(describe_format(name)))
    else:
        try:
            with readable(file) as (copy, _):
                for found, why in explain_formats(copy):
                    made.add_row(found.name, safe("yes" if why is None else why))
        except InputError as error:
            print_problems(error.problems)
            raise typer.Exit(1) from None
    print_table(made)


@dataclass
class Log:
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

    def close(self) -> None:
        """Print how many problems and notes were not printed."""
        if self.notes > MOST_PRINTED:
            say(f"and {self.notes - MOST_PRINTED:,} more such notes")
        if self.bad > MOST_PRINTED:
            say(f"and {self.bad - MOST_PRINTED:,} more")

    def finish(self, what: str, out_file: Path | None) -> None:
        """Print the counts. Exit with code 1 if a record was left out or if there are no good records."""
        self.close()
        where = f" in {out_file}" if out_file and self.good else ""
        dropped = f"; {count(self.bad, 'bad record')} left out" if self.bad else ""
        say(f"{count(self.good, what)}{where}{dropped}")
        if self.bad or not self.good:
            raise typer.Exit(1)


@contextmanager
def open_output(path: Path | None) -> Iterator[Callable[[str | bytes], None]]:
    """Yield a function that writes a line to the file, or to standard output if `path` is None.

    The file is replaced at the end, so that it is never incomplete. If there are no lines, it is left unchanged.
    """
    if path is None:
        yield typer.echo
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("wb", buffering=_BUFFER) as file:
            yield _line_writer(file)
        if temporary.stat().st_size:
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _line_writer(file: IO[bytes]) -> Callable[[str | bytes], None]:
    def write(line: str | bytes) -> None:
        file.write(line.encode() if isinstance(line, str) else line)
        file.write(b"\n")

    return write
