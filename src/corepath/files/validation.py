"""Turn pydantic's validation errors into messages for people who write task files and episodes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from corepath.errors import Problem, nearest
from corepath.files import VERSION
from corepath.files.document import Document
from corepath.files.schema import DecoyEntry, ForbidEntry, PolicyEntry, TaskFile


def version_problem(data: Mapping[str, Any]) -> str | None:
    """Return an error message if this version of corepath cannot read the record's version, or None if it can."""
    version = str(data.get("version", VERSION))
    if version.isdecimal() and int(version) != VERSION:
        return f"version {version} is not known here; this corepath reads version {VERSION}"
    return None


def describe_mismatch(error: Any) -> str:
    """Describe a validation error: what the field should hold, and what it holds instead."""
    if error["type"] == "string_unicode":
        return "the text holds half a character (a lone surrogate)"
    wanted = {
        "string_type": "text",
        "list_type": "a list",
        "dict_type": "a mapping",
        "model_type": "a mapping",
        "int_type": "a whole number",
        "int_parsing": "a whole number",
        "float_type": "a number",
        "string_too_short": "a text that is not empty",
        "greater_than_equal": f"a number of {error.get('ctx', {}).get('ge')} or more",
        "too_short": "two calls",
        "too_long": "two calls",
        "literal_error": error.get("ctx", {}).get("expected"),
    }.get(error["type"])
    given = error["input"]
    if wanted and given is None:
        return f"expected {wanted}, but nothing is there"
    if error["type"] == "list_type" and isinstance(given, str):
        call = given[:60] if "(" in given or error["loc"][0] == "tags" else f"{given[:60]}(...)"
        return f"expected a list, not text; write ['{call}']"
    if not wanted:
        return f"{error['msg'][0].lower()}{error['msg'][1:]}"
    if error["type"] in ("too_short", "too_long"):
        return f"expected {wanted}, not {len(given)}"
    return f"expected {wanted}, not " + (f"'{given[:60]}'" if isinstance(given, str) else describe_kind(given))


def describe_kind(value: Any) -> str:
    """Describe a YAML or JSON value in an error message, e.g. `a list`. For a number or boolean, return the value."""
    match value:
        case bool() | int() | float():
            return json.dumps(value)[:60]
        case str():
            return "text"
        case list():
            return "a list"
    return "a mapping"


# Task files

_ENTRIES: Mapping[Any, type[BaseModel]] = {"forbid": ForbidEntry, "policies": PolicyEntry, "decoys": DecoyEntry}
_OTHER_FIELDS = {
    **dict.fromkeys(("steps", "workflow", "plan", "path", "sequence"), "procedure"),
    **dict.fromkeys(("name", "task", "task_id"), "id"),
    **dict.fromkeys(("description", "instruction", "question"), "prompt"),
    **dict.fromkeys(("forbidden", "never"), "forbid"),
}
"""Names that other tools use for a task's fields."""


def task_file_problem(document: Document, error: Any) -> Problem:
    """Convert a validation error in a task file to a problem with a line and column."""
    where = error["loc"]
    if where[0] == "forbid":  # the third part of the path only says which form the entry has
        where = (*where[:2], *where[3:])
    name = str(where[-1])
    if error["input"] is None and any(sign in name for sign in '()="'):
        message = (
            f"YAML ended a call at ',' and made a field of the rest, '{name}'; put the whole call in single quotes"
        )
        return document.problem(message, where, at_key=True)
    match error["type"]:
        case "missing":
            return document.problem(f"'{name}' is missing", where)
        case "extra_forbidden":
            return document.problem(f"no field '{name}'{_field_hint(where)}", where, at_key=True)
        case "string_type":
            return document.problem(_not_text(where, error), where)
    return document.problem(describe_mismatch(error), where)


def _field_hint(where: tuple[str | int, ...]) -> str:
    """Return a hint for the end of an error message about an unknown field. The hint names the field probably meant."""
    name = str(where[-1])
    if len(where) > 1:
        return nearest(name, _ENTRIES[where[0]].model_fields)
    return f"; write '{_OTHER_FIELDS[name]}'" if name in _OTHER_FIELDS else nearest(name, TaskFile.model_fields)


def _not_text(where: tuple[str | int, ...], error: Any) -> str:
    given = error["input"]
    if where == ("procedure",) and isinstance(given, list):
        return "expected text, not a list; write the steps as a >> b"
    if isinstance(given, (dict, list)):
        return f"expected text, not {describe_kind(given)}; a call with ':' or ',' goes in single quotes"
    return describe_mismatch(error)


# Episodes and manifests

_OTHER_NAMES = {
    "task": ("task_id", "taskId", "task_name", "taskName", "id"),
    "calls": ("tool_calls", "toolCalls", "steps", "actions", "trajectory", "trace"),
    "tool": ("name", "tool_name", "toolName", "function", "function_name", "action"),
    "arguments": ("args", "input", "tool_input", "parameters", "params", "kwargs", "toolInput"),
}
"""Names that other tools use for the required fields of episodes and calls."""
_OTHER_FORMATS = (
    *("messages", "choices", "output", "contents", "candidates", "resourceSpans", "resource_spans", "scopeSpans"),
    *("spans", "samples", "jsonrpc", "trajectory", "simulations", "traj", "role", "trace_id"),
)
"""Top-level fields that show that a record has another format."""


def episode_problems(data: Mapping[str, Any], errors: Iterable[Any]) -> str:
    """Return an error message about an invalid episode.

    If the record has another format, the message only says how to import the record.
    """
    other = next((name for name in _OTHER_FORMATS if name in data), None)
    if other is not None and "calls" not in data:
        return f"'calls' is missing, and '{other}' is there; make episodes of other formats with: corepath import"
    return "; ".join(dict.fromkeys(map(_record_problem, errors)))


def record_problems(error: ValidationError) -> list[tuple[tuple[str | int, ...], str]]:
    """Return the path to each invalid field in a record, with a message about the field."""
    return [(one["loc"], _record_problem(one)) for one in error.errors()]


def _record_problem(error: Any) -> str:
    where, name, given = ".".join(str(part)[:60] for part in error["loc"]), error["loc"][-1], error["input"]
    if error["loc"][0] == "scoring":
        return "'scoring': expected 'paper', 'recommended' or an object of options"
    if error["type"] != "missing":
        what = " with 'tool' and 'arguments'" if error["type"] == "model_type" else ""
        return f"'{where}': {describe_mismatch(error).replace('a mapping', f'an object{what}')}"
    other = next((one for one in _OTHER_NAMES.get(name, ()) if one in given), None)
    if name == "calls" and other is not None and not isinstance(given[other], list):
        other = None
    if other is not None and not (name == "tool" and isinstance(given[other], dict)):
        return f"'{where}' is missing; it is called '{other}' here, write '{name}'"
    if other is not None:
        return f"'{where}' is missing, and '{other}' is an object; make episodes of other formats with: corepath import"
    return f"'{where}' is missing" + ("; where there are none, write {}" if name == "arguments" else "")
