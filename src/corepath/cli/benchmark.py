"""The command that scores a folder of benchmark results: benchmark."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

from corepath.cli.derive import Derivation, ReadsOption, ToolsOption, WritesOption, write_tasks
from corepath.cli.importing import FilesArgument, Log, OnlyOption, TasksFromOption, choose_format, trace_files
from corepath.cli.options import JsonOption, WideOption
from corepath.cli.printing import fail, say, usage_error
from corepath.cli.progress import Counter
from corepath.cli.report import As, By, make_table, print_tables
from corepath.cli.results import finish, load
from corepath.episode import Episode
from corepath.errors import Problem, RecordError, TaskError
from corepath.files.episodes import episode_json
from corepath.importers.expected_calls import is_source
from corepath.importers.folders import import_traces
from corepath.importers.routing import Routing
from corepath.report.summary_table import PAPER_COLUMNS, Means

_TAU_NAME: Final = re.compile(r"(?:tool-calling|few-shot|act|react)-(.+)-[\d.]+_range_.*")
"""How τ-bench names its files of results. The group is the model."""


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the app."""
    app.command("benchmark")(benchmark_command)


def benchmark_command(
    paths: FilesArgument,
    out_folder: Annotated[
        Path | None, typer.Option("--out", help="Folder to keep the tasks and episodes in, for report and others.")
    ] = None,
    only: OnlyOption = None,
    agent_by: Annotated[
        str | None,
        typer.Option(metavar="WHERE", help="What names the agent, as for import. Default: the file's name."),
    ] = None,
    tasks_from: TasksFromOption = None,
    tools_file: ToolsOption = None,
    writes: WritesOption = None,
    reads: ReadsOption = None,
    form: Annotated[As, typer.Option("--as", help="Format of the table.")] = As.TEXT,
    as_json: JsonOption = False,
    wide: WideOption = False,
) -> None:
    """Score the results of τ-bench, τ²-bench and BFCL by the calls that they expect: a table of agents by domain.

    The folder holds files of results and, for BFCL, its possible answers.
    """
    log = Log()
    files = trace_files(paths, only, log)
    with tempfile.TemporaryDirectory() as temporary:
        folder = out_folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        sources = [file for file in files if is_source(file)]
        if not sources:
            fail("no file says which calls are expected; BFCL keeps them in its folder possible_answer")
        write_tasks(Derivation("auto", tools_file, writes, reads), sources, folder / "tasks.yaml")
        _import(files, set(sources), _make_naming(agent_by), tasks_from, folder / "episodes.jsonl", log)
        results = load([folder / "episodes.jsonl"], [str(folder / "tasks.yaml")], None)
        tables = [make_table(results, by, Means(PAPER_COLUMNS)) for by in (By.PAIR, By.REWARD)]
        print_tables([table for table in tables if table is not None], As.JSON if as_json else form, wide=wide)
        finish(results)
        if out_folder is not None:
            say(f"tasks and episodes: {out_folder}")


def _make_naming(agent_by: str | None) -> Callable[[Episode, Path], Episode]:
    """Return a function that names an episode's agent."""
    try:
        routing = Routing(agent_by=agent_by)
    except TaskError as error:
        usage_error(f"--agent-by: {error}")
    return routing if agent_by is not None else _name_agent


def _name_agent(episode: Episode, file: Path) -> Episode:
    """Name the agent after the file, without the domain, if the results do not name one."""
    if episode.agent is not None:
        return episode
    if found := _TAU_NAME.fullmatch(file.stem):
        return replace(episode, agent=found[1])
    domain = episode.task.split("/")[1] if episode.task.count("/") > 1 else ""
    bare = re.sub(rf"[-_.]?{re.escape(domain)}$|^{re.escape(domain)}[-_.]?", "", file.stem) if domain else file.stem
    return replace(episode, agent=bare or file.stem)


def _import(
    files: list[Path], sources: set[Path], name: Callable[[Episode, Path], Episode], tasks_from: Path | None,
    out_file: Path, log: Log,
) -> None:  # fmt: skip
    """Write the episodes in files of results. A file that has only expected calls is no problem."""
    with out_file.open("w", encoding="utf-8") as written, Counter("episodes").show() as counter:
        for one in import_traces(files, choose_format("auto", tasks_from), lambda file: counter.name(str(file))):
            if isinstance(one, Problem):
                if Path(one.file) not in sources or not one.message.startswith("not a known format"):
                    log.add_problem(one)
                continue
            try:
                written.write(episode_json(name(one.episode, one.file)) + "\n")
                log.good += 1
            except RecordError as error:
                log.add_problem(Problem(str(one.file), 1, 1, f"episode {one.number}: {error}"))
            counter.add()
