"""The command line."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from corepath import __version__
from corepath.cli import derive, explain, importing, run, score, serve, tasks, worlds
from corepath.cli import report as reports
from corepath.cli.parser_check import refuse_a_parser_that_misreads
from corepath.cli.printing import report, say
from corepath.errors import InputError

app = typer.Typer(
    help="Judge tool-using agents by their whole path, not by the final state alone.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for commands in (score, explain, reports, run, tasks, worlds, importing, derive, serve):
    commands.add_commands(app)


def main() -> None:
    """What the `corepath` command runs."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    refuse_a_parser_that_misreads()
    try:
        app()
    except InputError as error:
        report(error.problems)
        sys.exit(1)
    except OSError as error:  # nobody reads on, or the disk is full; what is still held back cannot be written either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            say(f"corepath: {error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
        sys.exit(1)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.", is_eager=True)] = False,
) -> None:
    if version:
        typer.echo(f"corepath {__version__}")
        raise typer.Exit
