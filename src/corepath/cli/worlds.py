"""The commands about worlds: verify, worlds, tasks, new."""

from __future__ import annotations

import json
import os
from concurrent.futures import ProcessPoolExecutor
from enum import StrEnum
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from corepath.cli.printing import out, print_table, safe, say, table, wrong_use
from corepath.errors import CorepathError, TaskError, count, nearest
from corepath.mutants import Tally, mutate, total
from corepath.show import count_text, span
from corepath.sources import Source, all_sources
from corepath.starters import TASK_STARTER, WORLD_STARTER
from corepath.verify import Verdict, verify_seeds, verify_task
from corepath.world import installed_worlds, traits, world

JsonOption = Annotated[bool, typer.Option("--json", help="One JSON object a line, for programs.")]


class Kind(StrEnum):
    """What `new` writes."""

    WORLD = "world"
    TASK = "task"


def add_commands(app: typer.Typer) -> None:
    """Give the command line the commands of this file."""
    app.command("verify")(verify_command)
    app.command("worlds")(worlds_command)
    app.command("tasks")(tasks_command)
    app.command("new")(new_command)


def verify_command(
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            help="Worlds (farm), tasks (farm/dry_plants), or files: worlds in .py, tasks in .yaml. Default: all."
        ),
    ] = None,
    as_json: JsonOption = False,
    mutants: Annotated[bool, typer.Option("--mutants", help="Test the evaluator on faulty and valid paths.")] = False,
    seeds: Annotated[int, typer.Option(min=1, help="Variants of each task that are executed.")] = 5,
    nodes: Annotated[int, typer.Option(min=0, help="Pairs that are searched for unknown ways to the goal.")] = 10_000,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="Search every variant, not the canonical one only.")
    ] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes; as many as there are cores unless given.")] = None,
) -> None:
    """Prove tasks against their worlds: execute every golden path, every decoy, and search for what was forgotten."""
    work = [_Job(source, seeds, nodes, mutants, thorough) for source in _chosen(targets or [])]
    workers = min(jobs or os.cpu_count() or 1, len(work))
    try:
        if workers == 1:
            found = list(map(_work, work))
        else:
            with ProcessPoolExecutor(workers) as pool:
                found = list(pool.map(_work, work))
    except CorepathError as error:  # a task that cannot be made has no mutants
        say(str(error))
        raise typer.Exit(1) from None
    if mutants:
        ok = _print_mutants(total(tally for one in found for tally in one), as_json=as_json)
    else:
        ok = _print_verdicts(found, as_json=as_json)
    if not ok:
        raise typer.Exit(1)


def worlds_command(as_json: JsonOption = False) -> None:
    """List the installed worlds."""
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


def tasks_command(
    name: Annotated[str | None, typer.Argument(metavar="[WORLD]", help="Only the tasks of one world.")] = None,
    as_json: JsonOption = False,
    seed: Annotated[int, typer.Option(help="0 is the canonical task, any other number a variant of it.")] = 0,
    runs: Annotated[
        list[Path] | None,
        typer.Option("--items", metavar="RUNS", help="How hard each task was for the agents of these runs."),
    ] = None,
    files: Annotated[
        list[Path] | None, typer.Option("--tasks", "-t", help="With --items: task files, for episode files.")
    ] = None,
) -> None:
    """List the tasks of the installed worlds; with --items, as items of a test."""
    if runs:
        _print_items(runs, files, name, as_json=as_json)
        return
    known = installed_worlds()
    if name is not None and name not in known:
        wrong_use(f"no world '{name}'{nearest(name, known)}")
    made = table("task", "golden paths", "lengths", "decoys", "tags")
    for one in [name] if name else known:
        for task in world(one).tasks(seed).values():
            tags = [*task.tags, *traits(task)]
            if as_json:
                row = {"task": task.id, "world": one, "prompt": task.prompt, "golden_paths": task.automaton.count}
                also = {"lengths": task.automaton.lengths, "decoys": list(task.decoys), "tags": tags, "seed": seed}
                typer.echo(json.dumps({**row, **also}))
            else:
                counts = (count_text(task.automaton.count), span(task.automaton.lengths), str(len(task.decoys)))
                made.add_row(task.id, *counts, ", ".join(tags))
    if not as_json:
        print_table(made)


def _print_items(runs: list[Path], tasks: list[Path] | None, world_name: str | None, *, as_json: bool) -> None:
    """Difficulty and discrimination of the tasks that were played."""
    from corepath.cli.report import end, loaded  # noqa: PLC0415  # the rest of this file needs no runs
    from corepath.report.items import items  # noqa: PLC0415
    from corepath.report.tables import items_table  # noqa: PLC0415

    results = loaded(runs, tasks, None)
    if world_name is not None and results.by_world and world_name not in results.by_world:
        wrong_use(f"no task of world '{world_name}' was played{nearest(world_name, results.by_world)}")
    found = [item for item in items(results) if world_name in (None, item.task.partition("/")[0])]
    if as_json:
        for item in found:
            typer.echo(json.dumps(item.to_dict()))
    else:
        typer.echo(items_table(found).text())
    end(results)


def new_command(
    kind: Annotated[Kind, typer.Argument(help="world or task.")],
    name: Annotated[str, typer.Argument(help="Its name: letters, digits and _.")],
) -> None:
    """Write a file to start from, here: a world in Python or a task in YAML."""
    if not name.isidentifier() or iskeyword(name):
        wrong_use(f"'{name}' is no name: use letters, digits and _, and begin with a letter")
    path = Path(f"{name}.py" if kind is Kind.WORLD else f"{name}.yaml")
    if path.exists():
        wrong_use(f"{path} is already there; nothing was written")
    path.write_text((WORLD_STARTER if kind is Kind.WORLD else TASK_STARTER).replace("NAME", name))
    then = f"corepath verify {path}"
    typer.echo(f"wrote {path}; now run: {then}")


# What is verified


def _chosen(targets: list[str]) -> list[Source]:
    try:
        return all_sources(targets)
    except TaskError as error:
        if any(target.endswith(".py") and Path(target).exists() for target in targets):
            say(str(error))  # a file that is wrong, not a command
            raise typer.Exit(1) from None
        wrong_use(str(error))


class _Job(NamedTuple):
    """One task to be verified, and how."""

    source: Source
    seeds: int
    nodes: int
    mutants: bool
    thorough: bool


def _work(job: _Job) -> Any:
    """Verify one task; runs in a process of its own, so it finds the world itself."""
    source, world = job.source, job.source.world()
    if job.mutants:
        return mutate(source.make(), world)
    if source.in_file:
        return verify_task(source.make(), world, 0, job.nodes)
    return verify_seeds(world, source.name, job.seeds, job.nodes, thorough=job.thorough)


# How it is told


def _print_verdicts(found: list[Verdict], *, as_json: bool) -> bool:
    if as_json:
        for verdict in found:
            typer.echo(json.dumps(verdict.to_dict()))
    else:
        made = table(
            "task", "golden paths", "lengths", "pairs", "searched", "depth", "decoys", "fool both", "aliases", "proven"
        )
        for one in found:
            fooled = str(list(one.decoys.values()).count("both"))
            depth = "all" if one.exhausted else "–" if one.depth is None else str(one.depth)
            paths = count_text(one.golden_paths)
            lengths = span(list(one.lengths)) if one.lengths else "–"
            proven = "yes" if one.ok else "no"
            made.add_row(safe(one.task), paths, lengths, f"{one.pairs:,}", f"{one.nodes:,}", depth,
                         str(len(one.decoys)), fooled, str(len(one.says)), proven)  # fmt: skip
        print_table(made)
        for one in found:
            for failure in one.failures:
                say(f"{one.task}: {failure}")
        failed = sum(not one.ok for one in found)
        out.print(f"{count(len(found), 'task')}, {failed} with failures")
    return all(one.ok for one in found)


def _print_mutants(tallies: list[Tally], *, as_json: bool) -> bool:
    made = table("mode", "metrics", "mutants", "killed", "BFCL state", "BFCL response", "valid", "punished")
    for one in tallies:
        if as_json:
            typer.echo(json.dumps(vars(one)))
            continue
        numbers = (
            one.mutants,
            one.killed,
            one.state_killed,
            one.response_killed,
            one.valid_variants,
            one.valid_punished,
        )
        made.add_row(one.mode, ", ".join(one.metrics), *map(str, numbers))
    if not as_json:
        print_table(made)
    for one in tallies:
        for survivor in one.survivors[:5]:
            say(f"{one.mode} survives: {survivor}")
    return all(one.killed == one.mutants and not one.valid_punished for one in tallies)
