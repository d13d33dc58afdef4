"""Replace the values of chosen fields by salted hashes. Equal values get equal hashes.

A value is replaced wherever its field occurs: in arguments, results and states, and in strings that contain JSON or
calls. A value with at least three characters is also replaced in any other text, e.g. in an answer or an error.
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
"""The salt's file in the run folder. Keep the salt secret, because it can be used to test guesses."""
CHECK: Final = "salt-check"
"""The file that is used to check that the salt is still the same."""
SHORTEST: Final = 3
"""The shortest value that is replaced in text, in characters. Shorter values would match everywhere."""
LONG: Final = 5
"""The shortest value that is replaced even inside words, in characters."""
_OWN_FIELDS: Final = (
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
"""Fields in an episode's record that the run itself writes. They are never redacted."""
_NEEDED: Final = ("calls", "scores", "failure")
"""Fields that every record needs. Only the values inside them are redacted."""


class Redaction:
    """Replaces the values of chosen fields by hashes. Known values are also replaced where they appear in text."""

    def __init__(self, fields: Iterable[str], salt: bytes) -> None:
        self.fields, self.salt = frozenset(fields), salt
        self.seen: set[str] = set()
        self._known: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        names = "|".join(re.escape(name) for name in sorted(self.fields))
        text = r'"(?:[^"\\]|\\.)*"?' + r"|'(?:[^'\\]|\\.)*'?"
        called = r"\w+\((?:[^()]|\([^()]*\))*\)?"
        self._label = re.compile(rf"""(["']?)\b({names})\1(\s*[:=]\s*)({text}|{called}|[^\s,;()\[\]{{}}]+)""")

    def __call__(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return a copy of the record in which the secret values are replaced."""
        self.learn(record)
        return {name: self._field(name, value) for name, value in record.items()}

    def _field(self, name: str, value: Any) -> Any:
        if name in _OWN_FIELDS:
            return value
        return self.hash_value(value) if name in self.fields and name not in _NEEDED else self._redact(value, name)

    def learn(self, value: Any) -> None:
        """Remember the secret values in a JSON value, so that they can be found in text."""
        for secret in self._secrets(value):
            for part, text in _texts(secret):
                if text.lower() not in self._known:
                    self._known[text.lower()] = self.hash_value(part)
                    self._pattern = None

    def hash_value(self, value: Any) -> str:
        """Return the hash that replaces a value, e.g. `redacted:0123456789abcdef`."""
        return "redacted:" + hmac.new(self.salt, canonical(value).encode(), hashlib.sha256).hexdigest()[:16]

    def _secrets(self, value: Any) -> Iterator[Any]:
        if isinstance(value, Mapping):
            for name, item in value.items():
                if name in self.fields and item is not None:
                    self.seen.add(name)
                    yield item
                yield from self._secrets(item)
        elif isinstance(value, list):
            for item in value:
                yield from self._secrets(item)
        elif isinstance(value, str) and (inner := _json_in(value)) is not None:
            yield from self._secrets(inner)

    def _redact(self, value: Any, within: str = "") -> Any:
        if isinstance(value, Mapping):
            return {
                self._redact_text(name): self.hash_value(item)
                if name in self.fields and item is not None
                else self._redact(item, name)
                for name, item in value.items()
            }
        if isinstance(value, list):
            return [self._redact(item, within) for item in value]
        if not isinstance(value, str):
            return value
        inner = _json_in(value)
        if inner is not None:
            redacted = self._redact(inner)
            return value if redacted == inner else canonical(redacted)
        if within == "arguments":
            return self.hash_value(value)  # invalid JSON: a secret could be anywhere in it
        return self._redact_text(value)

    def _redact_text(self, text: str) -> str:
        """Replace known values in `text`, and any value written as `field=value`."""
        if self._pattern is None:
            longest_first = sorted(self._known, key=len, reverse=True)
            within = "|".join(re.escape(one) for one in longest_first if len(one) >= LONG and not one.isdigit())
            alone = "|".join(map(re.escape, longest_first))
            parts = ([within] if within else []) + ([rf"(?<!\w)(?:{alone})(?!\w)"] if alone else ["(?!)"])
            self._pattern = re.compile("|".join(parts), re.IGNORECASE)
        text = self._pattern.sub(lambda match: self._known.get(match[0].lower(), match[0]), text)
        return self._label.sub(self._redact_label, text)

    def _redact_label(self, match: re.Match[str]) -> str:
        quote, name, sign, text = match.groups()
        value = text.strip("\"'")
        hashed = value if value.startswith("redacted:") else self.hash_value(value)
        return f'{quote}{name}{quote}{sign}"{hashed}"'


def redaction_of(folder: Path, fields: Iterable[str]) -> Redaction | None:
    """Create the redaction for a run, or return None if `fields` is empty.

    Each run has its own random salt. If `COREPATH_SALT` is set, it is used instead, so that runs can be compared.
    """
    names = frozenset(fields)
    if not names:
        return None
    given = os.environ.get("COREPATH_SALT")
    file = folder / SALT
    if given is None and not file.exists():
        if (folder / "episodes.jsonl").exists():
            raise _error(file, "the salt of this run is gone: give it with COREPATH_SALT, or begin a new run")
        _write_secret(file, secrets.token_hex(16))
    salt = given.encode() if given is not None else file.read_bytes()
    if not salt:
        raise _error(file, "the salt is empty: give another with COREPATH_SALT, or begin a new run")
    redaction = Redaction(names, salt)
    check = folder / CHECK
    if not check.exists():
        _write_secret(check, redaction.hash_value("the salt of this run"))
    elif check.read_bytes() != redaction.hash_value("the salt of this run").encode():
        raise _error(check, "this run was begun with another salt: equal values would not have equal hashes")
    return redaction


def _write_secret(file: Path, text: str) -> None:
    """Write a file atomically, readable only by its owner."""
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
    temporary.replace(file)


def _error(file: Path, message: str) -> InputError:
    return InputError([Problem(str(file), 1, 1, message)])


def values_in(task: Task) -> list[Any]:
    """Return a task's start state and the arguments of its steps and decoys."""
    steps = [dict(action.arguments.fields) for action in task.automaton.alphabet.actions]
    literal = [
        {name: pattern.value for name, pattern in step.items() if isinstance(pattern, Literal)} for step in steps
    ]
    decoys = [as_call(call).arguments for decoy in task.decoys.values() for call in decoy.calls]
    return [json.loads(simulator_of(task).key(task.start)), *literal, *decoys]


def _texts(value: Any) -> Iterator[tuple[Any, str]]:
    """Yield (part, text) pairs for the strings and numbers in a value that are long enough to redact.

    `text` is the part as a string. If JSON escapes the string, the escaped form is yielded as well.
    """
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
    """Parse `text` as a JSON object or list. Return None if it is neither."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        return parse_json(text)
    except ValueError:
        return None
