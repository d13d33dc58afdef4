"""The command that learns from runs: learn."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corepath.cli.learn_rules import learn_rules_command
from corepath.cli.learn_tasks import LearnOptions, learn_tasks_command
from corepath.cli.options import JsonOption, OutFileOption, require_path, require_paths
from corepath.cli.printing import usage_error

GoodArgument = Annotated[
    list[Path], typer.Argument(metavar="GOOD", help="Good runs or traces, in any format.", callback=require_paths)
]
BadRunsOption = Annotated[
    list[Path] | None,
    typer.Option("--bad", metavar="RUNS", help="For rules: bad runs, which the rules tell from the good ones.",
                 callback=lambda paths: require_paths(paths or [])),
]  # fmt: skip
RulesFlag = Annotated[bool, typer.Option("--rules", help="Learn rules instead of tasks.")]
LearnToolsOption = Annotated[
    Path | None,
    typer.Option("--tools", help="Tool file, as corepath tools writes it: which tools read, write or are neutral. "
                 "Default: what the runs themselves show.", callback=require_path),
]  # fmt: skip
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing; take what the runs suggest.")]
WorldOption = Annotated[
    str | None, typer.Option("--world", metavar="TASK", help="A task whose world answers the questions by executing.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")]


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the app."""
    app.command("learn")(learn_command)


def learn_command(
    good: GoodArgument,
    tools: LearnToolsOption = None,
    out_file: OutFileOption = None,
    force: ForceOption = False,
    yes: YesOption = False,
    world: WorldOption = None,
    rules: RulesFlag = False,
    bad: BadRunsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn tasks from good runs, or rules that good runs keep and bad ones break."""
    if out_file is not None and out_file.exists() and not force:
        usage_error(f"{out_file} exists; --force replaces it")
    if rules:
        learn_rules_command(good, bad or [], tools, out_file, as_json=as_json)
    elif bad:
        usage_error("--bad is for rules; corepath check TASK --bad RUNS checks a task against bad runs")
    else:
        learn_tasks_command(good, LearnOptions(tools, out_file, yes=yes, world=world, as_json=as_json))
