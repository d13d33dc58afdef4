"""The command that learns from runs: learn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from corepath.automaton.alphabet import Refused
from corepath.cli.learn_add import AddOption, change_task
from corepath.cli.learn_rules import learn_rules_command
from corepath.cli.learn_tasks import LearnOptions, learn_tasks_command
from corepath.cli.options import JsonOption, OutFileOption, require_path, require_paths
from corepath.cli.printing import usage_error
from corepath.files.folders import TASK_ENDINGS

RunsArgument = Annotated[
    list[str],
    typer.Argument(metavar="GOOD", help="Good runs or traces, in any format. With --add, and with --bad and without "
                   "--rules: the task file."),
]  # fmt: skip
BadRunsOption = Annotated[
    list[Path] | None,
    typer.Option("--bad", metavar="RUNS", help="Bad runs. With --rules, the rules tell them from the good ones. "
                 "Otherwise one that the task file accepts: asks which step was missing.",
                 callback=lambda paths: require_paths(paths or [])),
]  # fmt: skip
RulesFlag = Annotated[bool, typer.Option("--rules", help="Learn rules instead of tasks.")]
LearnToolsOption = Annotated[
    Path | None,
    typer.Option("--tools", help="Tool file, as corepath tools writes it: which tools read, write or are neutral. "
                 "Default: what the runs themselves show.", callback=require_path),
]  # fmt: skip
RefusedOption = Annotated[
    Refused | None,
    typer.Option("--refused", help="How to judge calls that the tool refused. Default: try, or ignore_other_tools if "
                 "a good run has a refused call of a tool that no step has."),
]  # fmt: skip
YesOption = Annotated[
    bool, typer.Option("--yes", "-y", help="Ask nothing: take what the runs suggest, and write the change of a task.")
]
WorldOption = Annotated[
    str | None, typer.Option("--world", metavar="TASK", help="A task whose world answers the questions by executing.")
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")]


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the app."""
    app.command("learn")(learn_command)


def learn_command(
    runs: RunsArgument,
    tools: LearnToolsOption = None,
    out_file: OutFileOption = None,
    force: ForceOption = False,
    yes: YesOption = False,
    world: WorldOption = None,
    refused: RefusedOption = None,
    rules: RulesFlag = False,
    add: AddOption = None,
    bad: BadRunsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn tasks or rules from good runs; or widen a task by a good run, and narrow it by a bad one."""
    if out_file is not None and out_file.exists() and not force:
        usage_error(f"{out_file} exists; --force replaces it")
    bad = bad or []
    of_tasks = {"--world": world, "--refused": refused}
    if rules:
        _refuse("--rules learns rules", {**of_tasks, "--add": add})
        learn_rules_command(require_paths([Path(run) for run in runs]), bad, tools, out_file, as_json=as_json)
    elif add or bad:
        _refuse(f"{'--add' if add else '--bad'} changes a task that is there", {**of_tasks, "--tools": tools})
        if bad and not any(run.partition("::")[0].endswith(TASK_ENDINGS) for run in runs):
            usage_error("--bad needs --rules to learn rules, or a task file that accepts the bad run")
        if len(bad) > 1:
            usage_error("--bad takes one run that the task accepts")
        change_task(runs, add or [], bad[0] if bad else None, out_file, yes=yes, as_json=as_json)
    else:
        options = LearnOptions(tools, out_file, yes=yes, world=world, refused=refused, as_json=as_json)
        learn_tasks_command(require_paths([Path(run) for run in runs]), options)


def _refuse(mode: str, options: Mapping[str, object]) -> None:
    """Exit with code 2 if an option is given that does not go with what is asked for."""
    if given := [name for name, value in options.items() if value]:
        usage_error(f"{mode}; {given[0]} does not go with it")
