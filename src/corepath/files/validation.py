"""What is wrong with a record that its model rejects, in the words of the file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import ValidationError

from corepath.files import VERSION


def other_version(data: Mapping[str, Any]) -> str | None:
    """An error message if the record is of a version that is not known here."""
    version = str(data.get("version", VERSION))
    if version.isdecimal() and int(version) != VERSION:
        return f"version {version} is not known here; this corepath reads version {VERSION}"
    return None


def expected(error: Any) -> str:
    """What a value should have been, in the words of the file."""
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
    shown = f"'{given[:60]}'" if isinstance(given, str) and error["type"] != "list_type" else kind_of(given)
    if error["type"] == "list_type" and isinstance(given, str):
        call = given[:60] if "(" in given or error["loc"][0] == "tags" else f"{given[:60]}(...)"
        return f"expected a list, not text; write ['{call}']"
    if error["type"] in ("too_short", "too_long"):
        shown = str(len(given))
    return f"expected {wanted}, not {shown}" if wanted else f"{error['msg'][0].lower()}{error['msg'][1:]}"


def kind_of(value: Any) -> str:
    """The kind of a YAML or JSON value in words, or a number itself."""
    match value:
        case bool() | int() | float():
            return json.dumps(value)[:60]
        case str():
            return "text"
        case list():
            return "a list"
    return "a mapping"


_OTHER_NAMES = {
    "task": ("task_id", "taskId", "task_name", "taskName", "id"),
    "calls": ("tool_calls", "toolCalls", "steps", "actions", "trajectory", "trace"),
    "tool": ("name", "tool_name", "toolName", "function", "function_name", "action"),
    "arguments": ("args", "input", "tool_input", "parameters", "params", "kwargs", "toolInput"),
}
"""What the required fields of an episode and of a call are called elsewhere."""
_OTHER_FORMATS = (
    *("messages", "choices", "output", "contents", "candidates", "resourceSpans", "resource_spans", "scopeSpans"),
    *("spans", "samples", "jsonrpc", "trajectory", "simulations", "traj", "role", "trace_id"),
)
"""What records of other formats have at their top."""


def episode_problems(data: Mapping[str, Any], errors: Iterable[Any]) -> str:
    """What is wrong with an episode; where it looks like a record of another format, that alone."""
    other = next((name for name in _OTHER_FORMATS if name in data), None)
    if other is not None and "calls" not in data:
        return f"'calls' is missing, and '{other}' is there; make episodes of other formats with: corepath import"
    return "; ".join(dict.fromkeys(map(_record_problem, errors)))


def record_problems(error: ValidationError) -> list[tuple[tuple[str | int, ...], str]]:
    """Everything that a model finds wrong in a record: the path of the field, and what is wrong there."""
    return [(one["loc"], _record_problem(one)) for one in error.errors()]


def _record_problem(error: Any) -> str:
    where, name, given = ".".join(str(part)[:60] for part in error["loc"]), error["loc"][-1], error["input"]
    if error["loc"][0] == "scoring":
        return "'scoring': expected 'paper', 'recommended' or an object of options"
    if error["type"] != "missing":
        what = " with 'tool' and 'arguments'" if error["type"] == "model_type" else ""
        return f"'{where}': {expected(error).replace('a mapping', f'an object{what}')}"
    other = next((one for one in _OTHER_NAMES.get(name, ()) if one in given), None)
    if other is not None and not (name == "tool" and isinstance(given[other], dict)):
        return f"'{where}' is missing; it is called '{other}' here, write '{name}'"
    if other is not None:
        return f"'{where}' is missing, and '{other}' is an object; make episodes of other formats with: corepath import"
    return f"'{where}' is missing" + ("; where there are none, write {}" if name == "arguments" else "")
