"""The `corepath` command."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Final

import typer

from corepath import __version__
from corepath.cli.parser_check import refuse_broken_parser
from corepath.cli.printing import print_problems, say
from corepath.errors import InputError, MissingExtraError
from corepath.garbage import rare_garbage_collection

_MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "score": ("score",),
    "explain": ("explain",),
    "fix": ("fix",),
    "report": ("report", "view", "table"),
    "comparison": ("compare", "sensitivity"),
    "run": ("run",),
    "rescore": ("rescore",),
    "tasks": ("check", "show", "tasks", "schema"),
    "verify": ("verify",),
    "worlds": ("worlds", "new"),
    "benchmark": ("benchmark",),
    "importing": ("import", "formats"),
    "export": ("export",),
    "derive": ("derive",),
    "tools": ("tools",),
    "draft": ("draft",),
    "learn": ("learn",),
    "serve": ("serve",),
}
"""The modules of this package that define commands, and their commands, in the order of `corepath --help`."""


def make_app(command: str | None = None) -> typer.Typer:
    """Build the command line. If `command` is a command's name, import only that command's module."""
    app = typer.Typer(
        help="Judge tool-using agents by their whole path, not by the final state alone.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_root)
    needed = [module for module, commands in _MODULES.items() if command in commands]
    for module in needed or _MODULES:
        import_module(f"corepath.cli.{module}").add_commands(app)
    return app


def main() -> None:
    """Run the `corepath` command. This is the package's entry point."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    refuse_broken_parser()
    try:
        with rare_garbage_collection():
            make_app(sys.argv[1] if len(sys.argv) > 1 else None)()
    except InputError as error:
        print_problems(error.problems)
        sys.exit(1)
    except MissingExtraError as error:
        say(f"corepath: {error}")
        sys.exit(3)
    except KeyboardInterrupt:  # while the command's module was imported
        sys.exit(130)
    except OSError as error:  # a closed pipe or a full disk: buffered output cannot be written either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            say(f"corepath: {error.strerror or error}" + (f": {error.filename}" if error.filename else ""))
        sys.exit(1)


def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.", is_eager=True)] = False,
) -> None:
    if version:
        from corepath.scoring.arrays import COMPILED  # noqa: PLC0415  # not needed for other commands

        typer.echo(f"corepath {__version__} (kernel: {'compiled' if COMPILED else 'plain Python'})")
        raise typer.Exit
