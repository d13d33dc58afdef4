"""The command that makes tasks from expected calls: derive."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from corepath.authoring.derive import Derived, Expected, derive
from corepath.authoring.tool_file_warnings import unused_entries
from corepath.cli.options import OutFileOption, require_path, require_paths
from corepath.cli.printing import print_problems, say, usage_error
from corepath.episode import NO_AGENT_ACTIONS
from corepath.errors import InputError, Problem, TaskError, count
from corepath.files.tool_file import Tools, load_tools
from corepath.importers.expected_calls import read_expected_calls, source_of
from corepath.importers.registry import SOURCES


class Writes(StrEnum):
    """The order in which the expected writes must happen."""

    ANY_ORDER = "any_order"
    SEQUENCE = "sequence"


class GoldenReads(StrEnum):
    """Whether expected reads become self-loops or steps of the golden path."""

    LOOPS = "loops"
    PROGRESS = "progress"


ToolsOption = Annotated[
    Path | None,
    typer.Option(
        "--tools",
        help="Tool file: which tools only read, which are neutral, and how to compare arguments. "
        "Default for τ-bench, τ²-bench and BFCL: the one that comes with corepath.",
        callback=require_path,
    ),
]
WritesOption = Annotated[
    Writes | None,
    typer.Option("--writes", help="Whether the expected writes come in any order, which is the default, or as listed."),
]
ReadsOption = Annotated[
    GoldenReads | None,
    typer.Option(
        "--reads",
        "--golden-reads",
        help="Whether expected reads are loops, which is the default, or progress: steps that must be done.",
    ),
]


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the app."""
    app.command("derive")(derive_command)


def derive_command(
    files: Annotated[
        list[Path],
        typer.Argument(help="Files with the expected calls: a benchmark's, or your own.", callback=require_paths),
    ],
    tools_file: ToolsOption = None,
    source: Annotated[
        str, typer.Option("--from", metavar="SOURCE", help=f"Kind of file: auto, {', '.join(SOURCES)}.")
    ] = "auto",
    writes: WritesOption = None,
    golden_reads: ReadsOption = None,
    out_file: OutFileOption = None,
) -> None:
    """Make tasks from the calls that a benchmark expects, as a task file that you can edit."""
    if not write_tasks(Derivation(source, tools_file, writes, golden_reads), files, out_file):
        raise typer.Exit(1)


@dataclass
class Derivation:
    """Derives tasks from files with expected calls, and collects the tasks and any problems."""

    source: str = "auto"
    tools_file: Path | None = None
    writes: Writes | None = None
    golden_reads: GoldenReads | None = None
    made: list[Derived] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    _expected: dict[str, Expected] = field(default_factory=dict)
    _places: dict[str, Path] = field(default_factory=dict)
    _by_tools: dict[Path, tuple[Tools, list[Expected]]] = field(default_factory=dict)
    """Maps each tool file to its content, and to the expected calls that it was used for."""

    def add(self, file: Path) -> None:
        """Derive tasks from the expected calls in a file."""
        try:
            source = source_of(file, self.source)
            found = list(read_expected_calls(file, source.name))
        except InputError as error:
            self.problems += error.problems
            return
        except TaskError as error:
            usage_error(f"--from: {error}")
        place = self.tools_file or source.tool_file
        if place is None:
            usage_error(f"{file} does not say which tools only read; give a tool file with --tools")
        if place not in self._by_tools:
            self._by_tools[place] = (load_tools(place), [])
        self.problems += [one for one in found if isinstance(one, Problem)]
        for one in found:
            if isinstance(one, Expected):
                self._derive(one, file, *self._by_tools[place])

    def _derive(self, expected: Expected, file: Path, tools: Tools, used_for: list[Expected]) -> None:
        """Derive a task and add its expected calls to `used_for`. Skip a task that was derived before."""
        try:
            first = self._expected.setdefault(expected.id, expected)
            if first.fingerprint != expected.fingerprint:
                where = self._places[expected.id]
                raise TaskError.of(
                    f"task '{expected.id[:120]}' has other expected calls in {where}; "
                    "two versions of a task cannot have one id, so derive them into separate files"
                )
            if first is expected:
                self._places[expected.id] = file
                used_for.append(expected)
                writes, reads = self.writes or Writes.ANY_ORDER, self.golden_reads or GoldenReads.LOOPS
                self.made.append(derive(expected, tools, writes=writes.value, golden_reads=reads.value))
        except TaskError as error:
            self.problems.append(Problem(str(file), 1, 1, str(error)))

    @property
    def warnings(self) -> list[str]:
        """Likely mistakes in the tool files."""
        return [
            warning
            for place, (tools, used_for) in self._by_tools.items()
            for warning in (*tools.warnings, *(f"{place}: {one}" for one in unused_entries(tools, used_for)))
        ]


def write_tasks(derivation: Derivation, files: list[Path], out_file: Path | None) -> bool:
    """Derive tasks from files and write them. Return True if there are tasks and no problems."""
    for file in files:
        derivation.add(file)
    _write(derivation.made, out_file)
    print_problems(derivation.problems)
    for warning in derivation.warnings:
        say(f"warning: {warning}")
    say(_count_tasks(derivation.made, out_file))
    return bool(derivation.made) and not derivation.problems


def _write(made: list[Derived], out_file: Path | None) -> None:
    text = "---\n".join(one.text for one in made)
    if out_file is None:
        typer.echo(text, nl=False)
    elif made:
        out_file.write_text(text, encoding="utf-8")


def _count_tasks(made: list[Derived], out_file: Path | None) -> str:
    """Return a message that says how many tasks were made, and how many require no changes or no agent actions."""
    unasked = sum(NO_AGENT_ACTIONS in one.task.tags for one in made)
    unchanging = sum(not one.task.actions and NO_AGENT_ACTIONS not in one.task.tags for one in made)
    parts = [count(len(made), "task") + (f" in {out_file}" if out_file else "")]
    if unchanging:
        which = "it asks" if len(made) == 1 else f"{unchanging:,} of them {'asks' if unchanging == 1 else 'ask'}"
        parts.append(f"{which} that nothing be changed")
    if unasked:
        parts.append(f"{unasked:,} {'asks' if unasked == 1 else 'ask'} nothing of the agent ({NO_AGENT_ACTIONS})")
    return "; ".join(parts)
