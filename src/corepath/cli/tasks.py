"""The commands that look at tasks: check, show, tasks, schema."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from corepath.cli.options import (
    NAMES,
    JsonOption,
    RunsArgument,
    TaskArguments,
    find_sources,
    present_episodes,
)
from corepath.cli.printing import print_table, report, safe, safe_lines, say, table, wrong_use
from corepath.drawing.draw import draw
from corepath.drawing.export import as_dot, as_mermaid, as_text, count_text, span
from corepath.errors import InputError, nearest
from corepath.files.lookup import Source
from corepath.files.schema import schema as format_schema
from corepath.files.task_writer import as_json as task_json
from corepath.task import Task
from corepath.world.traits import traits


class Format(StrEnum):
    """How `show` writes an automaton."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    JSON = "json"
    SVG = "svg"


class SchemaOf(StrEnum):
    """What `schema` describes."""

    TASK = "task"
    EPISODE = "episode"


def add_commands(app: typer.Typer) -> None:
    """Give the command line the commands of this file."""
    app.command("check")(check_command)
    app.command("show")(show_command)
    app.command("tasks")(tasks_command)
    app.command("schema")(schema_command)


def check_command(
    targets: Annotated[list[str], typer.Argument(metavar="TASKS...", help=f"{NAMES}.")], as_json: JsonOption = False
) -> None:
    """Check tasks, and count what they allow."""
    try:
        found = [source.make() for source in find_sources(targets)]
    except InputError as error:
        if as_json:
            for problem in error.problems:
                typer.echo(json.dumps({"ok": False, **vars(problem)}))
        else:
            report(error.problems)
        raise typer.Exit(1) from None
    made = table("task", "states", "actions", "golden paths", "lengths", "warnings")
    for task in found:
        automaton = task.automaton
        warnings = [*task.warnings, *automaton.read_warnings]
        if as_json:
            row = {
                "ok": True,
                "task": task.id,
                "states": len(automaton.states),
                "actions": len(automaton.alphabet.actions),
                "golden_paths": automaton.count,
                "lengths": automaton.lengths,
                "warnings": warnings,
            }
            sys.set_int_max_str_digits(0)  # counts are exact, however long
            typer.echo(json.dumps(row))
            continue
        counts = (len(automaton.states), len(automaton.alphabet.actions))
        made.add_row(
            safe(task.id), *(f"{count:,}" for count in counts), count_text(automaton.count), span(automaton.lengths),
            str(len(warnings)) if warnings else "",
        )  # fmt: skip
        for warning in warnings:
            say(f"warning: {task.id}: {warning}")
    if not as_json:
        print_table(made)


def show_command(
    name: Annotated[str, typer.Argument(metavar="TASK", help=f"{NAMES}; with --tasks an id.")],
    tasks: Annotated[list[str] | None, typer.Option("--tasks", "-t", help="Where to look for the id.")] = None,
    form: Annotated[Format, typer.Option("--as", help="text, mermaid, dot, json or svg.")] = Format.TEXT,
    seed: Annotated[int, typer.Option(help="0 is the canonical task, any other number a variant of it.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Show a task's automaton."""
    shown = [source.make(seed) for source in _named(name, tasks)]
    if as_json:
        for one in shown:
            typer.echo(json.dumps(json.loads(task_json(one))))
        return
    match form:
        case Format.TEXT:
            typer.echo("\n\n".join(safe_lines(as_text(one)) for one in shown))
        case Format.MERMAID:
            typer.echo("\n\n".join(as_mermaid(one.automaton) for one in shown))
        case Format.DOT:
            typer.echo("\n\n".join(as_dot(one.automaton) for one in shown))
        case Format.JSON:
            typer.echo(task_json(*shown))
        case Format.SVG:
            if len(shown) > 1:
                wrong_use(f"{name} has {len(shown):,} tasks, and --as svg draws one; name it, as in "
                          f"corepath show {name}::{shown[0].id}")  # fmt: skip
            _show_drawing(shown[0])


_MOST_STATES: Final = 60
"""A drawing of more states than these is collapsed: it would be many screens wide and high."""


def _show_drawing(task: Task) -> None:
    made = draw(task.automaton, collapsed=len(task.automaton.states) > _MOST_STATES, name=task.id)
    typer.echo(made.svg, nl=False)
    if made.hidden:
        say(made.hidden)


def _named(name: str, tasks: list[str] | None) -> list[Source]:
    """The task, or the tasks of a file, that a user named."""
    if tasks:
        known = {source.id: source for source in find_sources(tasks)}
        if name not in known:
            wrong_use(f"no task '{name}'{nearest(name, known)}")
        return [known[name]]
    found = find_sources([name])
    if len(found) > 1 and name == found[0].where and not found[0].in_file and not name.endswith(".py"):
        wrong_use(f"'{name}' is a world; name one of its tasks (corepath tasks {name} lists them)")
    return found


def tasks_command(
    targets: TaskArguments = None,
    as_json: JsonOption = False,
    seed: Annotated[int, typer.Option(help="0 is the canonical task, any other number a variant of it.")] = 0,
    runs: Annotated[
        list[Path] | None,
        typer.Option("--items", metavar="RUNS", help="How hard each task was for the agents of these runs.",
                     callback=lambda paths: present_episodes(paths or [])),
    ] = None,
) -> None:  # fmt: skip
    """List tasks; with --items, as items of a test."""
    if runs:
        _print_items(runs, targets, as_json=as_json)
        return
    made = table("task", "golden paths", "lengths", "decoys", "tags")
    for source in find_sources(targets):
        task = source.make(seed)
        tags = [*task.tags, *(traits(task) if task.simulator is not None else ())]
        if as_json:
            typer.echo(json.dumps(_task_row(source, task, tags, seed)))
        else:
            counts = (count_text(task.automaton.count), span(task.automaton.lengths), str(len(task.decoys)))
            made.add_row(safe(task.id), *counts, safe(", ".join(tags)))
    if not as_json:
        print_table(made)


def _task_row(source: Source, task: Task, tags: list[str], seed: int) -> dict[str, Any]:
    return {
        "task": task.id,
        "where": source.where,
        "world": task.world,
        "prompt": task.prompt,
        "golden_paths": task.automaton.count,
        "lengths": task.automaton.lengths,
        "decoys": list(task.decoys),
        "tags": tags,
        "seed": seed,
    }


def _print_items(runs: RunsArgument, targets: list[str] | None, *, as_json: bool) -> None:
    """Difficulty and discrimination of the tasks that were played."""
    from corepath.cli.report import end, loaded  # noqa: PLC0415  # the rest of this file needs no runs
    from corepath.report.item_analysis import items  # noqa: PLC0415
    from corepath.report.tables import items_table  # noqa: PLC0415

    wanted = {source.id for source in find_sources(targets)} if targets else None
    results = loaded(runs, targets, None)
    found = [item for item in items(results) if wanted is None or item.task.partition(" (seed ")[0] in wanted]
    if not found and wanted and results.results:
        wrong_use(f"no task of {', '.join(targets or [])} was played in these runs")
    if as_json:
        for item in found:
            typer.echo(json.dumps(item.to_dict()))
    else:
        typer.echo(items_table(found).text())
    end(results)


def schema_command(of: Annotated[SchemaOf, typer.Argument(help="task or episode.")] = SchemaOf.TASK) -> None:
    """Print the JSON Schema of task files or of episodes, for editors."""
    typer.echo(json.dumps(format_schema(of.value), indent=1))
