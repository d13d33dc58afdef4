"""How the commands print: tables, problems, and text that is safe to show."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from typing import Literal, NoReturn

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from corepath.errors import Problem
from corepath.files.episodes import EpisodeLine
from corepath.values import visible

out = Console(highlight=False, width=None if sys.stdout.isatty() else 160)
err = Console(highlight=False, stderr=True)

_LINES = re.compile(r"[ \t]*\r?\n\s*")
_LEFT = ("task", "episode", "accepted", "lengths", "warnings", "world", "tags", "mode", "metrics", "about", "agent")
_WRAPPED = ("task", "episode", "tags", "metrics", "about", "agent")


def table(*columns: str) -> Table:
    """A plain table; names stand left, numbers right, and only names are folded where it is too wide."""
    made = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        justify: Literal["left", "right"] = "left" if column in _LEFT else "right"
        made.add_column(column, justify=justify, no_wrap=column not in _WRAPPED, overflow="fold")
    return made


def print_table(made: Table) -> None:
    """Print a table; where the terminal is too narrow for its numbers it runs over rather than cut them."""
    widths = [max(cell_len(str(text)) for text in (column.header, *column.cells)) + 1 for column in made.columns[1:]]
    least = 9 if out.is_terminal else 15  # of the column with the names
    out.width = max(out.width, least + sum(widths))
    out.print(made)


def safe(text: str) -> Text:
    """An agent's or author's text as it may be printed: no control signs, no markup, not too long."""
    return Text(visible(text if len(text) <= 120 else text[:119] + "…"))


def safe_lines(text: str) -> str:
    """Lines of it, each safe."""
    return "\n".join(map(visible, text.split("\n")))


def report(problems: Iterable[Problem]) -> None:
    """Tell every problem."""
    for problem in problems:
        say(str(problem))


def tell_damage(lines: Iterable[EpisodeLine], what: str) -> set[int]:
    """The damaged lines of a run, each told, and what becomes of them."""
    problems = [line.problem for line in lines if line.problem is not None]
    report(problems)
    if problems:
        say(f"{len(problems):,} damaged {'line' if len(problems) == 1 else 'lines'} {what}")
    return {problem.line for problem in problems}


def say(text: str) -> None:
    """Tell the user something that is no result, on one line."""
    err.print(Text(visible(_LINES.sub(" ", text.strip()))), soft_wrap=True)


def wrong_use(message: str) -> NoReturn:
    """End the command: it was not called as it must be."""
    say(f"corepath: {_LINES.sub('; ', message.strip())}")
    raise typer.Exit(2)
