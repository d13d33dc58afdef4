"""Every error a user can meet.

CorepathError
├── NotationError     a call, matcher or procedure in text that cannot be parsed
├── TaskError         a task that is wrong, found when it is built
├── ToolError         a tool of a world that cannot do what the agent asked
├── StepLimitError    a call beyond the step limit of an episode
├── RunError          a run that cannot continue, and what would help
├── OptionError       an option of a run with an unknown value, such as an agent or a provider
└── InputError        every problem in the input files, with file and line
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


class CorepathError(Exception):
    """Base class of all errors in this package."""


class NotationError(CorepathError, ValueError):
    """Text that cannot be parsed as call notation; `position` is the index in `text`."""

    def __init__(self, message: str, text: str, position: int) -> None:
        self.message, self.text, self.position = message, text, position
        super().__init__(f"{message}, at character {position + 1} of: {excerpt(text, position)}")


class TaskError(CorepathError, ValueError):
    """A task that is wrong; `problems` lists every reason, with the field it concerns."""

    def __init__(self, problems: Iterable[Fault]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(fault.message for fault in self.problems))

    @classmethod
    def of(cls, message: str, *where: str | int) -> TaskError:
        """An error with one problem; `where` is the path of the field."""
        return cls([Fault(message, where)])


class ToolError(CorepathError):
    """Raised by a tool that cannot do what was asked: the agent gets the message, the state does not change."""


class StepLimitError(CorepathError):
    """A call beyond the task's step limit: it is not executed, and the episode ends."""


class RunError(CorepathError):
    """A run, or one of its models, that cannot continue; the message says what would help."""


class OptionError(CorepathError, ValueError):
    """An option of a run with an unknown value; the message says which values exist."""


@dataclass(frozen=True)
class Fault:
    """Something wrong in a task definition.

    `where` is the path of the field, `offset` the character in its text; `at_key` points to the field's key instead.
    """

    message: str
    where: tuple[str | int, ...] = ()
    offset: int = 0
    at_key: bool = False


@dataclass(frozen=True)
class Problem:
    """Something wrong in a file; lines and columns count from 1."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


class InputError(CorepathError, ValueError):
    """Problems in input files; `problems` lists all of them."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class RecordError(Exception):
    """A record that an importer cannot read; the caller turns it into a `Problem`."""


def count(number: int, one: str, more: str | None = None) -> str:
    """A number with its noun: `1 episode`, `2,000 episodes`; `more` is an irregular plural."""
    return f"{number:,} {one if number == 1 else more or f'{one}s'}"


def install(extra: str) -> str:
    """The command that installs an extra, for the end of a message."""
    return f"pip install 'corepath[{extra}]', or in a checkout: pip install '.[{extra}]'"


def no_such_file(path: str | Path) -> str:
    """A message about a missing file or folder, with a suggestion if a similar name exists."""
    beside = Path(path).parent
    names = [one.name for one in beside.iterdir()] if beside.is_dir() else []
    close = difflib.get_close_matches(Path(path).name[:100], names, n=1, cutoff=0.75)
    return f"no such file or folder: {path}" + (f"; did you mean '{beside / close[0]}'?" if close else "")


def excerpt(text: str, position: int, width: int = 60) -> str:
    """The part of a text around a position, on one line."""
    first = max(0, position - width // 2)
    part = text[first : first + width].replace("\n", " ")
    return ("…" if first else "") + part + ("…" if first + width < len(text) else "")


def nearest(word: str, choices: Iterable[str]) -> str:
    """The end of a message about an unknown name: `; did you mean 'move'?` or `; there is move, scan, water`."""
    known = sorted(choices) if isinstance(choices, (set, frozenset)) else list(choices)
    close = difflib.get_close_matches(word[:100], known, n=1)
    if close:
        return f"; did you mean '{close[0]}'?"
    if not known:
        return ""
    return f"; there is {', '.join(known[:8])}" + (f" and {len(known) - 8} more" if len(known) > 8 else "")
