"""The command that learns tasks from runs: learn."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corepath.cli.learn_add import AddOption, BadRunOption, YesOption, change_task
from corepath.cli.options import JsonOption, OutFileOption
from corepath.cli.printing import usage_error

TargetsArgument = Annotated[
    list[str], typer.Argument(metavar="TASK [GOOD]...", help="The task file, and with --bad files of good runs.")
]


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the app."""
    app.command("learn")(learn_command)


def learn_command(
    targets: TargetsArgument,
    add: AddOption = None,
    bad: BadRunOption = None,
    out_file: OutFileOption = None,
    yes: YesOption = False,
    as_json: JsonOption = False,
) -> None:
    """Widen a task by one more good run, or narrow it by a bad run that it accepts."""
    if not add and bad is None:
        usage_error("name a good run with --add, or a bad one with --bad")
    change_task(targets, add or [], bad, Path(out_file) if out_file else None, yes=yes, as_json=as_json)
