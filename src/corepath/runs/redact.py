"""Values that must not be written: each is replaced by a salted hash that is the same for equal values.

A field's value is replaced wherever the field stands, in arguments, results, states and texts with JSON or calls in
them; and where the value stands in another text, as in an answer or an error, it is replaced there too. A number is
replaced where its field stands and in texts; a text of one or two signs only where its field stands.
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
from corepath.notation.matchers import Literal
from corepath.task import Task
from corepath.values import canonical, is_number, parse_json, to_notation
from corepath.world.exploring import as_call, simulator_of

SALT: Final = "salt"
"""The file of a run's folder that has the salt. Who has it can test guesses: do not pass it on."""
CHECK: Final = "salt-check"
"""The file that tells whether it is still the same salt."""
SHORTEST: Final = 3
"""Signs of a value that is looked for in texts; shorter ones would be found everywhere."""
LONG: Final = 5
"""Signs of a value that is looked for within words too."""
_KEPT: Final = (
    "version",
    "task",
    "agent",
    "epoch",
    "seed",
    "fingerprint",
    "scoring",
    "ended",
    "fault",
    "turns",
    "seconds",
    "usage",
)
"""Fields of an episode's record that are the run's own."""
_NEEDED: Final = ("calls", "scores", "failure")
"""Fields without which it is no record."""


class Redaction:
    """Replaces the values of some fields. Of a value that it has met it knows from then on what stands for it."""

    def __init__(self, fields: Iterable[str], salt: bytes) -> None:
        self.fields, self.salt = frozenset(fields), salt
        self.met: set[str] = set()
        self._known: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        names = "|".join(re.escape(name) for name in sorted(self.fields))
        text = r'"(?:[^"\\]|\\.)*"?' + r"|'(?:[^'\\]|\\.)*'?"
        called = r"\w+\((?:[^()]|\([^()]*\))*\)?"
        self._label = re.compile(rf"""(["']?)\b({names})\1(\s*[:=]\s*)({text}|{called}|[^\s,;()\[\]{{}}]+)""")

    def __call__(self, record: dict[str, Any]) -> dict[str, Any]:
        """The record without these values."""
        self.learn(record)
        return {name: self._field(name, value) for name, value in record.items()}

    def _field(self, name: str, value: Any) -> Any:
        if name in _KEPT:
            return value
        return self.hashed(value) if name in self.fields and name not in _NEEDED else self._without(value, name)

    def learn(self, value: Any) -> None:
        """Look for values that are to be replaced."""
        for secret in self._found(value):
            for part, text in _texts(secret):
                if text.lower() not in self._known:
                    self._known[text.lower()] = self.hashed(part)
                    self._pattern = None

    def hashed(self, value: Any) -> str:
        """What stands for a value."""
        return "redacted:" + hmac.new(self.salt, canonical(value).encode(), hashlib.sha256).hexdigest()[:16]

    def _found(self, value: Any) -> Iterator[Any]:
        if isinstance(value, Mapping):
            for name, item in value.items():
                if name in self.fields and item is not None:
                    self.met.add(name)
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
        if not isinstance(value, str):
            return value
        inner = _json_in(value)
        if inner is not None:
            without = self._without(inner)
            return value if without == inner else canonical(without)
        if within == "arguments":
            return self.hashed(value)  # no JSON, so nobody can say where in it the value stands
        return self._swapped(value)

    def _swapped(self, text: str) -> str:
        """The text with what stands for the values in it; as `field=value` also those that were never met."""
        if self._pattern is None:
            longest_first = sorted(self._known, key=len, reverse=True)
            within = "|".join(re.escape(one) for one in longest_first if len(one) >= LONG and not one.isdigit())
            alone = "|".join(map(re.escape, longest_first))
            parts = ([within] if within else []) + ([rf"(?<!\w)(?:{alone})(?!\w)"] if alone else ["(?!)"])
            self._pattern = re.compile("|".join(parts), re.IGNORECASE)
        text = self._pattern.sub(lambda found: self._known.get(found[0].lower(), found[0]), text)
        return self._label.sub(self._relabelled, text)

    def _relabelled(self, found: re.Match[str]) -> str:
        quote, name, sign, text = found.groups()
        value = text.strip("\"'")
        shown = value if value.startswith("redacted:") else self.hashed(value)
        return f'{quote}{name}{quote}{sign}"{shown}"'


def redaction_of(folder: Path, fields: Iterable[str]) -> Redaction | None:
    """The redaction of a run: its salt is made once, or given by COREPATH_SALT so that runs can be compared."""
    names = frozenset(fields)
    if not names:
        return None
    given = os.environ.get("COREPATH_SALT")
    file = folder / SALT
    if given is None and not file.exists():
        if (folder / "episodes.jsonl").exists():
            raise _wrong(file, "the salt of this run is gone: give it with COREPATH_SALT, or begin a new run")
        _write_secret(file, secrets.token_hex(16))
    salt = given.encode() if given is not None else file.read_bytes()
    if not salt:
        raise _wrong(file, "the salt is empty: give another with COREPATH_SALT, or begin a new run")
    redaction = Redaction(names, salt)
    check = folder / CHECK
    if not check.exists():
        _write_secret(check, redaction.hashed("the salt of this run"))
    elif check.read_bytes() != redaction.hashed("the salt of this run").encode():
        raise _wrong(check, "this run was begun with another salt: equal values would not have equal hashes")
    return redaction


def _write_secret(file: Path, text: str) -> None:
    """Write a file for its owner only, all of it or nothing."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
    temporary.replace(file)


def _wrong(file: Path, message: str) -> InputError:
    return InputError([Problem(str(file), 1, 1, message)])


def values_in(task: Task) -> list[Any]:
    """The values that a task has: of its start, its steps and its decoys."""
    steps = [dict(action.arguments.fields) for action in task.automaton.alphabet.actions]
    literal = [
        {name: pattern.value for name, pattern in step.items() if isinstance(pattern, Literal)} for step in steps
    ]
    decoys = [as_call(call).arguments for decoy in task.decoys.values() for call in decoy.calls]
    return [json.loads(simulator_of(task).key(task.start)), *literal, *decoys]


def _texts(value: Any) -> Iterator[tuple[Any, str]]:
    """A value, or a part of one, and how it may stand in a text."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str) and len(value) >= SHORTEST:
        yield value, value
        escaped = json.dumps(value)[1:-1]
        if escaped != value:
            yield value, escaped
    elif is_number(value) and len(to_notation(value)) >= SHORTEST:
        yield value, to_notation(value)


def _json_in(text: str) -> Any:
    """The object or list that a text holds as JSON; None where it holds none."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return parse_json(text)
    except ValueError:
        return None
