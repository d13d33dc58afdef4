"""The output of `corepath run --dry-run`."""

from __future__ import annotations

import json

import typer

from corepath.cli.printing import print_table, print_text, safe, table
from corepath.errors import count
from corepath.runs.folder import RunFolder
from corepath.runs.plan import Plan


def print_dry_run(plan: Plan, folder: RunFolder | None, *, as_json: bool) -> None:
    """Print what a run would play, and estimate the tokens.

    If `folder` is a run to resume, print only how many episodes are missing.
    """
    if folder is None:
        _print_new_run(plan, as_json=as_json)
        return
    missing = plan.size - sum(1 for _ in folder.episodes())
    if as_json:
        typer.echo(json.dumps({"run": str(folder.path), "episodes": plan.size, "missing": missing}))
    else:
        print_text(f"{missing:,} of {count(plan.size, 'episode')} are missing and would be played; nothing was run")


def _print_new_run(plan: Plan, *, as_json: bool) -> None:
    from corepath.runs.token_estimate import estimate  # noqa: PLC0415

    rows = [(source.id, estimate(source.make(plan.seed))) for source in plan.sources]
    agents = len(plan.agents) + len(plan.models)
    if as_json:
        for id_, row in rows:
            typer.echo(json.dumps({"task": id_, "episodes": agents * plan.epochs, **vars(row)}))
        return
    made = table("task", "episodes", "tools", "step limit", "turns", "tokens a turn")
    for id_, row in rows:
        numbers = (agents * plan.epochs, row.tools, row.step_limit, row.turns)
        made.add_row(safe(id_), *map(str, numbers), f"{row.tokens_a_turn:,}")
    print_table(made)
    names = ", ".join((*plan.agents, *plan.models))
    sizes = (count(len(plan.sources), "task"), count(agents, "agent"), count(plan.epochs, "epoch"))
    print_text(f"{count(plan.size, 'episode')}: {' × '.join(sizes)} ({names})")
    if plan.models:
        times = len(plan.models) * plan.epochs
        tokens_in = times * sum(row.input_tokens for _, row in rows)
        tokens_out = times * sum(row.output_tokens for _, row in rows)
        print_text(
            f"about {tokens_in:,} tokens in and {tokens_out:,} out, if every path is a shortest one; nothing was run"
        )
