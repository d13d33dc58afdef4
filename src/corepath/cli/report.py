"""The commands that show the results of runs: report, view, table."""

from __future__ import annotations

import json
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
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
)
from corepath.cli.printing import fail, print_scores, say, usage_error
from corepath.cli.progress import show_status
from corepath.cli.results import finish, load
from corepath.errors import CorepathError, OptionError, TaskError, install
from corepath.report.choice import MOST_SHOWN, choose_episodes
from corepath.report.results import Results
from corepath.report.summary_table import MORE_COLUMNS, PAPER_COLUMNS, Means
from corepath.report.table import Table
from corepath.report.tables import BY, faults_table, harms_table, reward_table, rules_table
from corepath.scoring.summary import check_weights


class By(StrEnum):
    """What each row of a table stands for."""

    AGENT = "agent"
    WORLD = "world"
    PAIR = "pair"
    TASK = "task"
    FAULT = "fault"
    HARM = "harm"
    REWARD = "reward"
    RULE = "rule"


class As(StrEnum):
    """The formats in which `table` prints."""

    TEXT = "text"
    MARKDOWN = "markdown"
    CSV = "csv"
    LATEX = "latex"
    JSON = "json"


EpisodesOption = Annotated[
    str | None,
    typer.Option(
        metavar="N|all|failed",
        help=f"Episodes in the page: a number of examples, all, or those that failed. Default: all, or {MOST_SHOWN:,} "
        "examples if there are more. Tables and figures are always of all episodes.",
    ),
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Only the episodes of this agent, task or world. Can be given several times."),
]


def add_commands(app: typer.Typer) -> None:
    """Add this module's commands to the app."""
    app.command("report")(report_command)
    app.command("view")(view_command)
    app.command("table")(table_command)


def report_command(
    runs: RunsArgument,
    tasks: TasksOption = None,
    rules: RulesOption = None,
    out_folder: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder to write to. Default: 'report' in the first run's folder, or NAME-report beside a file.",
        ),
    ] = None,
    episodes: EpisodesOption = None,
    only: OnlyOption = None,
    profile: ProfileOption = None,
) -> None:
    """Write a page that explains the episodes, the paper's tables in four formats, and the figures."""
    from corepath.report.output import write_figures, write_report  # noqa: PLC0415  # the page needs more than tables do

    _check_episodes(episodes)
    results = _narrow(load(runs, tasks, profile, find_rules(rules)), only)
    if results.problems and not results.results:
        fail("no episode could be read, so no report was written")
    folder = out_folder or _default_folder(runs[0])
    if folder.exists() and not folder.is_dir():
        usage_error(f"{folder} is a file; give a folder with --out")
    with show_status("writing the report"), _stop_at_changed_files():
        path = write_report(results, folder, choose_episodes(results, episodes))
        pdfs = write_figures(results, folder)
    if pdfs is None:
        say(f"figures as PDF need one more package: {install('figures')}")
    finish(results, f"report: {path}")


@contextmanager
def _stop_at_changed_files() -> Iterator[None]:
    """Exit with code 1 if an episode cannot be read again, since its file was changed after it was scored."""
    try:
        yield
    except CorepathError as error:
        fail(f"{error}; no page was written")


def _default_folder(first: Path) -> Path:
    return first / "report" if first.is_dir() else first.with_name(f"{first.stem}-report")


def _narrow(results: Results, names: list[str] | None) -> Results:
    """Return the results with these names. Exit with code 2 if there is no agent, task or world of a name."""
    try:
        return results.narrow(names) if names else results
    except OptionError as error:
        usage_error(f"--only: {error}")


def _check_episodes(wanted: str | None) -> None:
    """Exit with code 2 if the option `--episodes` is not valid."""
    try:
        choose_episodes(Results(), wanted)
    except OptionError as error:
        usage_error(f"--episodes: {error}")


def view_command(
    runs: RunsArgument,
    tasks: TasksOption = None,
    rules: RulesOption = None,
    episodes: EpisodesOption = None,
    only: OnlyOption = None,
    profile: ProfileOption = None,
) -> None:
    """Write the page to a temporary folder and open it in a browser."""
    from corepath.report.page import page  # noqa: PLC0415

    _check_episodes(episodes)
    results = _narrow(load(runs, tasks, profile, find_rules(rules)), only)
    if results.problems and not results.results:
        fail("no episode could be read, so there is no page")
    path = Path(tempfile.mkdtemp(prefix="corepath-")) / "report.html"
    with show_status("writing the page"), _stop_at_changed_files():
        path.write_text(page(results, choose_episodes(results, episodes)), encoding="utf-8")
    if not webbrowser.open(path.as_uri()):
        say("no browser could be opened here; open the page yourself")
    finish(results, f"page: {path}")


def table_command(
    runs: RunsArgument,
    tasks: TasksOption = None,
    rules: RulesOption = None,
    by: Annotated[
        By | None,
        typer.Option(
            help="What each row is about. Default: the paper's two tables, by agent and by world, the agreement "
            "with the source's own reward if there is one, and the rules if they are given."
        ),
    ] = None,
    form: Annotated[As, typer.Option("--as", help="Format of the table.")] = As.TEXT,
    more: Annotated[bool, typer.Option("--more", help="Show all columns, not only the paper's.")] = False,
    intervals: Annotated[bool, typer.Option("--intervals", help="Show a 95 % interval with each mean.")] = False,
    weights: Annotated[
        str | None, typer.Option(metavar="NAME=NUMBER,...", help="Add a column: the mean of scores with these weights.")
    ] = None,
    profile: ProfileOption = None,
    as_json: JsonOption = False,
    wide: WideOption = False,
) -> None:
    """Print the paper's tables."""
    means = Means(MORE_COLUMNS if more else PAPER_COLUMNS, intervals, _parse_weights(weights))
    results = load(runs, tasks, profile, find_rules(rules))
    found = [make_table(results, one, means) for one in ([by] if by else [By.AGENT, By.WORLD, By.REWARD, By.RULE])]
    tables = [table for table in found if table is not None]
    print_tables(tables, As.JSON if as_json else form, wide=wide)
    if not tables and by is not None:
        say(_NOTHING[by])
    finish(results)


_NOTHING: Final = {
    By.HARM: "there were no harmful calls",
    By.FAULT: "a table of failure modes needs the agent 'oracle' and agents that fail on purpose",
    By.REWARD: "no episode has a reward of its source",
    By.RULE: "a table of rules needs rules: name their file with --rules, here or when a file of scores is written",
}
"""What is said if there is nothing to put into a table."""


def _parse_weights(text: str | None) -> dict[str, float] | None:
    if text is None:
        return None
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, number = part.strip().partition("=")
        if name in found:
            usage_error(f"--weights: '{name}' has two weights")
        try:
            found[name] = float(number)
        except ValueError:
            usage_error(f"--weights: '{part.strip()}' must be NAME=NUMBER, such as pc=2,harm_free=1")
    try:
        return check_weights(found)
    except TaskError as error:
        usage_error(f"--weights: {error}")


def make_table(results: Results, by: By, means: Means) -> Table | None:
    """Make the table whose rows are about `by`, or return None if there is nothing to show."""
    match by:
        case By.FAULT:
            return faults_table(results)
        case By.HARM:
            return harms_table(results)
        case By.REWARD:
            return reward_table(results.agreements)
        case By.RULE:
            return rules_table(results)
    return BY[by.value](results, means)


def print_tables(tables: list[Table], form: As, *, wide: bool) -> None:
    """Print tables in a format. If `wide` is True, text has all columns, even if they do not fit the terminal."""
    for number, table in enumerate(tables):
        if form is As.JSON:
            for row in table.to_dicts():
                typer.echo(json.dumps(row))
            continue
        if number:
            typer.echo()
        if form is As.TEXT:
            print_scores(table, wide=wide)
        else:
            typer.echo(getattr(table, form.value)())
