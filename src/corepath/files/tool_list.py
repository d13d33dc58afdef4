"""Lists of tools: a tool file, or the JSON in which APIs and MCP servers describe tools."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from corepath.errors import InputError, Problem, TaskError
from corepath.files.tool_file import Tools, is_glob, load_tools
from corepath.notation.action import Tool
from corepath.notation.call import REQUIRED
from corepath.values import parse_json

_WANTED: Final = 'a list of tools is JSON such as [{"name": "refund", "parameters": {...}}], or a tool file'
_SCHEMAS: Final = ("parameters", "inputSchema", "input_schema", "parametersJsonSchema")
"""The keys of a tool's JSON Schema: in OpenAI's API, MCP, Anthropic's API and Gemini's API."""
_SIGNS: Final = ("type", "properties", "json", "$ref", "$schema", "anyOf", "oneOf", "allOf", "additionalProperties")
"""The keys that show that an object is a JSON Schema. Bedrock's API has the schema as `json`."""
_DESCRIBING: Final = frozenset(
    {"name", "title", "description", "type", "strict", "annotations", "outputSchema", "_meta"}
)
"""What a tool without a JSON Schema may have."""
_WRAPPERS: Final = ("function", "toolSpec")
_FREE_TEXT: Final = re.compile(r"\bfree[- ]?(?:form )?text\b|\bfree[- ]?form\b|\bin your own words\b", re.IGNORECASE)


@dataclass(frozen=True)
class ListedTool:
    """A tool, and what its description says about it.

    `kind` is what the source declares, or None if it declares nothing, and `declared_by` says what declares it, e.g.
    `readOnlyHint`. `firm` declarations come from a world or from a person, and are not questioned. `rules` are for the
    tool's arguments, as in a tool file.
    """

    tool: Tool
    description: str = ""
    kind: Literal["read", "write", "neutral"] | None = None
    declared_by: str = ""
    firm: bool = False
    rules: Mapping[str, str] = field(default_factory=dict)


def load_tool_list(path: str | Path) -> tuple[ListedTool, ...]:
    """Load a list of tools. Raises `InputError` if the file lists none."""
    found = _load_json(path) if Path(path).suffix == ".json" else _load_tool_file(path)
    if not found:
        raise InputError([Problem(str(path), 1, 1, f"lists no tools; {_WANTED} with 'tools'")])
    return found


def _load_tool_file(path: str | Path) -> tuple[ListedTool, ...]:
    file = load_tools(path)
    listed = {tool.name: tool for tool in file.tools or ()}
    if file.tools is None:
        listed = {name: Tool(name) for name in file.names if not is_glob(name)}
    return tuple(_decided(tool, file, Path(path).name) for tool in listed.values())


def _decided(tool: Tool, file: Tools, place: str) -> ListedTool:
    """Return a tool with what a tool file says about it. What it is unsure about is still to be decided."""
    rules = file.arguments.get(tool.name, {})
    if file.is_unsure(tool.name):
        return ListedTool(tool, rules=rules)
    return ListedTool(tool, "", file.kind(tool.name), place, firm=True, rules=rules)


def _load_json(path: str | Path) -> tuple[ListedTool, ...]:
    try:
        data = parse_json(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError([Problem(str(path), 1, 1, f"cannot be read: {error.strerror}")]) from None
    except ValueError as error:
        raise InputError([Problem(str(path), 1, 1, f"not JSON: {error}")]) from None
    try:
        return read_schemas(data)
    except TaskError as error:
        raise InputError([Problem(str(path), 1, 1, str(error))]) from None


def is_schema_list(data: Any) -> bool:
    """Whether JSON describes tools, rather than calls of tools."""
    entries = _entries(data)
    return bool(entries) and all(_is_schema(entry) for entry in entries or ())


def _is_schema(entry: Any) -> bool:
    given = _unwrap(entry)
    if not isinstance(given, dict) or not isinstance(given.get("name") or given.get("title"), str):
        return False
    schema = next((given[key] for key in _SCHEMAS if key in given), None)
    if schema is None:
        return isinstance(given.get("properties"), dict) or given.keys() <= _DESCRIBING
    return isinstance(schema, dict) and (not schema or any(key in schema for key in _SIGNS))


def read_schemas(data: Any) -> tuple[ListedTool, ...]:
    """Read tools from parsed JSON.

    This is a list of tools as OpenAI, Anthropic, Gemini, Bedrock or MCP servers have it, an object that has the list as
    its `tools`, a JSON Schema with a title, or an object that maps names to JSON Schemas. Raises `TaskError` if it is
    anything else.
    """
    entries = _entries(data)
    if entries is None:
        raise TaskError.of(_WANTED)
    return tuple(_read_tools(entries))


def _entries(data: Any) -> list[Any] | None:
    """Return the entries of a list of tools, or None if there is no such list."""
    if isinstance(data, dict):
        result = data.get("result")
        inner = result if isinstance(result, dict) else data  # an answer of an MCP server has a result
        listed = next((inner[key] for key in ("tools", "functions") if isinstance(inner.get(key), list)), None)
        data = _entries_of_object(inner) if listed is None else listed
    if not isinstance(data, list):
        return None
    found: list[Any] = []
    for entry in data:
        declared = entry.get("functionDeclarations") if isinstance(entry, dict) else None
        found += declared if isinstance(declared, list) else [entry]
    return found


def _entries_of_object(data: Mapping[str, Any]) -> list[Any] | None:
    if _is_schema(data):
        return [data]
    schemas = {name: one for name, one in data.items() if isinstance(one, dict) and "properties" in one}
    return [{"name": name, "parameters": one} for name, one in schemas.items()] if schemas == data and data else None


def _unwrap(entry: Any) -> Any:
    wrapped = (entry.get(key) for key in _WRAPPERS) if isinstance(entry, dict) else ()
    return next((inner for inner in wrapped if isinstance(inner, dict)), entry)


def _read_tools(entries: list[Any]) -> Iterator[ListedTool]:
    for place, entry in enumerate(entries, 1):
        given = _unwrap(entry)
        name = (given.get("name") or given.get("title")) if isinstance(given, dict) else None
        if not isinstance(name, str) or not name:
            raise TaskError.of(f"tool {place} has no name; {_WANTED}")
        schema = next((given[key] for key in _SCHEMAS if key in given), given if "properties" in given else None)
        if isinstance(schema, dict) and isinstance(schema.get("json"), dict):
            schema = schema["json"]  # in Bedrock's API
        kind, declared_by = _read_annotations(given.get("annotations"))
        description = str(given.get("description") or "")
        yield ListedTool(Tool(name, _parameters(schema)), description, kind, declared_by, rules=_free_texts(schema))


def _read_annotations(annotations: Any) -> tuple[Literal["read", "write"] | None, str]:
    """Return the kind that an MCP server declares, and how. Hints for writes mean nothing if the tool only reads."""
    given = annotations if isinstance(annotations, dict) else {}
    if given.get("readOnlyHint") is True:
        return "read", "readOnlyHint" + (" and destructiveHint" if given.get("destructiveHint") is True else "")
    said = [
        f"{name}: {str(given[name]).lower()}"
        for name in ("readOnlyHint", "destructiveHint", "idempotentHint")
        if isinstance(given.get(name), bool)
    ]
    writes = given.get("readOnlyHint") is False or given.get("destructiveHint") is True
    return ("write", ", ".join(said)) if writes else (None, "")


def _parameters(schema: Any) -> Mapping[str, Any] | None:
    """Return the names of parameters and their defaults, if the schema says so. An optional one has None."""
    properties = schema.get("properties", {}) if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return None
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    return {
        name: REQUIRED if name in needed else value.get("default") if isinstance(value, dict) else None
        for name, value in properties.items()
    }


def _free_texts(schema: Any) -> dict[str, str]:
    """Return the rule `any` for each parameter that its description calls free text."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return {
        name: "any"
        for name, value in (properties.items() if isinstance(properties, dict) else ())
        if isinstance(value, dict) and "enum" not in value and _FREE_TEXT.search(str(value.get("description", "")))
    }
