"""Loads the results of runs for the commands that show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import typer

from corepath.cli.options import find_tasks, require_episodes
from corepath.cli.printing import fail, print_problems, say
from corepath.cli.profile import Profile
from corepath.cli.progress import show_status
from corepath.errors import CorepathError, InputError, MissingExtraError, count
from corepath.report.loading import load_results
from corepath.report.results import Results
from corepath.rules.rule import Rule

MOST_PRINTED: Final = 20
"""Maximum number of problems to print. The rest are only counted."""


def load(places: list[Path], tasks: list[str] | None, profile: Profile | None, rules: Sequence[Rule] = ()) -> Results:
    """Load the episodes in run folders and episode files, and print the problems."""
    require_episodes(places)
    find_tasks(tasks)
    with _explain_errors(), show_status("reading episodes"):
        results = load_results(*places, tasks=tasks or [], scoring=profile.scoring if profile else None, rules=rules)
    print_problems(results.problems[:MOST_PRINTED])
    if len(results.problems) > MOST_PRINTED:
        say(f"and {len(results.problems) - MOST_PRINTED:,} more")
    return results


@contextmanager
def _explain_errors() -> Iterator[None]:
    """Turn an error inside the `with` block into a message, and exit with code 1."""
    try:
        yield
    except (InputError, MissingExtraError):
        raise
    except CorepathError as error:
        fail(str(error))


def finish(results: Results, line: str | None = None) -> None:
    """Print `line` and the notes on the results. Exit with code 1 if some lines could not be read."""
    if line:
        typer.echo(line)
    for note in results.notes:
        say(note)
    if results.problems:
        say(f"{count(len(results.problems), 'bad line')} left out")
        raise typer.Exit(1)
