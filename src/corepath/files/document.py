"""YAML and JSON documents that know the line and column of every value.

Most fields in a task file are strings, so every scalar except null is read as it is written, e.g. `on`, `12:30`,
`0123` or `1.10`. `Document.typed` reads a field with the types of YAML 1.2's core schema instead.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from corepath.errors import InputError, Problem
from corepath.files.yaml import Entry, NodeReader, Origin, compose, compose_json, find_child, problem_at, source_index
from corepath.values import parse_json

_Path = tuple[str | int, ...]
_compose_json = lru_cache(maxsize=1)(compose_json)


@dataclass
class Document:
    """A YAML or JSON document, or one item in a document's top-level list. `at` is the path to that item, if any."""

    file: str
    source: str
    data: Any
    node: yaml.Node | None
    """The root node. It is None for JSON, which is parsed into nodes only when a position is needed."""
    at: _Path = ()
    warnings: list[Problem] = field(default_factory=list)
    origin: Origin = (0, 0)
    """Where `source` begins in the file."""

    def problem(self, message: str, where: _Path = (), offset: int = 0, *, at_key: bool = False) -> Problem:
        """Create a problem with the line and column of the value at path `where`.

        The position is `offset` characters into the value. The problem points at the key instead if `at_key` is True,
        or if the value is empty or not a scalar.
        """
        key, node = self.find(where)
        if node is None:
            return Problem(self.file, 1, 1, message)
        if key is not None and (at_key or not isinstance(node, yaml.ScalarNode) or not node.value):
            node = key
        mark = node.start_mark
        if not offset or not isinstance(node, yaml.ScalarNode):
            return problem_at(self.file, self.origin, mark.line, mark.column, message)
        index = source_index(self.source, node, offset)
        line = mark.line + self.source.count("\n", mark.index, index)
        return problem_at(self.file, self.origin, line, index - self.source.rfind("\n", 0, index) - 1, message)

    def cut_at(self, where: _Path) -> str | None:
        """Return the character at which YAML cut off the unquoted call at path `where`, e.g. `#`.

        Returns None if the call is complete.
        """
        _, node = self.find(where)
        if not isinstance(node, yaml.ScalarNode) or node.style is not None or not _is_unclosed(node.value):
            return None
        rest = self.source[node.end_mark.index :].split("\n", 1)[0].lstrip()
        return rest[0] if rest[:1] in ("#", ",", ":") else None

    def typed(self, name: str) -> Any:
        """Return the field `name` with YAML 1.2 types. Raises `InputError` if JSON cannot represent the value."""
        value = self.data[name]
        if self.node is None:
            return value  # JSON is typed already
        _, node = self.find((name,))
        assert node is not None
        reader = NodeReader(self.file, typed=True, origin=self.origin)
        value = reader.read(node)
        if reader.problems:
            raise InputError(reader.problems)
        return value

    def split(self) -> list[Document]:
        """Split a top-level list into its items. Any other document stays whole. An empty document gives no items."""
        if not isinstance(self.data, list):
            return [] if self.data is None else [self]
        return [
            Document(self.file, self.source, item, self.node, (*self.at, place), self._warnings_in(place), self.origin)
            for place, item in enumerate(self.data)
        ]

    def _warnings_in(self, place: int) -> list[Problem]:
        if not self.warnings:
            return []
        _, node = self.find((place,))
        if node is None:
            return []
        first, last = (mark.line + self.origin[0] for mark in (node.start_mark, node.end_mark))
        return [one for one in self.warnings if first < one.line <= last + 1]

    def find(self, where: _Path) -> Entry:
        """Return the key node and the value node at path `where`, or at the nearest ancestor that exists."""
        entry: Entry = (None, self.node or _compose_json(self.source))
        for name in (*self.at, *where):
            below = find_child(entry[1], name)
            if below is None:
                break
            entry = below
        return entry


def _is_unclosed(text: str) -> bool:
    """Whether `text` has an unclosed bracket or an odd number of double quotes."""
    opened, closed = (sum(map(text.count, brackets)) for brackets in ("([{", ")]}"))
    return opened > closed or text.count('"') % 2 == 1


def read_yaml(file: str, source: str, origin: Origin = (0, 0)) -> list[Document]:
    """Read every YAML document in `source`. Raises `InputError` if a document is invalid.

    `file` is the file name for error messages, and `origin` is where `source` begins in the file.
    """
    documents = []
    for node in compose(file, source, origin):
        reader = NodeReader(file, origin=origin)
        data = reader.read(node)
        if reader.problems:
            raise InputError(reader.problems)
        documents.append(Document(file, source, data, node, warnings=reader.warnings, origin=origin))
    return documents


def read_json(file: str, source: str, origin: Origin = (0, 0)) -> list[Document]:
    """Read the JSON document in `source`. Raises `InputError` if the document is invalid.

    `file` and `origin` are as for `read_yaml`.
    """
    try:
        data = parse_json(source)
    except json.JSONDecodeError as error:
        message = f"not JSON: {describe_json_error(error)}"
        raise InputError([problem_at(file, origin, error.lineno - 1, error.colno - 1, message)]) from None
    except ValueError as error:
        raise InputError([problem_at(file, origin, 0, 0, describe_json_error(error))]) from None
    document = Document(file, source, data, None, origin=origin)
    if _has_repeated_key(source):
        _, node = document.find(())
        if node is not None:
            reader = NodeReader(file, origin=origin)
            reader.read(node)
            document.warnings += reader.warnings
    return [document]


def describe_json_error(error: ValueError) -> str:
    """Return a JSON error's message without the jargon of the `json` module."""
    if isinstance(error, json.JSONDecodeError):
        return error.msg.removesuffix(" at").removesuffix(" starting")
    return str(error)


def _has_repeated_key(source: str) -> bool:
    """Whether any object in a JSON string has the same key twice."""
    repeated: list[int] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        repeated.append(len(pairs) - len({key for key, _ in pairs}))

    json.loads(source, object_pairs_hook=note)
    return any(repeated)


def read_mapping(path: str | Path, wanted: str) -> Document:
    """Read a YAML file that must hold a single mapping.

    Raises `InputError` if the file cannot be read, or holds anything else. In the second case, `wanted` is the message.
    """
    name = str(path)
    try:
        source = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError([Problem(name, 1, 1, f"cannot be read: {error.strerror}")]) from None
    except UnicodeDecodeError:
        raise InputError([Problem(name, 1, 1, "not UTF-8; save the file as UTF-8")]) from None
    return parse_mapping(name, source, wanted)


def parse_mapping(name: str, source: str, wanted: str) -> Document:
    """Read YAML that must hold a single mapping. `name` is the file name for error messages.

    Raises `InputError` if the source is invalid, or holds anything else. In the second case, `wanted` is the message.
    """
    documents = read_yaml(name, source)
    if len(documents) != 1 or not isinstance(documents[0].data, dict):
        raise InputError([Problem(name, 1, 1, wanted)])
    return documents[0]
