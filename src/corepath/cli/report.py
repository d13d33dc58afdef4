"""The commands that show what runs came to: report, view, table, compare, sensitivity."""

from __future__ import annotations

import json
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from corepath.cli.options import JsonOption, ProfileOption, RunsArgument, TasksOption, find_tasks, present_episodes
from corepath.cli.printing import out, report, say, wrong_use
from corepath.cli.profile import Profile
from corepath.cli.progress import waiting
from corepath.errors import CorepathError, InputError, TaskError, count, install, nearest
from corepath.play.built_in import FLOOR
from corepath.report.comparison import NEITHER, Difference, compare, fewest_tasks, regressions
from corepath.report.results import Results, load_results
from corepath.report.sensitivity import Shift, sensitivity
from corepath.report.summary_table import MORE_COLUMNS, PAPER_COLUMNS, Means
from corepath.report.table import Column, Table
from corepath.report.tables import BY, faults_table, harms_table
from corepath.scoring.summary import MEANS, VECTOR, check_weights


class By(StrEnum):
    """What a row of a table is of."""

    AGENT = "agent"
    WORLD = "world"
    PAIR = "pair"
    TASK = "task"
    FAULT = "fault"
    HARM = "harm"


class As(StrEnum):
    """How a table is written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    CSV = "csv"
    LATEX = "latex"
    JSON = "json"


def add_commands(app: typer.Typer) -> None:
    """Give the command line the commands of this file."""
    app.command("report")(report_command)
    app.command("view")(view_command)
    app.command("table")(table_command)
    app.command("compare")(compare_command)
    app.command("sensitivity")(sensitivity_command)


def report_command(
    runs: RunsArgument,
    tasks: TasksOption = None,
    out_folder: Annotated[
        Path | None, typer.Option("--out", help="Where to write. Default: 'report' in the first run's folder.")
    ] = None,
    profile: ProfileOption = None,
) -> None:
    """Write a page that explains every episode, the paper's tables in four formats, and the figures."""
    from corepath.report.output import write_figures, write_report  # noqa: PLC0415  # the page needs more than tables do

    results = loaded(runs, tasks, profile)
    if results.problems and not results.results:
        _refuse("nothing here could be used, so no report was written")
    folder = out_folder or _default_folder(runs[0])
    if folder.exists() and not folder.is_dir():
        wrong_use(f"{folder} is a file; give a folder with --out")
    with waiting("writing the report"):
        path = write_report(results, folder)
        pdfs = write_figures(results, folder)
    if pdfs is None:
        say(f"figures as PDF need one more package: {install('figures')}")
    end(results, f"report: {path}")


def view_command(runs: RunsArgument, tasks: TasksOption = None, profile: ProfileOption = None) -> None:
    """Write the page to a temporary place and open it in a browser."""
    from corepath.report.page import page  # noqa: PLC0415

    results = loaded(runs, tasks, profile)
    if results.problems and not results.results:
        _refuse("nothing here could be used, so there is no page")
    path = Path(tempfile.mkdtemp(prefix="corepath-")) / "report.html"
    with waiting("writing the page"):
        path.write_text(page(results), encoding="utf-8")
    if not webbrowser.open(path.as_uri()):
        say("no browser could be opened here; open the page yourself")
    end(results, f"page: {path}")


def table_command(
    runs: RunsArgument,
    tasks: TasksOption = None,
    by: Annotated[
        By | None, typer.Option(help="What a row is of. Default: the paper's two tables, by agent and by world.")
    ] = None,
    form: Annotated[As, typer.Option("--as", help="How to write it.")] = As.TEXT,
    more: Annotated[bool, typer.Option("--more", help="All columns, not only the paper's.")] = False,
    intervals: Annotated[bool, typer.Option("--intervals", help="A 95 % interval with each mean.")] = False,
    weights: Annotated[
        str | None, typer.Option(metavar="NAME=NUMBER,...", help="One more column: a mean with these weights.")
    ] = None,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the paper's tables."""
    form = As.JSON if as_json else form
    means = Means(MORE_COLUMNS if more else PAPER_COLUMNS, intervals, _weights(weights))
    results = loaded(runs, tasks, profile)
    tables = [_table(results, one, means) for one in ([by] if by else [By.AGENT, By.WORLD])]
    _print_tables(tables, by, form)
    end(results)


def compare_command(
    a: Annotated[str, typer.Argument(metavar="A", help="A run or episode file; PATH@AGENT where it has several.")],
    b: Annotated[str, typer.Argument(metavar="B", help="Another, or another agent of the same.")],
    tasks: TasksOption = None,
    scores: Annotated[
        str | None, typer.Option(metavar="NAME,...", help=f"Which scores. Default: {','.join(VECTOR)}.")
    ] = None,
    fail_if_worse: Annotated[
        bool, typer.Option("--fail-if-worse", help="Exit 1 if B is worse than A in any, more than by chance.")
    ] = False,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two agents on the tasks that both played: the difference, its interval, and what could be detected."""
    names = _score_names(scores)
    for text in (a, b):
        present_episodes([_split_agent(text)[0]])
    mine, theirs = (_one_agent(text, tasks, profile) for text in (a, b))
    if mine.scoring != theirs.scoring:
        _refuse(f"A was scored with the profile {mine.scoring.profile} and B with {theirs.scoring.profile}; "
                "score them alike with --profile")  # fmt: skip
    differences = compare(next(iter(mine.by_agent.values())), next(iter(theirs.by_agent.values())), names)
    if not differences:
        _refuse(_why_no_pair(mine, theirs))
    judged, tasks_in_common = [one for one in differences if one.score not in NEITHER], len(differences[0].by_task)
    needed = fewest_tasks(len(judged))
    lost = regressions(judged)
    if as_json:
        for one in differences:
            typer.echo(json.dumps({**one.to_dict(), "worse": one in lost}))
    else:
        _print_comparison(mine, theirs, differences)
    if not as_json:
        named = ", ".join(one.score for one in lost) or "no score"
        out.print(f"B is worse in {named}, more than by chance (signs flipped at random, Holm's rule over the scores)",
                  soft_wrap=True)  # fmt: skip
    if fail_if_worse and tasks_in_common < needed:
        wrong_use(f"--fail-if-worse cannot tell a difference in {count(len(judged), 'score')} from chance with "
                  f"{count(tasks_in_common, 'task')}; it takes {needed}, or fewer scores (--scores pc)")  # fmt: skip
    if lost and fail_if_worse:
        raise typer.Exit(1)


def sensitivity_command(
    runs: RunsArgument, tasks: TasksOption = None, profile: ProfileOption = None, as_json: JsonOption = False
) -> None:
    """Show how the ranking of agents moves over λ, β and the other options, and which pairs change places."""
    results = loaded(runs, tasks, profile)
    if len(results.by_agent) < 2:
        _refuse(
            "a ranking takes two agents or more; there is one"
            if results.by_agent
            else f"no episodes in {', '.join(map(str, runs))}"
        )
    silent = sum(result.task is None for result in results.results)
    if silent == len(results.results):
        _refuse(f"no episode can be scored in other ways: {results.results[0].why}")
    with waiting("scoring in other ways"):
        shifts = sensitivity(results)
    if not any(shift.pairs for shift in shifts):
        _refuse("fewer than two agents have an episode that counts")
    if silent:
        say(f"{silent:,} of {count(len(results.results), 'episode')} have no say: their task cannot be had")
    if as_json:
        for shift in shifts:
            typer.echo(json.dumps(shift.to_dict()))
    else:
        _print_shifts(results, shifts)
    end(results)


# What is asked for


def loaded(places: list[Path], tasks: list[str] | None, profile: Profile | None) -> Results:
    """What is in these places; what cannot be read of it is told."""
    present_episodes(places)
    find_tasks(tasks)
    with _told(), waiting("reading episodes"):
        results = load_results(*places, tasks=tasks or [], scoring=profile.scoring if profile else None)
    report(results.problems[:20])
    if len(results.problems) > 20:
        say(f"and {len(results.problems) - 20:,} more")
    return results


@contextmanager
def _told() -> Iterator[None]:
    """What is wrong with the input is said in a line."""
    try:
        yield
    except InputError:
        raise
    except CorepathError as error:
        _refuse(str(error))


def _refuse(message: str) -> NoReturn:
    say(f"corepath: {message}")
    raise typer.Exit(1)


def _default_folder(first: Path) -> Path:
    return first / "report" if first.is_dir() else first.with_name(f"{first.stem}-report")


def end(results: Results, line: str | None = None) -> None:
    """The last line, and the exit code: 1 where some input could not be used."""
    if line:
        typer.echo(line)
    for note in results.notes:
        say(note)
    if results.problems:
        say(f"{count(len(results.problems), 'bad line')} left out")
        raise typer.Exit(1)


def _weights(text: str | None) -> dict[str, float] | None:
    if text is None:
        return None
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = part.strip().partition("=")
        if name in found:
            wrong_use(f"--weights: '{name}' has two weights")
        try:
            found[name] = float(number)
        except ValueError:
            wrong_use(f"--weights: '{part.strip()}' must be NAME=NUMBER, such as pc=2,harm_free=1")
    try:
        return check_weights(found)
    except TaskError as error:
        wrong_use(f"--weights: {error}")


def _score_names(text: str | None) -> tuple[str, ...]:
    if text is None:
        return VECTOR
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    for name in names:
        if name not in MEANS:
            wrong_use(f"--scores: no score '{name}'{nearest(name, MEANS)}")
    if not names:
        wrong_use("--scores names no score; write it as --scores pc,accepted")
    return names


def _split_agent(text: str) -> tuple[Path, str]:
    """The place and the agent of `PATH@AGENT`; of a path that is there, no agent."""
    path, at, agent = text.rpartition("@")
    return (Path(path), agent) if at and not Path(text).exists() else (Path(text), "")


def _one_agent(text: str, tasks: list[str] | None, profile: Profile | None) -> Results:
    """The episodes of one agent: `PATH@AGENT`, or `PATH` where it has only one besides the floor."""
    path, agent = _split_agent(text)
    results = loaded([path], tasks, profile)
    agents = list(results.by_agent)
    if agent:
        if agent not in agents:
            wrong_use(f"{path}: no agent '{agent}'{nearest(agent, agents)}")
        return results.only([agent])
    able = [name for name in agents if name not in FLOOR] or agents
    if len(able) != 1:
        some = ", ".join(f"{path}@{name}" for name in able[:4]) + (", …" if len(able) > 4 else "")
        if not able:
            _refuse(f"{path} has no episodes")
        wrong_use(f"{path} has {count(len(able), 'agent')}; say which: {some}")
    return results.only(able)


def _why_no_pair(mine: Results, theirs: Results) -> str:
    """Why nothing can be compared."""
    for name, one in (("A", mine), ("B", theirs)):
        if not any(each.counted for each in one.by_agent.values()):
            return f"no episode of {name} counts: all of them failed outside the agent, or had no place for a fault"
    seeds = {one.episode.seed or 0 for results in (mine, theirs) for one in results.results}
    other = "; they were run with other seeds, so their tasks are other variants" if len(seeds) > 1 else ""
    return f"they have no task in common; a comparison is paired by task{other}"


# How it is told


def _table(results: Results, by: By, means: Means) -> Table | None:
    if by is By.FAULT:
        return faults_table(results)
    return harms_table(results) if by is By.HARM else BY[by.value](results, means)


def _print_tables(tables: list[Table | None], by: By | None, form: As) -> None:
    shown = [table for table in tables if table is not None]
    if not shown and by is By.HARM:
        say("there were no harmful calls")
    elif not shown:
        say("a table of failure modes takes the agent 'oracle' and agents that fail on purpose")
    for number, table in enumerate(shown):
        if number and form is not As.JSON:
            typer.echo()
        if form is As.JSON:
            for row in table.to_dicts():
                typer.echo(json.dumps(row))
        else:
            typer.echo(getattr(table, form.value)())


def _print_comparison(mine: Results, theirs: Results, differences: list[Difference]) -> None:
    a, b = (f"{next(iter(one.by_agent))} ({one.places[0]})" for one in (mine, theirs))
    number = ".3f"
    table = Table(
        f"A: {a}\nB: {b}",
        (Column("score", "score"), Column("a", "A", number), Column("b", "B", number), Column("d", "B - A", "+.3f"),
         Column("interval", "95 % interval"), Column("detectable", "detectable", number)),
        tuple((one.score, one.a, one.b, one.difference, _span(one), one.detectable) for one in differences),
    )  # fmt: skip
    typer.echo(table.text())
    tasks = len(differences[0].by_task)
    typer.echo(f"over {tasks} {'task' if tasks == 1 else 'tasks'} that both played; detectable: the smallest "
               "difference that would be seen four times in five")  # fmt: skip
    changed: dict[str, list[Any]] = {}
    for one in differences:
        for task, moved in one.changed_most:
            changed.setdefault(task, []).append((one.score, moved))
    most = sorted(changed.items(), key=lambda pair: (-sum(abs(moved) for _, moved in pair[1]), pair[0]))
    if most:
        typer.echo("\ntasks that changed most")
        for task, moves in most[:10]:
            said = ", ".join(f"{score} {moved:+.3f}" for score, moved in moves)
            typer.echo(Column("task", "task").cell(task) + f": {said}")
        if len(most) > 10:
            typer.echo(f"and {len(most) - 10} more")


def _span(one: Difference) -> str:
    return "–" if one.interval is None else f"[{one.interval[0]:+.3f}, {one.interval[1]:+.3f}]"


def _print_shifts(results: Results, shifts: list[Shift]) -> None:
    used = ", ".join(f"{name} {value}" for name, value in results.scoring.options.items() if name != "ktc_budget")
    typer.echo(f"as scored: {used}\n")
    rows = tuple(
        (shift.option, str(shift.value), shift.score, len(shift.flips), sum(flip.clear for flip in shift.flips),
         shift.pairs, _flips(shift))
        for shift in shifts
    )  # fmt: skip
    columns = (
        Column("option", "option"), Column("value", "value"), Column("score", "score"),
        Column("flips", "flipped", ",d"), Column("clear", "clear", ",d"), Column("pairs", "of pairs", ",d"),
        Column("which", "which were ahead before"),
    )  # fmt: skip
    note = "clear (*): the one was ahead by more than the smallest detectable difference"
    typer.echo(Table("How the ranking of agents moves", columns, rows, (note,)).text())


def _flips(shift: Shift) -> str:
    ordered = sorted(shift.flips, key=lambda flip: not flip.clear)
    shown = ", ".join(f"{flip.better} > {flip.worse}{'*' * flip.clear}" for flip in ordered[:3])
    return shown + (f" and {len(ordered) - 3} more" if len(ordered) > 3 else "")
