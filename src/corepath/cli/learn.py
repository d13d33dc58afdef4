"""The command that learns from runs: learn."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from corepath.cli.learn_rules import learn_rules_command
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
RulesFlag = Annotated[bool, typer.Option("--rules", help="Learn rules.")]
LearnToolsOption = Annotated[
    Path | None,
    typer.Option("--tools", help="The agent's tools: a tool file, or a JSON list as in OpenAI's API or MCP.",
                 callback=require_path),
]  # fmt: skip


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the app."""
    app.command("learn")(learn_command)


def learn_command(
    good: GoodArgument,
    rules: RulesFlag = False,
    bad: BadRunsOption = None,
    tools: LearnToolsOption = None,
    out_file: OutFileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Learn rules from runs: rules that all good runs keep and bad ones break."""
    if not rules:
        usage_error("say what to learn: --rules")
    learn_rules_command(good, bad or [], tools, out_file, as_json=as_json)
