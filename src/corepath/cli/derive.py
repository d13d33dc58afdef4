"""The command that makes tasks of expected calls: derive."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from corepath.cli.printing import report, say, wrong_use
from corepath.derive import Derived, Expected, derive, unused_rules
from corepath.errors import InputError, Problem, TaskError
from corepath.importers.expecting import SOURCES, expected_in
from corepath.task import NO_AGENT_ACTIONS
from corepath.tool_file import load_tools


class Writes(StrEnum):
    """How the expected writes follow each other."""

    SEQUENCE = "sequence"
    ANY_ORDER = "any_order"


class GoldenReads(StrEnum):
    """What the expected reads are."""

    LOOPS = "loops"
    PROGRESS = "progress"


def add_commands(app: typer.Typer) -> None:
    """Give the command line the commands of this file."""
    app.command("derive")(derive_command)


def derive_command(
    files: Annotated[
        list[Path], typer.Argument(help="Files that say which calls are expected: a benchmark's, or your own.")
    ],
    tools_file: Annotated[
        Path,
        typer.Option("--tools", help="The tool file: which tools only read, which are neutral, and how to compare."),
    ],
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
    tools = load_tools(tools_file)
    expected: dict[str, Expected] = {}
    made: list[Derived] = []
    problems: list[Problem] = []
    for file in files:
        for one in _expected(file, source):
            if isinstance(one, Problem):
                problems.append(one)
            elif one.id not in expected:
                expected[one.id] = one
                try:
                    made.append(derive(one, tools, writes=writes.value, golden_reads=golden_reads.value))
                except TaskError as error:
                    problems.append(Problem(str(file), 1, 1, str(error)))
            elif expected[one.id] != one:
                problems.append(Problem(str(file), 1, 1, f"of task '{one.id[:120]}' other calls are expected before"))
    text = "---\n".join(one.text for one in made)
    if out_file is None:
        typer.echo(text, nl=False)
    elif made:
        out_file.write_text(text, encoding="utf-8")
    report(problems)
    for rule in unused_rules(tools, expected.values()):
        say(f"warning: {tools_file}: no call is expected with the argument of the rule '{rule}'")
    say(_counts(made, out_file))
    if problems or not made:
        raise typer.Exit(1)


def _expected(file: Path, source: str) -> list[Expected | Problem]:
    try:
        return list(expected_in(file, source))
    except InputError as error:
        return list(error.problems)
    except TaskError as error:
        wrong_use(f"--from: {error}")


def _counts(made: list[Derived], out_file: Path | None) -> str:
    still = sum(not one.task.actions and NO_AGENT_ACTIONS not in one.task.tags for one in made)
    unasked = sum(NO_AGENT_ACTIONS in one.task.tags for one in made)
    parts = [f"{len(made):,} task{'s' * (len(made) != 1)}" + (f" in {out_file}" if out_file else "")]
    parts += [f"{still:,} of them ask that nothing be changed"] * bool(still)
    parts += [f"{unasked:,} ask nothing of the agent ({NO_AGENT_ACTIONS})"] * bool(unasked)
    return "; ".join(parts)
