"""Values that must not be written: each is replaced by a salted hash that is the same for equal values.

A field's value is replaced wherever the field stands, in arguments, results, states and JSON texts; and where the value
stands in another text, as in an answer or an error, it is replaced there too.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from corepath.errors import InputError, Problem
from corepath.json_values import canonical, is_number, parse_json, written

SALT: Final = "salt"
"""The file of a run's folder that has the salt. Who has it can test guesses: do not pass it on."""
SHORTEST: Final = 3
"""Signs of a value that is looked for in texts; shorter ones would be found everywhere."""
_KEPT: Final = ("version", "task", "agent", "epoch", "seed", "ended", "fault")
"""Fields of an episode's record that are the run's own."""


@dataclass(frozen=True)
class Redaction:
    """Replaces the values of some fields."""

    fields: frozenset[str]
    salt: bytes

    def __call__(self, record: dict[str, Any]) -> dict[str, Any]:
        """The record without these values."""
        found = dict(self._found(record))
        texts = sorted(
            {text: self.hashed(value) for _, value in found.values() for text in _texts(value)}.items(),
            key=lambda pair: -len(pair[0]),
        )
        labels = [(f"{name}={written(value)}", f'{name}="{self.hashed(value)}"') for name, value in found.values()]
        swaps = [*labels, *texts]
        return {
            name: value if name in _KEPT else self._without(value, swaps, known=name) for name, value in record.items()
        }

    def hashed(self, value: Any) -> str:
        """What stands for a value."""
        return "redacted:" + hmac.new(self.salt, canonical(value).encode(), hashlib.sha256).hexdigest()[:16]

    def _found(self, value: Any) -> Iterator[tuple[str, tuple[str, Any]]]:
        """Every value that is to be replaced, with the name of its field."""
        if isinstance(value, Mapping):
            for name, item in value.items():
                if name in self.fields and item is not None:
                    yield canonical([name, item]), (name, item)
                yield from self._found(item)
        elif isinstance(value, list):
            for item in value:
                yield from self._found(item)
        elif isinstance(value, str) and (inner := _json_in(value)) is not None:
            yield from self._found(inner)

    def _without(self, value: Any, swaps: Iterable[tuple[str, str]], known: str = "") -> Any:
        if isinstance(value, Mapping):
            return {
                _swapped(name, swaps): self.hashed(item)
                if name in self.fields and item is not None
                else self._without(item, swaps, name)
                for name, item in value.items()
            }
        if isinstance(value, list):
            return [self._without(item, swaps, known) for item in value]
        if not isinstance(value, str):
            return value
        inner = _json_in(value)
        if inner is not None:
            without = self._without(inner, swaps)
            return value if without == inner else canonical(without)
        if known == "arguments" and any(name in value for name in self.fields):
            return self.hashed(value)  # no JSON, so nobody can say where in it the value stands
        return _swapped(value, swaps)


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


def _texts(value: Any) -> Iterator[str]:
    """A value as it may stand in a text."""
    if isinstance(value, str) and len(value) >= SHORTEST:
        yield value
    elif is_number(value) and len(written(value)) >= SHORTEST:
        yield written(value)


def _swapped(text: str, swaps: Iterable[tuple[str, str]]) -> str:
    for old, new in swaps:
        if old in text:
            text = re.sub(rf"(?<!\w){re.escape(old)}(?!\w)", lambda _, new=new: new, text)  # type: ignore[misc]
    return text


def _json_in(text: str) -> Any:
    """The object or list that a text holds as JSON; None where it holds none."""
    if text[:1] not in ("{", "["):
        return None
    try:
        return parse_json(text)
    except ValueError:
        return None
