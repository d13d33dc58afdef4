"""The `corepath` command."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from corepath import __version__
from corepath.cli import comparison, derive, explain, importing, rescore, run, score, serve, tasks, worlds
from corepath.cli import report as reports
from corepath.cli.parser_check import refuse_broken_parser
from corepath.cli.printing import print_problems, say
from corepath.errors import InputError

app = typer.Typer(
    help="Judge tool-using agents by their whole path, not by the final state alone.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for commands in (score, explain, reports, comparison, run, rescore, tasks, worlds, importing, derive, serve):
    commands.add_commands(app)


def main() -> None:
    """Run the `corepath` command. This is the package's entry point."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    refuse_broken_parser()
    try:
        app()
    except InputError as error:
        print_problems(error.problems)
        sys.exit(1)
    except OSError as error:  # a closed pipe or a full disk: buffered output cannot be written either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            say(f"corepath: {error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
        sys.exit(1)


@app.callback(invoke_without_command=True)
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    if version:
        typer.echo(f"corepath {__version__}")
        raise typer.Exit
