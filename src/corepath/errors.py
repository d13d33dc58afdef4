"""The errors that corepath raises.

CorepathError
├── NotationError     call notation that cannot be parsed
├── TaskError         an invalid task or world definition
├── ToolError         a tool that cannot do what the agent asked
├── StepLimitError    a call beyond the task's step limit
├── RunError          a run that cannot continue
├── OptionError       an invalid run option, e.g. an unknown agent or provider
├── SendError         a server that does not take what is sent to it
├── MissingExtraError a package that is not installed
└── InputError        all problems in the input files, each with file and line
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


class CorepathError(Exception):
    """Base class of all errors in this package."""


class NotationError(CorepathError, ValueError):
    """Raised when call notation cannot be parsed. `position` is the index in `text` at which parsing failed."""

    def __init__(self, message: str, text: str, position: int) -> None:
        self.message, self.text, self.position = message, text, position
        super().__init__(f"{message}, at character {position + 1} of: {excerpt(text, position)}")

    def __reduce__(self) -> tuple[type[NotationError], tuple[str, str, int]]:
        return type(self), (self.message, self.text, self.position)  # so that other processes can raise it


class TaskError(CorepathError, ValueError):
    """Raised when a task or world definition is invalid. `problems` lists every fault that was found."""

    def __init__(self, problems: Iterable[Fault]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(fault.message for fault in self.problems))

    def __reduce__(self) -> tuple[type[TaskError], tuple[tuple[Fault, ...]]]:
        return type(self), (self.problems,)  # so that other processes can raise it

    @classmethod
    def of(cls, message: str, *where: str | int) -> TaskError:
        """Create an error with a single problem. `where` is the path to the field, e.g. `"transitions", "q0"`."""
        return cls([Fault(message, where)])


class ToolError(CorepathError):
    """Raised by a tool that cannot do what the agent asked.

    The agent reads the message, and the state does not change.
    """


class StepLimitError(CorepathError):
    """Raised when an agent exceeds the task's step limit. The call is not executed, and the episode ends."""


class RunError(CorepathError):
    """Raised when a run, or one of its models, cannot continue. The message says what would help."""


class OptionError(CorepathError, ValueError):
    """Raised when a run option has an invalid value. The message says which values are allowed."""


class SendError(CorepathError):
    """Raised when a server does not take what is sent to it. The message says what it answered."""


class MissingExtraError(CorepathError):
    """Raised when an optional package is not installed. The message says how to install it."""


@dataclass(frozen=True)
class Fault:
    """A mistake in a task definition.

    `where` is the path to the field, e.g. `("accept", 0)`, and `offset` is an index into that field's text. If `at_key`
    is True, the mistake is in the field's key rather than in its value.
    """

    message: str
    where: tuple[str | int, ...] = ()
    offset: int = 0
    at_key: bool = False


@dataclass(frozen=True)
class Problem:
    """A mistake in an input file. `line` and `column` count from 1."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}"


class InputError(CorepathError, ValueError):
    """Raised when input files contain mistakes. `problems` lists all of them."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))

    def __reduce__(self) -> tuple[type[InputError], tuple[tuple[Problem, ...]]]:
        return type(self), (self.problems,)  # so that other processes can raise it


class RecordError(Exception):
    """Raised when an importer cannot read a record. The caller turns it into a `Problem`."""


def count(number: int, one: str, more: str | None = None) -> str:
    """Format a number with its noun, e.g. `1 episode` or `2,000 episodes`. `more` is the plural if it is irregular."""
    return f"{number:,} {one if number == 1 else more or f'{one}s'}"


def install(extra: str) -> str:
    """Return the command that installs an optional extra, for use at the end of an error message."""
    return f"pip install 'corepath[{extra}]', or in a checkout: pip install '.[{extra}]'"


def no_such_file(path: str | Path) -> str:
    """Return an error message for a missing file or folder. If a similar name exists, the message suggests it."""
    beside = Path(path).parent
    names = [one.name for one in beside.iterdir()] if beside.is_dir() else []
    close = difflib.get_close_matches(Path(path).name[:100], names, n=1, cutoff=0.75)
    return f"no such file or folder: {path}" + (f"; did you mean '{beside / close[0]}'?" if close else "")


def excerpt(text: str, position: int, width: int = 60) -> str:
    """Return about `width` characters of `text` around `position`, on one line."""
    first = max(0, position - width // 2)
    part = text[first : first + width].replace("\n", " ")
    return ("…" if first else "") + part + ("…" if first + width < len(text) else "")


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return a hint for the end of an error message about an unknown name.

    The hint is e.g. `; did you mean 'move'?` if a similar name exists, and `; there is move, scan, water` otherwise. It
    is empty if there are no choices.
    """
    known = sorted(choices) if isinstance(choices, (set, frozenset)) else list(choices)
    close = difflib.get_close_matches(word[:100], known, n=1)
    if close:
        return f"; did you mean '{close[0]}'?"
    if not known:
        return ""
    return f"; there is {', '.join(known[:8])}" + (f" and {len(known) - 8} more" if len(known) > 8 else "")
