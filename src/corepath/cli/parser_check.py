"""A check of the parser itself, before it reads anything that matters."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from corepath.cli.printing import say


def refuse_a_parser_that_misreads() -> None:
    """Exit 2 where typer does not read a flag, a number and a list as they are given: a gate would pass unseen."""
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
    except Exception as error:  # noqa: BLE001  # whatever a broken parser raises
        found = error
    if found != (False, 0, ["a=1"]):
        say("corepath: this typer misreads options; install one that does not: pip install --upgrade 'typer>=0.26'")
        sys.exit(2)
