"""Parse YAML into nodes, convert nodes to plain data, and find where each value is in the source.

Tags never create Python objects, so reading a file never runs code.
"""

from __future__ import annotations

import re
from typing import Any, Final

import yaml

from corepath.errors import InputError, Problem
from corepath.values import MOST_DIGITS, why_not_json

MOST_VALUES: Final = 1_000_000
"""Maximum number of values in a file. An alias counts every time it is used."""
DEEPEST_YAML: Final = 100
"""Maximum depth of nested lists and mappings."""

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
"""Scalar types in YAML 1.2's core schema except strings: a regular expression, and the possible first characters."""
_KNOWN_TAGS: Final = {f"{_TAG}{kind}" for kind in ("str", "map", "seq", *_CORE)}
_SPACE: Final = re.compile(r"\s*")
_ESCAPE: Final = re.compile(r"\\(?:x..|u....|U.{8}|.)", re.DOTALL)

Entry = tuple[yaml.Node | None, yaml.Node | None]
"""A key node and its value node. The key is None for list items and documents."""
Origin = tuple[int, int]
"""The line and column, counted from 0, at which a text begins in its file."""


class _Loader(yaml.SafeLoader):
    """A YAML loader that resolves scalars by YAML 1.2's core schema."""

    yaml_implicit_resolvers = {}  # noqa: RUF012  # as the parent declares it


for _kind, (_scalar, _first) in _CORE.items():
    _Loader.add_implicit_resolver(f"{_TAG}{_kind}", re.compile(_scalar), _first)


def compose(file: str, source: str, origin: Origin = (0, 0)) -> list[yaml.Node]:
    """Parse each YAML document in `source` into its root node. Raises `InputError` if `source` is not YAML.

    `origin` is where `source` begins in the file.
    """
    try:
        return list(yaml.compose_all(source, Loader=_Loader))
    except yaml.reader.ReaderError as error:
        line = source.count("\n", 0, error.position)
        column = error.position - source.rfind("\n", 0, error.position) - 1
        message = f"the character {chr(error.character)!r} is not allowed in YAML"
        raise InputError([problem_at(file, origin, line, column, message)]) from None
    except yaml.MarkedYAMLError as error:
        raise InputError([_syntax_problem(file, source, origin, error)]) from None
    except RecursionError:
        raise InputError([problem_at(file, origin, 0, 0, "nested too deeply to be a task")]) from None


def compose_json(source: str) -> yaml.Node | None:
    """Parse a JSON string into its root node, or return None if the YAML parser cannot read the string."""
    try:
        node: yaml.Node | None = yaml.compose(source.replace("\t", " "), Loader=_Loader)
    except (yaml.YAMLError, RecursionError):
        return None
    return node


def _syntax_problem(file: str, source: str, origin: Origin, error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    line, column = (mark.line, mark.column) if mark else (0, 0)
    message = f"not YAML: {error.problem or error.context or 'it cannot be read'}"
    begin = error.context_mark
    if mark and begin and error.context and begin.line != mark.line:
        message += f" ({error.context} that begins in line {origin[0] + begin.line + 1})"
    lines = source.split("\n")
    if mark and "(" in lines[min(line, len(lines) - 1)][:column]:
        message += "; a call goes in single quotes, as in 'send(to=\"Bob\")'"
    elif "'\\t'" in message:
        message += "; indent with spaces"
    return problem_at(file, origin, line, column, message)


class NodeReader:
    """Converts YAML nodes to plain data and collects problems.

    If `typed` is True, scalars are converted to their YAML types. Otherwise they stay strings, and null becomes None.
    `origin` is where the nodes' source begins in the file.
    """

    def __init__(self, file: str, *, typed: bool = False, origin: Origin = (0, 0)) -> None:
        self.file, self.typed, self.origin = file, typed, origin
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []
        self._count = 0

    def read(self, node: yaml.Node, depth: int = 0) -> Any:
        """Convert a node to plain data. Invalid parts become None."""
        self._count += 1
        if self._count > MOST_VALUES or depth > DEEPEST_YAML:
            if not self.problems:
                self._reject(node, f"more than {MOST_VALUES:,} values, or nested deeper than {DEEPEST_YAML} levels")
            return None
        if node.tag not in _KNOWN_TAGS:
            return self._reject_tag(node)
        if isinstance(node, yaml.MappingNode):
            return self._read_mapping(node, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, depth + 1) for item in node.value]
        return self._read_scalar(node)

    def _read_scalar(self, node: yaml.Node) -> Any:
        kind, text = node.tag.removeprefix(_TAG), _join_surrogates(node.value)
        if kind in _CORE and not re.match(_CORE[kind][0], text):  # an explicit tag that does not fit the value
            return self._reject(node, f"'{text[:60]}' is not a valid !!{kind}")
        if not self.typed:
            return None if kind == "null" else text
        try:
            return _scalar_value(kind, text)
        except ValueError as error:
            return self._reject(node, str(error))

    def _read_mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._reject(key, "a key must be text")
                continue
            if key.tag not in _KNOWN_TAGS:
                self._reject_tag(key)
                continue
            if key.value in mapping:
                self.warnings.append(self._problem(key, f"'{key.value}' is given twice; the last one counts"))
            mapping[_join_surrogates(key.value)] = self.read(value, depth + 1)
        return mapping

    def _reject_tag(self, node: yaml.Node) -> None:
        tag = node.tag.replace(_TAG, "!!")
        self._reject(node, f"the tag {tag} is not allowed; a task holds texts, numbers, lists and mappings only")

    def _reject(self, node: yaml.Node, message: str) -> None:
        self.problems.append(self._problem(node, message))

    def _problem(self, node: yaml.Node, message: str) -> Problem:
        return problem_at(self.file, self.origin, node.start_mark.line, node.start_mark.column, message)


def _join_surrogates(text: str) -> str:
    """Join pairs of surrogates, which JSON escapes use for characters beyond U+FFFF."""
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def _scalar_value(kind: str, text: str) -> Any:
    """Convert a scalar's text to a value of the YAML type `kind`.

    Raises `ValueError`, with a message for the user, if JSON cannot represent the value.
    """
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


# Places


def problem_at(file: str, origin: Origin, line: int, column: int, message: str) -> Problem:
    """Create a problem at a line and column, counted from 0, of a text that begins at `origin` in its file."""
    return Problem(file, origin[0] + line + 1, column + 1 + (0 if line else origin[1]), message)


def find_child(node: yaml.Node | None, name: str | int) -> Entry | None:
    """Return the key and value nodes for `name` in a mapping or list, or None if there is no such entry.

    If a key is repeated, the last entry counts.
    """
    if isinstance(node, yaml.MappingNode):
        found = [pair for pair in node.value if isinstance(pair[0], yaml.ScalarNode) and pair[0].value == str(name)]
        return found[-1] if found else None
    if isinstance(node, yaml.SequenceNode) and isinstance(name, int) and name < len(node.value):
        return None, node.value[name]
    return None


def source_index(source: str, node: yaml.ScalarNode, offset: int) -> int:
    """Convert `offset` in a scalar's value to an index in `source`, accounting for quotes, escapes and indents."""
    index = node.start_mark.index
    if node.style in ("|", ">"):
        index = source.index("\n", index)
    elif node.style:
        index += 1
    for place, character in enumerate(node.value):
        after_space = _SPACE.match(source, index).end()  # type: ignore[union-attr]  # it matches at every index
        if not character.isspace() or "\n" in source[index:after_space]:
            index = after_space
        if place == offset:
            break
        if length := _escape_length(source, index, node.style):
            index += length
        elif not character.isspace() or index < after_space:
            index += 1
    return index


def _escape_length(source: str, index: int, style: str | None) -> int:
    """Return the length of the escape sequence at `index` in a quoted scalar, or 0 if there is none."""
    if style == '"':
        escape = _ESCAPE.match(source, index)
        return escape.end() - index if escape else 0
    return 2 if style == "'" and source.startswith("''", index) else 0
