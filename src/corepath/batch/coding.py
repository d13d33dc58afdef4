"""Calls as numbers: each distinct call of a task is matched once, and has a number of its own from then on."""

from __future__ import annotations

import json
from array import array
from typing import Any, Final

from corepath.automaton.flat import flat_form
from corepath.notation.call import Call, unknown_token
from corepath.scoring.options import Scoring
from corepath.task import Task
from corepath.values import arguments_of, parse_json

MOST_CALLS: Final = 500_000
"""The most distinct calls that are kept between two batches."""

MOST_TEXTS: Final = 100_000
"""The most calls of a task that are known by their whole text."""

CallKey = tuple[str, bytes, bool]
"""A call's tool, the text of its arguments, and whether the call failed."""


def options_text(scoring: Scoring) -> str | None:
    """Return all scoring options as JSON text, or None if a profile names them."""
    return json.dumps(scoring.options) if scoring.profile == "custom" else None


class CallTable:
    """All distinct calls of a batch, by number: the kernel's code, the tool, and whether the call was executed."""

    def __init__(self) -> None:
        self.codes = array("q")
        self.tools = array("q")
        self.ran = array("b")
        self.calls: list[Call] = []
        self.tool_names: dict[str, int] = {}
        """The number of each tool, in the order of the numbers."""

    def add(self, code: int, call: Call, *, ran: bool) -> int:
        """Add a call and return its number."""
        self.codes.append(code)
        self.tools.append(self.tool_names.setdefault(call.tool, len(self.tool_names)))
        self.ran.append(ran)
        self.calls.append(call)
        return len(self.calls) - 1

    def repeats(self, one: int, other: int) -> bool:
        """Whether two calls have the same tool and equal arguments."""
        return one == other or unknown_token(self.calls[one]) == unknown_token(self.calls[other])


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
        self.by_text: dict[bytes, int] = {}
        """The numbers of calls by their whole text, with their results and ids."""

    def add(self, key: CallKey, *, stored_as_text: bool = False) -> int:
        """Match a call that was not met before, and return its number.

        If its arguments are `stored_as_text`, any text that is not a JSON object stands for itself. Otherwise it must
        be JSON. Raises `ValueError` if it is not.
        """
        tool, text, failed = key
        given: Any = text.decode()
        arguments = arguments_of(given) if stored_as_text else parse_json(given)
        call = Call(tool, arguments, error="failed" if failed else None)
        code = self.codes.code(call)
        number = self.known[key] = self.table.add(code, call, ran=not failed and self.codes.is_executable(code))
        return number
