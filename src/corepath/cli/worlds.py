"""The commands about worlds: verify, worlds, new."""

from __future__ import annotations

import json
import os
from concurrent.futures import ProcessPoolExecutor
from enum import StrEnum
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from corepath.authoring.templates import TASK_STARTER, WORLD_STARTER
from corepath.cli.options import JsonOption, TaskArguments, find_sources
from corepath.cli.printing import out, print_table, safe, say, table, usage_error
from corepath.drawing.export import count_text, span
from corepath.errors import CorepathError, count
from corepath.files.lookup import Source
from corepath.verification.mutation import Tally, mutate, total
from corepath.verification.verdict import Verdict
from corepath.verification.verify import verify_seeds, verify_task
from corepath.world.discovery import installed_worlds, world


class Kind(StrEnum):
    """The kinds of file that `new` can write."""

    WORLD = "world"
    TASK = "task"


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the app."""
    app.command("verify")(verify_command)
    app.command("worlds")(worlds_command)
    app.command("new")(new_command)


def verify_command(
    targets: TaskArguments = None,
    as_json: JsonOption = False,
    mutants: Annotated[
        bool, typer.Option("--mutants", help="Test the scores on mutated golden paths instead.")
    ] = False,
    seeds: Annotated[int, typer.Option(min=1, help="Variants of each task to execute.")] = 5,
    nodes: Annotated[
        int, typer.Option(min=0, help="How many pairs of states to search for other ways to the goal.")
    ] = 10_000,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="Search every variant, not only the canonical task.")
    ] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="Number of processes. Default: one per core.")] = None,
) -> None:
    """Verify tasks in their worlds: execute golden paths and decoys, and search for other ways to the goal."""
    work = [_Job(source, seeds, nodes, mutants, thorough) for source in find_sources(targets, playable=True)]
    workers = min(jobs or os.cpu_count() or 1, len(work))
    try:
        if workers == 1:
            found = list(map(_work, work))
        else:
            with ProcessPoolExecutor(workers) as pool:
                found = list(pool.map(_work, work))
    except CorepathError as error:  # a task that cannot be built
        say(str(error))
        raise typer.Exit(1) from None
    if mutants:
        ok = _print_mutants(total(tally for one in found for tally in one), as_json=as_json)
    else:
        ok = _print_verdicts(found, as_json=as_json)
    if not ok:
        raise typer.Exit(1)


def worlds_command(
    named: Annotated[
        str | None, typer.Argument(metavar="WORLD", help="World whose rules, tools and tasks to show.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the installed worlds, or show one: its rules, tools and tasks."""
    if named is not None:
        _show_world(find_sources([named], playable=True), as_json=as_json)
        return
    made = table("world", "tools", "tasks", "golden paths", "lengths", "about")
    for name in installed_worlds():
        found = world(name)
        automata = [task.automaton for task in found.tasks().values()]
        paths = sum(automaton.count for automaton in automata)
        lengths = sorted({length for automaton in automata for length in automaton.lengths})
        if as_json:
            row = {"world": name, "about": found.about, "tools": list(found.tools), "tasks": list(found.makers)}
            typer.echo(json.dumps({**row, "golden_paths": paths, "lengths": lengths}))
        else:
            counts = (str(len(found.tools)), str(len(found.makers)), count_text(paths))
            made.add_row(name, *counts, span(lengths), safe(found.about))
    if not as_json:
        print_table(made)


def _show_world(sources: list[Source], *, as_json: bool) -> None:
    """Print the rules, tools and tasks of the sources' worlds."""
    for found in {id(one): one for one in (source.world() for source in sources)}.values():
        tools = [tool.schema | {"writes": tool.writes} for tool in found.tools.values()]
        if as_json:
            row = {"world": found.name, "about": found.about, "rules": found.rules, "tools": tools}
            typer.echo(json.dumps({**row, "tasks": list(found.makers)}))
            continue
        typer.echo(f"{found.name}: {found.about}\n\n{found.rules.strip()}\n\ntools")
        for tool in found.tools.values():
            typer.echo(f"  {tool.name}({_parameters(tool.schema)})  {'writes' if tool.writes else 'reads'}")
            typer.echo("".join(f"      {line}\n" for line in tool.description.splitlines()), nl=False)
        typer.echo("\ntasks")
        for name in found.makers:
            typer.echo(f"  {found.name}/{name}")


def _parameters(schema: dict[str, Any]) -> str:
    """Format a tool's parameters and their types as in a signature."""
    shown = []
    for name, of in schema["parameters"]["properties"].items():
        kind = " | ".join(map(json.dumps, of["enum"])) if "enum" in of else of.get("type")
        kind = kind or " or ".join(str(one.get("type")) for one in of.get("anyOf", []))
        default = f" = {json.dumps(of['default'])}" if "default" in of else ""
        shown.append(f"{name}: {kind or 'any'}{default}")
    return ", ".join(shown)


def new_command(
    kind: Annotated[Kind, typer.Argument(help="What to write.")],
    name: Annotated[str, typer.Argument(help="Name of the world or task: letters, digits and _.")],
) -> None:
    """Write a starter file into this folder: a world in Python or a task in YAML."""
    if not name.isidentifier() or iskeyword(name):
        usage_error(f"'{name}' is no name: use letters, digits and _, and begin with a letter")
    path = Path(f"{name}.py" if kind is Kind.WORLD else f"{name}.yaml")
    if path.exists():
        usage_error(f"{path} is already there; nothing was written")
    path.write_text((WORLD_STARTER if kind is Kind.WORLD else TASK_STARTER).replace("NAME", name))
    typer.echo(f"wrote {path}; now run: corepath verify {path}")


# Verifying


class _Job(NamedTuple):
    """A task to verify, and the options for verifying it."""

    source: Source
    seeds: int
    nodes: int
    mutants: bool
    thorough: bool


def _work(job: _Job) -> Any:
    """Verify one task, possibly in a worker process, and return its verdict or its mutant tallies."""
    source, world = job.source, job.source.world()
    if job.mutants:
        return mutate(source.make(), world)
    if source.in_file:
        return verify_task(source.make(), world, 0, job.nodes)
    return verify_seeds(world, source.name, job.seeds, job.nodes, thorough=job.thorough)


# Printing


def _print_verdicts(found: list[Verdict], *, as_json: bool) -> bool:
    """Print the verdicts. Return True if all tasks are proven."""
    if as_json:
        for verdict in found:
            typer.echo(json.dumps(verdict.to_dict()))
    else:
        _print_verdict_table(found)
    return all(one.ok for one in found)


def _print_verdict_table(found: list[Verdict]) -> None:
    made = table(
        "task", "golden paths", "lengths", "pairs", "searched", "depth", "decoys", "fool both", "aliases", "proven"
    )
    for one in found:
        fooled = str(list(one.decoys.values()).count("both"))
        depth = "all" if one.exhausted else "–" if one.depth is None else str(one.depth)
        lengths = span(list(one.lengths)) if one.lengths else "–"
        made.add_row(safe(one.task), count_text(one.golden_paths), lengths, f"{one.pairs:,}", f"{one.nodes:,}", depth,
                     str(len(one.decoys)), fooled, str(len(one.says)), "yes" if one.ok else "no")  # fmt: skip
    print_table(made)
    for one in found:
        for failure in one.failures:
            say(f"{one.task}: {failure}")
    failed = sum(not one.ok for one in found)
    out.print(f"{count(len(found), 'task')}, {failed} with failures")


def _print_mutants(tallies: list[Tally], *, as_json: bool) -> bool:
    """Print how many mutants were killed. Return True if all were killed and no valid path got a lower score."""
    made = table("mode", "metrics", "mutants", "killed", "BFCL state", "BFCL response", "valid", "punished")
    for one in tallies:
        if as_json:
            typer.echo(json.dumps(vars(one)))
            continue
        numbers = (
            one.mutants, one.killed, one.state_killed, one.response_killed, one.valid_variants, one.valid_punished,
        )  # fmt: skip
        made.add_row(one.mode, ", ".join(one.metrics), *map(str, numbers))
    if not as_json:
        print_table(made)
    for one in tallies:
        for survivor in one.survivors[:5]:
            say(f"{one.mode} survives: {survivor}")
    return all(one.killed == one.mutants and not one.valid_punished for one in tallies)
