"""The commands that look at tasks: check, show, tasks, schema."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from corepath.cli.options import (
    TASK_NAMES,
    BadOption,
    CheckOptions,
    GoodOption,
    JsonOption,
    MutantsOption,
    SeedOption,
    TaskArguments,
    TracesOption,
    find_sources,
    require_episodes,
    require_paths,
)
from corepath.cli.printing import print_problems, print_scores, print_table, safe, safe_lines, say, table, usage_error
from corepath.drawing.draw import draw
from corepath.drawing.export import as_dot, as_mermaid, as_text, count_text, span
from corepath.drawing.lanes import draw_lanes
from corepath.errors import InputError, nearest
from corepath.files.lookup import Source
from corepath.files.rules import is_rule_file, load_rules
from corepath.files.schema import schema as format_schema
from corepath.files.task_writer import as_json as task_json
from corepath.rules.dogwood import as_dogwood, export_rule
from corepath.task import Task
from corepath.world.task_traits import traits


class Format(StrEnum):
    """The formats in which `show` prints an automaton, or rules (`dogwood`)."""

    TEXT = "text"
    MERMAID = "mermaid"
    DOT = "dot"
    JSON = "json"
    SVG = "svg"
    DOGWOOD = "dogwood"


class View(StrEnum):
    """What `show --as svg` draws."""

    LANES = "lanes"
    AUTOMATON = "automaton"


class SchemaOf(StrEnum):
    """The kinds of file that `schema` can describe."""

    TASK = "task"
    EPISODE = "episode"


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the app."""
    app.command("check")(check_command)
    app.command("show")(show_command)
    app.command("tasks")(tasks_command)
    app.command("schema")(schema_command)


def check_command(
    targets: Annotated[list[str], typer.Argument(metavar="TASKS", help=f"A rule file, or tasks: {TASK_NAMES}.")],
    as_json: JsonOption = False,
    good: GoodOption = None,
    bad: BadOption = None,
    mutants: MutantsOption = False,
    traces: TracesOption = None,
) -> None:
    """Check tasks or a rule file: by themselves, or with runs that are right, wrong, or variants of right ones."""
    options = CheckOptions(tuple(good or ()), tuple(bad or ()), mutants, traces)
    if mutants and not good:
        usage_error("--mutants makes faulty variants of good runs; name them with --good RUNS")
    if any(map(is_rule_file, targets)):
        _check_rules(targets, options, as_json=as_json)
        return
    if traces:
        usage_error("--traces is for rule files, as in corepath check rules.yaml")
    sources = _find_valid(targets, as_json=as_json)
    if good or bad:
        from corepath.cli.task_check import check_with_runs  # noqa: PLC0415  # a check without runs needs none of it

        check_with_runs(sources, options, as_json=as_json)
    else:
        _check_tasks([source.make() for source in sources], as_json=as_json)


def _find_valid(targets: list[str], *, as_json: bool) -> list[Source]:
    """Find the tasks that the user named. Print all problems in their files, if any, and exit with code 1."""
    try:
        found = find_sources(targets)
        for source in found:
            source.make()
    except InputError as error:
        if as_json:
            for problem in error.problems:
                typer.echo(json.dumps({"ok": False, **vars(problem)}))
        else:
            print_problems(error.problems)
        raise typer.Exit(1) from None
    return found


def _check_tasks(found: list[Task], *, as_json: bool) -> None:
    """Print the size and the warnings of each task."""
    if as_json:
        sys.set_int_max_str_digits(0)  # counts are exact, however long
        for task in found:
            typer.echo(json.dumps(_check_row(task)))
        return
    made = table("task", "states", "actions", "golden paths", "lengths", "warnings")
    for task in found:
        row = _check_row(task)
        warnings = row["warnings"]
        made.add_row(
            safe(task.id), f"{row['states']:,}", f"{row['actions']:,}", count_text(row["golden_paths"]),
            span(row["lengths"]), str(len(warnings)) if warnings else "",
        )  # fmt: skip
        for warning in warnings:
            say(f"warning: {task.id}: {warning}")
    print_table(made)


def _check_rules(targets: list[str], options: CheckOptions, *, as_json: bool) -> None:
    """Check the rules in a rule file."""
    from corepath.cli.rule_check import check_rule_file  # noqa: PLC0415  # tasks need none of it

    if len(targets) > 1:
        usage_error("rules are checked together, so name one rule file, and check tasks apart from it")
    check_rule_file(targets[0], options, as_json=as_json)


def _check_row(task: Task) -> dict[str, Any]:
    automaton = task.automaton
    return {
        "ok": True,
        "task": task.id,
        "states": len(automaton.states),
        "actions": len(automaton.alphabet.actions),
        "golden_paths": automaton.count,
        "lengths": automaton.lengths,
        "warnings": [*task.warnings, *automaton.read_warnings],
    }


def show_command(
    name: Annotated[
        str, typer.Argument(metavar="TASK", help=f"{TASK_NAMES}; with --tasks an id; with --as dogwood a rule file.")
    ],
    tasks: Annotated[
        list[str] | None, typer.Option("--tasks", "-t", help="Where to look for the id: files, folders or worlds.")
    ] = None,
    form: Annotated[Format, typer.Option("--as", help="Format of the output.")] = Format.TEXT,
    view: Annotated[
        View | None,
        typer.Option(
            "--view", help="What --as svg draws: the procedure as lanes, where it has them, or the automaton."
        ),
    ] = None,
    seed: SeedOption = 0,
    as_json: JsonOption = False,
) -> None:
    """Show a task's automaton, draw its procedure, or write rules as policies in Dogwood."""
    if view is not None and form is not Format.SVG:
        usage_error(f"--view {view.value} is for pictures; add --as svg")
    if form is Format.DOGWOOD:
        _print_dogwood(name)
        return
    if is_rule_file(name):
        usage_error(f"{name} has rules and no automaton; see corepath check {name}, or --as dogwood")
    found = [source.make(seed) for source in _find_named(name, tasks)]
    if as_json:
        for task in found:
            typer.echo(json.dumps(json.loads(task_json(task))))
    elif form is Format.JSON:
        typer.echo(task_json(*found))
    elif form is not Format.SVG:
        typer.echo("\n\n".join(map(_WRITERS[form], found)))
    elif len(found) > 1:
        usage_error(f"{name} has {len(found):,} tasks, and --as svg draws one; name it, as in "
                    f"corepath show {name}::{found[0].id}")  # fmt: skip
    else:
        _print_drawing(found[0], view)


def _print_dogwood(path: str) -> None:
    found = load_rules(require_paths([Path(path)])[0])
    exported = [export_rule(rule, found.tools) for rule in found.rules]
    typer.echo(safe_lines(as_dogwood(exported)), nl=False)
    for one in exported:
        if one.reason:
            say(f"not exported: {one.rule}: {one.reason}")


_WRITERS: Final[Mapping[Format, Callable[[Task], str]]] = {
    Format.TEXT: lambda task: safe_lines(as_text(task)),
    Format.MERMAID: lambda task: as_mermaid(task.automaton),
    Format.DOT: lambda task: as_dot(task.automaton),
}
_MOST_STATES: Final = 60
"""Automata with more states are drawn collapsed, since they would fill many screens."""


def _print_drawing(task: Task, view: View | None) -> None:
    made = None if view is View.AUTOMATON else draw_lanes(task)
    if made is None:
        if view is View.LANES:
            usage_error(f"{task.id} has no drawing as lanes; leave out --view lanes to get its automaton")
        if view is None:
            say(f"{task.id} has no drawing as lanes, so this is its automaton")
        made = draw(task.automaton, collapsed=len(task.automaton.states) > _MOST_STATES, name=task.id)
    typer.echo(made.svg, nl=False)
    if made.hidden:
        say(made.hidden)


def _find_named(name: str, tasks: list[str] | None) -> list[Source]:
    """Find the task that the user named, or all tasks in a file."""
    if tasks:
        known = {source.id: source for source in find_sources(tasks)}
        if name not in known:
            usage_error(f"no task '{name}'{nearest(name, known)}")
        return [known[name]]
    found = find_sources([name])
    if len(found) > 1 and name == found[0].where and not found[0].in_file and not name.endswith(".py"):
        usage_error(f"'{name}' is a world; name one of its tasks (corepath tasks {name} lists them)")
    return found


def tasks_command(
    targets: TaskArguments = None,
    as_json: JsonOption = False,
    seed: SeedOption = 0,
    runs: Annotated[
        list[Path] | None,
        typer.Option("--items", metavar="RUNS", help="Show how hard each task was for the agents of these runs.",
                     callback=lambda paths: require_episodes(paths or [])),
    ] = None,
) -> None:  # fmt: skip
    """List tasks; with --items, their difficulty and discrimination."""
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


def _print_items(runs: list[Path], targets: list[str] | None, *, as_json: bool) -> None:
    """Print the difficulty and discrimination of the tasks that were played."""
    from corepath.cli.results import finish, load  # noqa: PLC0415  # the rest of this file needs no runs
    from corepath.report.item_analysis import items  # noqa: PLC0415
    from corepath.report.tables import items_table  # noqa: PLC0415

    wanted = {source.id for source in find_sources(targets)} if targets else None
    results = load(runs, targets, None)
    found = [item for item in items(results) if wanted is None or item.task.partition(" (seed ")[0] in wanted]
    if not found and wanted and results.results:
        usage_error(f"no task of {', '.join(targets or [])} was played in these runs")
    if as_json:
        for item in found:
            typer.echo(json.dumps(item.to_dict()))
    else:
        print_scores(items_table(found))
    finish(results)


def schema_command(of: Annotated[SchemaOf, typer.Argument(help="What to describe.")] = SchemaOf.TASK) -> None:
    """Print the JSON Schema of task files or episodes, for editors."""
    typer.echo(json.dumps(format_schema(of.value), indent=1))
