"""YAML and JSON text as plain data that remembers where each value stands.

YAML is read with the scalars of YAML 1.2 only: `on`, `no`, `12:30` and dates stay text. No tag makes an object, so
reading a file never runs code.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import yaml

from corepath.errors import InputError, Problem
from corepath.json_values import parse_json

MOST_VALUES: Final = 1_000_000
"""A file with more values, aliases counted each time they are used, is refused."""

_Path = tuple[str | int, ...]


class _Loader(yaml.SafeLoader):
    """YAML 1.2's core scalars, and nothing else."""

    yaml_implicit_resolvers = {}  # noqa: RUF012  # as the parent declares it


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", [*"~nN", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+."),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first))


@dataclass
class Located:
    """One document: its data, and the line and column of each value by path."""

    file: str
    source: str
    data: Any
    node: yaml.Node | None
    warnings: list[Problem] = field(default_factory=list)

    def problem(self, message: str, where: _Path = (), offset: int = 0) -> Problem:
        """A problem at a value, or `offset` characters into its text."""
        node = self.find(where)
        if node is None:
            return Problem(self.file, 1, 1, message)
        mark = node.start_mark
        line, column = mark.line + 1, mark.column + 1
        if offset and isinstance(node, yaml.ScalarNode):
            shift = offset + (node.style in ("'", '"'))
            written = self.source[mark.index : mark.index + shift + 1]
            if node.style not in ("|", ">") and "\n" not in written and "\\" not in written and "''" not in written[1:]:
                column += shift
        return Problem(self.file, line, column, message)

    def find(self, where: _Path) -> yaml.Node | None:
        """The node at a path, or the nearest one above it."""
        node = self._root
        for name in where:
            below = _child(node, name)
            if below is None:
                break
            node = below
        return node

    def cut_at(self, where: _Path) -> str | None:
        """The sign at which YAML ended an unquoted text that went on in the file, if it did."""
        node = self.find(where)
        if not isinstance(node, yaml.ScalarNode) or node.style is not None:
            return None
        rest = self.source[node.end_mark.index :].split("\n", 1)[0].lstrip()
        return rest[0] if rest[:1] in ("#", ",", ":") else None

    @cached_property
    def _root(self) -> yaml.Node | None:
        if self.node is None:  # JSON: where things stand is looked up only when something is wrong
            try:
                self.node = yaml.compose(self.source.replace("\t", " "), Loader=_Loader)
            except yaml.YAMLError:
                return None
        return self.node


def read_json(file: str, source: str) -> list[Located]:
    """The one document of a JSON file."""
    try:
        data = parse_json(source)
    except json.JSONDecodeError as error:
        raise InputError([Problem(file, error.lineno, error.colno, f"not JSON: {error.msg}")]) from None
    except ValueError as error:
        raise InputError([Problem(file, 1, 1, str(error))]) from None
    return [Located(file, source, data, None)]


def read_yaml(file: str, source: str) -> list[Located]:
    """The documents of a YAML file."""
    try:
        nodes = list(yaml.compose_all(source, Loader=_Loader))
    except yaml.reader.ReaderError as error:
        line = source.count("\n", 0, error.position) + 1
        message = f"the character {chr(error.character)!r} is not allowed in YAML"
        raise InputError([Problem(file, line, 1, message)]) from None
    except yaml.MarkedYAMLError as error:
        raise InputError([_syntax(file, source, error)]) from None
    except RecursionError:
        raise InputError([Problem(file, 1, 1, "nested too deeply to be a task")]) from None
    documents = []
    for node in nodes:
        document = Located(file, source, None, node)
        reader = _Reader(document)
        document.data = reader.value(node, 0)
        if reader.problems:
            raise InputError(reader.problems)
        documents.append(document)
    return documents


def _syntax(file: str, source: str, error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    message = f"not YAML: {error.problem or error.context or 'it cannot be read'}"
    text = source.splitlines()[line - 1] if mark and line <= len(source.splitlines()) else ""
    if "(" in text[: max(column - 1, 0)]:
        message += "; a call goes in single quotes, as in 'send(to=\"Bob\")'"
    return Problem(file, line, column, message)


class _Reader:
    """Plain data from nodes."""

    def __init__(self, document: Located) -> None:
        self.document = document
        self.problems: list[Problem] = []
        self.count = 0

    def wrong(self, node: yaml.Node, message: str) -> None:
        mark = node.start_mark
        self.problems.append(Problem(self.document.file, mark.line + 1, mark.column + 1, message))

    def value(self, node: yaml.Node, depth: int) -> Any:
        self.count += 1
        if self.count > MOST_VALUES or depth > 100:
            if not self.problems:
                self.wrong(node, f"more than {MOST_VALUES:,} values, or nested deeper than 100 levels")
            return None
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, depth + 1) for item in node.value]
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, Any]:
        read: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self.wrong(key, "a key must be text")
                continue
            if key.value in read:
                mark = key.start_mark
                message = f"'{key.value}' is given twice; the last one counts"
                self.document.warnings.append(Problem(self.document.file, mark.line + 1, mark.column + 1, message))
            read[key.value] = self.value(value, depth + 1)
        return read

    def _scalar(self, node: yaml.Node) -> Any:
        text, kind = node.value, node.tag.removeprefix("tag:yaml.org,2002:")
        match kind:
            case "str":
                return text
            case "null":
                return None
            case "bool":
                return text.lower() == "true"
            case "int":
                return _whole(text)
            case "float" if text.lower().lstrip("+-") in (".inf", ".nan"):
                self.wrong(node, f"{text} is not JSON; use a number, a text or null")
                return None
            case "float":
                return float(text)
        self.wrong(node, f"the tag {node.tag} is not allowed; a task holds plain values only")
        return None


def _whole(text: str) -> Any:
    if text[:2] in ("0o", "0x"):
        return int(text, 0)
    return int(text) if len(text) <= 1000 else text


def _child(node: yaml.Node | None, name: str | int) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        found = [value for key, value in node.value if isinstance(key, yaml.ScalarNode) and key.value == str(name)]
        return found[-1] if found else None
    if isinstance(node, yaml.SequenceNode) and isinstance(name, int) and name < len(node.value):
        below: yaml.Node = node.value[name]
        return below
    return None
