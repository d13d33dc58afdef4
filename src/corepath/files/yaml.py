"""YAML and JSON text as plain data that remembers where each value stands.

Most fields of a task file are texts, so a scalar is read as the text that stands there (`on`, `12:30`, `0123`,
`1.10`), but for null. Where a field may be of any type, `Located.typed` gives it that of YAML 1.2's core schema. No tag
makes an object, so reading a file never runs code.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import yaml

from corepath.errors import InputError, Problem
from corepath.values import MOST_DIGITS, parse_json, why_not_json

MOST_VALUES: Final = 1_000_000
"""A file with more values, aliases counted each time they are used, is refused."""

_Path = tuple[str | int, ...]
_TAG: Final = "tag:yaml.org,2002:"
_CORE: Final = {
    "null": (r"^(?:~|null|Null|NULL|)$", [*"~nN", ""]),
    "bool": (r"^(?:true|True|TRUE|false|False|FALSE)$", [*"tTfF"]),
    "int": (r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$", [*"-+0123456789"]),
    "float": (
        r"^(?:[-+]?(?:(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|\.(?:inf|Inf|INF))|\.(?:nan|NaN|NAN))$",
        [*"-+.0123456789"],
    ),
}
"""The scalars of YAML 1.2's core schema that are no texts, and the signs that each may begin with."""
_KNOWN: Final = {f"{_TAG}{kind}" for kind in ("str", "map", "seq", *_CORE)}
_SPACE: Final = re.compile(r"\s*")
_ESCAPE: Final = re.compile(r"\\(?:x..|u....|U.{8}|.)", re.DOTALL)


class _Loader(yaml.SafeLoader):
    """Tells scalars apart as YAML 1.2's core schema does."""

    yaml_implicit_resolvers = {}  # noqa: RUF012  # as the parent declares it


for _kind, (_scalar, _begins) in _CORE.items():
    _Loader.add_implicit_resolver(f"{_TAG}{_kind}", re.compile(_scalar), _begins)


@dataclass
class Located:
    """One task's data, and the line and column of each value by path; `at` is its own path in the document."""

    file: str
    source: str
    data: Any
    node: yaml.Node | None
    at: _Path = ()
    warnings: list[Problem] = field(default_factory=list)

    def problem(self, message: str, where: _Path = (), offset: int = 0, *, at_key: bool = False) -> Problem:
        """A problem at a text, or `offset` characters into it; for a key, or what is no text, at the key."""
        key, node = self.find(where)
        if node is None:
            return Problem(self.file, 1, 1, message)
        if key is not None and (at_key or not isinstance(node, yaml.ScalarNode) or not node.value):
            node = key
        mark = node.start_mark
        if not offset or not isinstance(node, yaml.ScalarNode):
            return Problem(self.file, mark.line + 1, mark.column + 1, message)
        index = _index_of(self.source, node, offset)
        line = mark.line + 1 + self.source.count("\n", mark.index, index)
        return Problem(self.file, line, index - self.source.rfind("\n", 0, index), message)

    def cut_at(self, where: _Path) -> str | None:
        """The sign at which YAML ended an unquoted call that went on in the file, if it did."""
        _, node = self.find(where)
        if not isinstance(node, yaml.ScalarNode) or node.style is not None or not _unfinished(node.value):
            return None
        rest = self.source[node.end_mark.index :].split("\n", 1)[0].lstrip()
        return rest[0] if rest[:1] in ("#", ",", ":") else None

    def typed(self, name: str) -> Any:
        """The value of a field, with the types of YAML 1.2's core schema. Raises `InputError` where it is no JSON."""
        value = self.data[name]
        if self.node is None:
            return value  # JSON has its types
        _, node = self.find((name,))
        assert node is not None
        reader = _Reader(self, typed=True)
        value = reader.value(node, 0)
        if reader.problems:
            raise InputError(reader.problems)
        return value

    def items(self) -> list[Located]:
        """Each task of a list, or the one that there is."""
        if not isinstance(self.data, list):
            return [] if self.data is None else [self]
        return [
            Located(self.file, self.source, item, self.node, (*self.at, place), self._warnings_in(place))
            for place, item in enumerate(self.data)
        ]

    def _warnings_in(self, place: int) -> list[Problem]:
        if not self.warnings:
            return []
        _, node = self.find((place,))
        if node is None:
            return []
        return [one for one in self.warnings if node.start_mark.line < one.line <= node.end_mark.line + 1]

    def find(self, where: _Path) -> tuple[yaml.Node | None, yaml.Node | None]:
        """The node at a path and its key, or those of the nearest one above it."""
        # In JSON, where things stand is looked up only when something is wrong.
        found: tuple[yaml.Node | None, yaml.Node | None] = (None, self.node or _composed(self.source))
        for name in (*self.at, *where):
            below = _child(found[1], name)
            if below is None:
                break
            found = below
        return found


@lru_cache(maxsize=1)
def _composed(source: str) -> yaml.Node | None:
    try:
        node: yaml.Node | None = yaml.compose(source.replace("\t", " "), Loader=_Loader)
    except (yaml.YAMLError, RecursionError):
        return None
    return node


def read_json(file: str, source: str) -> list[Located]:
    """The one document of a JSON file."""
    try:
        data = parse_json(source)
    except json.JSONDecodeError as error:
        raise InputError([Problem(file, error.lineno, error.colno, f"not JSON: {why_unread(error)}")]) from None
    except ValueError as error:
        raise InputError([Problem(file, 1, 1, why_unread(error))]) from None
    document = Located(file, source, data, None)
    if _has_twice(source):
        _, node = document.find(())
        if node is not None:
            reader = _Reader(document)
            reader.value(node, 0)
            document.warnings += reader.warnings
    return [document]


def why_unread(error: ValueError) -> str:
    """What a JSON reader says of a text that it refuses, without the words meant for programmers."""
    if isinstance(error, json.JSONDecodeError):
        return error.msg.removesuffix(" at").removesuffix(" starting")
    return str(error)


def _has_twice(source: str) -> bool:
    """Whether an object in JSON text has a key twice."""
    twice: list[int] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        twice.append(len(pairs) - len({key for key, _ in pairs}))

    json.loads(source, object_pairs_hook=note)
    return any(twice)


def read_mapping(path: str | Path, wanted: str) -> Located:
    """The one mapping of a YAML file. Raises `InputError`; `wanted` says what such a file is."""
    name = str(path)
    try:
        documents = read_yaml(name, Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError([Problem(name, 1, 1, f"cannot be read: {error.strerror}")]) from None
    except UnicodeDecodeError:
        raise InputError([Problem(name, 1, 1, "not UTF-8; save the file as UTF-8")]) from None
    if len(documents) != 1 or not isinstance(documents[0].data, dict):
        raise InputError([Problem(name, 1, 1, wanted)])
    return documents[0]


def read_yaml(file: str, source: str) -> list[Located]:
    """The documents of a YAML file."""
    try:
        nodes = list(yaml.compose_all(source, Loader=_Loader))
    except yaml.reader.ReaderError as error:
        line = source.count("\n", 0, error.position) + 1
        column = error.position - source.rfind("\n", 0, error.position)
        message = f"the character {chr(error.character)!r} is not allowed in YAML"
        raise InputError([Problem(file, line, column, message)]) from None
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
        document.warnings += reader.warnings
        documents.append(document)
    return documents


def _syntax(file: str, source: str, error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
    message = f"not YAML: {error.problem or error.context or 'it cannot be read'}"
    begun = error.context_mark
    if mark and begun and error.context and begun.line != mark.line:
        message += f" ({error.context} that begins in line {begun.line + 1})"
    lines = source.split("\n")
    if mark and "(" in lines[min(line, len(lines)) - 1][: column - 1]:
        message += "; a call goes in single quotes, as in 'send(to=\"Bob\")'"
    elif "'\\t'" in message:
        message += "; indent with spaces"
    return Problem(file, line, column, message)


class _Reader:
    """Plain data from nodes: scalars as texts, or with their types."""

    def __init__(self, document: Located, *, typed: bool = False) -> None:
        self.document, self.typed = document, typed
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []
        self.count = 0

    def at(self, node: yaml.Node, message: str) -> Problem:
        return Problem(self.document.file, node.start_mark.line + 1, node.start_mark.column + 1, message)

    def wrong(self, node: yaml.Node, message: str) -> None:
        self.problems.append(self.at(node, message))

    def value(self, node: yaml.Node, depth: int) -> Any:
        self.count += 1
        if self.count > MOST_VALUES or depth > 100:
            if not self.problems:
                self.wrong(node, f"more than {MOST_VALUES:,} values, or nested deeper than 100 levels")
            return None
        if node.tag not in _KNOWN:
            return self._tagged(node)
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, depth + 1) for item in node.value]
        kind, text = node.tag.removeprefix(_TAG), _joined(node.value)
        if kind in _CORE and not re.match(_CORE[kind][0], text):  # only a tag can say so
            return self.wrong(node, f"'{text[:60]}' is no !!{kind}")
        if not self.typed:
            return None if kind == "null" else text
        try:
            return _scalar_value(kind, text)
        except ValueError as error:
            return self.wrong(node, str(error))

    def _tagged(self, node: yaml.Node) -> None:
        tag = node.tag.replace(_TAG, "!!")
        self.wrong(node, f"the tag {tag} is not allowed; a task holds texts, numbers, lists and mappings only")

    def _mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, Any]:
        read: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self.wrong(key, "a key must be text")
                continue
            if key.tag not in _KNOWN:
                self._tagged(key)
                continue
            if key.value in read:
                self.warnings.append(self.at(key, f"'{key.value}' is given twice; the last one counts"))
            read[_joined(key.value)] = self.value(value, depth + 1)
        return read


def _joined(text: str) -> str:
    """Text in which two escapes, as JSON writes one character beyond the first 65,536, are that character."""
    if not any("\ud800" <= sign <= "\udfff" for sign in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _scalar_value(kind: str, text: str) -> Any:
    """The value of a scalar. Raises ValueError, with a sentence for the user, where it is none of JSON."""
    value: Any = text if kind == "str" else None
    match kind:
        case "bool":
            value = text.lower() == "true"
        case "int" if text.startswith(("0o", "0x")):
            value = int(text[2:], 8 if text[1] == "o" else 16)
        case "int" if len(text) > MOST_DIGITS:
            raise ValueError(f"a number of more than {MOST_DIGITS:,} digits")
        case "int":
            value = int(text)
        case "float" if text[-1].isalpha():
            raise ValueError(f"{text} is not JSON; use a number, a text or null")
        case "float":
            value = float(text)
    if why_not_json(value):
        raise ValueError(f"the number {text[:40]} is too large for JSON")
    return value


def _child(node: yaml.Node | None, name: str | int) -> tuple[yaml.Node | None, yaml.Node | None] | None:
    """The key and the value of a name in a mapping, or an item of a list."""
    if isinstance(node, yaml.MappingNode):
        found = [pair for pair in node.value if isinstance(pair[0], yaml.ScalarNode) and pair[0].value == str(name)]
        return found[-1] if found else None
    if isinstance(node, yaml.SequenceNode) and isinstance(name, int) and name < len(node.value):
        return None, node.value[name]
    return None


def _unfinished(text: str) -> bool:
    """Whether a bracket or a quote is left open."""
    opened, closed = (sum(map(text.count, signs)) for signs in ("([{", ")]}"))
    return opened > closed or text.count('"') % 2 == 1


def _index_of(source: str, node: yaml.ScalarNode, offset: int) -> int:
    """Where in the source a character of a text stands, past quotes, escapes, folds and indents."""
    text, index = node.value, node.start_mark.index
    if node.style in ("|", ">"):
        index = source.index("\n", index)
    elif node.style:
        index += 1
    for place, character in enumerate(text):
        spaces = _SPACE.match(source, index).end()  # type: ignore[union-attr]  # it matches everywhere
        if not character.isspace() or "\n" in source[index:spaces]:
            index = spaces
        if place == offset:
            break
        if node.style == '"' and (escape := _ESCAPE.match(source, index)):
            index = escape.end()
        elif source.startswith("''", index) and node.style == "'":
            index += 2
        elif not character.isspace() or index < spaces:
            index += 1
    return index
