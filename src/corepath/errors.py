"""Every error a user can meet.

CorepathError
├── NotationError     a call, matcher or procedure in text that does not read
├── TaskError         a task that cannot be right, found when it is made
├── ToolError         what a tool of a world answers where it cannot do what was asked
├── StepLimitError    a call beyond the limit of an episode
├── RunError          a run that cannot go on, and how it can be continued
├── OptionError       an option of a run that names nothing there is: an agent, a provider
└── InputError        files that hold something wrong: every problem in them, with its place
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


class CorepathError(Exception):
    """What every corepath error is."""


class NotationError(CorepathError, ValueError):
    """Text in the call notation that does not read; `position` is where in `text`."""

    def __init__(self, message: str, text: str, position: int) -> None:
        self.message, self.text, self.position = message, text, position
        super().__init__(f"{message}, at character {position + 1} of: {excerpt(text, position)}")


class TaskError(CorepathError, ValueError):
    """A task that cannot be right. `problems` has each reason, with the field it stands in."""

    def __init__(self, problems: Iterable[Fault]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(fault.message for fault in self.problems))

    @classmethod
    def of(cls, message: str, *where: str | int) -> TaskError:
        """One problem, and the path of the field it stands in."""
        return cls([Fault(message, where)])


class ToolError(CorepathError):
    """Raised by a tool of a world that cannot do what was asked: the agent reads the message, the state stays."""


class StepLimitError(CorepathError):
    """A call beyond the task's step limit: it is not executed, and the episode is over."""


class RunError(CorepathError):
    """A run, or a model of it, that cannot go on; the message says what would help."""


class OptionError(CorepathError, ValueError):
    """An option of a run that names nothing there is; the message says what would be right."""


@dataclass(frozen=True)
class Fault:
    """One thing wrong in a task: the path of the field, and the character in its text, or that its key is meant."""

    message: str
    where: tuple[str | int, ...] = ()
    offset: int = 0
    at_key: bool = False


@dataclass(frozen=True)
class Problem:
    """One thing wrong in a file, and its place; lines and columns count from 1."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


class InputError(CorepathError, ValueError):
    """Files with something wrong in them. `problems` has all of it, not the first only."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class RecordError(Exception):
    """A record that an importer cannot read; the caller turns it into a `Problem` with its place."""


def count(number: int, one: str, more: str | None = None) -> str:
    """`1 episode`, `2,000 episodes`; `count(2, "box", "boxes")` where the plural is no `s`."""
    return f"{number:,} {one if number == 1 else more or f'{one}s'}"


def install(extra: str) -> str:
    """How an extra is installed, at the end of a message."""
    return f"pip install 'corepath[{extra}]', or in a checkout: pip install '.[{extra}]'"


def no_such_file(path: str | Path) -> str:
    """That a file or folder is not there, with one that is called nearly so."""
    beside = Path(path).parent
    names = [one.name for one in beside.iterdir()] if beside.is_dir() else []
    close = difflib.get_close_matches(Path(path).name[:100], names, n=1, cutoff=0.75)
    return f"no such file or folder: {path}" + (f"; did you mean '{beside / close[0]}'?" if close else "")


def excerpt(text: str, position: int, width: int = 60) -> str:
    """The part of a long text around a position, on one line."""
    first = max(0, position - width // 2)
    part = text[first : first + width].replace("\n", " ")
    return ("…" if first else "") + part + ("…" if first + width < len(text) else "")


def nearest(word: str, choices: Iterable[str]) -> str:
    """`; did you mean 'move'?` or `; it has move, scan, water`: the end of an error about a wrong name."""
    known = sorted(choices) if isinstance(choices, (set, frozenset)) else list(choices)
    close = difflib.get_close_matches(word[:100], known, n=1)
    if close:
        return f"; did you mean '{close[0]}'?"
    if not known:
        return ""
    return f"; there is {', '.join(known[:8])}" + (f" and {len(known) - 8} more" if len(known) > 8 else "")
