"""Values that must not be written: each is replaced by a salted hash that is the same for equal values.

A field's value is replaced wherever the field stands, in arguments, results, states and JSON texts; and where the value
stands in another text, as in an answer or an error, it is replaced there too.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from corepath.errors import InputError, Problem
from corepath.explore import as_call, simulator_of
from corepath.json_values import canonical, is_number, parse_json, written
from corepath.matchers import Literal
from corepath.task import Task

SALT: Final = "salt"
"""The file of a run's folder that has the salt. Who has it can test guesses: do not pass it on."""
SHORTEST: Final = 3
"""Signs of a value that is looked for in texts; shorter ones would be found everywhere."""
_KEPT: Final = ("version", "task", "agent", "epoch", "seed", "ended", "fault")
"""Fields of an episode's record that are the run's own."""


class Redaction:
    """Replaces the values of some fields. Of a value that it has met it knows from then on what stands for it."""

    def __init__(self, fields: Iterable[str], salt: bytes) -> None:
        self.fields, self.salt = frozenset(fields), salt
        self._known: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        names = "|".join(re.escape(name) for name in sorted(self.fields))
        self._label = re.compile(rf'\b({names})=("(?:[^"\\]|\\.)*"|[^,()\[\]{{}}\s]+)')

    def __call__(self, record: dict[str, Any]) -> dict[str, Any]:
        """The record without these values."""
        self.learn(record)
        return {name: value if name in _KEPT else self._without(value, name) for name, value in record.items()}

    def learn(self, value: Any) -> None:
        """Look for values that are to be replaced."""
        for secret in self._found(value):
            for text in _texts(secret):
                if text not in self._known:
                    self._known[text] = self.hashed(secret)
                    self._pattern = None

    def hashed(self, value: Any) -> str:
        """What stands for a value."""
        return "redacted:" + hmac.new(self.salt, canonical(value).encode(), hashlib.sha256).hexdigest()[:16]

    def _found(self, value: Any) -> Iterator[Any]:
        if isinstance(value, Mapping):
            for name, item in value.items():
                if name in self.fields and item is not None:
                    yield item
                yield from self._found(item)
        elif isinstance(value, list):
            for item in value:
                yield from self._found(item)
        elif isinstance(value, str) and (inner := _json_in(value)) is not None:
            yield from self._found(inner)

    def _without(self, value: Any, within: str = "") -> Any:
        if isinstance(value, Mapping):
            return {
                self._swapped(name): self.hashed(item)
                if name in self.fields and item is not None
                else self._without(item, name)
                for name, item in value.items()
            }
        if isinstance(value, list):
            return [self._without(item, within) for item in value]
        if is_number(value):
            return self._known.get(written(value), value)
        if not isinstance(value, str):
            return value
        inner = _json_in(value)
        if inner is not None:
            without = self._without(inner)
            return value if without == inner else canonical(without)
        if within == "arguments" and any(name in value for name in self.fields):
            return self.hashed(value)  # no JSON, so nobody can say where in it the value stands
        return self._swapped(value)

    def _swapped(self, text: str) -> str:
        """The text with what stands for the values in it; as `field=value` also those that were never met."""
        if self._pattern is None:
            longest_first = sorted(self._known, key=len, reverse=True) or ["(?!)"]
            escaped = "|".join(map(re.escape, longest_first)) if self._known else "(?!)"
            self._pattern = re.compile(rf"(?<!\w)(?:{escaped})(?!\w)")
        text = self._pattern.sub(lambda found: self._known[found[0]], text)
        return self._label.sub(lambda found: f"{found[1]}={self._label_value(found[2])}", text)

    def _label_value(self, text: str) -> str:
        try:
            value = parse_json(text)
        except ValueError:
            value = text
        return f'"{value}"' if str(value).startswith("redacted:") else f'"{self.hashed(value)}"'


def redaction_of(folder: Path, fields: Iterable[str]) -> Redaction | None:
    """The redaction of a run: its salt is made once, or given by COREPATH_SALT so that runs can be compared."""
    names = frozenset(fields)
    if not names:
        return None
    given = os.environ.get("COREPATH_SALT")
    file = folder / SALT
    if given:
        return Redaction(names, given.encode())
    if not file.exists():
        if (folder / "episodes.jsonl").exists():
            message = "the salt of this run is gone: give it with COREPATH_SALT, or begin a new run"
            raise InputError([Problem(str(file), 1, 1, message)])
        descriptor = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600)
        os.write(descriptor, secrets.token_hex(16).encode())
        os.close(descriptor)
    return Redaction(names, file.read_bytes())


def values_in(task: Task) -> list[Any]:
    """The values that a task has: of its start, its steps and its decoys."""
    steps = [dict(action.arguments.fields) for action in task.automaton.alphabet.actions]
    literal = [
        {name: pattern.value for name, pattern in step.items() if isinstance(pattern, Literal)} for step in steps
    ]
    decoys = [as_call(call).arguments for decoy in task.decoys.values() for call in decoy.calls]
    return [json.loads(simulator_of(task).key(task.start)), *literal, *decoys]


def _texts(value: Any) -> Iterator[str]:
    """A value as it may stand in a text."""
    if isinstance(value, str) and len(value) >= SHORTEST:
        yield value
    elif is_number(value) and len(written(value)) >= SHORTEST:
        yield written(value)


def _json_in(text: str) -> Any:
    """The object or list that a text holds as JSON; None where it holds none."""
    if text[:1] not in ("{", "["):
        return None
    try:
        return parse_json(text)
    except ValueError:
        return None
