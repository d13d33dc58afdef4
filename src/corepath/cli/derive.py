"""The command that makes tasks of expected calls: derive."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from corepath.authoring.derive import Derived, Expected, derive
from corepath.authoring.unused_entries import unused_entries
from corepath.cli.options import present, present_path
from corepath.cli.printing import report, say, wrong_use
from corepath.episode import NO_AGENT_ACTIONS
from corepath.errors import InputError, Problem, TaskError, count
from corepath.files.tool_file import Tools, load_tools
from corepath.importers.expected_calls import read_expected_calls, source_of
from corepath.importers.registry import SOURCES


class Writes(StrEnum):
    """How the expected writes follow each other."""

    SEQUENCE = "sequence"
    ANY_ORDER = "any_order"


class GoldenReads(StrEnum):
    """What the expected reads are."""

    LOOPS = "loops"
    PROGRESS = "progress"


ToolsOption = Annotated[
    Path | None,
    typer.Option(
        "--tools",
        help="The tool file: which tools only read, which are neutral, and how to compare. "
        "Default: for τ-bench and τ²-bench the one that comes with corepath.",
        callback=present_path,
    ),
]


def add_commands(app: typer.Typer) -> None:
    """Give the command line the commands of this file."""
    app.command("derive")(derive_command)


def derive_command(
    files: Annotated[
        list[Path],
        typer.Argument(help="Files that say which calls are expected: a benchmark's, or your own.", callback=present),
    ],
    tools_file: ToolsOption = None,
    source: Annotated[
        str, typer.Option("--from", metavar="SOURCE", help=f"auto, or one of: {', '.join(SOURCES)}.")
    ] = "auto",
    writes: Annotated[
        Writes, typer.Option(help="The expected writes in this sequence, or in any order.")
    ] = Writes.SEQUENCE,
    golden_reads: Annotated[
        GoldenReads, typer.Option(help="Expected reads as loops, or as progress: steps that must be done.")
    ] = GoldenReads.LOOPS,
    out_file: Annotated[Path | None, typer.Option("--out", help="Where to write. Default: standard output.")] = None,
) -> None:
    """Make tasks of the calls that a benchmark expects, as a task file that you can edit."""
    if not write_tasks(files, source, tools_file, out_file, writes, golden_reads):
        raise typer.Exit(1)


def write_tasks(
    files: list[Path],
    source: str,
    tools_file: Path | None,
    out_file: Path | None,
    writes: Writes = Writes.SEQUENCE,
    golden_reads: GoldenReads = GoldenReads.LOOPS,
) -> bool:
    """Write the tasks that files give, and say how many; whether there are some, and nothing was wrong."""
    expected: dict[str, Expected] = {}
    made: list[Derived] = []
    problems: list[Problem] = []
    used: dict[Path, tuple[Tools, list[Expected]]] = {}
    for file in files:
        try:
            found = source_of(file, source)
            all_of_it = list(read_expected_calls(file, found.name))
        except InputError as error:
            problems += error.problems
            continue
        except TaskError as error:
            wrong_use(f"--from: {error}")
        place = tools_file or found.tool_file
        if place is None:
            wrong_use(f"of {file} it is not known which tools only read; say it in a tool file, with --tools")
        tools, asked = used[place] = used.get(place) or (load_tools(place), [])
        problems += [one for one in all_of_it if isinstance(one, Problem)]
        for one in (one for one in all_of_it if isinstance(one, Expected)):
            try:
                if expected.setdefault(one.id, one) != one:
                    raise TaskError.of(f"of task '{one.id[:120]}' other calls are expected before")
                if expected[one.id] is one:
                    asked.append(one)
                    made.append(derive(one, tools, writes=writes.value, golden_reads=golden_reads.value))
            except TaskError as error:
                problems.append(Problem(str(file), 1, 1, str(error)))
    _write(made, out_file)
    report(problems)
    for place, (tools, asked) in used.items():
        for warning in (*tools.warnings, *(f"{place}: {one}" for one in unused_entries(tools, asked))):
            say(f"warning: {warning}")
    say(_counts(made, out_file))
    return bool(made) and not problems


def _write(made: list[Derived], out_file: Path | None) -> None:
    text = "---\n".join(one.text for one in made)
    if out_file is None:
        typer.echo(text, nl=False)
    elif made:
        out_file.write_text(text, encoding="utf-8")


def _counts(made: list[Derived], out_file: Path | None) -> str:
    still = sum(not one.task.actions and NO_AGENT_ACTIONS not in one.task.tags for one in made)
    unasked = sum(NO_AGENT_ACTIONS in one.task.tags for one in made)
    parts = [count(len(made), "task") + (f" in {out_file}" if out_file else "")]
    parts += [f"{still:,} of them {'asks' if still == 1 else 'ask'} that nothing be changed"] * bool(still)
    parts += [f"{unasked:,} {'asks' if unasked == 1 else 'ask'} nothing of the agent ({NO_AGENT_ACTIONS})"] * bool(
        unasked
    )
    return "; ".join(parts)
