"""A check that the installed typer parses options correctly."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from corepath.cli.printing import say


def refuse_broken_parser() -> None:
    """Exit with code 2 if typer misreads options, because a gate could then pass by mistake."""
    app = typer.Typer(add_completion=False)

    @app.command()
    def read(
        flag: Annotated[bool, typer.Option("--flag")] = False,
        number: Annotated[int | None, typer.Option(min=0)] = None,
        name: Annotated[list[str] | None, typer.Option()] = None,
    ) -> tuple[bool, int | None, list[str] | None]:
        return flag, number, name

    try:
        found = app(["--number", "0", "--name", "a=1"], prog_name="check", standalone_mode=False)
    except Exception as error:  # noqa: BLE001  # a broken parser may raise anything
        found = error
    if found != (False, 0, ["a=1"]):
        say("corepath: this typer misreads options; install one that does not: pip install --upgrade 'typer>=0.26'")
        sys.exit(2)
