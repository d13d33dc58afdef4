"""Lists of tools: a tool file, or the JSON in which OpenAI's API or MCP servers describe tools."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from corepath.errors import InputError, Problem
from corepath.files.tool_file import is_glob, load_tools
from corepath.notation.action import Tool
from corepath.notation.call import REQUIRED
from corepath.values import parse_json

_WANTED: Final = 'a list of tools is JSON such as [{"name": "refund", "parameters": {...}}], or a tool file'


@dataclass(frozen=True)
class ListedTool:
    """A tool, and what its description says about it."""

    tool: Tool
    description: str = ""


def load_tool_list(path: str | Path) -> tuple[ListedTool, ...]:
    """Load a list of tools. Raises `InputError` if the file lists none."""
    found = _load_json(path) if Path(path).suffix == ".json" else _load_tool_file(path)
    if not found:
        raise InputError([Problem(str(path), 1, 1, f"lists no tools; {_WANTED} with 'tools'")])
    return found


def _load_tool_file(path: str | Path) -> tuple[ListedTool, ...]:
    file = load_tools(path)
    if file.tools is not None:
        return tuple(ListedTool(tool) for tool in file.tools)
    names = dict.fromkeys((*file.reads, *file.neutral, *file.arguments))
    return tuple(ListedTool(Tool(name)) for name in names if not is_glob(name))


def _load_json(path: str | Path) -> tuple[ListedTool, ...]:
    try:
        data = parse_json(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InputError([Problem(str(path), 1, 1, f"cannot be read: {error.strerror}")]) from None
    except ValueError as error:
        raise InputError([Problem(str(path), 1, 1, f"not JSON: {error}")]) from None
    if isinstance(data, dict):
        result = data.get("result")
        data = (result if isinstance(result, dict) else data).get("tools")  # an answer of an MCP server has a result
    if not isinstance(data, list):
        raise InputError([Problem(str(path), 1, 1, _WANTED)])
    return tuple(_read_tools(str(path), data))


def _read_tools(path: str, entries: list[Any]) -> Iterator[ListedTool]:
    for place, entry in enumerate(entries, 1):
        inner = entry.get("function") if isinstance(entry, dict) else None
        given = inner if isinstance(inner, dict) else entry
        if not isinstance(given, dict) or not isinstance(given.get("name"), str) or not given["name"]:
            raise InputError([Problem(path, 1, 1, f"tool {place} has no name; {_WANTED}")])
        schema = next((given[key] for key in ("parameters", "inputSchema", "input_schema") if key in given), None)
        yield ListedTool(Tool(given["name"], _parameters(schema)), str(given.get("description") or ""))


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
