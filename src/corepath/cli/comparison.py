"""The commands that compare agents: compare, sensitivity."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import typer

from corepath.cli.options import (
    JsonOption,
    ProfileOption,
    RulesOption,
    RunsArgument,
    TasksOption,
    WideOption,
    find_rules,
    require_episodes,
)
from corepath.cli.printing import fail, print_scores, print_text, say, usage_error
from corepath.cli.progress import show_status
from corepath.cli.results import finish, load
from corepath.errors import count, nearest
from corepath.play.built_in import FLOOR
from corepath.report.comparison import NEITHER, Difference, compare, fewest_tasks, regressions
from corepath.report.results import Results
from corepath.report.sensitivity import Shift, sensitivity
from corepath.report.table import Column, Table
from corepath.report.tables import reward_table
from corepath.scoring.summary import BROKEN, MEANS, OPTIONAL, REWARD, VECTOR

MOST_TASKS: Final = 10
"""Maximum number of tasks that a comparison lists."""


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the app."""
    app.command("compare")(compare_command)
    app.command("sensitivity")(sensitivity_command)


# Compare


def compare_command(
    a: Annotated[str, typer.Argument(metavar="A", help="Run or episode file; PATH@AGENT if it has several agents.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another one, or another agent of the same one.")],
    tasks: TasksOption = None,
    rules: RulesOption = None,
    scores: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,...",
            help=f"Scores to compare. Default: {', '.join(VECTOR)}, and reward and {BROKEN} if there are any.",
        ),
    ] = None,
    fail_if_worse: Annotated[
        bool, typer.Option("--fail-if-worse", help="Exit 1 if B is worse than A in any score, more than by chance.")
    ] = False,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
    wide: WideOption = False,
) -> None:
    """Compare two agents on the tasks that both played: differences, intervals and what is detectable."""
    names = _parse_scores(scores)
    sides = [_split_agent(text) for text in (a, b)]
    paths = require_episodes(dict.fromkeys(path for path, _ in sides))
    found = find_rules(rules)
    loaded = {path: load([path], tasks, profile, found) for path in paths}
    ours, theirs = (_choose_agent(path, agent, loaded[path]) for path, agent in sides)
    differences = _find_differences(ours, theirs, names or (*VECTOR, *OPTIONAL))
    not_judged = NEITHER if names else (*NEITHER, REWARD)
    judged = [one for one in differences if one.score not in not_judged]
    lost = regressions(judged)
    if as_json:
        _print_json(ours, theirs, differences, lost)
    else:
        _print_comparison(ours, theirs, differences, lost, wide=wide)
    if fail_if_worse:
        _check_regressions(differences, judged, lost)
    _finish_all(loaded.values())


def _finish_all(loaded: Iterable[Results]) -> None:
    """Print the notes on all results. Exit with code 1 if some lines could not be read."""
    listed = list(loaded)
    notes = dict.fromkeys(note for one in listed for note in one.notes)
    finish(Results(problems=tuple(problem for one in listed for problem in one.problems), notes=tuple(notes)))


def _check_regressions(differences: list[Difference], judged: list[Difference], lost: list[Difference]) -> None:
    """Exit with code 1 if B is worse, and with code 2 if there are too few tasks to tell."""
    tasks_in_common, needed = len(differences[0].by_task), fewest_tasks(len(judged))
    if tasks_in_common < needed:
        usage_error(f"--fail-if-worse cannot tell a difference in {count(len(judged), 'score')} from chance with "
                    f"{count(tasks_in_common, 'task')}; it needs {needed}, or fewer scores (--scores pc)")  # fmt: skip
    if lost:
        raise typer.Exit(1)


def _compare_with_reward(ours: Results, theirs: Results) -> Table | None:
    """Build a table of how far the scores of A and B agree with the source's own reward, if it gave one."""
    sides = (("A", ours), ("B", theirs))
    return reward_table([replace(one, name=f"{side}: {one.name}") for side, own in sides for one in own.agreements])


def _parse_scores(text: str | None) -> tuple[str, ...]:
    """Return the scores that the user named. The tuple is empty if the option is not given."""
    if text is None:
        return ()
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for name in names:
        if name not in (*MEANS, *OPTIONAL):
            usage_error(f"--scores: no score '{name}'{nearest(name, (*MEANS, *OPTIONAL))}")
    if not names:
        usage_error("--scores names no score; write it as --scores pc,accepted")
    return names


def _split_agent(text: str) -> tuple[Path, str]:
    """Split `PATH@AGENT` into path and agent. If `text` has no `@` or is an existing path, the agent is empty."""
    path, at, agent = text.rpartition("@")
    return (Path(path), agent) if at and not Path(text).exists() else (Path(text), "")


def _choose_agent(path: Path, agent: str, results: Results) -> Results:
    """Return the results of one agent.

    Its name may be empty if there is only one agent besides the baseline agents in `FLOOR`.
    """
    agents = list(results.by_agent)
    if agent:
        if agent not in agents:
            usage_error(f"{path}: no agent '{agent}'{nearest(agent, agents)}")
        return results.only([agent])
    able = [name for name in agents if name not in FLOOR] or agents
    if not able:
        fail(f"{path} has no episodes")
    if len(able) > 1:
        some = ", ".join(f"{path}@{name}" for name in able[:4]) + (", …" if len(able) > 4 else "")
        usage_error(f"{path} has {count(len(able), 'agent')}; say which: {some}")
    return results.only(able)


def _find_differences(ours: Results, theirs: Results, names: tuple[str, ...]) -> list[Difference]:
    """Compute the difference in each score. Exit with code 1 if the two agents cannot be compared."""
    if ours.scoring != theirs.scoring:
        fail(f"A was scored with the profile {ours.scoring.profile} and B with {theirs.scoring.profile}; "
             "score them alike with --profile")  # fmt: skip
    differences = compare(next(iter(ours.by_agent.values())), next(iter(theirs.by_agent.values())), names)
    if not differences:
        fail(_explain_no_pairs(ours, theirs))
    return differences


def _explain_no_pairs(ours: Results, theirs: Results) -> str:
    """Return a message that explains why the agents cannot be compared."""
    for name, results in (("A", ours), ("B", theirs)):
        if not any(one.counted for one in results.by_agent.values()):
            return (
                f"no episode of {name} counts: all of them failed outside the agent, or the fault could not be planted"
            )
    seeds = {one.record.seed or 0 for results in (ours, theirs) for one in results.results}
    other = "; they were run with different seeds, so their tasks are different variants" if len(seeds) > 1 else ""
    return f"they have no task in common; a comparison pairs episodes by task{other}"


def _print_json(ours: Results, theirs: Results, differences: list[Difference], lost: list[Difference]) -> None:
    beside = _compare_with_reward(ours, theirs)
    rows = [{**one.to_dict(), "worse": one in lost} for one in differences]
    for row in [*rows, *(beside.to_dicts() if beside else ())]:
        typer.echo(json.dumps(row))


def _print_comparison(
    ours: Results, theirs: Results, differences: list[Difference], lost: list[Difference], *, wide: bool
) -> None:
    a, b = (f"{next(iter(one.by_agent))} ({one.places[0]})" for one in (ours, theirs))
    number = ".3f"
    table = Table(
        f"A: {a}\nB: {b}",
        (Column("score", "score"), Column("a", "A", number), Column("b", "B", number), Column("d", "B - A", "+.3f"),
         Column("interval", "95 % interval"), Column("detectable", "detectable", number)),
        tuple((one.score, one.a, one.b, one.difference, _interval(one), one.detectable) for one in differences),
    )  # fmt: skip
    print_scores(table, wide=wide)
    tasks = len(differences[0].by_task)
    print_text(f"over {count(tasks, 'task')} that both played; detectable: the smallest difference that would be seen "
               "four times in five")  # fmt: skip
    _print_changed_tasks(differences)
    if (beside := _compare_with_reward(ours, theirs)) is not None:
        typer.echo()
        print_scores(beside, wide=wide)
        typer.echo()
    worse_in = ", ".join(one.score for one in lost) or "no score"
    print_text(f"B is worse in {worse_in}, more than by chance (signs flipped at random, Holm's rule over the scores)")


def _interval(one: Difference) -> str:
    return "–" if one.interval is None else f"[{one.interval[0]:+.3f}, {one.interval[1]:+.3f}]"


def _print_changed_tasks(differences: list[Difference]) -> None:
    """Print the tasks whose scores changed most."""
    changed: dict[str, list[tuple[str, float]]] = {}
    for one in differences:
        for task, change in one.changed_most:
            changed.setdefault(task, []).append((one.score, change))
    if not changed:
        return
    typer.echo("\ntasks that changed most")
    ordered = sorted(changed.items(), key=lambda pair: (-sum(abs(change) for _, change in pair[1]), pair[0]))
    for task, changes in ordered[:MOST_TASKS]:
        listed = ", ".join(f"{score} {change:+.3f}" for score, change in changes)
        print_text(Column("task", "task").cell(task) + f": {listed}", "  ")
    if len(ordered) > MOST_TASKS:
        typer.echo(f"and {len(ordered) - MOST_TASKS} more")


# Sensitivity


def sensitivity_command(
    runs: RunsArgument, tasks: TasksOption = None, profile: ProfileOption = None, as_json: JsonOption = False
) -> None:
    """Show how the ranking of agents depends on λ, β and the other options, and which pairs change places."""
    results = load(runs, tasks, profile)
    if not results.by_agent:
        fail(f"no episodes in {', '.join(map(str, runs))}")
    if len(results.by_agent) == 1:
        fail("a ranking needs two agents or more; there is one")
    no_task = sum(result.task is None for result in results.results)
    if no_task == len(results.results):
        fail(f"no episode can be scored in other ways: {results.results[0].why}")
    with show_status("scoring in other ways"):
        shifts = sensitivity(results)
    if not any(shift.pairs for shift in shifts):
        fail("fewer than two agents have an episode that counts")
    if no_task:
        say(f"{no_task:,} of {count(len(results.results), 'episode')} are left out: their task cannot be found")
    if as_json:
        for shift in shifts:
            typer.echo(json.dumps(shift.to_dict()))
    else:
        _print_shifts(results, shifts)
    finish(results)


def _print_shifts(results: Results, shifts: list[Shift]) -> None:
    used = ", ".join(f"{name} {value}" for name, value in results.scoring.options.items() if name != "ktc_budget")
    print_text(f"as scored: {used}")
    typer.echo()
    rows = tuple(
        (shift.option, str(shift.value), shift.score, len(shift.flips), sum(flip.clear for flip in shift.flips),
         shift.pairs, _list_flips(shift))
        for shift in shifts
    )  # fmt: skip
    columns = (
        Column("option", "option"), Column("value", "value"), Column("score", "score"),
        Column("flips", "flipped", ",d"), Column("clear", "clear", ",d"), Column("pairs", "of pairs", ",d"),
        Column("which", "which were ahead before"),
    )  # fmt: skip
    note = "clear (*): the one was ahead by more than the smallest detectable difference"
    print_scores(Table("How the ranking of agents moves", columns, rows, (note,)))


def _list_flips(shift: Shift) -> str:
    """Name the first three pairs of agents that changed places, and count the rest."""
    ordered = sorted(shift.flips, key=lambda flip: not flip.clear)
    listed = ", ".join(f"{flip.better} > {flip.worse}{'*' * flip.clear}" for flip in ordered[:3])
    return listed + (f" and {len(ordered) - 3} more" if len(ordered) > 3 else "")
