"""The command that lets a model write rules: draft."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from corepath.authoring.draft import NOTATION, Draft, Examples, make_examples
from corepath.cli import run_options as option
from corepath.cli.models import check_models
from corepath.cli.options import MISSING_EXTRA, OutFileOption, require_path
from corepath.cli.printing import say, usage_error
from corepath.cli.rule_check import print_findings, rule_findings
from corepath.errors import RunError, count
from corepath.files.tool_list import load_tool_list
from corepath.values import visible
from corepath.verification.rule_relations import relate

PolicyArgument = Annotated[Path, typer.Argument(metavar="POLICY", help="The policy in prose.", callback=require_path)]
ToolsOption = Annotated[
    Path,
    typer.Option("--tools", help="The agent's tools: a tool file, or a JSON list as in OpenAI's API or MCP.",
                 callback=require_path),
]  # fmt: skip
ModelOption = Annotated[str, typer.Option("--model", help="Model that writes the rules: PROVIDER/NAME.")]


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the app."""
    app.command("draft")(draft_command)


def draft_command(
    policy: PolicyArgument,
    tools: ToolsOption,
    model: ModelOption,
    out_file: OutFileOption = None,
    base_url: option.BaseUrl = None,
    max_retries: option.Retries = 5,
    timeout: option.Timeout = 300.0,
) -> None:
    """Let a model write a rule file from a policy in prose, with examples to confirm."""
    draft = Draft(_read(policy), load_tool_list(tools))
    options = {"base_url": base_url, "max_retries": max_retries, "timeout": timeout}
    check_models([model], options)
    _ask(draft, model, options)
    for bad in draft.bad:
        say(visible(f"left out: {' '.join(bad.text.split())}: {'; '.join(bad.errors)}"))
    if not draft.rules:
        say("corepath: the answer has no rule that can be used, so no file is written")
        raise typer.Exit(1)
    for warning in draft.warnings:
        say(visible(f"warning: {warning}"))
    relations = relate(draft.rules)
    findings = list(rule_findings(draft.rules, relations))
    examples = make_examples(draft.rules, relations.kept, relations.broken)
    text = draft.write(examples, f"Drafted from {policy.name} by {model}.")
    if out_file is None:
        typer.echo(text, nl=False)
        for one in findings:
            say(visible(f"{'error' if one.is_error else 'note'}: {one.text}"))
    else:
        out_file.write_text(text, encoding="utf-8")
        _print_rules(draft, examples)
        print_findings(findings)
        say(f"{count(len(draft.rules), 'rule')} in {out_file}; confirm each by its examples")
    if draft.bad or any(one.is_error for one in findings):
        raise typer.Exit(1)


def _read(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        usage_error(f"{path} is not UTF-8; save the policy as UTF-8")
    if not text.strip():
        usage_error(f"{path} is empty; it should hold the policy in prose")
    return text


def _ask(draft: Draft, model: str, options: dict[str, Any]) -> None:
    """Let the model write the rules. Rules that cannot be read are sent back once."""
    from corepath.runs.chat import open_chat  # noqa: PLC0415  # needs the packages that models need

    try:
        with open_chat(model, NOTATION, options, lambda *_: None) as chat:
            draft.add(chat.ask(draft.ask()))
            if draft.bad:
                draft.add(chat.ask(draft.ask_again()))
    except RunError as error:
        say(f"corepath: {error}")
        raise typer.Exit(MISSING_EXTRA) from None


def _print_rules(draft: Draft, examples: list[Examples]) -> None:
    for number, (rule, one) in enumerate(zip(draft.rules, examples, strict=True), 1):
        typer.echo(visible(f"{number}. {rule}"))
        if rule.because:
            typer.echo(visible(f"   because:  {' '.join(rule.because.split())}"))
        typer.echo(visible(f"   allowed:  {one.allowed}"))
        typer.echo(visible(f"   refused:  {one.refused}"))
