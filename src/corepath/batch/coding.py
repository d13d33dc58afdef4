"""Calls as numbers: calls of a task that differ only in what no pattern looks at are matched once."""

from __future__ import annotations

import json
from array import array
from typing import Any, Final

import msgspec

from corepath.automaton.flat import flat_form
from corepath.batch.lines import is_failed, is_shallow, parse_call
from corepath.notation.call import Call
from corepath.notation.matchers import Anything
from corepath.scoring.options import Scoring
from corepath.task import Task
from corepath.values import DEEPEST, arguments_of

MOST_CALLS: Final = 100_000
"""The most calls that are known between two batches, and the most texts of calls."""
MOST_TOOLS: Final = 1_000
"""The most tools of a task of which it is known what its patterns look at."""

CallKey = tuple[Any, ...]
"""A call's tool, whether it failed, the names of its arguments, and those values that a pattern looks at."""
_write_json: Final = msgspec.json.Encoder().encode


def options_text(scoring: Scoring) -> str | None:
    """Return all scoring options as JSON text, or None if a profile names them."""
    return json.dumps(scoring.options) if scoring.profile == "custom" else None


def read_arguments(text: str | None) -> Any:
    """Return the arguments that a text stands for, as `arguments_of` does."""
    try:
        found = msgspec.json.decode(text or "{}")
    except ValueError:
        found = None
    return found if type(found) is dict and is_shallow((text or "").encode()) else arguments_of(text)


class CallTable:
    """All kinds of calls, by number: the kernel's code, the tool, and whether such calls were executed or failed."""

    def __init__(self) -> None:
        self.codes = array("q")
        self.tools = array("q")
        self.ran = array("b")
        self.failed = array("b")
        self.tool_names: dict[str, int] = {}
        """The number of each tool, in the order of the numbers."""

    def add(self, code: int, tool: str, *, ran: bool, failed: bool) -> int:
        """Add a kind of calls and return its number."""
        self.codes.append(code)
        self.tools.append(self.tool_names.setdefault(tool, len(self.tool_names)))
        self.ran.append(ran)
        self.failed.append(failed)
        return len(self.codes) - 1


class TaskCoder:
    """Numbers the calls of the episodes of one task under one set of scoring options.

    `name` is what the episodes call their task. `number` is the coder's own number among all coders.
    """

    def __init__(self, name: str, task: Task, scoring: Scoring, table: CallTable, number: int) -> None:
        self.name, self.number = name, number
        self.task = task
        self.scoring = scoring
        self.profile = scoring.profile
        self.options = options_text(scoring)
        self.has_answer = task.answer_matcher is not None
        self.flat = flat_form(task.automaton)
        self.codes = self.flat.codes(scoring.errors)
        self.table = table
        self.known: dict[CallKey, int] = {}
        self.by_text: dict[bytes | tuple[str, str | None, bool], int] = {}
        """The numbers of calls in lines by their whole text, with results and ids, and of those in rows."""
        self._numbers: dict[tuple[int, str, bool], int] = {}
        self._decisive: dict[str, frozenset[str]] = {}

    def number_text(self, text: bytes, *, remember: bool = True) -> int:
        """Return the number of a call in a line. Raises `ValueError` if it is in an unusual form or wrong.

        `remember` says whether the text is likely to come again.
        """
        number = self.by_text.get(text)
        if number is None:
            call = parse_call(text)
            if len(text) > DEEPEST and not is_shallow(text, DEEPEST - 2):  # it stands in a list in an object
                raise ValueError("may be nested too deep")
            failed = call.error is not None and is_failed(call.error)
            number = self.number_call(call.tool, call.arguments, failed=failed)
            if remember:
                self.by_text[text] = number
        return number

    def number_row(self, tool: str, text: str | None, failed: bool, *, remember: bool) -> int:  # noqa: FBT001
        """Return the number of a call in a row, with its arguments as text."""
        number = self.by_text.get((tool, text, failed))
        if number is None:
            number = self.number_call(tool, read_arguments(text), failed=failed)
            if remember:
                self.by_text[tool, text, failed] = number
        return number

    def number_call(self, tool: str, arguments: Any, *, failed: bool) -> int:
        """Return the number of a call. Its arguments are any JSON value."""
        key = self._make_key(tool, arguments, failed=failed)
        number = self.known.get(key)
        if number is None:
            code = self.codes.code(Call(tool, arguments, error=failed))
            number = self.known[key] = self._number(code, tool, failed=failed)
        return number

    def _make_key(self, tool: str, arguments: Any, *, failed: bool) -> CallKey:
        """Return what tells a call apart. Values that no pattern of the task looks at are left out."""
        if type(arguments) is not dict:
            return tool, failed, _write_json(arguments)
        decisive = self._decisive.get(tool)
        if decisive is None:
            decisive = self._find_decisive(tool)
        values = [arguments[name] for name in arguments if name in decisive]
        return tool, failed, *arguments, *[one if type(one) is str else _write_json(one) for one in values]

    def _find_decisive(self, tool: str) -> frozenset[str]:
        """Return the names of the arguments whose values a pattern for this tool looks at."""
        if len(self._decisive) >= MOST_TOOLS:
            self._decisive.clear()
        alphabet = self.task.automaton.alphabet
        listed = (*alphabet.patterns, *alphabet.reads, *alphabet.neutral, *(one.call for one in alphabet.forbid))
        found = self._decisive[tool] = frozenset(
            name
            for pattern in listed
            if pattern.fits_tool(tool)
            for name, matcher in pattern.arguments.fields
            if not isinstance(matcher, Anything)
        )
        return found

    def _number(self, code: int, tool: str, *, failed: bool) -> int:
        key = (code, tool, failed)
        if key not in self._numbers:
            ran = not failed and self.codes.is_executable(code)
            self._numbers[key] = self.table.add(code, tool, ran=ran, failed=failed)
        return self._numbers[key]
