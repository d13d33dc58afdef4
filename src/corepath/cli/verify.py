"""The command `corepath verify`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import Annotated, Any, Final, NamedTuple

import typer

from corepath.cli.options import JsonOption, TaskArguments, find_sources
from corepath.cli.printing import out, print_table, safe, say, table, usage_error
from corepath.drawing.export import count_text, span
from corepath.errors import CorepathError, count
from corepath.files.lookup import Source
from corepath.processes import ProcessKilledError, ProcessPool, forking
from corepath.verification.behaviour import check_behaviour
from corepath.verification.mutation import Tally, mutate, total
from corepath.verification.narrowing import Notice, challenge, total_notices
from corepath.verification.notes import list_notes
from corepath.verification.verdict import Verdict
from corepath.verification.verify import verify_seeds, verify_task
from corepath.verification.world_rules import check_rules

MOST_SHOWN: Final = 5
"""Number of survivors or missed changes that are printed for each kind."""


def add_commands(app: typer.Typer) -> None:
    """Add this module's command to the app."""
    app.command("verify")(verify_command)


def verify_command(
    targets: TaskArguments = None,
    as_json: JsonOption = False,
    mutants: Annotated[
        bool, typer.Option("--mutants", help="Test the scores on mutated golden paths instead.")
    ] = False,
    narrow: Annotated[
        bool, typer.Option("--narrow", help="Test the proof itself: delete right ways, add wrong ones.")
    ] = False,
    notes: Annotated[bool, typer.Option("--notes", help="List what a person should look at instead.")] = False,
    seeds: Annotated[int, typer.Option(min=1, help="Variants of each task to execute.")] = 5,
    nodes: Annotated[
        int, typer.Option(min=0, help="How many pairs of states to search for other ways to the goal.")
    ] = 10_000,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="Search every variant, not only the canonical task.")
    ] = False,
    jobs: Annotated[int | None, typer.Option(min=1, help="Number of processes. Default: one per core.")] = None,
) -> None:
    """Prove tasks in their worlds: every right way is accepted, every wrong call is harm. Or show a counterexample."""
    if mutants + narrow + notes > 1:
        usage_error("--mutants, --narrow and --notes are three different tests; choose one")
    sources = find_sources(targets, playable=True)
    mode = "mutants" if mutants else "narrow" if narrow else "notes" if notes else "proof"
    work = [_Job(source, seeds, nodes, mode, thorough) for source in sources]
    try:
        found = _map(_work, work, jobs)
        of_worlds = _map(_check_world, _whole_worlds(sources), jobs) if mode == "proof" else []
    except CorepathError as error:  # a task that cannot be built
        say(str(error))
        raise typer.Exit(1) from None
    except ProcessKilledError:
        say("a process was killed; was there enough memory? Try --jobs 1")
        raise typer.Exit(1) from None
    if not _print(mode, found, [failure for one in of_worlds for failure in one], as_json=as_json):
        raise typer.Exit(1)


class _Job(NamedTuple):
    """A task to verify, and the options for verifying it."""

    source: Source
    seeds: int
    nodes: int
    mode: str
    thorough: bool


def _map(function: Callable[[Any], Any], work: list[Any], jobs: int | None) -> list[Any]:
    """Apply a function to all items, in several processes if there are several items."""
    workers = min(jobs or os.cpu_count() or 1, len(work))
    if workers <= 1:
        return list(map(function, work))
    with ProcessPool(workers, partial(_give, function), forking()) as pool:
        return [future.result() for future in [pool.submit(one) for one in work]]


def _give(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return function


def _work(job: _Job) -> Any:
    """Verify one task. The world is looked up here, because this may run in another process."""
    source, world = job.source, job.source.world()
    match job.mode:
        case "mutants":
            return mutate(source.make(), world)
        case "narrow":
            return [] if source.in_file else challenge(world, source.name, job.nodes)
        case "notes":
            return [f"{source.id}: {note}" for note in list_notes(source.make(), world)]
    if source.in_file:
        return verify_task(source.make(), world, 0, job.nodes)
    return verify_seeds(world, source.name, job.seeds, job.nodes, thorough=job.thorough)


def _whole_worlds(sources: Iterable[Source]) -> list[Source]:
    """Return one source for each world of which all tasks are verified."""
    chosen: dict[tuple[str, str], list[Source]] = {}
    for source in sources:
        if not source.in_file:
            chosen.setdefault((source.where, source.id.partition("/")[0]), []).append(source)
    return [found[0] for found in chosen.values() if len(found) == len(found[0].world().makers)]


def _check_world(source: Source) -> list[str]:
    """Verify a world as a whole."""
    world = source.world()
    try:
        failures = [*check_rules(world, world.tasks().values()), *check_behaviour(world, source.where)]
    except CorepathError as error:
        failures = [str(error)]
    return [f"{world.name}: {failure}" for failure in failures]


# Printing


def _print(mode: str, found: list[Any], of_worlds: list[str], *, as_json: bool) -> bool:
    """Print what was found. Return True if nothing is wrong."""
    match mode:
        case "mutants":
            return _print_mutants(total(tally for one in found for tally in one), as_json=as_json)
        case "narrow":
            return _print_notices(total_notices(notice for one in found for notice in one), as_json=as_json)
        case "notes":
            for note in (note for one in found for note in one):
                typer.echo(json.dumps({"note": note}) if as_json else safe(note))
            return True
    return _print_verdicts(found, of_worlds, as_json=as_json)


def _print_verdicts(found: list[Verdict], of_worlds: list[str], *, as_json: bool) -> bool:
    """Print the verdicts on tasks and worlds. Return True if all are proven."""
    if as_json:
        for verdict in found:
            typer.echo(json.dumps(verdict.to_dict()))
        for failure in of_worlds:
            say(failure)
    else:
        _print_verdict_table(found, of_worlds)
    return all(one.ok for one in found) and not of_worlds


def _print_verdict_table(found: list[Verdict], of_worlds: list[str]) -> None:
    made = table(
        "task", "golden\npaths", "lengths", "pairs", "searched", "depth", "decoys", "fool\nboth", "aliases", "proven"
    )
    for one in found:
        fooled = str(list(one.decoys.values()).count("both"))
        lengths = span(list(one.lengths)) if one.lengths else "–"
        numbers = (f"{one.pairs:,}", f"{one.nodes:,}", _depth(one), str(len(one.decoys)), fooled, str(len(one.says)))
        made.add_row(safe(one.task), count_text(one.golden_paths), lengths, *numbers, "yes" if one.ok else "no")
    print_table(made)
    for one in found:
        for failure in one.failures:
            say(f"{one.task}: {failure}")
    for failure in of_worlds:
        say(failure)
    failed = sum(not one.ok for one in found)
    out.print(f"{count(len(found), 'task')}, {failed} with failures")


def _depth(verdict: Verdict) -> str:
    """Say up to how many extra calls the search is complete."""
    if verdict.exhausted:
        return "all"
    if verdict.depth is None:
        return "moves" if verdict.moves else "–"
    return str(verdict.depth)


def _print_mutants(tallies: list[Tally], *, as_json: bool) -> bool:
    """Print how many mutants were killed. Return True if all were killed and no valid path was punished."""
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
        for survivor in one.survivors[:MOST_SHOWN]:
            say(f"{one.mode} survives: {survivor}")
    return all(one.killed == one.mutants and not one.valid_punished for one in tallies)


def _print_notices(notices: list[Notice], *, as_json: bool) -> bool:
    """Print how many changes the proof noticed, and those that it missed. Return True if it noticed all."""
    made = table("change", "procedure", "changes", "noticed", "share")
    for one in notices:
        if as_json:
            typer.echo(json.dumps(vars(one)))
        else:
            made.add_row(one.kind, "narrower" if one.narrows else "wider", *_shares([one]))
    if not as_json:
        for narrows, name in ((True, "narrower"), (False, "wider")):
            made.add_row("all", name, *_shares([one for one in notices if one.narrows is narrows]))
        print_table(made)
    for one in notices:
        for missed in one.missed:
            say(f"not noticed: {missed}")
    return all(one.noticed == one.changes for one in notices)


def _shares(notices: list[Notice]) -> tuple[str, str, str]:
    """Return the numbers of changes and of noticed changes, and the share of the latter."""
    changes, noticed = sum(one.changes for one in notices), sum(one.noticed for one in notices)
    return f"{changes:,}", f"{noticed:,}", f"{100 * noticed / changes:.1f} %" if changes else "–"
