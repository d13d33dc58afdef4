"""How the commands print: tables, problems, and text that is safe to show."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from textwrap import TextWrapper
from typing import Literal, NoReturn

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.table import Column as RichColumn
from rich.table import Table
from rich.text import Text

from corepath.errors import Problem, count
from corepath.files.episodes import EpisodeLine
from corepath.report.table import Table as ScoreTable
from corepath.values import visible

out = Console(highlight=False)
"""Standard output. Where there is no terminal, it is 80 columns wide, or as wide as $COLUMNS says."""
err = Console(highlight=False, stderr=True)

_LINE_BREAK = re.compile(r"[ \t]*\r?\n\s*")
_LEFT = ("task", "lengths", "warnings", "world", "tags", "mode", "metrics", "about", "change", "procedure", "rule")
_NARROWEST = 14
_LONGEST_WORD = 24
_WRAPPED = ("task", "tags", "metrics", "about", "rule")


def table(*columns: str) -> Table:
    """Create a table without borders. Text is left-aligned, numbers are right-aligned, and only long text wraps."""
    made = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        justify: Literal["left", "right"] = "left" if column in _LEFT else "right"
        made.add_column(column, justify=justify, no_wrap=column not in _WRAPPED, overflow="fold")
    return made


def print_table(made: Table) -> None:
    """Print a table. Long text wraps. If even so it does not fit, lines overflow rather than lose digits."""
    least = sum(map(_least_width, made.columns))
    Console(highlight=False, file=out.file, width=max(out.width, least)).print(made)


def _least_width(column: RichColumn) -> int:
    """Return how wide a column is at least. A column that wraps is as wide as its longest word, within limits."""
    texts = [line for text in (column.header, *column.cells) for line in str(text).split("\n")]
    if column.no_wrap:
        return max(map(cell_len, texts)) + 1
    words = (cell_len(word) for text in texts for word in text.split())
    return max(_NARROWEST, min(max(words, default=0), _LONGEST_WORD)) + 1


def print_scores(made: ScoreTable, *, wide: bool = False) -> None:
    """Print a table of scores so that it fits the terminal, or whole if `wide` is True."""
    sys.stdout.write(made.text(None if wide else out.width) + "\n")
    sys.stdout.flush()


def print_text(text: str, indent: str = "") -> None:
    """Print a paragraph so that it fits the terminal, without breaking a word. Lines after the first are indented."""
    sys.stdout.write(wrap_text(text, indent) + "\n")
    sys.stdout.flush()


def wrap_text(text: str, indent: str = "") -> str:
    """Wrap a paragraph to the width of the terminal. Its own indentation and `indent` begin all lines but the first."""
    own = text[: len(text) - len(text.lstrip(" "))]
    made = TextWrapper(
        out.width, initial_indent=own, subsequent_indent=own + indent, break_long_words=False, break_on_hyphens=False
    )
    return made.fill(visible(text.strip()))


def safe(text: str) -> Text:
    """Make untrusted text safe to print: escape control characters, ignore markup, and cut long text."""
    return Text(visible(text if len(text) <= 120 else text[:119] + "…"))


def safe_lines(text: str) -> str:
    """Escape control characters in text, but keep its line breaks."""
    return "\n".join(map(visible, text.split("\n")))


def print_problems(problems: Iterable[Problem]) -> None:
    """Print each problem on its own line of standard error. Advice that follows a problem has a line of its own."""
    for problem in problems:
        message, _, advice = str(problem).partition("\n")
        say(message)
        if advice:
            say(f"  {advice}")


def print_damage(lines: Iterable[EpisodeLine], what: str) -> set[int]:
    """Print the problems in a run's lines. Return the numbers of the damaged lines.

    `what` says what happens to the damaged lines, e.g. "would be set aside".
    """
    problems = [line.problem for line in lines if line.problem is not None]
    print_problems(problems)
    if problems:
        say(f"{count(len(problems), 'damaged line')} {what}")
    return {problem.line for problem in problems}


def say(text: str) -> None:
    """Print a message for the user on one line of standard error."""
    err.print(Text(visible(_LINE_BREAK.sub(" ", text.rstrip()))), soft_wrap=True)


@contextmanager
def ask() -> Iterator[None]:
    """Ask the user something inside the `with` block. Exit with code 130 at Ctrl-C, and at the end of the input."""
    try:
        yield
    except typer.Abort:
        say("")
        say("stopped at a question; nothing is written")
        raise typer.Exit(130) from None


def usage_error(message: str) -> NoReturn:
    """Print a usage error and exit with code 2."""
    say(f"corepath: {_LINE_BREAK.sub('; ', message.strip())}")
    raise typer.Exit(2)


def fail(message: str) -> NoReturn:
    """Print an error and exit with code 1."""
    say(f"corepath: {message}")
    raise typer.Exit(1)
